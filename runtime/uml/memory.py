"""How much memory a cell's machine has: what it leaves behind waits in a memory file system until its end."""

from __future__ import annotations

import math

from fairc.compiler import estimate
from fairc.compiler.plan import Cell
from fairc.runtime.vm import recipe

# Estimates leave out what is short or rare: small packets, events, what programs print.
MARGIN, OTHER_BYTES = 1.25, 64 << 20
# The part of memory that the file system may fill (`guest/agent.py`).
FILES_SHARE = 0.5
STEP_BYTES = 1 << 30

# What a kernel derives from its memory, and from the size of its initramfs, and what cells could notice.
# Every machine but that with a browser has what Linux gives one of 1 GiB.
LIKE_1_GIB = (
    "thash_entries=8192",
    "uhash_entries=512",
    'sysctl.net.ipv4.tcp_rmem="4096 131072 8091616"',
)


def machine_bytes(cell: Cell, variant: recipe.Variant) -> int:
    """Return the memory of a cell's machine, bytes: its variant's, or more where its results need it.

    Page loads are short: a machine with a browser is never larger.
    """
    if variant != recipe.PLAIN:
        return variant.memory_bytes
    files_bytes = MARGIN * estimate.results_bytes(cell) + OTHER_BYTES
    steps = math.ceil(files_bytes / FILES_SHARE / STEP_BYTES)
    return max(variant.memory_bytes, steps * STEP_BYTES)


def arguments(memory_bytes: int, variant: recipe.Variant) -> list[str]:
    """Return the words of the kernel's command line for a machine of a size."""
    size = f"mem={memory_bytes >> 20}M"
    return [size, *LIKE_1_GIB] if variant == recipe.PLAIN else [size]
