"""A Docker engine for the campaign, with data of its own; and what is left in it of a fairc that
was killed.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import docker_daemon

from .fault import Fault, require

# Kept from one campaign to the next: to build the image takes minutes. Others' tests have an engine
# of theirs, which waits for everyone who uses it.
RUN = Path(tempfile.gettempdir()) / f"fairc-docker-of-torture-{os.getuid()}"
GONE_S = 60.0


@contextmanager
def docker(faults: Sequence[Fault]) -> Iterator[None]:
    """Have an engine while some fault wants one; without it they are left out, and say why."""
    if not any("docker" in each.name for each in faults):
        yield
        return
    docker_daemon.RUN, docker_daemon.DATA = RUN, RUN / "data"
    docker_daemon.SOCKET = RUN / "docker.sock"
    with docker_daemon.running() as lacking:
        if lacking:
            print(f"no Docker engine: this machine lacks {lacking}")
        yield


def require_nothing_left() -> None:
    """Raise Problem for a container or network whose fairc has gone and that stays."""
    from fairc.runtime.containers import leftovers
    from fairc.runtime.containers.client import connect

    end = time.monotonic() + GONE_S
    while True:
        with closing(connect()) as client:
            chosen = {"filters": {"label": leftovers.LABEL}}
            found = [*client.api.containers(all=True, **chosen), *client.api.networks(**chosen)]
        names = [
            str(x["Id"])[:12] for x in found if leftovers.is_left(x["Labels"][leftovers.LABEL])
        ]
        if not names:
            return
        late = time.monotonic() > end
        require(not late, f"containers or networks are left: {', '.join(names)}")
        time.sleep(0.2)
