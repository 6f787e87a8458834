"""A number that a program of a flow printed after a text.

    metric ttfb = number("client.stdout", "first byte after ") * 1ms

`file` is as in `json`. The number is the one that follows the last place at which the file has the
text `after`, with nothing but spaces in between: `12`, `-0.5`, `1.5e-3`.

Unit: 1; a custom metric gives it the unit of what the program printed. Source: the program.
"""

from __future__ import annotations

import re

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared
from .json import Unreadable, finite, left_behind, numbers, plain

NUMBER = declared("number", "a number that a program printed after a text")
_NUMBER = re.compile(r"[ \t]*([+-]?\d{1,300}(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?)", re.ASCII)


def _after(text: str, before: str, file: str) -> float:
    """Return the number after the last place of a text. Raises Unreadable."""
    at = text.rfind(before)
    if at < 0:
        raise Unreadable(f"{file} does not have the text `{before}`")
    found = _NUMBER.match(text, at + len(before))
    if found is None:
        raise Unreadable(f"no number follows `{before}` in {file}")
    return finite(float(found[1]))


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the number of each requested flow that runs programs."""
    file, before = (plain(request.options.get(name, "")) for name in ("file", "after"))
    return numbers(
        measurement, request, NUMBER, lambda flow: _after(left_behind(flow, file), before, file)
    )


METRIC = Metric("number", (NUMBER,), compute)
