"""The number types of a cell, with ranges that kernels and tools accept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from .text import ModuleWord, ParameterName


@dataclass(frozen=True, slots=True)
class Range:
    """The bounds of a finite number, both inclusive, or of a tuple's length: an annotation.

    Nothing here checks them. pydantic does where a value comes from outside, and asks the
    annotation how.
    low, high: None: no bound. open_low, open_high: whether a bound itself is outside.
    """

    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False

    def __get_pydantic_core_schema__(
        self, source: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return pydantic's description of the type, with the bounds."""
        described = dict(handler(source))
        if described["type"] == "tuple":
            bounds = {"min_length": self.low, "max_length": self.high}
        else:
            bounds = {
                "gt" if self.open_low else "ge": self.low,
                "lt" if self.open_high else "le": self.high,
            }
        if described["type"] == "float":
            described["allow_inf_nan"] = False
        return described | {name: bound for name, bound in bounds.items() if bound is not None}


LONGEST_NS: Final = 2 * 10**15
"""23 days, ns: poll(2) waits no longer."""

_INT32: Final = 2**31 - 1
_INT63: Final = 2**63 - 1

TimeNs = Annotated[int, Range(0, LONGEST_NS)]
"""A time or a duration, ns."""

SpanNs = Annotated[int, Range(1, LONGEST_NS)]
"""A duration above zero, ns."""

Rate = Annotated[int, Range(1, 10**14)]
"""Bit/s."""

Size = Annotated[int, Range(0, 10**15)]
"""Bytes to transfer."""

Buffer = Annotated[int, Range(1, _INT32)]
"""Bytes of a socket's buffer or window: an int of the kernel."""

QueueBytes = Annotated[int, Range(0, 10**15)]
"""Bytes of a queue; tc refuses more than 4 GiB."""

Packets = Annotated[int, Range(0, 10**12)]
"""Packets of a queue; tc refuses more than 2^32."""

Small = Annotated[int, Range(0, _INT32)]
"""A parameter of a queueing discipline."""

LeastTimeout = Annotated[int, Range(1, 120_000)]
"""A least retransmission timeout, ms: the largest is that of TCP."""

MtuBytes = Annotated[int, Range(68, 65_535)]
HeaderBytes = Annotated[int, Range(0, 65_535)]
"""A largest IP packet (RFC 791), bytes."""

Percent = Annotated[int, Range(0, 100)]
"""A whole number of percent."""

CodePoint = Annotated[int, Range(0, 63)]
Port = Annotated[int, Range(1, 65_535)]
"""A port of TCP or UDP."""

Many = Annotated[int, Range(1, 10_000)]
"""Connections of a flow."""

InitialWindow = Annotated[int, Range(1, 10_000)]
"""Packets of an initial congestion window."""

Number = Annotated[int, Range(0, 10**12)]
"""A count."""

Repetition = Annotated[int, Range(1, 10**6)]
"""The number of a repetition, or the number of repetitions."""

Seed = Annotated[int, Range(0, _INT63)]
"""A seed of 63 bits."""

Probability = Annotated[float, Range(0, 1)]
"""A probability or a share."""

Real = Annotated[float, Range()]
"""A finite number."""

NotNegative = Annotated[float, Range(0)]
"""A finite number, not below zero."""

Above = Annotated[float, Range(0, open_low=True)]
"""A finite number above zero."""

Tokens = Annotated[float, Range(1, 10**9)]
"""The depth of a token bucket, packets."""

PacketRate = Annotated[float, Range(0, 10**9, open_low=True)]
"""Packets/s."""

Setting = Annotated[int, Range(-_INT63, _INT63)] | Real | bool | ParameterName
"""The value of a CCA's parameter: a number, a switch or a word."""

ModuleSetting = Annotated[int, Range(-_INT63, _INT63)] | bool | ModuleWord
"""The value of a module's parameter."""
