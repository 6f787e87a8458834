"""Runs the machine's process within its policy, where this host allows that."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

from fairc.runtime.host import seccomp, supervisor
from fairc.runtime.host.faults import EngineUnavailable, to_install

from . import bubblewrap, namespaces, policy

# The first that works is taken; results are the same.
WAYS: tuple[ModuleType, ...] = (bubblewrap, namespaces)
# What Docker, Podman, systemd-nspawn and Kubernetes leave in their containers.
CONTAINER_FILES = (Path("/.dockerenv"), Path("/run/.containerenv"))
CONTAINER_VARIABLES = ("container", "KUBERNETES_SERVICE_HOST")
REMEDY = (
    f"{to_install('bubblewrap')} (0.8 or later), a host that allows user namespaces to users,"
    " or a container"
)
# Settings of the host that forbid user namespaces to users: where, the value, and the command that
# allows them.
SETTINGS = Path("/proc/sys")
FORBIDDING = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "=0"),  # Ubuntu from 24.04 on
    ("kernel/unprivileged_userns_clone", "0", "=1"),  # Debian before 11
    ("user/max_user_namespaces", "0", "=10000"),
)
# The host's own namespace of processes (PROC_PID_INIT_INO in Linux' include/linux/proc_ns.h).
FIRST_PIDS = 0xEFFFFFFC
PROBE_S = 10.0
# A program for x86-64 that ends at once: mov eax, 60; xor edi, edi; syscall.
ENDS = bytes.fromhex("b83c000000 31ff 0f05")
# Where the program is that sets limits, and its parts.
LIMITS = "/limits"
SET_LIMIT = (
    bytes.fromhex("b82e010000 31ff be")  # mov eax, 302 (prlimit64); xor edi, edi; mov esi, ...
    + b"NUMB"
    + bytes.fromhex("488d15")  # lea rdx, [rip + ...]
    + b"ADDR"
    + bytes.fromhex("4531d2 0f05")  # xor r10d, r10d; syscall
    + bytes.fromhex("85c0 7409 b83c000000 89c7 0f05")  # unless it returns 0: exit with 60
)
BECOME = bytes.fromhex(
    "488b7c2410"  # mov rdi, [rsp + 16]: the first argument
    "488d742410"  # lea rsi, [rsp + 16]: and all from there on
    "488b0c24"  # mov rcx, [rsp]: how many there are
    "488d54cc10"  # lea rdx, [rsp + rcx * 8 + 16]: the environment
    "b83b000000 0f05"  # mov eax, 59 (execve); syscall
    "b83c000000 89c7 0f05"  # it returned: exit with 60
)


def missing() -> str:
    """Return why programs cannot be confined on this host; empty when they can."""
    return "" if _way() is not None else "; ".join(map(_fault, WAYS))


def name() -> str:
    """Return what confines programs on this host: `bubblewrap`, `namespaces`, `container`, or
    nothing.
    """
    if not missing():
        way = _way()
        return way.__name__.rpartition(".")[2] if way is not None else ""
    return "container" if in_container() else ""


def remedy() -> str:
    """Return what would allow confinement on this host."""
    for place, forbids, allows in FORBIDDING:
        with suppress(OSError):
            if (SETTINGS / place).read_text().strip() == forbids:
                setting = place.replace("/", ".")
                return (
                    f"sudo sysctl {setting}{allows}, which allows user namespaces to users, or a"
                    f" container"
                )
    return REMEDY


def in_container() -> bool:
    """Return whether this process is in a container, which confines it as a whole.

    The marks alone do not tell: a virtual machine may have been made from a container's files.
    """
    if supervisor.namespace() == FIRST_PIDS:
        return False
    return any(mark.exists() for mark in CONTAINER_FILES) or any(
        os.environ.get(variable) for variable in CONTAINER_VARIABLES
    )


def require(of_whom: str) -> None:
    """Raise EngineUnavailable where what strangers made could reach this host.

    of_whom: what is to run, in words.
    """
    if not name():
        raise EngineUnavailable(
            (f"{of_whom} would not be confined on this machine: {missing()}",), remedy()
        )


def _way() -> ModuleType | None:
    """Return the first way that works on this host."""
    return next((way for way in WAYS if not _fault(way)), None)


@cache
def _fault(way: ModuleType) -> str:
    """Return why a way does not work on this host, or nothing."""
    if lacking := way.absent():
        return str(lacking)
    with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("probe")) as folder:
        program, written = Path(folder, "program"), Path(folder, "written")
        program.write_bytes(_executable(ENDS))
        program.chmod(0o755)
        written.touch()
        probed = policy.of_machine(program, {}, {"written": written}, 1)
        try:
            with _confined(way, probed, [], Path(folder)) as (words, files):
                done = subprocess.run(
                    words,
                    check=False,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=PROBE_S,
                    pass_fds=files,
                )
        except (OSError, EngineUnavailable, subprocess.TimeoutExpired) as error:
            return str(error)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it ends with an error"])[-1]
    return ""


@contextmanager
def command(
    within: policy.Policy, arguments: list[str], folder: Path
) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Yield the command that runs a policy's program, and the open files that it inherits.

    It must be started in `folder` before the block ends. folder: has the files that the program
    writes. Where the host allows no confinement, the program runs there, beside links to the files
    that it reads; limits still apply, and it ends with its watcher.
    """
    way = None if missing() else _way()
    if way is not None:
        with _confined(way, within, arguments, folder) as confined:
            yield confined
        return
    sources = {each.at: each.source for each in within.view if isinstance(each, policy.Bind)}
    for at, source in sources.items():
        own = folder / Path(at).name
        if Path(at).parent == Path(within.folder) and not own.exists():
            own.symlink_to(source)
    yield [str(sources[within.program]), *arguments], ()


