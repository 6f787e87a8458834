"""What the virtual machine's image is made of. Its hash names the image in the cache."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
BACKPORTS = f"{SUITE}-backports"
KERNEL = f"linux-image-cloud-amd64/{BACKPORTS}"

PACKAGES = (
    f"bpftool/{BACKPORTS}",
    "busybox-static",
    "ethtool",
    f"iproute2/{BACKPORTS}",
    "iperf3",
    "iputils-ping",
    "kmod",
    "mininet",
    "python3",
    "tcpdump",
)

# Fixed, so that two builds from the same packages are the same file.
SOURCE_DATE_EPOCH = 1577836800
FILE_SYSTEM_BLOCKS = 110_000
FILE_SYSTEM_INODES = 24_000

# Loaded by the initramfs, in this order, to see the root file system.
ROOT_MODULES = ("libnvdimm", "nd_btt", "nd_pmem", "nfit")

# Loaded before the snapshot, so that no cell pays for it. Every TCP CCA of the kernel package is
# added by the guest's agent.
MODULES = (
    "veth",
    "sch_cake",
    "sch_codel",
    "sch_fq",
    "sch_fq_codel",
    "sch_fq_pie",
    "sch_pie",
    "sch_red",
    "sch_sfq",
    "sch_tbf",
    "sch_netem",
    "sch_htb",
    "tcp_diag",
)

GUEST = Path(__file__).parent / "guest"


def cache_directory() -> Path:
    """Return fairc's folder in the user's cache directory (XDG base directory specification)."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "fairc"


def recipe_hash() -> str:
    """Return the hash of everything that decides what an image contains, 16 hex digits."""
    recipe = {
        "suite": SUITE,
        "kernel": KERNEL,
        "packages": PACKAGES,
        "epoch": SOURCE_DATE_EPOCH,
        "blocks": FILE_SYSTEM_BLOCKS,
        "inodes": FILE_SYSTEM_INODES,
        "hook": (GUEST / "customize.sh").read_text(),
    }
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:16]
