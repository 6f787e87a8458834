"""The number types of a plan, with ranges that kernels and tools accept."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

LONGEST_NS: Final = 2 * 10**15
"""23 days, ns: poll(2) waits no longer."""

_INT32: Final = 2**31 - 1
_INT63: Final = 2**63 - 1

TimeNs = Annotated[int, Field(ge=0, le=LONGEST_NS)]
"""A time or a duration, ns."""

SpanNs = Annotated[int, Field(ge=1, le=LONGEST_NS)]
"""A duration above zero, ns."""

Rate = Annotated[int, Field(ge=1, le=10**14)]
"""Bit/s."""

Size = Annotated[int, Field(ge=0, le=10**15)]
"""Bytes to transfer."""

Buffer = Annotated[int, Field(ge=1, le=_INT32)]
"""Bytes of a socket's buffer or window: an int of the kernel."""

QueueBytes = Annotated[int, Field(ge=0, le=10**15)]
"""Bytes of a queue; tc refuses more than 4 GiB."""

Packets = Annotated[int, Field(ge=0, le=10**12)]
"""Packets of a queue; tc refuses more than 2^32."""

Small = Annotated[int, Field(ge=0, le=_INT32)]
"""A parameter of a queueing discipline."""

MtuBytes = Annotated[int, Field(ge=68, le=65_535)]
"""A largest IP packet (RFC 791), bytes."""

TestTime = Annotated[int, Field(ge=1, le=86_400)]
"""The range of iperf3's `--time`, s (iperf.h, MAX_TIME)."""

TestBytes = Annotated[int, Field(ge=1, le=10**15)]
"""The range of iperf3's `--bytes`; with 0 it would not end."""

TestBuffer = Annotated[int, Field(ge=1, le=2**29)]
"""The range of iperf3's `--window`, bytes (iperf.h, MAX_TCP_BUFFER)."""

Port = Annotated[int, Field(ge=1, le=65_535)]
"""A port of TCP or UDP."""

Many = Annotated[int, Field(ge=1, le=10_000)]
"""Connections of a flow."""

InitialWindow = Annotated[int, Field(ge=1, le=10_000)]
"""Packets of an initial congestion window."""

Number = Annotated[int, Field(ge=0, le=10**12)]
"""A count."""

Repetition = Annotated[int, Field(ge=1, le=10**6)]
"""The number of a repetition, or the number of repetitions."""

Seed = Annotated[int, Field(ge=0, le=_INT63)]
"""A seed of 63 bits."""

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A probability or a share."""

Real = Annotated[float, Field(allow_inf_nan=False)]
"""A finite number."""

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A finite number, not below zero."""

Above = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A finite number above zero."""

Tokens = Annotated[float, Field(ge=1, le=10**9, allow_inf_nan=False)]
"""The depth of a token bucket, packets."""

PacketRate = Annotated[float, Field(gt=0, le=10**9, allow_inf_nan=False)]
"""Packets/s."""

Setting = Annotated[int, Field(ge=-_INT63, le=_INT63)] | Real | bool
"""The value of a CCA's parameter."""
