"""Kernel modules of the user's own: as a plan has them, and as a guest loads them."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field
from typing import Literal

from .numbers import ModuleSetting
from .part import Part, unless
from .text import Base64, CcaName, ParameterName, SourceName

QUEUE_PREFIX = "sch-"
"""Of the name of a module that registers a queueing discipline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelModule(Part):
    """The C source of a kernel module.

    file: the source's name. source: the file, compressed (zlib), in base64. registers: the name in
    it of what it registers; it is compiled so that it registers the name that the cell uses.
    parameters: as it is loaded. of: what it registers, a CCA or a queueing discipline; left out
    where it is a CCA.
    """

    file: SourceName
    source: Base64
    registers: CcaName
    parameters: dict[ParameterName, ModuleSetting] = field(default_factory=dict)
    of: Literal["cca", "queue"] = field(default="cca", metadata=unless("cca"))


def packed(content: bytes) -> str:
    """Return a file as text, so that a cell is complete."""
    return base64.b64encode(zlib.compress(content, 9)).decode()
