"""The memory of a cell's machine, whose artefacts stay in a memory file system until its end."""

from __future__ import annotations

import math

from fairc.compiler import estimate
from fairc.compiler.plan import Cell
from fairc.runtime.vm import recipe

# Estimates leave out small or rare contributions: small packets, events, output of programs.
MARGIN, OTHER_BYTES = 1.25, 64 << 20
# The part of memory that the file system may fill (`guest/agent.py`).
FILES_SHARE = 0.5
STEP_BYTES = 1 << 30

# Values that a kernel derives from its memory and the size of its initramfs, and that could affect cells.
# Every machine except the one with a browser has Linux's values for 1 GiB.
LIKE_1_GIB = (
    "thash_entries=8192",
    "uhash_entries=512",
    'sysctl.net.ipv4.tcp_rmem="4096 131072 8091616"',
)


def machine_bytes(cell: Cell, variant: recipe.Variant) -> int:
    """Return the memory of a cell's machine, bytes: its variant's, or more if its results need it.

    Page loads are short, so a machine with a browser is never larger.
    """
    if variant != recipe.PLAIN:
        return variant.memory_bytes
    files_bytes = MARGIN * estimate.results_bytes(cell) + OTHER_BYTES
    steps = math.ceil(files_bytes / FILES_SHARE / STEP_BYTES)
    return max(variant.memory_bytes, steps * STEP_BYTES)


def arguments(memory_bytes: int, variant: recipe.Variant) -> list[str]:
    """Return the kernel's arguments for a machine with this much memory."""
    size = f"mem={memory_bytes >> 20}M"
    return [size, *LIKE_1_GIB] if variant == recipe.PLAIN else [size]
