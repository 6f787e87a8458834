"""`module`: a CCA of the user's own, the C source of a kernel module for the guest's kernel."""

from __future__ import annotations

from fairc.cell.modules import KernelModule
from fairc.dsl.core.entries import Use
from fairc.words.kernel_modules import SOURCE, ModuleSettings, name_parameter, read_module, variant

from .cca import Cca
from .kernel import KERNEL

PREFIX = "tcp_"
NAME = name_parameter(PREFIX)

MODULE = Cca(
    name="module",
    summary="Your own CCA: the C source of a kernel module, compiled for the guest's kernel;"
    " further arguments are the module's parameters",
    parameters=(SOURCE, NAME),
    further=ModuleSettings(),
)


def own_module(use: Use[Cca]) -> tuple[str, KernelModule]:
    """Return a CCA and the module that registers it, with the parameters given. Raises
    CompileError.

    A name that the kernel has already gets a number.
    """
    own = read_module(use, NAME, PREFIX, "a CCA name tcp_congestion_ops")
    taken = own.registers in {MODULE.name, *(known.name for known in KERNEL)}
    return variant(own.registers, 1) if taken else own.registers, own
