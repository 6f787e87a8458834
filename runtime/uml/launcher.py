"""The program that makes a policy's namespaces and then runs its program in them, where no
bubblewrap is.

Run by `namespaces.py` as `python -I -S launcher.py DOCUMENT`. The standard library has no mounts
before Python 3.14, so they are system calls by ctypes. An ordinary user makes a user namespace
first, with which the others come. Root makes it last and gives up everything in it: limits that
Linux counts for a user are those of one namespace then.
"""

import ctypes
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

NEW_USER, NEW_MOUNTS, NEW_PIDS = 0x10000000, 0x00020000, 0x20000000
NEW_OTHERS = 0x40000000 | 0x08000000 | 0x04000000  # network, IPC, the host's name
READ_ONLY, NO_SUID, NO_DEVICES = 1, 2, 4
# Of the flags of a mount these are the same bits in statvfs(3); the others a user namespace does
# not lock.
SAME_BITS, BY_ACCESS_ST, BY_ACCESS = 1 | 2 | 4 | 8 | 1024 | 2048, 4096, 1 << 21
REMOUNT, BIND, RECURSIVE, PRIVATE = 32, 4096, 16384, 1 << 18
DETACH = 2
PIVOT_ROOT, CAPSET = 155, 126  # x86-64
DEATH_SIGNAL, DROP_BOUND, NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 1, 24, 38, 22, 2
CAPABILITIES_3 = 0x20080522
SIGKILL, EINVAL = 9, 22
STAGES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/mnt")
ROOT_BYTES = 1 << 20

libc = ctypes.CDLL(None, use_errno=True)


def must(what: str, result: int) -> None:
    """Raise OSError with what was tried, unless a call of the C library succeeded."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Do mount(2)."""
    words = (os.fsencode(word) if word else None for word in (source, target, kind))
    must(f"mount {target}", libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None))


def prctl(what: int, *numbers: int) -> int:
    """Do prctl(2); return its result."""
    words = (ctypes.c_ulong(number) for number in (*numbers, 0, 0, 0, 0)[:4])
    return int(libc.prctl(what, *words))


def begin(user: "int | None") -> None:
    """Make the namespaces. user: who root becomes, or None for an ordinary user."""
    if user is not None:
        must("unshare", libc.unshare(NEW_MOUNTS | NEW_PIDS | NEW_OTHERS))
        return
    here = os.geteuid(), os.getegid()
    must("user namespaces", libc.unshare(NEW_USER | NEW_MOUNTS | NEW_PIDS | NEW_OTHERS))
    write_maps("/proc/self", *here)


def write_maps(process: str, user: int, group: int) -> None:
    """Let a process be the same user and group in its user namespace as outside of it.

    process: its folder in /proc.
    """
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"{process}/{name}", "w") as file:
            file.write(text)


class Mapper:
    """A child of root that stays outside of the namespaces that this process is about to make, and
    says who is in its user namespace: only from outside may root name somebody else.
    """

    def __init__(self, user: int) -> None:
        here = os.getpid()
        waits, self._go = os.pipe()
        self._child = os.fork()
        if self._child:
            os.close(waits)
            return
        status = 1
        try:
            os.close(self._go)
            if os.read(waits, 1):
                write_maps(f"/proc/{here}", user, user)
            status = 0
        finally:
            os._exit(status)

    def end(self, writes: bool) -> None:
        """Let it write the maps, or not; it is gone afterwards."""
        if writes:
            os.write(self._go, b"!")
        os.close(self._go)
        if os.waitpid(self._child, 0)[1]:
            raise OSError(EINVAL, "user namespaces: the map of users cannot be written")


def look(view: "list[dict[str, Any]]") -> None:
    """Make the policy's view the only one."""
    # Before anything is mounted over them.
    sources = {
        each["at"]: os.open(each["source"], os.O_PATH) for each in view if each["kind"] == "bind"
    }
    stage = next(folder for folder in STAGES if os.path.isdir(folder))
    mount("", "/", "", RECURSIVE | PRIVATE)
    mount("tmpfs", stage, "tmpfs", NO_SUID | NO_DEVICES, f"mode=0755,size={ROOT_BYTES}")
    for each in view:
        at = stage + each["at"]
        os.makedirs(os.path.dirname(at), exist_ok=True)
        if each["kind"] == "link":
            os.symlink(each["target"], at)
        else:
            os.close(os.open(at, os.O_CREAT | os.O_WRONLY))
            mount(f"/proc/self/fd/{sources[each['at']]}", at, "", BIND)
            has = os.statvfs(at).f_flag
            flags = has & SAME_BITS | NO_SUID | (BY_ACCESS if has & BY_ACCESS_ST else 0)
            flags |= 0 if each["writable"] else READ_ONLY
            flags |= 0 if each["device"] else NO_DEVICES
            mount("", at, "", REMOUNT | BIND | flags)
    os.chdir(stage)
    must("pivot_root", libc.syscall(PIVOT_ROOT, b".", b"."))
    must("umount", libc.umount2(b".", DETACH))
    os.chdir("/")
    mount("", "/", "", REMOUNT | BIND | READ_ONLY | NO_SUID | NO_DEVICES)


def give_up(user: "int | None") -> None:
    """Become the policy's user, without any capability or way to one."""
    number = 0
    while not prctl(DROP_BOUND, number):
        number += 1
    if ctypes.get_errno() != EINVAL:
        must("capabilities", -1)
    if user is not None:
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0)
    must("capset", libc.syscall(CAPSET, header, (ctypes.c_uint32 * 6)()))
    must("no new privileges", prctl(NO_NEW_PRIVILEGES, 1))


class Filter(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def dies_with_parent() -> None:
    """Let this process be killed when its parent ends."""
    must("pdeathsig", prctl(DEATH_SIGNAL, SIGKILL))


def run(document: "dict[str, Any]", code: bytes) -> "NoReturn":
    """Replace this process by the program."""
    dies_with_parent()
    os.chdir(document["folder"])
    words = [document["program"], *document["arguments"]]
    program = Filter(len(code) // 8, code)
    must("seccomp", libc.prctl(SET_SECCOMP, FILTER, ctypes.byref(program)))
    os.execve(words[0], words, {})


def status_of(child: int) -> int:
    """Wait for a process; return its exit status, 128 + n for signal n. Reaps all others."""
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def main(document: "dict[str, Any]") -> int:
    """Run the program; return its exit status."""
    user = document["user"]
    with open(document["filter"], "rb") as file:
        code = file.read()
    os.umask(0o022)  # of the folders in the view
    mapper = None if user is None else Mapper(user)
    begin(user)
    look(document["view"])
    if mapper is not None:
        os.setgroups([])
        # A host may allow none. Then root gives up as much, and limits are those of all machines.
        mapper.end(writes=libc.unshare(NEW_USER) == 0)
    give_up(user)
    first = os.fork()  # process 1 of the namespace: when it ends, all of them end
    if first:
        return status_of(first)
    try:
        dies_with_parent()
        os.closerange(3, 1 << 16)
        child = os.fork()
        if not child:
            run(document, code)
        os._exit(status_of(child))
    except OSError as error:
        print(error.strerror, file=sys.stderr, flush=True)
        os._exit(1)


if __name__ == "__main__":
    try:
        sys.exit(main(json.loads(sys.argv[1])))
    except OSError as error:
        print(f"launcher: {error.strerror}", file=sys.stderr)
        sys.exit(1)
