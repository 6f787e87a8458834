"""A machine with another CPU: QEMU emulates it, and runs User-Mode Linux on what the engine `uml`
would give it.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from fairc.runtime.host import supervisor
from fairc.runtime.uml import kernel, machine
from fairc.runtime.vm import exchange, image, initramfs, qemu, recipe

# The guest's 1 GiB, the initramfs, and what the emulated kernel needs.
MEMORY_BYTES = 2 << 30
WALL_LIMIT_S = 900.0

# The first process of the emulated machine. The kernel of `uml` finds its files as it does in a
# cell: image and exchange are the machine's NVDIMMs themselves, so what it writes is at once the
# host's.
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /cell
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t devtmpfs none /dev
/bin/busybox mkdir -p /dev/shm
/bin/busybox mount -t tmpfs none /dev/shm
/bin/busybox mount -t tmpfs none /cell
for module in $(/bin/busybox cat /modules/order); do
    /bin/busybox insmod "/modules/$module.ko"
done
cd /cell
for device in /dev/pmem0 /dev/pmem1; do
    until /bin/busybox dd if=$device of=/name bs=14 count=1 2>/dev/null; do
        /bin/busybox usleep 10000
    done
    case "$(/bin/busybox cat /name)" in
        fairc-exchange) /bin/busybox ln -s $device {exchange} ;;
        *) /bin/busybox ln -s $device {image} ;;
    esac
done
/bin/busybox ln -s /fairc/initrd {initrd}
/bin/busybox dd if=/dev/zero of={clock} bs=4096 count=1 2>/dev/null
/bin/busybox grep -m 1 "model name" /proc/cpuinfo
/bin/busybox grep -m 1 "^flags" /proc/cpuinfo
/bin/busybox env -i PATH=/usr/bin:/bin /fairc/kernel {arguments} < /dev/null
echo "uml ended with status $?"
/bin/busybox sync
/bin/busybox poweroff -f
"""


def run(cpu: str, device: Path, initrd: bytes, folder: Path, cost_ns: int = 0) -> str:
    """Run the job of an exchange on another CPU; return what the machine's console says.

    cpu: as QEMU calls it. device: the exchange, which then has the results. initrd: of the engine.
    folder: empty, for what the machine needs. cost_ns: of a system call.
    """
    plain, console = image.require(recipe.PLAIN), folder / "console"
    root = image.require(recipe.UML).root
    (folder / "initrd").write_bytes(_boot_archive(plain, initrd, cost_ns))
    command = [
        *(qemu.PROGRAM, "-machine", "pc,nvdimm=on,hpet=off", "-accel", "tcg,tb-size=256"),
        # Without CMPXCHG16B: runtime/vm/qemu.py says what QEMU 7.2 does with it.
        *("-cpu", f"{cpu},-cx16"),
        *("-m", f"{MEMORY_BYTES >> 20}M,slots=4,maxmem=8G"),
        *("-object", _backend("root", root, root.stat().st_size, "on,readonly=on")),
        *("-device", "nvdimm,id=nvdimm1,memdev=root,unarmed=on"),
        *("-object", _backend("exchange", device, exchange.SIZE, "on")),
        *("-device", "nvdimm,id=nvdimm2,memdev=exchange"),
        *("-nodefaults", "-display", "none", "-no-reboot"),
        *("-chardev", f"file,id=console,path={console}", "-serial", "chardev:console"),
        *("-kernel", str(plain.vmlinuz), "-initrd", str(folder / "initrd")),
        *("-append", "console=ttyS0 quiet panic=-1 mitigations=off"),
    ]
    process = supervisor.start(command, cwd=folder, deadline_s=WALL_LIMIT_S)
    try:
        process.wait()
    finally:
        process.kill()
        process.wait()
    return console.read_text(errors="replace") if console.exists() else ""


def _backend(name: str, path: Path, size: int, share: str) -> str:
    return f"memory-backend-file,id={name},mem-path={path},size={size},share={share}"


def _boot_archive(plain: image.Image, initrd: bytes, cost_ns: int) -> bytes:
    """Return the initramfs of the emulated machine, with the kernel of `uml` and its own
    initramfs.
    """
    first = INIT.format(
        exchange=machine.EXCHANGE,
        image=machine.IMAGE,
        initrd=machine.INITRD,
        clock=machine.CLOCK,
        arguments=shlex.join(machine.kernel_arguments(recipe.UML, cost_ns)),
    )
    files = {"kernel": kernel.require().program.read_bytes(), "initrd": initrd}
    entries = initramfs.guest_entries(
        "init-uml", plain.busybox.read_bytes(), plain.root_modules(), files
    )
    return initramfs.pack(
        [
            initramfs.Entry(entry.path, entry.mode, first.encode())
            if entry.path == "init"
            else entry
            for entry in entries
        ]
    )
