"""The recipe of the virtual-time engines' image. Its hash names the image in the cache."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from fairc.mechanisms.queues.registry import QUEUES

SUITE = "trixie"
MIRROR = "http://deb.debian.org/debian"
BACKPORTS = f"{SUITE}-backports"
SECURITY_MIRROR = "http://deb.debian.org/debian-security"
SECURITY = f"{SUITE}-security"
# Both virtual-time engines run a kernel of this series: netem has seeds since 6.6, User-Mode Linux
# its fast way to run programs since 6.16, DualPI2 exists since 6.17.
KERNEL_SERIES = "7.3"

PACKAGES = (
    "bpftool",
    "busybox-static",
    "ethtool",
    "iproute2",
    "iperf3",
    "iputils-ping",
    "kmod",
    "mininet",
    "python3",
    "tcpdump",
)

# What the conductor of a cell and a user's programs run in User-Mode Linux;
# guest/customize-uml.sh leaves of them what these need.
UML_PACKAGES = ("busybox-static", "iperf3", "iproute2", "python3")

# Of Chromium, Debian keeps only the release's own version and the latest security update.
BROWSER_PACKAGES = (
    "chromium",
    "chromium-driver",
    "fonts-dejavu-core",
    "python3-selenium",
)

# Fixed, so that two builds from the same packages are the same file.
SOURCE_DATE_EPOCH = 1577836800

# Loaded by the emulated machine's initramfs, in this order, to see the root file system.
ROOT_MODULES = ("libnvdimm", "nd_btt", "nd_pmem", "nfit")

# Loaded in the emulated machine before its snapshot, so that no cell pays for it (fq_codel is built
# in). Every TCP CCA of the kernel package is added by guest/machine_qemu.py. User-Mode Linux has no
# modules.
MODULES = (
    "veth",
    *sorted({module for queue in QUEUES for module in queue.modules}),
    "sch_tbf",
    "sch_netem",
    "sch_htb",
    "tcp_diag",
)

GUEST = Path(__file__).parent / "guest"


@dataclass(frozen=True)
class Variant:
    """A kind of image, and the machine that it needs.

    packages: without their dependencies. bare: whether they are only unpacked, for the engine `uml`
    alone: no package manager, no kernel. security: whether Debian's security updates are a
    source. hooks: run by mmdebstrap in sequence. blocks (of 4 KiB), inodes: the size of the
    file system. memory_bytes: the machine's. translation_cache_mb: QEMU's cache of translated code.
    kernel_arguments: of the emulated machine, in addition to those of every machine (qemu.py).
    syscall_cost_ns: the cost of a system call where computation takes no time (runtime/uml).
    size_mb: on disk, about.
    """

    name: str
    packages: tuple[str, ...]
    security: bool
    hooks: tuple[str, ...]
    blocks: int
    inodes: int
    memory_bytes: int
    translation_cache_mb: int
    kernel_arguments: str = ""
    syscall_cost_ns: int = 0
    bare: bool = False
    size_mb: int = 208

    def sources(self) -> tuple[str, ...]:
        """Return apt's sources."""
        security = (f"deb {SECURITY_MIRROR} {SECURITY} main",) if self.security else ()
        return (
            f"deb {MIRROR} {SUITE} main",
            f"deb {MIRROR} {BACKPORTS} main",
            *security,
        )

    def hash(self) -> str:
        """Return the hash of everything that determines the content of the image, 16 hex digits."""
        recipe: dict[str, object] = {
            "suite": SUITE,
            "kernel": KERNEL_SERIES,
            "packages": self.packages,
            "epoch": SOURCE_DATE_EPOCH,
            "blocks": self.blocks,
            "inodes": self.inodes,
            "hook": "".join((GUEST / hook).read_text() for hook in self.hooks),
        }
        if self.bare:
            recipe["bare"] = True
        if self.security:
            recipe["security"] = SECURITY
        return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:16]


PLAIN = Variant(
    name="plain",
    packages=PACKAGES,
    security=False,
    hooks=("customize.sh",),
    blocks=110_000,
    inodes=24_000,
    memory_bytes=1 << 30,
    translation_cache_mb=64,  # 256 is no faster for these guests, 32 is slower by half a second
)
"""The machine of every cell that needs no browser, on `vm`; containers have the same programs."""

UML = replace(
    PLAIN,
    name="uml",
    packages=UML_PACKAGES,
    hooks=("customize-uml.sh",),
    blocks=16_000,
    inodes=3_000,
    bare=True,
    size_mb=52,
)
"""The same on `uml`."""

BROWSER = Variant(
    name="browser",
    packages=(*PACKAGES, *BROWSER_PACKAGES),
    security=True,
    hooks=("customize.sh", "customize-browser.sh"),
    blocks=340_000,
    inodes=40_000,
    memory_bytes=2 << 30,
    translation_cache_mb=1024,
    # QEMU translates code anew at every address where it meets it: a browser's second process and
    # second start cost as much as the first ones when their addresses are random.
    kernel_arguments="norandmaps",
    size_mb=956,
    # A browser takes a load for unfinished that ends at the instant at which it began.
    syscall_cost_ns=1000,
)
"""The same with Chromium, ChromeDriver and Selenium."""

VARIANTS = (UML, PLAIN, BROWSER)


def suffix(variant: Variant) -> str:
    """Return the text that distinguishes a machine with a browser from one without: ` (browser)`,
    or nothing.
    """
    return " (browser)" if variant is BROWSER else ""
