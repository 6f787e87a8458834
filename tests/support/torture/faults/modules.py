"""Kernel modules that mean harm, on `uml`: native code that makes the host's system calls itself,
past the kernel that loads it.

A canary lies outside of the run, a port listens on the loopback, a process of the same user waits.
"""

from __future__ import annotations

import os
import resource
import shutil
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

from torture import inspection
from torture.fault import Problem, Try, fault, require
from torture.sandbox import Sandbox

from .kills import lacks

EXAMPLE = Path(__file__).parents[4] / "examples" / "module" / "tcp_aimd.c"
SPEC = """fexp 1
experiment tiny {
  topology = bottleneck(rate: 1Mbit/s, rtt: 20ms, queue: fifo(20pkt))
  flow f { cca = module("tcp_aimd.c")  workload = file(20kB) }
  duration = 5s
  measure = [goodput]
}
"""
LIMIT_S = 1800.0
ENTRY = "static int __init aimd_register(void)\n{\n"
# A system call of x86-64 of the host, which is what this code runs on.
CALL = """
static long host_quietly(long number, long a, long b, long c)
{
	register long mode asm("r10") = 0600;
	long result;

	asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(mode)
		     : "rcx", "r11", "memory");
	return result;
}

static long __maybe_unused host(long number, long a, long b, long c)
{
	long result = host_quietly(number, a, b, c);

	pr_err("host: %ld %ld\\n", number, result);
	return result;
}

"""
OPENAT, HERE, CREATE = 257, -100, 0o101
PAYLOADS = {
    "files": f"""
	host({OPENAT}, {HERE}, (long)"{{canary}}", {CREATE});
	host({OPENAT}, {HERE}, (long)"{{victim}}", 1);
	host({OPENAT}, {HERE}, (long)"/etc/passwd", 0);
	host({OPENAT}, {HERE}, (long)"/proc/1/environ", 0);
	host({OPENAT}, {HERE}, (long)"/kernel", 1);
	host(87, (long)"{{victim}}", 0, 0); /* unlink */
""",
    "network": """
	static struct { unsigned short family, port; unsigned int address; char rest[8]; } to = {
		2, __constant_htons({port}), __constant_htonl(0x7f000001)
	};
	long made = host(41, 2, 1, 0); /* socket */

	host(42, made < 0 ? 3 : made, (long)&to, 16); /* connect */
	host(53, 2, 1, 0); /* socketpair */
""",
    "programs": """
	static char *words[] = { "/bin/sh", "-c", "echo > {canary}", 0 };

	host(59, (long)words[0], (long)words, 0); /* execve */
	host(322, -100, (long)words[0], (long)words); /* execveat */
""",
    "signals": """
	host(62, {pid}, 9, 0); /* kill */
	host(101, 16, {pid}, 0); /* ptrace, attach */
	host(310, {pid}, 0, 0); /* process_vm_readv */
	host(62, 1, 9, 0);
""",
    "namespaces": """
	host(272, 0x10000000, 0, 0); /* unshare */
	host(165, (long)"/", (long)"/cell", 0); /* mount */
	host(161, (long)"/", 0, 0); /* chroot */
	host(105, 0, 0, 0); /* setuid */
	host(321, 0, 0, 0); /* bpf */
""",
}

# What a machine can write of the host's: its console, its exchange and its clock, by name or by any
# descriptor that it has. Empty, cut, longer, something else in its place, full of what fairc looks
# for; files that it may only read, names that it may not make; and what Linux counts for a user.
WRITE, CLOSE, LSEEK, PWRITE, DUP2, CLONE, TRUNCATE, FTRUNCATE = 1, 3, 8, 18, 33, 56, 76, 77
FCNTL, RENAME, MKDIR, LINK, UNLINK, SYMLINK, MKNOD = 72, 82, 83, 86, 87, 88, 133
TIMER_CREATE, EXIT, MEMFD_CREATE, POLL, SOCKETPAIR = 222, 231, 319, 7, 53
READ_WRITE, EMPTY, SET_FLAGS = 2, 0o1002, 4
SAID = (
    "clone failed, errno = 11",
    "No space left on device",
    "Cannot allocate memory",
    "can't start new thread",
    "fairc: ready",
    "fairc: booted",
    "\x1b[2J\x1b]0;owned\x07",
)


