"""A program of others in a node: started and stopped at times of the plan; what it prints is in
`NAME.json`.

It ends with status 0 whatever the program does: its JSON says what failed, and other flows go on.
But a program that would start late, on a machine that is too slow, is not started. One that does
not end on SIGTERM is killed, with what it started, and a remark says so. It ends with this one.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys

from .clock import RealTime
from .processes import PATIENCE_NS

FOREVER_NS = 10**18
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None)


def end_with(parent: int) -> None:
    """Have the kernel kill this process when the thread that started it is gone, however it went:
    where a cell fails, its programs are killed, and nobody else knows of those that they started.
    """
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it is gone already
        os._exit(1)


def main() -> None:
    """Run it: `--epoch-ns N DESCRIPTION`."""
    clock, epoch_ns, test = RealTime(), int(sys.argv[2]), json.loads(sys.argv[3])
    wake, waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGTERM, lambda *_: os.write(waker, b"!"))
    begin_ns, stop_ns = test["begin_ns"], test["stop_ns"]
    if begin_ns is not None and clock.now_ns() > epoch_ns + begin_ns:
        sys.exit("it was due before it could start: this machine is too slow")
    with open(f"{test['name']}.json", "wb") as out:
        if begin_ns is not None and clock.wait([wake], epoch_ns + begin_ns):
            return  # its time does not come
        us = os.getpid()
        process = subprocess.Popen(
            test["command"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            start_new_session=True,
            preexec_fn=lambda: end_with(us),  # noqa: PLW1509 (one thread)
        )
    ended = os.pidfd_open(process.pid)
    until_ns = clock.now_ns() + FOREVER_NS if stop_ns is None else epoch_ns + stop_ns
    if ended not in clock.wait([ended, wake], until_ns):
        os.killpg(process.pid, signal.SIGTERM)
        if not clock.wait([ended], clock.now_ns() + PATIENCE_NS):
            said = f"it did not end within {PATIENCE_NS / 1e9:g} s of SIGTERM, and was killed"
            remark = {"t_ns": clock.now_ns() - epoch_ns, "event": "remark", "message": said}
            print(json.dumps(remark), flush=True)
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
