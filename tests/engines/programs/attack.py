#!/usr/bin/env python3
"""Tries what a program must not do, and says what it got; then it takes what its server sends."""

import ctypes
import os
import resource
import signal
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER, MS_BIND, PTRACE_ATTACH, PTRACE_SEIZE = 0x10000000, 4096, 16, 0x4206
KEXEC_LOAD, INIT_MODULE, BPF = 246, 175, 321


def call(function: str, *arguments: object) -> None:
    """Call into the C library. Raises OSError."""
    if getattr(libc, function)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), function)


def write(path: str) -> None:
    """Write to a file that exists."""
    with Path(path).open("r+") as file:
        file.write("1")


def entries(folder: str) -> list[str]:
    """Return what is in a folder."""
    return [path.name for path in Path(folder).iterdir()]


def connect(address: str) -> None:
    """Reach somebody outside."""
    with socket.socket() as peer:
        peer.settimeout(3)
        peer.connect((address, 443))


def listen(port: int) -> None:
    """Take a port."""
    socket.create_server(("", port)).close()


RAW = (socket.SOCK_RAW, socket.IPPROTO_ICMP)
ATTEMPTS: dict[str, Callable[[], object]] = {
    "trace the first process": lambda: call("ptrace", PTRACE_ATTACH, 1, 0, 0),
    "seize the first process": lambda: call("ptrace", PTRACE_SEIZE, 1, 0, 0),
    "read the memory of the first process": lambda: Path("/proc/1/mem").read_bytes(),
    "its environment": lambda: Path("/proc/1/environ").read_bytes(),
    "its files": lambda: entries("/proc/1/fd"),
    "its root": lambda: entries("/proc/1/root/run/fairc"),
    "the agent's files": lambda: entries("/run/fairc"),
    "the memory of the kernel": lambda: Path("/proc/kcore").read_bytes(),
    "a raw socket": lambda: socket.socket(socket.AF_INET, *RAW),
    "packets of all": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3),
    "a namespace of users": lambda: call("unshare", CLONE_NEWUSER),
    "a mount": lambda: call("mount", b"/tmp", b"/work", b"", MS_BIND, None),
    "another root": lambda: os.chroot("/tmp"),
    "a device": lambda: os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, os.makedev(98, 0)),
    "to be root": lambda: os.setuid(0),
    "to be root by a program": lambda: os.chown("/work", 0, 0),
    "a module": lambda: call("syscall", INIT_MODULE, b"", 0, b""),
    "another kernel": lambda: call("syscall", KEXEC_LOAD, 0, 0, None, 0),
    "a BPF program": lambda: call("syscall", BPF, 5, b"", 0),
    "the clock": lambda: os.utime("/proc/uptime"),
    "to set the clock": lambda: call("settimeofday", bytes(16), None),
    "the name of the host": lambda: socket.sethostname("mine"),
    "a kernel's setting": lambda: write("/proc/sys/net/ipv4/tcp_congestion_control"),
    "core files": lambda: write("/proc/sys/kernel/core_pattern"),
    "the host's reset": lambda: write("/proc/sysrq-trigger"),
    "port 80": lambda: listen(80),
    "the Internet": lambda: connect("192.0.2.1"),
    "a name": lambda: socket.gethostbyname("debian.org"),
    "a GPU": lambda: entries("/dev/dri"),
    "more memory": lambda: resource.setrlimit(resource.RLIMIT_DATA, (1 << 40, 1 << 40)),
    "a gigabyte": lambda: bytearray(1 << 30),
    "its own program": lambda: write("/program/attack.py"),
    "a system program": lambda: write("/usr/bin/python3"),
}


def forks() -> int:
    """Return how many processes there can be."""
    children = []
    try:
        while True:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    except OSError:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        return len(children)


def fills(folder: str) -> int:
    """Return how many MiB can be written to a folder."""
    written, block = 0, bytes(1 << 20)
    try:
        for number in range(4000):
            Path(folder, f"x{number}").write_bytes(block)
            written += 1
    except OSError:
        pass
    for path in Path(folder).glob("x*"):
        path.unlink()
    return written


def opened() -> list[str]:
    """Return which devices can be opened."""
    found = []
    for path in sorted(Path("/dev").rglob("*")):
        if not path.is_symlink() and not path.is_dir():
            try:
                os.close(os.open(path, os.O_RDWR))
                found.append(path.name)
            except OSError:
                pass
    return found


for name, attempt in ATTEMPTS.items():
    try:
        attempt()
        print("WORKS:", name)
    except (OSError, MemoryError, ValueError):
        pass
print("forks", forks())
print("fills", *(fills(folder) for folder in ("/work", "/tmp", "/dev/shm")))
print("devices", *opened())
print("processes", *sorted(int(name) for name in entries("/proc") if name.isdecimal()))
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as peer:
    received = 0
    while block := peer.recv(65536):
        received += len(block)
print("received", received)
