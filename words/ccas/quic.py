"""The CCAs over QUIC: those of endpoints/src/congestion, as `fairc-endpoints ccas` prints them.

The last part of a parameter's name is its unit in a plan: `target_ms` is `target` in the language.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from importlib import resources
from typing import Any

from fairc.dsl.core.kinds import Quantities
from fairc.dsl.core.units import PACKETS, TIME

from .cca import Cca, CcaParameter, flag, real, whole, word


def _parameter(exported: Mapping[str, Any]) -> CcaParameter:
    name, summary, default = exported["name"], exported["summary"], exported["default"]
    if exported["kind"] == "switch":
        return flag(name, summary, default)
    if exported["kind"] == "word":
        return word(name, summary, tuple(exported["words"]))
    low, high = Fraction(exported["least"]), Fraction(exported["most"])
    if name.endswith("_packets"):
        packets = Quantities((PACKETS,), low=low, high=high, whole=True)
        short = name.removesuffix("_packets")
        shown = "" if default is None else f"{default}pkt"
        return CcaParameter(
            short,
            packets,
            summary,
            shown,
            otherwise="" if shown else "none",
            field=name,
            convert=lambda q: int(q.number),
        )
    if name.endswith("_ms"):
        time = Quantities((TIME,), low=low / 1000, high=high / 1000)
        short, shown = name.removesuffix("_ms"), f"{float(default):g}ms"
        return CcaParameter(
            short, time, summary, shown, field=name, convert=lambda q: float(q.number) * 1000
        )
    if exported["kind"] == "whole":
        return whole(name, summary, default, int(low), int(high))
    return real(name, summary, default, low, high)


def _exported() -> list[Mapping[str, Any]]:
    text = resources.files("fairc.words.ccas").joinpath("quic.json").read_text(encoding="utf-8")
    found: list[Mapping[str, Any]] = json.loads(text, parse_float=Fraction)
    return sorted(found, key=lambda cca: str(cca["name"]))


QUIC = [
    Cca(
        name=cca["name"],
        summary=cca["summary"],
        parameters=tuple(map(_parameter, cca["parameters"])),
        is_scalable=cca["l4s"],
        needs_ecn=cca["l4s"],
    )
    for cca in _exported()
]
