"""Run a command and write down what is executed in it: `python executed.py FILE COMMAND...`.

A line for each execve(2) that succeeds, by the command and all that descends from it: the name that
was given, a tab, and the file that then runs (the interpreter, for a script). Processes stop at
execve, fork and signals and nowhere else; strace(1) 6.1 stops a thread at every system call, even
with `--seccomp-bpf`. All of them are killed if this program is.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
from pathlib import Path
from typing import TextIO

# <sys/ptrace.h>, <linux/auxvec.h>
PTRACE_CONT, PTRACE_SEIZE, PTRACE_LISTEN = 7, 0x4206, 0x4208
FORK, VFORK, CLONE, EXEC, EXITKILL = 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 20
EVENT_EXEC, EVENT_STOP = 4, 128
AT_EXECFN = 31
WALL = 0x40000000  # __WALL, <sys/wait.h>: threads too
STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request: int, pid: int, data: int = 0) -> None:
    """Call ptrace(2); a process that has been killed meanwhile is none."""
    if libc.ptrace(request, pid, None, data) < 0 and ctypes.get_errno() != 3:  # ESRCH
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def execfn(pid: int) -> str:
    """Return the name that the last execve(2) of a process was given."""
    words = struct.iter_unpack("=QQ", Path(f"/proc/{pid}/auxv").read_bytes())
    address = dict(words)[AT_EXECFN]
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        name = bytearray()
        while b"\0" not in name:
            name += memory.read(1)
    return name[:-1].decode(errors="replace")


def follow(child: int, out: TextIO) -> int:
    """Follow a process and its descendants to their end; return the process's wait status."""
    status = 1
    while True:
        try:
            pid, how = os.waitpid(-1, WALL)
        except ChildProcessError:
            return status
        if not os.WIFSTOPPED(how):
            status = how if pid == child else status
            continue
        event, number = how >> 16, os.WSTOPSIG(how)
        if event == EVENT_EXEC:
            name, file = execfn(pid), Path(f"/proc/{pid}/exe").readlink()
            print(f"{name}\t{file}", file=out, flush=True)
        if event == EVENT_STOP and number in STOPS:
            ptrace(PTRACE_LISTEN, pid)
        else:
            ptrace(PTRACE_CONT, pid, 0 if event else number)


def main() -> None:
    """Run the command; end as it ends."""
    place, *command = sys.argv[1:]
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(ready, 1)
        os.execvp(command[0], command)
    with Path(place).open("w", encoding="utf-8", errors="replace") as out:
        ptrace(PTRACE_SEIZE, child, FORK | VFORK | CLONE | EXEC | EXITKILL)
        os.write(go, b"\n")
        status = follow(child, out)
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