def _opened(name: str, then: str, flags: int = READ_WRITE) -> str:
    return f"""
	long fd = host({OPENAT}, {HERE}, (long)"/cell/{name}", {flags});
{then}
"""


def _escaped(content: bytes) -> str:
    """Return bytes as they stand in a string of C."""
    return "".join(f"\\{byte:03o}" for byte in content)


def _replaced(name: str) -> str:
    return f"""
	host({UNLINK}, (long)"/cell/{name}", 0, 0);
	host({MKDIR}, (long)"/cell/{name}", 0700, 0);
	host({MKDIR}, (long)"/cell/other", 0700, 0);
"""


def _longer(fd: str) -> str:
    return f"""
	host({LSEEK}, {fd}, 0x3ffffff0, 0);
	host({WRITE}, {fd}, (long)"x", 1);
"""


def _each_descriptor(then: str, first: int = 0) -> str:
    """Return what is done to each descriptor that the machine may have; `fd` in it. Then it ends."""
    return f"""
	long fd;

	for (fd = {first}; fd < 256; fd++) {{
{then}
	}}
	host({EXIT}, 0, 0, 0);
"""


_SPINS = """
	unsigned long i;

	for (i = 0; i < 6000000000ul; i++)
		barrier();
"""
_TEXT = _escaped("\n".join((*SAID, "")).encode())
_TEXT_BYTES = len("\n".join((*SAID, "")).encode())
# Over the first MiB: the header, and what comes behind it.
_FILLED = f"""
	static const char text[] = "{_TEXT}";
	long at;

	for (at = 0; at < 1 << 20; at += {_TEXT_BYTES})
		host_quietly({WRITE}, fd, (long)text, {_TEXT_BYTES});
"""
_FORGED = b'{"kind": "result", "error": "No space left on device", "clock_s": 601, "files": []}'
_HEADER = b"fairc-exchange\n\0" + len(_FORGED).to_bytes(8, "little") + _FORGED
# A header that is longer than the whole exchange, and what it does not have.
_BOASTS = b"fairc-exchange\n\0" + (1 << 62).to_bytes(8, "little") + _FORGED
LEFT: Mapping[str, str] = MappingProxyType(
    {
        # And goes on for some seconds: fairc looks at the clock once a second.
        "clock empty": _opened("clock", _SPINS, EMPTY),
        "clock cut": _opened(
            "clock", f'	host({WRITE}, fd, (long)"\\1\\2\\3", 3);{_SPINS}', EMPTY
        ),
        "clock says": _opened("clock", f'	host({WRITE}, fd, (long)"fairc: r", 8);{_SPINS}'),
        "clock longer": _opened("clock", _longer("fd")),
        "clock far ahead": _opened(
            "clock", f'	host({WRITE}, fd, (long)"\\377\\377\\377\\377\\377\\377\\377", 8);'
        ),
        "clock replaced": _replaced("clock"),
        "exchange empty": _opened("exchange", f"	host({EXIT}, 0, 0, 0);", EMPTY),
        "exchange cut": _opened(
            "exchange", f'	host({WRITE}, fd, (long)"{_escaped(_HEADER[:24])}", 24);', EMPTY
        ),
        "exchange says": _opened("exchange", f"{_FILLED}	host({EXIT}, 0, 0, 0);"),
        "exchange boasts": _opened(
            "exchange",
            f"""
	host({WRITE}, fd, (long)"{_escaped(_BOASTS)}", {len(_BOASTS)});
	host({EXIT}, 0, 0, 0);
""",
        ),
        "exchange longer": _opened("exchange", _longer("fd")),
        "exchange forged": _opened(
            "exchange",
            f"""
	host({WRITE}, fd, (long)"{_escaped(_HEADER)}", {len(_HEADER)});
	host({EXIT}, 0, 0, 0);
""",
        ),
        "exchange replaced": _replaced("exchange"),
        # Another file in its place, and nothing at all.
        "console elsewhere": _opened(
            "exchange", f"	host({DUP2}, fd, 1, 0);\n	host({DUP2}, fd, 2, 0);"
        ),
        "console closed": f"""
	host({CLOSE}, 1, 0, 0);
	host({CLOSE}, 2, 0, 0);
""",
        "console empty": _opened("console", "", EMPTY),
        "console longer": f"	host({FCNTL}, 1, {SET_FLAGS}, 0);{_longer('1')}",
        "console full": f"""
	static char block[1 << 16];
	int i;

	for (i = 0; i < 320; i++) /* 20 MiB, where 16 are allowed */
		host_quietly({WRITE}, 1, (long)block, sizeof(block));
	host({EXIT}, 0, 0, 0);
""",
        "console says": "\n".join(f'	pr_err("{_escaped(each.encode())}\\n");' for each in SAID),
        "descriptors empty": _each_descriptor(f"		host_quietly({FTRUNCATE}, fd, 0, 0);"),
        "descriptors longer": _each_descriptor(
            f"""
		host_quietly({FCNTL}, fd, {SET_FLAGS}, 0);
		host_quietly({FTRUNCATE}, fd, 0x40000000, 0);
		host_quietly({LSEEK}, fd, 0x3ffffff0, 0);
		host_quietly({WRITE}, fd, (long)"x", 1);
"""
        ),
        "descriptors say": _each_descriptor(
            f"""
		static const char text[] = "{_TEXT}";

		host_quietly({WRITE}, fd, (long)text, {_TEXT_BYTES});
		host_quietly({PWRITE}, fd, (long)text, {_TEXT_BYTES});
"""
        ),
        "descriptors closed": _each_descriptor(f"		host_quietly({CLOSE}, fd, 0, 0);", 3),
        "files to read": "\n".join(
            f"""
	host({OPENAT}, {HERE}, (long)"{name}", {EMPTY});
	host({OPENAT}, {HERE}, (long)"{name}", {READ_WRITE});
	host({TRUNCATE}, (long)"{name}", 0, 0);
	host({UNLINK}, (long)"{name}", 0, 0);
"""
            for name in ("/cell/initrd", "/cell/image", "/kernel", "/limits")
        ),
        "names": "\n".join(
            f"""
	host({SYMLINK}, (long)"/dev/zero", (long)"{folder}link", 0);
	host({LINK}, (long)"/cell/exchange", (long)"{folder}hard", 0);
	host({RENAME}, (long)"/cell/exchange", (long)"{folder}clock", 0);
	host({MKNOD}, (long)"{folder}pipe", 010600, 0);
"""
            for folder in ("/cell/", "/", "/dev/", "/proc/self/fd/")
        ),
        # As many as there is room for: no folder of the host may run out of names.
        "files": f"""
	static char name[] = "/cell/00000";
	int i, digit, rest;

	for (i = 0; i < 100000; i++) {{
		for (digit = 10, rest = i; digit > 5; digit--, rest /= 10)
			name[digit] = '0' + rest % 10;
		host_quietly({CLOSE}, host_quietly({OPENAT}, {HERE}, (long)name, {CREATE}), 0, 0);
		host_quietly({MKDIR}, (long)name, 0700, 0);
	}}
""",
        "descriptors": f"""
	static int pair[2];
	int i;

	for (i = 0; i < 100000; i++)
		if (host_quietly({SOCKETPAIR}, 1, 1, 0) < 0 &&
		    host_quietly({MEMFD_CREATE}, (long)"x", 0, (long)pair) < 0)
			break;
""",
        "processes": f"""
	int i;
	long made;

	for (i = 0; i < 2000; i++) {{ /* what others of this host can spare */
		made = host_quietly({CLONE}, 17, 0, 0); /* SIGCHLD: a copy of the whole machine */
		if (made < 0)
			break;
		while (made == 0)
			host_quietly({POLL}, 0, 0, -1);
	}}
""",
        "timers": f"""
	static struct {{ long value; int number, notify; char rest[48]; }} event;
	int i, id;

	event.number = 10; /* SIGUSR1, by a signal */
	for (i = 0; i < 96000; i++)
		if (host_quietly({TIMER_CREATE}, 1, (long)&event, (long)&id) < 0)
			break;
""",
    }
)


