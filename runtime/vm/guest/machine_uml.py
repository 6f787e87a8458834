"""The guest's side of User-Mode Linux: everything is built into the kernel, and it is switched off."""

import ctypes
import os

RB_POWER_OFF = 0x4321FEDC

libc = ctypes.CDLL(None, use_errno=True)


def prepare() -> None:
    """Nothing to do: the kernel has no modules."""


def ready() -> None:
    """Go on at once: no snapshot is taken."""
    print("fairc: ready", flush=True)


def end() -> None:
    """Switch the machine off."""
    os.sync()
    libc.reboot(RB_POWER_OFF)
