"""The guest's side of the emulated machine under a custom kernel, which has everything built in."""

from machine_qemu import end, ready

__all__ = ["end", "prepare", "ready"]


def prepare() -> None:
    """Do nothing: there are no modules to load."""