def lacking() -> str:
    """Return what this machine lacks."""
    from fairc.runtime.uml import confinement

    return lacks("uml") or confinement.missing()


def source_of(body: str, **values: object) -> str:
    """Return a module that does something as it is loaded; values: for its placeholders."""
    for key, value in values.items():
        body = body.replace(f"{{{key}}}", str(value))
    return EXAMPLE.read_text().replace(ENTRY, CALL + ENTRY + body)


@fault("modules.harm", lacking=lacking, weight=0.3, wanted=100)
def harm(one: Try) -> str:
    """Run a cell with a kernel module that makes the host's own system calls (open, write, unlink,
    connect, execute, kill, trace, change namespaces): it ends, with a result or a failed cell; no
    canary, no connection, no file or process of the user is touched, nothing left.
    """
    one.what = name = sorted(PAYLOADS)[one.number % len(PAYLOADS)]
    victim, canary = one.folder / "victim", one.folder / "canary"
    victim.write_text("whole")
    with ExitStack() as stack:
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port.setblocking(False)
        pid = os.fork()
        if not pid:
            os.execv(shutil.which("sleep") or "/bin/sleep", ["sleep", str(LIMIT_S)])
        stack.callback(_end, pid)
        sandbox = Sandbox(one.folder, "uml")  # that process is none of its own
        sandbox.spec(SPEC)
        source = source_of(
            PAYLOADS[name], canary=canary, victim=victim, port=port.getsockname()[1], pid=pid
        )
        (sandbox.work / EXAMPLE.name).write_text(source)
        with inspection.untouched(
            one.folder, sandbox.said, sandbox.state, sandbox.tmp, sandbox.work
        ):
            running = sandbox.start("run", "tiny.fexp", "-o", "out", "--allow-module", "--quiet")
            ended = running.wait(LIMIT_S).require(0, 1)
        require("error[" not in ended.err, f"the module was not run: {ended.err[:400]}")
        require(os.waitpid(pid, os.WNOHANG) == (0, 0), "a process of the user was ended")
        _require_no_connection(port)
        sandbox.require_nothing_left()
    require(not canary.exists(), "a file was written outside of the machine")
    require(victim.read_text() == "whole", "a file of the user was changed")
    return f"{name}: {ended.status}"