@contextmanager
def _confined(
    way: ModuleType, within: policy.Policy, arguments: list[str], folder: Path
) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    if within.user is not None:
        for each in within.view:
            if isinstance(each, policy.Bind) and not each.device:
                _give(each, within.user)
    limits = folder / Path(LIMITS).name
    limits.write_bytes(_executable(_limiting(within.own_limits)))
    limits.chmod(0o755)
    with tempfile.TemporaryFile() as calls:
        calls.write(seccomp.program(within.calls))
        calls.seek(0)
        own = policy.Bind(LIMITS, limits)
        first = replace(within, program=LIMITS, view=(own, *within.view))
        yield way.command(first, [within.program, *arguments], calls.fileno()), (calls.fileno(),)


def _give(each: policy.Bind, user: int) -> None:
    """Let another user read a file, or write it. What is only read is nobody's secret: a kernel, an
    image, an initramfs; but root's umask may have kept it from others.
    """
    try:
        if each.writable:
            os.chown(each.source, user, user)
            return
        mode = each.source.stat().st_mode
        for_all = mode | 0o444 | (0o111 if mode & 0o100 else 0)
        if for_all != mode:
            each.source.chmod(stat.S_IMODE(for_all))
    except OSError as error:
        why = (
            f"{each.source} cannot be given to the user {user}, who root becomes in a machine:"
            f" {error.strerror}"
        )
        raise EngineUnavailable((why,), f"chmod a+rX {each.source}") from None


def _limiting(limits: Mapping[int, int]) -> bytes:
    """Return a program for x86-64 that sets limits of resources, and then becomes the program that
    its arguments name.

    It is what runs first in the namespaces: bubblewrap has no option for limits.
    """
    code = b""
    table = b"".join(struct.pack("<QQ", most, most) for most in limits.values())
    size = len(limits) * len(SET_LIMIT) + len(BECOME)
    for place, number in enumerate(limits):
        step = SET_LIMIT.replace(b"NUMB", struct.pack("<I", number))
        after = len(code) + step.index(b"ADDR") + 4
        code += step.replace(b"ADDR", struct.pack("<i", size + 16 * place - after))
    return code + BECOME + table


def _executable(code: bytes) -> bytes:
    """Return a static program (ELF) for x86-64."""
    base, header, segment = 0x400000, 64, 56
    size = header + segment + len(code)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    words = (2, 62, 1, base + header + segment, header, 0, 0, header, segment, 1, 0, 0, 0)
    loaded = (1, 5, 0, base, base, size, size, 4096)
    return ident + struct.pack("<HHIQQQIHHHHHH", *words) + struct.pack("<IIQQQQQQ", *loaded) + code
