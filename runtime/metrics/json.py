"""A number in a JSON file that a program of a flow left behind.

    metric ttfb = json("client.json", "timings.ttfb") * 1ms

`file` is a file of a program's working folder, first of the client's, then of the server's, or what
one of them printed: `client.stdout`, `server.stdout`, `client.stderr`, `server.stderr`. `field`
says where in it: names of members and indexes of lists, with dots between them, `timings.all.0`.
What is there must be a number. A file of more than 1 MiB is not read.

Unit: 1; a custom metric gives it the unit of what the program wrote. Source: the program.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, Value, declared

JSON = declared("json", "a number in a file that a program left behind")


class Unreadable(Exception):
    """There is no number; its text is the reason."""


def plain(option: object) -> str:
    """Return a string of a request, which is there as the language writes it, in quotes."""
    return str(option)[1:-1].replace('\\"', '"').replace("\\\\", "\\")


def left_behind(flow: FlowRecord, file: str) -> str:
    """Return the text of a file that a program of a flow left behind. Raises Unreadable."""
    files = flow.endpoints.files
    for name in (file, *(f"{side}/{file}" for side in ("client", "server"))):
        if name in files:
            content = files[name]
            if content is None:
                raise Unreadable(f"{file} has more than 1 MiB")
            return content.decode(errors="replace")
    there = ", ".join(sorted(name.partition("/")[2] or name for name in files)[:10]) or "nothing"
    raise Unreadable(f"the programs left no {file} behind, but {there}")


def finite(number: float) -> float:
    """Return a number that is one. Raises Unreadable."""
    if not math.isfinite(number):
        raise Unreadable("it is not finite")
    return number


def _field(document: Any, path: str, file: str) -> float:
    """Return the number at a place in a document. Raises Unreadable."""
    found, passed = document, list[str]()
    for part in path.split("."):
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            at = f" in {'.'.join(passed)}" if passed else ""
            raise Unreadable(f"{file} has no {part}{at}")
        passed.append(part)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise Unreadable(f"{path} of {file} is not a number")
    try:
        return finite(float(found))
    except OverflowError:
        raise Unreadable(f"{path} of {file} is larger than a number can be") from None


def numbers(
    measurement: Measurement,
    request: MetricRequest,
    value: Value,
    read: Callable[[FlowRecord], float],
) -> tuple[MetricValue, ...]:
    """Return the number of each requested flow that runs programs; read: raises Unreadable."""
    found = []
    for flow in measurement.sessions(request.sessions):
        if flow.plan.workload.own_code is None:
            continue
        number, reason = None, ""
        try:
            number = read(flow)
        except Unreadable as why:
            reason = str(why)
        found.append(value.of(number, flow.name, reason))
    return tuple(found)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the number of each requested flow that runs programs."""
    file, path = (plain(request.options.get(name, "")) for name in ("file", "field"))

    def read(flow: FlowRecord) -> float:
        text = left_behind(flow, file)
        try:
            return _field(json.loads(text), path, file)
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"{file} is not JSON: {error}") from None

    return numbers(measurement, request, JSON, read)


METRIC = Metric("json", (JSON,), compute)