BESIDE = """fexp 1
experiment beside {
  topology = bottleneck(rate: 1Mbit/s, rtt: 20ms, queue: fifo(20pkt))
  sweep { c = [module("tcp_aimd.c"), cubic] }
  flow f { cca = c  workload = file(20kB) }
  duration = 5s
  measure = [goodput]
}
"""
MOST_CONSOLE_BYTES = 1 << 20


@fault("modules.left", lacking=lacking, weight=0.3, wanted=100)
def left(one: Try) -> str:
    """Run a cell with a kernel module that empties, cuts, extends, closes, replaces or fills what a
    machine can write of the host's (its console, its exchange, its clock, every descriptor that it
    has; with texts that fairc looks for), that writes what it may only read, makes files and links,
    or takes all timers, processes and descriptors of its user; and a cell without it: the first
    ends, the second is valid, within 2 GiB of memory; no file of the run is large, nothing left.
    """
    one.what = name = sorted(LEFT)[one.number % len(LEFT)]
    sandbox = Sandbox(one.folder, "uml")
    sandbox.spec(BESIDE, "beside.fexp")
    (sandbox.work / EXAMPLE.name).write_text(source_of(LEFT[name]))
    running = sandbox.start("run", "beside.fexp", "-o", "out", "--allow-module")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    ended = running.wait(LIMIT_S).require(0, 1)
    require("error[" not in ended.err, f"the module was not run: {ended.err[:400]}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    require(used <= max(before, 2 << 20), f"fairc took {used >> 10} MiB of memory")
    require(len(inspection.hashes(sandbox.work / "out")) >= 1, "no cell is valid")
    consoles = [*(sandbox.work / "out").glob("cells/*/console.txt")]
    large = [each for each in consoles if each.stat().st_size > MOST_CONSOLE_BYTES]
    require(not large, "a console was kept whole")
    sandbox.require_nothing_left()
    return f"{name}: {ended.status}"


def _end(pid: int) -> None:
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def _require_no_connection(port: socket.socket) -> None:
    try:
        port.accept()
    except BlockingIOError:
        return
    raise Problem("a module has reached this machine's network")
