"""The guest's side of the emulated machine: kernel modules, the moment of its snapshot, its end.

The moment of the snapshot is the guest's choice: a write to the pvpanic port pauses the machine,
and a restored one goes on from there. In a cell the same write ends it.
"""

import ctypes
import hashlib
import mmap
import os
import subprocess

HERE = "/run/fairc"
PVPANIC_PORT = 0x505

libc = ctypes.CDLL(None, use_errno=True)


def prepare() -> None:
    """Load what cells use, and every TCP congestion controller that the kernel has."""
    with open(f"{HERE}/modules") as file:
        modules = file.read().split()
    names = os.listdir(f"/lib/modules/{os.uname().release}/kernel/net/ipv4")
    ccas = sorted(name.partition(".")[0] for name in names if name.startswith("tcp_"))
    subprocess.run(["modprobe", "-a", *modules, *ccas], check=True)


class Pause:
    """A write to the pvpanic port: QEMU pauses (while the snapshot is made) or ends (in a cell).

    This kernel has no /dev/port, so the instructions are placed in executable memory. They note the
    clock right before: the host finds it in the memory by the marker (snapshot.py explains why).
    """

    CODE = bytes.fromhex(
        "0f31"  # rdtsc
        "48c1e220"  # shl rdx, 32
        "4809d0"  # or rax, rdx
        "488907"  # mov [rdi], rax
        "89f2"  # mov edx, esi
        "b801000000"  # mov eax, 1
        "ee"  # out dx, al
        "c3"  # ret
    )

    def __init__(self) -> None:
        if libc.ioperm(PVPANIC_PORT, 1, 1):
            raise OSError(ctypes.get_errno(), "ioperm")
        everything = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        self.page = mmap.mmap(-1, mmap.PAGESIZE, prot=everything)
        self.page[: len(self.CODE)] = self.CODE
        self.page[256:288] = hashlib.sha256(b"fairc pause").digest()
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)(start)
        self.clock = start + 288

    def __call__(self) -> None:
        self.function(self.clock, PVPANIC_PORT)


pause = Pause()


def ready() -> None:
    """Bring programs into the page cache, and let the snapshot be taken."""
    for command in (["ip", "-V"], ["tc", "-V"], [f"{HERE}/fairc-endpoints", "--version"]):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    if os.path.exists(f"{HERE}/warm_browser.py"):
        import warm_browser  # from HERE

        warm_browser.warm()
    print("fairc: ready", flush=True)
    pause()


def end() -> None:
    """End the machine."""
    pause()
