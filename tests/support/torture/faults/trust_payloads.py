"""What somebody's programs do inside of the emulated machine that `fairc verify --trust` gives
them.

Each payload is Python that is appended to `cell/netlink.py` of a pack. At a boot it is run as root
before the snapshot; in a cell, instead of or before the conductor's `main`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# What payloads share. CANARY and PORTS are put in.
COMMON = r"""
def _hostile():
    import ctypes, mmap, os, socket, struct, subprocess, sys, time
    canary, ports = {canary!r}, {ports!r}
    libc = ctypes.CDLL(None, use_errno=True)

    def tries(function, *arguments):
        try:
            return function(*arguments)
        except BaseException as error:
            print("hostile:", type(error).__name__, error, flush=True)

    def put(path, content=b"hostile\n", offset=0):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.pwrite(descriptor, content, offset)
        os.fsync(descriptor)
        os.close(descriptor)

    def raw(path, content, offset):
        descriptor = os.open(path, os.O_RDWR)
        with mmap.mmap(descriptor, 1 << 21) as memory:
            memory[offset : offset + len(content)] = content
            memory.flush()
        os.close(descriptor)

    def device():
        with open("/run/fairc/exchange") as file:
            return file.read().strip()

    def code(text):
        everything = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=everything)
        page[: len(text)] = text
        start = ctypes.addressof(ctypes.c_char.from_buffer(page))
        return page, ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int)(start)

    def end():
        sys.modules["machine"].end()
        time.sleep(60)

"""

WRITES = r"""
    for path in (canary, "/root/canary", "/etc/canary", "/tmp/canary", "/proc/self/cwd/canary"):
        tries(put, path)
    libc.mount(b"none", b"/", b"none", 32, b"")
    tries(put, "/usr/bin/canary")
    for name in sorted(os.listdir("/dev")):
        if name.startswith(("pmem", "mem", "port", "nvram", "sd", "vd", "fd", "ndctl", "dax")):
            tries(put, "/dev/" + name, b"hostile\n" * 1000, 1 << 20)
    root = "/dev/pmem1" if device() == "/dev/pmem0" else "/dev/pmem0"
    tries(raw, root, b"hostile\n" * 4096, 1024)
    tries(raw, device(), b"hostile\n" * 4096, 0)
    for name in ("sysrq-trigger",):
        tries(put, "/proc/" + name, b"s")
"""
NETWORK = r"""
    subprocess.run(["ip", "link", "add", "hostile", "type", "dummy"], check=False)
    subprocess.run(["ip", "address", "add", "10.0.2.15/24", "dev", "hostile"], check=False)
    subprocess.run(["ip", "link", "set", "hostile", "up"], check=False)
    subprocess.run(["ip", "route", "add", "default", "dev", "hostile"], check=False)
    for host in ("127.0.0.1", "10.0.2.2", "10.0.2.3", "192.168.122.1", "172.17.0.1", "255.255.255.255"):
        for port in ports:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                with socket.socket(socket.AF_INET, kind) as one:
                    one.settimeout(0.2)
                    tries(one.connect, (host, port))
                    tries(one.send, b"hostile")
    for kind in (40, 16):  # vsock, netlink
        tries(lambda: socket.socket(kind, socket.SOCK_STREAM).connect((2, ports[0])))
"""
FORKS = r"""
    while True:
        try:
            os.fork()
        except OSError:
            pass
"""
FILLS = r"""
    for place in ("/tmp/out/x", "/run/x", "/dev/shm/x", "/root/x", canary):
        def fill():
            with open(place, "wb", buffering=0) as file:
                while file.write(bytes(1 << 20)):
                    pass
        tries(fill)
    tries(lambda: os.unlink("/tmp/out/x"))
    with open(device(), "wb", buffering=0) as file:
        tries(lambda: [file.write(b"hostile\n" * (1 << 17)) for _ in range(1025)])
    end()
