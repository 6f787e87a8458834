"""`trace("file")`: what a link follows: a column of a recording (recordings.py), or a rate in
Mahimahi's format, as chances to send in bins of equal length.

One line for each chance to deliver a packet of 1500 bytes: its time in ms after the start,
ascending; after the last one the trace repeats (Netravali et al., Mahimahi, USENIX ATC 2015,
section 3).
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, Literal, TypeVar

from fairc.dsl import model
from fairc.dsl.core.attachments import Contents, attached
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Either, Entry, Parameter, Use, bind
from fairc.dsl.core.kinds import A_POSITIVE_TIME, A_RATE, Kind, Quantities, Texts, Words
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry, suggest
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.units import EXAMPLES, NUMBER, RATE, SHARE, TIME, Dimension
from fairc.dsl.core.values import Applied, Argument, Quantity, Symbol, Text, Value

from .recordings import Reading, is_table, recording, table_of
from .tables import ColumnNames, Table

SIZE_LIMIT_BYTES = 16_000_000
BIN_LIMIT = 100_000
FRAME_BITS = 8 * 1514
"""The bits on the wire of an opportunity: a packet of 1500 bytes in its Ethernet frame."""


@dataclass(frozen=True)
class HoldOr:
    """The word `hold`, or a quantity."""

    quantity: Quantities

    @property
    def phrase(self) -> str:
        """Describe both."""
        return f"`hold`, {self.quantity.phrase}"

    def take(self, value: Value, use: str, at: Span | None = None) -> Quantity | Literal["hold"]:
        """Return either. Raises CompileError for other values."""
        if isinstance(value, Symbol) and value.name == "hold":
            return "hold"
        return self.quantity.take(value, use, at)


@dataclass(frozen=True)
class BinLengths:
    """A time; a word or a string in its place was meant as the column."""

    phrase: str = A_POSITIVE_TIME.phrase

    def take(self, value: Value, use: str, at: Span | None = None) -> Quantity:
        """Return the time. Raises CompileError for other values."""
        if isinstance(value, Symbol | Text):
            column = value.name if isinstance(value, Symbol) else value.value
            near = suggest(column, value.known()) if isinstance(value, Symbol) else None
            fail(
                "wrong-type",
                f"{use} must be {self.phrase}, not `{column}`",
                value.span,
                note=f"did you mean `{near}`?" if near else "",
                help=f'a column is given by its name: `column: "{column}"`',
            )
        return A_POSITIVE_TIME.take(value, use, at)


FILE = Parameter("file", Texts(), "a file in the folder of the experiment", required=True)
EVERY = Parameter(
    "every",
    BinLengths(),
    "length of the bins over which it is averaged; steps are as they are unless it is given",
    "100ms",
)
COLUMN = Parameter(
    "column", ColumnNames(), "the column of the values", otherwise="the name of what it is for"
)
TIME_COLUMN = Parameter(
    "time",
    ColumnNames(),
    "the column of the times",
    otherwise="`time`, or the first without a header",
)
UNIT = Parameter(
    "unit",
    Quantities((RATE, TIME, SHARE), open_low=True),
    "what a 1 in the column is",
    otherwise="as the file says",
)
MISSING = Parameter(
    "missing",
    HoldOr(Quantities((RATE, TIME, SHARE))),
    "what a missing value (`-`, `NaN`, nothing) is; `hold`: as in the row before",
    otherwise="an error",
)
SCALE = Parameter(
    "scale",
    Quantities((NUMBER, SHARE), high=1000, open_low=True),
    "factor of all values; `trace(...) / 2` is the same as `scale: 0.5`",
    "1",
)
INTERPOLATION: Parameter[Literal["steps", "linear"]] = Parameter(
    "interpolation", Words("interpolation", ("steps", "linear")), "between rows", "steps"
)
END: Parameter[Literal["repeat", "hold"]] = Parameter(
    "end",
    Words("end", ("repeat", "hold")),
    "after the last row: from the start, or as it is",
    "repeat",
)

RATES: Registry[Entry] = Registry(
    "rate model",
    "rate-model",
    [
        Entry(
            "trace",
            "A recording that a link follows: CSV, or a rate in Mahimahi's format",
            (FILE, EVERY, COLUMN, INTERPOLATION, END, TIME_COLUMN, UNIT, MISSING, SCALE),
            runs=True,
        ),
    ],
)

A_LINK_RATE = Either(A_RATE, RATES, "a rate or `trace(...)`", bare=False)

Q = TypeVar("Q")


@dataclass(frozen=True)
class Traced(Generic[Q]):
    """A value of a kind, or `trace(...)`."""

    kind: Kind[Q]

    @property
    def phrase(self) -> str:
        """Describe both."""
        return f"{self.kind.phrase} or `trace(...)`"

    def take(self, value: Value, use: str, at: Span | None = None) -> Q | Use[Entry]:
        """Return the value. Raises CompileError unless it is of the kind, or a trace."""
        if isinstance(value, Applied) and value.name in RATES:
            return bind(RATES, value, use, at)
        return self.kind.take(value, use, at)


_TRACES = Contents[model.Trace]()
_RECORDINGS = Contents[model.Recording]()


def load_rate(use: Use[Entry]) -> tuple[model.Trace | model.Recording, Quantity]:
    """Return what a rate follows, and its mean.

    Raises CompileError for a file that cannot be read, and for lines that are wrong, with their
    place in the file.
    """
    name, every_ns = use[FILE], use[EVERY].ns
    if every_ns < 10**6:
        fail("out-of-range", "a trace has a resolution of 1 ms", use.span_of(EVERY))
    data = attached(name, SIZE_LIMIT_BYTES)
    if is_table(data):
        found = load_recording(use, "rate", RATE)
        if not found.mean:
            fail("bad-trace", "the rate of this recording is always zero", name.span)
        return found, Quantity(Fraction(found.mean), RATE, use.span)
    for parameter in (COLUMN, INTERPOLATION, END, TIME_COLUMN, UNIT, MISSING):
        if parameter.name in use.arguments:
            fail(
                "bad-trace",
                f"a trace in Mahimahi's format has no `{parameter.name}`",
                use.arguments[parameter.name].span,
                help="leave it out: the file is a list of times",
            )
    scale = use[SCALE].number

    def read(sha256: str) -> model.Trace:
        file = model.Input(path=name.value, sha256=sha256)
        return _binned(file, _times_ms(data, name), every_ns, scale, use.span)

    trace = _TRACES.of(name, data, read, every_ns, scale)
    mean = Fraction(sum(trace.chances) * FRAME_BITS * 10**9, trace.period_ns)
    return trace, Quantity(mean, RATE, use.span)


def table(use: Use[Entry]) -> Table | None:
    """Return the table that is followed; None if it is a list of times. Raises CompileError."""
    data = attached(use[FILE], SIZE_LIMIT_BYTES)
    return table_of(use[FILE], data) if is_table(data) else None


def load_recording(use: Use[Entry], what: str, dimension: Dimension) -> model.Recording:
    """Return the recording that `what` of a link follows. Raises CompileError."""
    name, every = use[FILE], use.given(EVERY)
    if every is not None and every.ns < 10**6:
        fail("out-of-range", "a trace has a resolution of 1 ms", use.span_of(EVERY))
    data = attached(name, SIZE_LIMIT_BYTES)
    if data.strip() and not is_table(data):
        fail(
            "bad-trace",
            f"a {what} follows a recording with columns, and this file has no header",
            name.span,
            help=f"begin it with a line such as `time [s], {what} [{_EXAMPLES[dimension]}]`",
        )
    reading = Reading(
        what,
        dimension,
        use.given(COLUMN),
        use.given(TIME_COLUMN),
        _of_dimension(use, UNIT, use.given(UNIT), what, dimension),
        _of_dimension(use, MISSING, use.given(MISSING), what, dimension),
        use[SCALE].number,
        None if every is None else every.ns,
        use[INTERPOLATION] == "linear",
        use[END] == "repeat",
    )

    def read(sha256: str) -> model.Recording:
        file = model.Input(path=name.value, sha256=sha256)
        return recording(data, file, name, reading, use.span)

    return _RECORDINGS.of(name, data, read, reading)


_EXAMPLES = {RATE: "Mbit/s", TIME: "ms", SHARE: "%"}

G = TypeVar("G")


def _of_dimension(
    use: Use[Entry], parameter: Parameter[Any], given: G, what: str, dimension: Dimension
) -> G:
    """Return an argument. Raises CompileError for a quantity of another kind than the values."""
    if isinstance(given, Quantity) and given.dimension != dimension:
        fail(
            "wrong-dimension",
            f"`{parameter.name}` of a recording of a {what} must be {dimension}, not"
            f" {given.phrase}",
            given.span,
            help=f"write for example `{EXAMPLES[dimension]}`",
        )
    if isinstance(given, Quantity) and dimension == SHARE and given.number > 1:
        fail("out-of-range", f"`{parameter.name}` must be at most 100%", given.span)
    return given


def multiplied(trace: Applied, factor: Quantity, span: Span) -> Applied:
    """Return a trace with all values multiplied. Raises CompileError unless that is by a number."""
    if factor.dimension not in (NUMBER, SHARE):
        fail(
            "wrong-dimension",
            f"a trace can be multiplied and divided by numbers, not by {factor.phrase}",
            factor.span,
            note=factor.phrase,
        )
    kept, number = [], factor.number
    for argument in trace.arguments:
        if argument.key == SCALE.name and isinstance(argument.value, Quantity):
            number *= argument.value.number
        else:
            kept.append(argument)
    scale = Argument(SCALE.name, Quantity(number, NUMBER, factor.span), factor.span)
    return replace(trace, arguments=(*kept, scale), span=span)


def peak(use: Use[Entry]) -> Quantity:
    """Return the highest rate of a trace over one of its bins. Raises CompileError."""
    trace, _ = load_rate(use)
    if isinstance(trace, model.Recording):
        return Quantity(Fraction(max(value for _, value in trace.steps)), RATE, use.span)
    return Quantity(
        Fraction(max(trace.chances) * FRAME_BITS * 10**9, trace.every_ns), RATE, use.span
    )


def _times_ms(data: bytes, name: Text) -> list[int]:
    """Return the times of a trace, never decreasing, the last one more than zero."""
    times: list[int] = []
    for number, line in enumerate(data.removeprefix(BOM_UTF8).splitlines(), 1):
        if not re.fullmatch(rb"[ \t]*[0-9]{1,10}[ \t]*", line):
            _refuse(data, number, name, "is not a time in whole milliseconds")
        time = int(line)
        if times and time < times[-1]:
            _refuse(data, number, name, f"goes back, from {times[-1]} ms to {time} ms")
        times.append(time)
    if not times or not times[-1]:
        fail(
            "bad-trace",
            "this trace has no opportunity to send after its start"
            if data.strip()
            else "this recording is empty",
            name.span,
            help="write a line per packet, the time in ms at which it may be sent; or a header like"
            " `time [s], rate [Mbit/s]`, then a row of numbers per line",
        )
    return times


def _refuse(data: bytes, number: int, name: Text, what: str) -> None:
    source = Source(name.value, data.decode("utf-8-sig", "replace"))
    starts = [0, *(m.end() for m in re.finditer(r"\r\n|[\n\r]", source.text))]
    start = min(starts[min(number, len(starts)) - 1], len(source.text))
    end = start + len(source.line(source.position(start)[0]))
    fail(
        "bad-trace",
        f"line {number} of the trace {what}",
        Span(source, start, max(end, start)),
        labels=(Label(name.span, "the trace is used here"),),
        help="a trace has one time in ms per line, in ascending order",
    )


def _binned(
    file: model.Input, times_ms: list[int], every_ns: int, scale: Fraction, span: Span
) -> model.Trace:
    """Count the chances of each bin; one at time t belongs to the bin that ends at t or after
    it. scale: how many there are for each in the file: of 1/2, every second one.
    """
    period_ns = times_ms[-1] * 10**6
    bins = -(-period_ns // every_ns)
    if bins > BIN_LIMIT:
        fail("too-many", f"this makes {bins} bins; the limit is {BIN_LIMIT}", span)
    chances = [0] * bins
    times, over = scale.numerator, scale.denominator
    for number, time_ms in enumerate(times_ms):
        count = (number + 1) * times // over - number * times // over
        chances[max(0, -(-time_ms * 10**6 // every_ns) - 1)] += count
    if not any(chances):
        fail("bad-trace", "so scaled, this trace has no opportunity to send", span)
    return model.Trace(file, period_ns, every_ns, tuple(chances))
