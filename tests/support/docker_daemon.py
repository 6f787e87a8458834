"""A Docker engine for tests: this machine's, or `dockerd` with a folder of its own for its data.

Several test processes share one; the one that started it waits for the others before it ends it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from fairc.dsl.core.cache import cache_directory
from fairc.runtime.containers import image
from fairc.runtime.containers.client import HOST, connect
from fairc.runtime.host.faults import EngineUnavailable

DAEMON = "dockerd"
RUN = Path(tempfile.gettempdir()) / f"fairc-test-docker-{os.getuid()}"
DATA = cache_directory() / "test-docker"  # keeps the image from one test run to the next
SOCKET = RUN / "docker.sock"
START_S = 60.0
# The engine has a network namespace of its own and changes nothing there: no rules, no default
# bridge, no forwarding. In the host's, rules that another engine has left, as `-P FORWARD DROP`,
# would drop every packet between two containers.
NAMESPACE = ("unshare", "--net", "--")
OPTIONS = ("--iptables=false", "--ip6tables=false", "--ip-forward=false", "--bridge=none")


class CannotStart(Exception):
    """This machine does not let dockerd start, as in a container without privileges."""


@contextmanager
def running() -> Iterator[str]:
    """Have an engine with fairc's image; give what this machine lacks for that, in words."""
    try:
        connect().close()
    except EngineUnavailable:
        lacking = missing()
        if lacking:
            yield lacking
            return
    else:
        _build()
        yield ""
        return
    RUN.mkdir(mode=0o700, exist_ok=True)
    before = os.environ.get(HOST)
    os.environ[HOST] = f"unix://{SOCKET}"
    daemon = None
    # Held while an engine is found or started; and shared by whoever uses it.
    with (RUN / "starting").open("w") as starting, (RUN / "used").open("w") as used:
        try:
            fcntl.flock(starting, fcntl.LOCK_EX)
            fcntl.flock(used, fcntl.LOCK_SH)  # waits for an engine that is about to end
            try:
                daemon = _started()
                _build()
            except CannotStart as error:
                yield str(error)
                return
            fcntl.flock(starting, fcntl.LOCK_UN)
            yield ""
        finally:
            if before is None:
                del os.environ[HOST]
            else:
                os.environ[HOST] = before
            if daemon is not None:
                fcntl.flock(used, fcntl.LOCK_EX)  # when nobody else uses it any more
                daemon.send_signal(signal.SIGTERM)
                daemon.wait(START_S)


@contextmanager
def turn() -> Iterator[None]:
    """Wait until no other test process is in its turn."""
    RUN.mkdir(mode=0o700, exist_ok=True)
    with (RUN / "turn").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _started() -> subprocess.Popen[bytes] | None:
    """Return the engine, started unless another process has done so. Raises CannotStart."""
    try:
        connect().close()
    except EngineUnavailable:
        daemon = start()
        with closing(connect()) as client:  # what killed tests left
            client.api.prune_containers()
            client.api.prune_networks()
        return daemon
    return None


def _build() -> None:
    with closing(connect()) as client:
        image.build(client)


def missing() -> str:
    """Return what this machine lacks to start an engine."""
    if os.geteuid() != 0:
        return "root, or a Docker engine that this user may talk to"
    return "" if shutil.which(DAEMON) else DAEMON


def start() -> subprocess.Popen[bytes]:
    """Start the engine, which is told to end when this process ends; return when it answers."""
    DATA.mkdir(parents=True, exist_ok=True)
    command = [
        *("setpriv", "--pdeathsig", "TERM", *NAMESPACE, DAEMON, *OPTIONS),
        *(f"--data-root={DATA}", f"--exec-root={RUN / 'exec'}", f"--pidfile={RUN / 'pid'}"),
        *("--host", f"unix://{SOCKET}"),
    ]
    with (RUN / "log").open("wb") as log:
        daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    give_up = time.monotonic() + START_S
    while True:
        try:
            connect().close()
            return daemon
        except EngineUnavailable as error:
            if daemon.poll() is not None or time.monotonic() > give_up:
                daemon.kill()
                said = (RUN / "log").read_text(errors="replace").splitlines()[-3:]
                raise CannotStart(f"the rights of {DAEMON}, which says: {said}") from error
        time.sleep(0.1)
