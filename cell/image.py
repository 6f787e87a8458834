"""Runs next to a third-party QUIC image, in the container of its node: starts the image and writes
its events.

The image's container has the network of the node. Whoever made the containers starts it when there
is a file NAME.begin, and says in NAME.ended how it ended. Its contract is that of
quic-interop-runner.
"""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

PORT = 443
FILE = "file"
TESTCASE = "transfer"
"""One connection that moves files over HTTP/0.9; with it the runner itself measures goodput."""
ENTRY_POINT = "/run_endpoint.sh"
SERVER_NAME = "server4"
UNSUPPORTED = 127
"""The exit status of an image that does not know its test case."""
WAITED_FOR = ("127.0.0.1", 57832)
"""Published clients wait until the runner's simulator accepts connections (`sim:57832`)."""


def variables(side: str, port: int, qlogs: str) -> dict[str, str]:
    """Return what the contract has in the environment; qlogs: the folder for them."""
    own = {"SERVER_PARAMS": ""}
    if side == "client":
        own = {"CLIENT_PARAMS": "", "REQUESTS": f"https://{SERVER_NAME}:{port}/{FILE}"}
    return {
        "ROLE": side,
        "TESTCASE": TESTCASE,
        "SSLKEYLOGFILE": "/logs/keys.log",
        "QLOGDIR": qlogs,
        **own,
    }


def content(size: int) -> Iterator[bytes]:
    """Yield the blocks of the file that is moved: pseudo-random bytes, the same of each size."""
    block = random.Random(size).randbytes(1 << 20)
    for begin in range(0, size, len(block)):
        yield block[: size - begin]


def await_clients() -> socket.socket:
    """Accept the connections that clients wait for, until the returned socket is closed."""
    waited_for = socket.socket()
    waited_for.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    waited_for.bind(WAITED_FOR)
    waited_for.listen(1000)
    return waited_for


class Image:
    """An end of a flow. description: as `roles` writes it."""

    def __init__(self, epoch_ns: int, description: dict[str, Any]) -> None:
        self.epoch_ns = epoch_ns
        self.name: str = description["name"]
        self.bytes: int = description["bytes"]
        self.start_ns: int = description["start_ns"]
        self.server: str = description["server"]
        self.served = os.path.join(self.server, "www", FILE)
        self.download = os.path.join(self.name, "downloads", FILE)

    def say(self, event: str, t_ns: int, **more: object) -> None:
        """Write an event."""
        print(json.dumps({"t_ns": t_ns - self.epoch_ns, "event": event} | more), flush=True)

    def fail(self, message: str) -> NoReturn:
        """Say what went wrong, and end."""
        self.say("error", time.time_ns(), message=message)
        sys.exit(1)

    def begin(self) -> None:
        """Have the container started."""
        with open(self.name + ".begin", "w"):
            self.say("summoned", time.time_ns())

    def ending(self) -> dict[str, Any] | None:
        """Return how the container ended: its exit status and its last words; None while it
        runs.
        """
        try:
            with open(self.name + ".ended") as file:
                ended: dict[str, Any] | None = json.loads(file.read() or "null")
                return ended
        except FileNotFoundError:
            return None

    def explain(self, ending: dict[str, Any]) -> NoReturn:
        """Say why the container failed, and end."""
        if ending["status"] == UNSUPPORTED:
            reason = "the image does not support the test case (it ended with status 127): "
            self.fail(reason + ending["said"])
        self.fail(f"its image ended with status {ending['status']}: {ending['said']}")

    def serve(self) -> NoReturn:
        """Accompany a server until it is stopped."""
        with open(self.served, "wb") as file:
            file.writelines(content(self.bytes))
        os.chmod(self.served, 0o644)
        self.begin()
        while not self.listens():
            if ending := self.ending():
                self.explain(ending)
            if time.time_ns() > self.epoch_ns:
                self.fail(f"the image's server did not listen on UDP port {PORT} in time")
            time.sleep(0.02)
        self.say("listening", time.time_ns())
        while not (ending := self.ending()):
            time.sleep(0.1)
        self.explain(ending)

    def listens(self) -> bool:
        """Whether a socket of this network namespace has the server's port."""
        for family in ("udp", "udp6"):
            with contextlib.suppress(FileNotFoundError), open("/proc/net/" + family) as table:
                if any(line.split()[1].endswith(f":{PORT:04X}") for line in list(table)[1:]):
                    return True
        return False

    def fetch(self) -> None:
        """Accompany a client until it has ended."""
        with await_clients():
            time.sleep(max(0, self.epoch_ns + self.start_ns - time.time_ns()) / 1e9)
            self.begin()
            while not (ending := self.ending()):
                time.sleep(0.02)
        if ending["status"] != 0:
            self.explain(ending)
        try:
            found = os.stat(self.download, follow_symlinks=False)
        except FileNotFoundError:
            self.fail("the image ended with status 0 but downloaded nothing: " + ending["said"])
        if found.st_size != self.bytes:
            amount = f"{found.st_size} bytes, not {self.bytes}"
            self.fail(f"the image downloaded {amount}: {ending['said']}")
        if not filecmp.cmp(self.served, self.download, shallow=False):
            self.fail("what the image downloaded differs from what was served")
        self.say("done", found.st_mtime_ns, connection=0, bytes=self.bytes)

    def stopped(self, number: int, frame: FrameType | None) -> NoReturn:
        """End as the conductor says; of a client's file it is not known how much has come."""
        if self.name != self.server:
            self.say("error", time.time_ns(), message="stopped before the download was complete")
        sys.exit(0)


def main(arguments: Sequence[str]) -> None:
    """Be the program of a flow's end that is an image: `--epoch-ns N DESCRIPTION`."""
    description = json.loads(arguments[2])
    image = Image(int(arguments[1]), description)
    signal.signal(signal.SIGTERM, image.stopped)
    if description["side"] == "server":
        image.serve()
    image.fetch()
