"""A calibration as a table: text, Markdown, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from fairc.runtime.formatting import number

from .reading import Reading
from .suite import Calibration

HEAD = ("quantity", "setting", "measured", "expected", "accepted", "n", "")
FORMAT = "fairc-calibration"

# Unit of a reading -> (factor, unit) in which it is shown.
SHOWN: dict[str, tuple[float, str]] = {
    "bit/s": (1e6, "Mbit/s"),
    "s": (1e-3, "ms"),
    "us": (1.0, "us"),
    "B": (1.0, "B"),
    "pkt": (1.0, "pkt"),
    "1": (1.0, ""),
}


def rows(calibration: Calibration) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table, header first."""
    yield HEAD
    for reading in calibration.readings:
        yield (
            reading.quantity,
            reading.setting,
            _shown(reading, reading.measured),
            _shown(reading, reading.expected),
            f"{_shown(reading, reading.low, unit=False)} .. {_shown(reading, reading.high)}",
            str(reading.n),
            "holds" if reading.holds else "OUTSIDE",
        )


def _shown(reading: Reading, value: float, *, unit: bool = True) -> str:
    factor, name = SHOWN[reading.unit]
    decimals = _decimals(reading.high - reading.low, factor)
    return f"{number(value / factor, decimals)} {name if unit else ''}".strip()


def _decimals(width: float, factor: float) -> int:
    """Return the number of decimals, at most 6, that resolves a twentieth of the accepted range."""
    if not width:
        return 0
    for decimals in range(7):
        if 10.0**-decimals <= width / factor / 20:
            return decimals
    return 6


def as_text(calibration: Calibration) -> Iterator[str]:
    """Yield lines for a terminal."""
    table = list(rows(calibration))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
    yield ""
    yield from (f"failed: {failure}" for failure in calibration.failures)
    held = sum(reading.holds for reading in calibration.readings)
    yield f"engine {calibration.engine}: {held} of {len(calibration.readings)} readings hold"


def as_markdown(calibration: Calibration) -> Iterator[str]:
    """Yield the lines of a table in Markdown, with what was calibrated above it."""
    versions = ", ".join(f"{name} {text}" for name, text in sorted(calibration.versions.items()))
    yield f"Engine `{calibration.engine}`, identity `{calibration.identity[:16]}`: {versions}."
    yield ""
    for place, row in enumerate(rows(calibration)):
        yield f"| {' | '.join(text.replace('|', chr(92) + '|') for text in row)} |"
        if not place:
            yield "| " + " | ".join("---" for _ in row) + " |"
    if calibration.failures:
        yield ""
        yield from (f"- failed: {failure}" for failure in calibration.failures)


def document(calibration: Calibration) -> dict[str, Any]:
    """Return the calibration as JSON data; numbers in SI units."""
    readings = [asdict(reading) | {"holds": reading.holds} for reading in calibration.readings]
    return {
        "format": FORMAT,
        "engine": calibration.engine,
        "identity": calibration.identity,
        "versions": calibration.versions,
        "holds": calibration.holds,
        "failures": list(calibration.failures),
        "readings": readings,
    }


def as_json(calibration: Calibration) -> str:
    """Return the calibration as a JSON document; equal for equal readings."""
    return json.dumps(document(calibration), indent=2, sort_keys=True, ensure_ascii=False)