"""
PRINTS = r"""
    line = ("\x1b]0;owned\x07\x1b[2J\x9bfiles  holds  hostile" + "x" * 4000 + "\n").encode()
    with open("/dev/console", "wb", buffering=0) as console:
        while True:
            console.write(line)
"""
SLEEPS = r"""
    while True:
        time.sleep(1000)
"""
EXITS = r"""
    print("fairc: ready", flush=True)
    end()
"""
# Pages that claim to hold the clock of the pause, in front of the one that does.
CLOCKS = r"""
    import hashlib
    for clock in (2**64 - 1, 2**63, 2**62, 1):
        page = mmap.mmap(-1, 64 * mmap.PAGESIZE)
        for at in range(256, len(page), mmap.PAGESIZE):
            page[at : at + 40] = hashlib.sha256(b"fairc pause").digest() + clock.to_bytes(8, "little")
        sys.hostile = getattr(sys, "hostile", []) + [page]
"""
# The machine's real-time clock shows no date, while the host asks for the time.
DATES = r"""
    for port in (0x70, 0x71):
        libc.ioperm(port, 1, 1)
    page, out = code(bytes.fromhex("89f089faeec3"))  # mov eax, esi; mov edx, edi; out dx, al; ret
    def write(register, value):
        out(0x70, register)
        out(0x71, value)
    write(0x0B, 0x82)
    for register in (0, 2, 4, 6, 7, 8, 9, 0x32):
        write(register, 0xFF)
    for _ in range(40_000_000):
        pass
"""
HEADER = r"""
    head = b"fairc-exchange\n\0"
    text = {header!r}.encode()
    tries(raw, device(), head + len(text).to_bytes(8, "little") + text, 0)
    end()
"""


@dataclass(frozen=True, slots=True)
class Payload:
    """code: what is run.

    boot: before the snapshot, else in a cell. verdicts: what the row may say. said: part of it.
    """

    code: str
    boot: bool
    verdicts: tuple[str, ...]
    said: str = ""


FAILS = ("differs",)
RUNS = ("holds", "differs", "cannot tell")  # one repetition of other programs cannot decide it
ANY = (*RUNS, "not done")
PAYLOADS: MappingProxyType[str, Payload] = MappingProxyType(
    {
        "nothing": Payload("    pass\n", True, ("holds",), "equal to the byte"),
        "writes at boot": Payload(WRITES, True, ANY),
        "writes in a cell": Payload(WRITES, False, RUNS),
        "network at boot": Payload(NETWORK, True, ANY),
        "network in a cell": Payload(NETWORK, False, RUNS),
        "forks at boot": Payload(FORKS, True, ("not done",), "no machine comes up with them"),
        "forks in a cell": Payload(FORKS, False, FAILS, "crashed"),
        "fills in a cell": Payload(FILLS, False, FAILS),
        "prints at boot": Payload(PRINTS, True, ("not done",), "no machine comes up with them"),
        "prints in a cell": Payload(PRINTS, False, FAILS, "more than 16 MiB"),
        "ends at boot": Payload(EXITS, True, ("not done", "differs")),
        "clocks at boot": Payload(CLOCKS, True, ANY),
        "dates in a cell": Payload(DATES, False, RUNS),
        "a header": Payload(HEADER, False, FAILS),
        "sleeps at boot": Payload(SLEEPS, True, ("not done",), "no machine comes up with them"),
        "sleeps in a cell": Payload(SLEEPS, False, FAILS),
    }
)


def appended(
    payload: Payload, canary: str, ports: tuple[int, ...], values: Mapping[str, str]
) -> bytes:
    """Return what is appended to `cell/netlink.py`. values: what else the code names in braces."""
    text = COMMON.replace("{canary!r}", repr(canary)).replace("{ports!r}", repr(ports))
    code = payload.code
    for name, value in values.items():
        code = code.replace(f"{{{name}!r}}", repr(value))
    call = (
        "\n_hostile()\n"
        if payload.boot
        else "\n_main = main\n\n\ndef main():\n    _hostile()\n    _main()\n"
    )
    return (text + code + call).encode()
