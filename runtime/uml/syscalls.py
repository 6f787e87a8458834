"""The system calls of the host that User-Mode Linux makes, by purpose: all that a broken-out guest
could make.

The kernel runs its guest's programs in stubs, processes of the host that inherit this list and add
a filter of their own, by which every call of a guest program becomes a signal for the kernel
(arch/um/kernel/skas/stub_exe.c). Without seccomp filters it follows the stubs by ptrace.
"""

from __future__ import annotations

from fairc.runtime.host.seccomp import WORD, Argument, Calls

# clone(2): everything but new namespaces (CLONE_NEW*). clone3 is not here, because a filter cannot
# read its flags; the C library then takes clone.
NEW_NAMESPACES = 0x7E020000
# prctl(2): PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_TSC, PR_SET_NO_NEW_PRIVS.
PROCESS_OPTIONS = (1, 15, 26, 38)
# arch_prctl(2): ARCH_SET_GS to ARCH_GET_GS.
SEGMENTS = (0x1001, 0x1002, 0x1003, 0x1004)
# personality(2): addresses without randomness, and the question what it is.
FIXED_ADDRESSES, WHICH = 0x40000, WORD
# seccomp(2): SECCOMP_SET_MODE_FILTER with SECCOMP_FILTER_FLAG_TSYNC and SPEC_ALLOW at most: no
# listener.
SET_FILTER, FILTER_FLAGS = 1, 0b101
# ptrace(2), of its own children: TRACEME, PEEKUSER, POKEUSER, CONT, KILL, GETREGS, SETREGS,
# SYSCALL, GET_THREAD_AREA, SET_THREAD_AREA, SYSEMU, SYSEMU_SINGLESTEP, SETOPTIONS, GETSIGINFO,
# GETREGSET, SETREGSET. No ATTACH, no SEIZE.
TRACING = (0, 3, 6, 7, 8, 12, 13, 24, 25, 26, 31, 32, 0x4200, 0x4202, 0x4204, 0x4205)
# fcntl(2): F_GETFD to F_SETFL, F_SETOWN, F_SETSIG, F_ADD_SEALS.
DESCRIPTORS = (1, 2, 3, 4, 8, 10, 1033)
# ioctl(2): TCGETS, TIOCGWINSZ: whether its output is a terminal.
TERMINAL = (0x5401, 0x5413)
# prlimit(2): RLIMIT_STACK, RLIMIT_CORE; and those that are lowered first of all and can then not be
# raised: RLIMIT_NPROC, RLIMIT_MEMLOCK, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE.
LIMITS = (3, 4, 6, 8, 11, 12)
AF_UNIX = 1


def _plain(*names: str) -> dict[str, tuple[Argument, ...]]:
    return dict.fromkeys(names, ())


STARTING = _plain(
    *("execve", "execveat", "set_tid_address", "set_robust_list", "rseq", "readlink", "readlinkat"),
    *("uname", "getrandom", "setsid", "getpid", "getppid", "gettid"),
) | {
    "arch_prctl": (Argument(0, SEGMENTS),),
    "personality": (Argument(0, (FIXED_ADDRESSES, WHICH)),),
    "prlimit64": (Argument(1, LIMITS),),
}
MEMORY = _plain("brk", "mmap", "munmap", "mprotect", "madvise", "memfd_create")
FILES = _plain(
    *("openat", "close", "close_range", "read", "write", "writev", "pread64", "pwrite64", "lseek"),
    *("fstat", "newfstatat", "access", "dup", "dup2", "getdents64", "mkdir", "rmdir", "unlink"),
) | {"fcntl": (Argument(1, DESCRIPTORS),), "ioctl": (Argument(1, TERMINAL),)}
WAITING = _plain(
    *("epoll_create", "epoll_ctl", "epoll_wait", "signalfd4", "poll", "futex", "restart_syscall"),
    *("timer_create", "timer_settime", "clock_gettime", "clock_nanosleep"),
)
SIGNALS = _plain(
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "sigaltstack", "kill"),
    "tgkill",
)
PROCESSES = _plain("wait4", "exit", "exit_group", "sendmsg", "recvmsg") | {
    "clone": (Argument(0, (0,), NEW_NAMESPACES),),
    "prctl": (Argument(0, PROCESS_OPTIONS),),
    "ptrace": (Argument(0, TRACING),),
    "seccomp": (Argument(0, (SET_FILTER,)), Argument(1, (0,), WORD ^ FILTER_FLAGS)),
    "socketpair": (Argument(0, (AF_UNIX,)),),
}
CALLS: Calls = {**STARTING, **MEMORY, **FILES, **WAITING, **SIGNALS, **PROCESSES}
