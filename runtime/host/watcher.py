"""The program between fairc and a command: it ends the command when fairc goes or time is up.

Run by `supervisor.start` as `python -I -S watcher.py LEASH SECONDS GRACE CORE LIMITS COMMAND...`;
it imports next to nothing, because every cell pays for its start-up. LEASH is the reading end of a
pipe whose only other end is held by fairc: the kernel closes that end however fairc dies. CORE is
where both run (-1: anywhere); LIMITS are those of setrlimit(2), `NUMBER=VALUE,...`.
"""

import os
import select
import sys

SIGKILL, SIGALRM, SIGTERM = 9, 14, 15  # the module `signal` would cost a third of the start-up time
PR_SET_PDEATHSIG = 1
GONE_MS = 500


def main(leash: int, seconds: float, grace: float, command: list[str]) -> int:
    """Run a command in a process group of its own and return its exit status (128 + n: signal n).

    The whole group is killed when the command ends, when the leash breaks, and after `seconds` (<
    0: never). If `grace` is more than 0 and the command has not ended, the group is first asked to
    end (SIGTERM), and killed `grace` seconds later at most. After `seconds` this process ends
    itself with SIGALRM, which no exit status can imitate.
    """
    os.set_inheritable(leash, False)
    child = spawn(command)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)  # or a pipe that the command closes would stay open here
    os.dup2(nothing, 1)
    ended = os.pidfd_open(child)
    poll = select.poll()
    poll.register(leash, 0)  # POLLHUP is always reported
    poll.register(ended, select.POLLIN)
    seen = poll.poll(None if seconds < 0 else seconds * 1000)
    if grace and ended not in (descriptor for descriptor, _ in seen):
        os.killpg(child, SIGTERM)
        poll.unregister(leash)
        poll.poll(grace * 1000)
    os.killpg(child, SIGKILL)  # before the child is reaped, so the group's ID cannot be reused
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    await_group(child)
    if not seen:
        os.kill(os.getpid(), SIGALRM)
    return status if status >= 0 else 128 - status


def bound(core: int, limits: str) -> None:
    """Keep this process and its children to a core and to limits."""
    if core >= 0:
        os.sched_setaffinity(0, {core})
    if limits:
        import resource

        for limit in limits.split(","):
            number, most = map(int, limit.split("="))
            resource.setrlimit(number, (most, most))


def spawn(command: list[str]) -> int:
    """Start a command in a process group of its own; if this process itself is killed, the command
    dies with it.
    """
    for folder in os.environ.get("PATH", os.defpath).split(":"):
        if os.access(f"{folder}/setpriv", os.X_OK):
            guarded = [f"{folder}/setpriv", "--pdeathsig", "KILL", "--", *command]
            return os.posix_spawn(guarded[0], guarded, os.environ, setpgroup=0)
    # Half as fast as a program of util-linux, where that is.
    import ctypes

    libc = ctypes.CDLL(None)
    child = os.fork()
    if child:
        return child
    os.setpgid(0, 0)
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL)
    try:
        os.execv(command[0], command)
    finally:
        os._exit(127)


def await_group(group: int) -> None:
    """Wait, but not forever, until the killed members of a process group have vanished."""
    pause = select.poll()
    for _ in range(GONE_MS // 5):
        if not lives(group):
            return
        pause.poll(5)


def lives(group: int) -> bool:
    """Return whether a process group has a member that is more than an entry in the process table.

    On some hosts the first process, which inherits orphans, reaps them late.
    """
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    for number in filter(str.isdigit, os.listdir("/proc")):  # pathlib is slow to import
        try:
            if os.getpgid(int(number)) != group:  # asked first: files in /proc are slow to read
                continue
            with open(f"/proc/{number}/stat", "rb") as file:
                state, _, member = file.read().rpartition(b") ")[2].split()[:3]
        except OSError:
            continue
        if int(member) == group and state not in b"ZX":
            return True
    return False


if __name__ == "__main__":
    bound(int(sys.argv[4]), sys.argv[5])
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[6:]))
