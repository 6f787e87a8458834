"""Seccomp filters: from the system calls that a program may make to a program of the host's kernel
(classic BPF).

libseccomp's Python binding is not on PyPI and its library not on every host; what is needed of it
are these two pages. What a filter checks: seccomp(2); its instructions:
Documentation/networking/filter.rst of Linux.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

WORD = 0xFFFFFFFF
# Instructions: load the word at an offset, jump if equal, at least, or greater; and; return.
LOAD, EQUAL, AT_LEAST, GREATER, AND, RETURN = 0x20, 0x15, 0x35, 0x25, 0x54, 0x06
# Offsets in `struct seccomp_data`. Of a 64-bit argument the lower half is checked: every argument
# for which a condition makes sense is an int, or flags whose upper half the kernel ignores.
CALL, ARCHITECTURE, ARGUMENTS, ARGUMENT_BYTES = 0, 4, 16, 8
X86_64 = 0xC000003E
ALLOW, FAIL = 0x7FFF0000, 0x00050000
FARTHEST = 255  # what a conditional jump can skip

# The numbers of x86-64 (arch/x86/entry/syscalls/syscall_64.tbl), which never change.

NUMBERS = {
    "read": 0,
    "write": 1,
    "close": 3,
    "fstat": 5,
    "poll": 7,
    "lseek": 8,
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "rt_sigaction": 13,
    "rt_sigprocmask": 14,
    "rt_sigreturn": 15,
    "ioctl": 16,
    "pread64": 17,
    "pwrite64": 18,
    "writev": 20,
    "access": 21,
    "madvise": 28,
    "dup": 32,
    "dup2": 33,
    "getpid": 39,
    "sendmsg": 46,
    "recvmsg": 47,
    "socketpair": 53,
    "clone": 56,
    "execve": 59,
    "exit": 60,
    "wait4": 61,
    "kill": 62,
    "uname": 63,
    "fcntl": 72,
    "mkdir": 83,
    "rmdir": 84,
    "unlink": 87,
    "readlink": 89,
    "ptrace": 101,
    "getppid": 110,
    "setsid": 112,
    "rt_sigsuspend": 130,
    "sigaltstack": 131,
    "personality": 135,
    "arch_prctl": 158,
    "prctl": 157,
    "gettid": 186,
    "futex": 202,
    "epoll_create": 213,
    "getdents64": 217,
    "set_tid_address": 218,
    "restart_syscall": 219,
    "timer_create": 222,
    "timer_settime": 223,
    "clock_gettime": 228,
    "clock_nanosleep": 230,
    "exit_group": 231,
    "epoll_wait": 232,
    "epoll_ctl": 233,
    "tgkill": 234,
    "openat": 257,
    "newfstatat": 262,
    "readlinkat": 267,
    "set_robust_list": 273,
    "prlimit64": 302,
    "seccomp": 317,
    "getrandom": 318,
    "memfd_create": 319,
    "execveat": 322,
    "rseq": 334,
    "close_range": 436,
    "signalfd4": 289,
}


@dataclass(frozen=True, slots=True)
class Argument:
    """A condition on a system call: after `mask`, this argument is one of `values`.

    number: 0 to 5. values, mask: 32 bits.
    """

    number: int
    values: tuple[int, ...]
    mask: int = WORD


Calls = Mapping[str, tuple[Argument, ...]]
"""The system calls that a program may make; all conditions must hold."""


def program(calls: Calls) -> bytes:
    """Return the filter that allows some system calls; all others fail with ENOSYS, as on a kernel
    without them.

    It ends no process: of several filters the strictest answer counts, so it would also end the
    guest programs whose calls User-Mode Linux's own filter hands to the guest's kernel.
    """
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in _link(list(_code(calls))))


@dataclass(frozen=True, slots=True)
class _Instruction:
    """An instruction and where it goes on: the names of labels, or "" for the next instruction."""

    code: int
    operand: int
    then: str = ""
    otherwise: str = ""
    label: str = ""


def _code(calls: Calls) -> Iterator[_Instruction]:
    """Yield the instructions: a search tree over the numbers, then the conditions of each call that
    has some.
    """
    numbers = sorted((NUMBERS[name], name) for name in calls)
    spans: list[tuple[int, int, str]] = []  # first and last number, and where it goes on
    for number, name in numbers:
        goal = f"{name}.0" if calls[name] else "allow"
        if spans and spans[-1][1:] == (number - 1, "allow") and goal == "allow":
            spans[-1] = (spans[-1][0], number, goal)
        else:
            spans.append((number, number, goal))
    yield _Instruction(LOAD, ARCHITECTURE)
    yield _Instruction(EQUAL, X86_64, otherwise="fail")
    yield _Instruction(LOAD, CALL)
    yield from _search(spans, "root")
    for _, name in numbers:
        conditions = calls[name]
        for at, condition in enumerate(conditions):
            after = f"{name}.{at + 1}" if at + 1 < len(conditions) else "allow"
            offset = ARGUMENTS + ARGUMENT_BYTES * condition.number
            yield _Instruction(LOAD, offset, label=f"{name}.{at}")
            if condition.mask != WORD:
                yield _Instruction(AND, condition.mask)
            for value in condition.values[:-1]:
                yield _Instruction(EQUAL, value, then=after)
            yield _Instruction(EQUAL, condition.values[-1], then=after, otherwise="fail")
    yield _Instruction(RETURN, FAIL | errno.ENOSYS, label="fail")
    yield _Instruction(RETURN, ALLOW, label="allow")


def _search(spans: list[tuple[int, int, str]], label: str) -> Iterator[_Instruction]:
    """Yield the search of a number among ordered, disjoint spans."""
    if len(spans) > 1:
        upper = spans[len(spans) // 2 :]
        right = f"from {upper[0][0]}"
        yield _Instruction(AT_LEAST, upper[0][0], then=right, label=label)
        yield from _search(spans[: len(spans) // 2], "")
        yield from _search(upper, right)
        return
    ((first, last, goal),) = spans
    if first == last:
        yield _Instruction(EQUAL, first, then=goal, otherwise="fail", label=label)
    else:
        yield _Instruction(AT_LEAST, first, otherwise="fail", label=label)
        yield _Instruction(GREATER, last, then="fail", otherwise=goal)


def _link(code: list[_Instruction]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the instructions with distances in place of labels."""
    places = {each.label: place for place, each in enumerate(code) if each.label}
    for place, each in enumerate(code):
        jumps = [places[goal] - place - 1 if goal else 0 for goal in (each.then, each.otherwise)]
        if max(jumps) > FARTHEST:
            raise ValueError(f"a filter of {len(code)} instructions is too long for its jumps")
        yield each.code, jumps[0], jumps[1], each.operand
