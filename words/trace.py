"""`trace("file")`: a recorded rate in Mahimahi's format, as chances to send in bins of equal
length.

One line for each chance to deliver a packet of 1500 bytes: its time in ms after the start,
ascending; after the last one the trace repeats (Netravali et al., Mahimahi, USENIX ATC 2015,
section 3).
"""

from __future__ import annotations

import hashlib
import re
from fractions import Fraction

from fairc.dsl import model
from fairc.dsl.core.attachments import attached
from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label
from fairc.dsl.core.entries import Either, Entry, Parameter, Use
from fairc.dsl.core.kinds import A_POSITIVE_TIME, A_RATE, Texts
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.units import RATE
from fairc.dsl.core.values import Quantity, Text

SIZE_LIMIT_BYTES = 16_000_000
BIN_LIMIT = 100_000
FRAME_BITS = 8 * 1514
"""What a chance delivers on the wire, bits: a packet of 1500 bytes in its Ethernet frame."""

FILE = Parameter("file", Texts(), "a file in the folder of the experiment", required=True)
EVERY = Parameter("every", A_POSITIVE_TIME, "length of the bins over which it is averaged", "100ms")

RATES: Registry[Entry] = Registry(
    "rate model",
    "rate-model",
    [
        Entry(
            "trace",
            "A recorded rate in Mahimahi's format, repeated from the start of the cell",
            (FILE, EVERY),
            runs=True,
        ),
    ],
)

A_LINK_RATE = Either(A_RATE, RATES, "a rate or `trace(...)`", bare=False)

_KNOWN: dict[tuple[str, str, int], model.Trace] = {}


def load_trace(use: Use[Entry]) -> tuple[model.Trace, Quantity]:
    """Return a trace, and its mean rate.

    Raises CompileError for a file that cannot be read, and for lines that are not times, with
    their place in the file.
    """
    name, every_ns = use[FILE], use[EVERY].ns
    if every_ns < 10**6:
        fail("out-of-range", "a trace has a resolution of 1 ms", use.span_of(EVERY))
    data = attached(name, SIZE_LIMIT_BYTES)
    file = model.Input(path=name.value, sha256=hashlib.sha256(data).hexdigest())
    key = (name.span.source.name, file.sha256, every_ns)
    if key not in _KNOWN:
        _KNOWN[key] = _binned(file, _times_ms(data, name), every_ns, use.span)
    trace = _KNOWN[key]
    mean = Fraction(sum(trace.chances) * FRAME_BITS * 10**9, trace.period_ns)
    return trace, Quantity(mean, RATE, use.span)


def peak(use: Use[Entry]) -> Quantity:
    """Return the highest rate of a trace over one of its bins. Raises CompileError."""
    trace, _ = load_trace(use)
    return Quantity(
        Fraction(max(trace.chances) * FRAME_BITS * 10**9, trace.every_ns), RATE, use.span
    )


def _times_ms(data: bytes, name: Text) -> list[int]:
    """Return the times of a trace, never decreasing, the last one more than zero."""
    times: list[int] = []
    for number, line in enumerate(data.splitlines(), 1):
        if not re.fullmatch(rb"[ \t]*[0-9]{1,10}[ \t]*", line):
            _refuse(data, number, name, "is not a time in whole milliseconds")
        time = int(line)
        if times and time < times[-1]:
            _refuse(data, number, name, f"goes back, from {times[-1]} ms to {time} ms")
        times.append(time)
    if not times or not times[-1]:
        fail(
            "bad-trace",
            "this trace has no opportunity to send after its start",
            name.span,
            help="write one line per packet: the time in ms at which it may be sent",
        )
    return times


def _refuse(data: bytes, number: int, name: Text, what: str) -> None:
    source = Source(name.value, data.decode("utf-8", "replace"))
    starts = [0, *(m.end() for m in re.finditer(r"\r\n|[\n\r]", source.text))]
    start = min(starts[min(number, len(starts)) - 1], len(source.text))
    end = start + len(source.line(source.position(start)[0]))
    raise CompileError(
        [
            Diagnostic(
                "bad-trace",
                f"line {number} of the trace {what}",
                Span(source, start, max(end, start)),
                labels=(Label(name.span, "the trace is used here"),),
                help="a trace has one time in ms per line, in ascending order",
            )
        ]
    )


def _binned(file: model.Input, times_ms: list[int], every_ns: int, span: Span) -> model.Trace:
    """Count the chances of each bin; one at time t belongs to the bin that ends at t or after
    it.
    """
    period_ns = times_ms[-1] * 10**6
    bins = -(-period_ns // every_ns)
    if bins > BIN_LIMIT:
        fail("too-many", f"this makes {bins} bins; the limit is {BIN_LIMIT}", span)
    chances = [0] * bins
    for time_ms in times_ms:
        chances[max(0, -(-time_ms * 10**6 // every_ns) - 1)] += 1
    return model.Trace(file, period_ns, every_ns, tuple(chances))
