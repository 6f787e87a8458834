"""The CCAs over QUIC: those of endpoints/src/congestion, as `fairc-endpoints ccas` prints them.

The last part of a parameter's name is its unit in a plan: `target_ms` is `target` in the language.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from importlib import resources
from typing import Any

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import Quantities
from fairc.dsl.core.units import NUMBER, PACKETS, TIME

from .cca import Cca, CcaParameter, flag, real, whole, word
from .resume import FIELDS, RESUME


def _parameter(exported: Mapping[str, Any]) -> CcaParameter:
    name, summary, default = exported["name"], exported["summary"], exported["default"]
    if exported["kind"] == "switch":
        return flag(name, summary, default)
    if exported["kind"] == "word":
        return word(name, summary, tuple(exported["words"]))
    low, high = Fraction(exported["least"]), Fraction(exported["most"])
    if name in FIELDS:
        kind = Quantities((NUMBER,), low=low, high=high, whole=True)
        return CcaParameter(name, kind, summary, otherwise="none", field=name)
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


def _cca(exported: Mapping[str, Any]) -> Cca:
    every = [_parameter(parameter) for parameter in exported["parameters"]]
    lowered = tuple(each for each in every if each.field in FIELDS)
    parameters: list[Parameter[Any]] = [each for each in every if each not in lowered]
    if lowered:
        parameters.append(RESUME)
    return Cca(
        name=exported["name"],
        summary=exported["summary"],
        parameters=tuple(parameters),
        is_scalable=exported["l4s"],
        needs_ecn=exported["l4s"],
        restarts=exported["restarts"],
        lowered=lowered,
    )


QUIC = [_cca(exported) for exported in _exported()]
