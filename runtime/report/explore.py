"""The explorer on the page of a sweep: it shows the cells of the configuration that is picked.

The data stand on the page as JSON; the script is templates/explore.js.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from fairc.runtime.formatting import number, one_line
from fairc.runtime.repetitions.reading import Measure

from .answer import entry
from .key_figures import leading
from .run import Configuration, Run
from .summary import Results

# Numbers of one cell in the table.
MAX_MEASURES = 4
# Cells on the page, which takes 200 bytes for each; of more, the first of each configuration.
MAX_CELLS = 10_000


def explored(run: Run, results: Results) -> dict[str, Any] | None:
    """Return the data of the page's explorer: plain data, in the order of the configurations.

    None where there is one configuration only: its page shows all of it.
    """
    if len(run.configurations) < 2:
        return None
    measures = shown_values(results)
    number = sum(len(c.outcomes) for c in run.configurations)
    most = max(1, MAX_CELLS // len(run.configurations)) if number > MAX_CELLS else number
    found = [_configuration(results, c, measures, most) for c in run.configurations]
    return {
        "first": most if any(len(c.outcomes) > most for c in run.configurations) else None,
        "all": len(shown_values(results, most=None)) == len(measures),
        "heads": [
            entry(results, m, results.group(m, run.configurations[0])).what for m in measures
        ],
        "units": [results.formats[m.metric][0].unit for m in measures],
        "configurations": found,
    }


def as_json(data: Mapping[str, Any]) -> str:
    """Return data as JSON that stands inside a `script` element: nothing in it can end the element.

    >>> as_json({"a": "</script><!--"})
    '{"a":"\\\\u003c/script\\\\u003e\\\\u003c!--"}'
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def script() -> str:
    """Return the script of the page."""
    text = packaged("templates", "explore.js")
    assert "</script" not in text.lower() and "<!--" not in text, "it would end its element"
    return text


def packaged(*path: str) -> str:
    """Return a text that comes with this package."""
    return resources.files("fairc.runtime.report").joinpath(*path).read_text(encoding="utf-8")


def shown_values(results: Results, most: int | None = MAX_MEASURES) -> list[Measure]:
    """Return the columns of the table of a configuration's cells, for each cell; most: how many."""
    first = leading(results)
    asked = [m for m in results.requested if m != first]
    return [*([first] if first else []), *asked][:most]


def _configuration(
    results: Results, configuration: Configuration, measures: Sequence[Measure], most: int
) -> dict[str, Any]:
    return {
        "id": configuration.id,
        "label": one_line(configuration.label),
        "summary": _summary(results, configuration, measures[:1]),
        "valid": sum(o.verdict_word == "valid" for o in configuration.outcomes),
        "number": len(configuration.outcomes),
        "cells": [
            {
                "id": o.cell,
                "repetition": o.repetition,
                "seed": o.seed,
                "verdict": o.verdict_word,
                "reasons": [one_line(reason) for reason in o.reasons],
                "values": [_printed(results, m, results.number(m, o)) for m in measures],
            }
            for o in configuration.outcomes[:most]
        ],
    }


def _summary(results: Results, configuration: Configuration, measures: Sequence[Measure]) -> str:
    """Return the first number of a configuration as text, for screen readers."""
    for measure in measures:
        first = entry(results, measure, results.group(measure, configuration))
        if first.median:
            unit = f" {first.unit}" if first.unit else ""
            return f"{first.what} {first.median.text}{unit} {first.interval}".rstrip()
    return ""


def _printed(results: Results, measure: Measure, value: float | None) -> str:
    if value is None:
        return "\N{EN DASH}"
    scale, decimals = results.formats[measure.metric]
    return number(value / scale.factor, decimals)
