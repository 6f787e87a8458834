"""Programs of a cell's containers, apart from the conductor: `python3 -m cell WHAT ...`.

node NAME       a host, router or hop
image ...       the end of a flow that is a third-party image
await FILE      of a Compose file: end when there is a file
ended FILE      of a Compose file: write that an image has ended well
"""

from __future__ import annotations

import os
import sys
import time

from . import image, node_agent
from .observation import write_json


def main() -> None:
    """Do what the arguments say, in the folder that the containers share."""
    what, *rest = sys.argv[1:] or [""]
    if what == "node":
        node_agent.serve(rest[0])
    elif what == "image":
        image.main(rest)
    elif what == "await":
        while not os.path.exists(rest[0]):
            time.sleep(0.02)
    elif what == "ended":
        write_json(rest[0], {"status": 0, "said": ""})
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
