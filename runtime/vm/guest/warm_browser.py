"""What the browser's machine does before its snapshot is taken: everything that cells would
repeat.
"""

import os
import subprocess

FILES = (
    "/usr/lib/chromium",
    "/usr/bin/chromedriver",
)


def warm() -> None:
    """Read what a browser reads, so that it is in the page cache."""
    for root in FILES:
        paths = [root]
        if os.path.isdir(root):
            paths = sorted(os.path.join(f, n) for f, _, ns in os.walk(root) for n in ns)
        for path in paths:
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass
    subprocess.run(
        [
            "/usr/bin/python3",
            "-c",
            "from selenium import webdriver; webdriver.Remote, webdriver.ChromeOptions",
        ],
        check=True,
    )
