"""Kernel modules that mean harm, on `uml`: native code that makes the host's system calls itself,
past the kernel that loads it.

A canary lies outside of the run, a port listens on the loopback, a process of the same user waits.
"""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import ExitStack
from pathlib import Path

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
static long host(long number, long a, long b, long c)
{
	register long mode asm("r10") = 0600;
	long result;

	asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(mode)
		     : "rcx", "r11", "memory");
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


def lacking() -> str:
    """Return what this machine lacks."""
    from fairc.runtime.uml import confinement

    return lacks("uml") or confinement.missing()


def _source(name: str, **values: object) -> str:
    """Return a module that does harm as it is loaded."""
    text, body = EXAMPLE.read_text(), PAYLOADS[name]
    for key, value in values.items():
        body = body.replace(f"{{{key}}}", str(value))
    declarations = CALL + ENTRY + body
    return text.replace(ENTRY, declarations)


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
        source = _source(name, canary=canary, victim=victim, port=port.getsockname()[1], pid=pid)
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


def _end(pid: int) -> None:
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def _require_no_connection(port: socket.socket) -> None:
    try:
        port.accept()
    except BlockingIOError:
        return
    raise Problem("a module has reached this machine's network")
