"""A process that waits for the end of fairc, and removes its containers if it was killed.

Containers are children of the Docker engine, so nothing else would end them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from fairc.runtime.host.supervisor import MARK, mark

from .client import connect
from .leftovers import LABEL, label, remove

# -P: it imports nothing from the folder that fairc was started in. Nor does it import anything
# before it has to. It waits on a pipe: a byte means that all is well, the pipe's end without one
# that fairc was killed.
WAIT = """
import sys
if not sys.stdin.buffer.read(1):
    from fairc.runtime.containers.janitor import clean_up
    clean_up(sys.argv[1])
"""
QUIET_S = 0.5
GIVE_UP_S = 60.0


class Janitor:
    """The process, as fairc sees it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", WAIT, label()[LABEL]],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, MARK: mark()},
            start_new_session=True,  # a Ctrl-C at the terminal is fairc's to handle
        )

    def dismiss(self) -> None:
        """End it: everything has been removed."""
        if self._process.poll() is None:
            self._process.communicate(b".")


def clean_up(owner: str) -> None:
    """Remove what carries the label of a fairc that was killed, including what is still being
    created.
    """
    client = connect()
    give_up = time.monotonic() + GIVE_UP_S
    quiet = 0
    while quiet < 2 and time.monotonic() < give_up:
        quiet = 0 if remove(client, owner.__eq__) else quiet + 1
        time.sleep(QUIET_S)
