"""The CCAs over QUIC are those that the endpoints have, with their parameters and ranges."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from fairc.dsl.core.kinds import Quantities
from fairc.words.ccas import BPF, CCAS_OVER, QUIC_CCAS, TCP_CCAS, Knob

RUST = Path(__file__).parents[2] / "endpoints/src/congestion"
DECLARED = re.compile(
    r"Parameter\s*\{\s*name:\s*([^,]+),\s*kind:\s*Kind::(\w+)\s*\{\s*default:\s*([\w.]+)"
    r"(?:,\s*least:\s*([\w.]+),\s*most:\s*([\w.]+))?,?\s*\}"
)


def running() -> list[str]:
    text = (RUST / "mod.rs").read_text(encoding="utf-8")
    listed = re.search(r"CONTROLLERS: &\[Entry\] =\s*&\[(.*?)\];", text, re.DOTALL)
    assert listed is not None
    return sorted(re.findall(r"(\w+)::ENTRY", listed[1]))


def knobs(name: str) -> list[Knob]:
    found = QUIC_CCAS._entries[name].parameters
    assert all(isinstance(knob, Knob) for knob in found)
    return [knob for knob in found if isinstance(knob, Knob)]


def test_those_that_run_are_those_that_are_built() -> None:
    assert sorted(entry.name for entry in QUIC_CCAS if entry.runs) == running()


@pytest.mark.parametrize("name", running())
def test_parameters_are_those_of_the_controller(name: str) -> None:
    text = (RUST / f"{name}.rs").read_text(encoding="utf-8")
    cap = re.search(
        r'const CAP: &str = "(\w+)"', (RUST / "parameters.rs").read_text(encoding="utf-8")
    )
    assert cap is not None
    declared = DECLARED.findall(text.partition("mod tests")[0])
    assert (
        len(declared)
        == len(knobs(name))
        == text.count("Parameter {") - text.count("struct Parameter {")
    )
    for (field, kind, default, least, most), knob in zip(declared, knobs(name), strict=True):
        assert (cap[1] if "CAP" in field else field.strip('"')) == knob.field
        if kind == "Switch":
            assert knob.initial is (default == "true")
            continue
        assert Fraction(default) == Fraction(str(knob.initial))
        assert isinstance(knob.kind, Quantities)
        scale = 1000 if knob.field.endswith("_ms") else 1
        assert knob.kind.low is not None and knob.kind.high is not None
        assert (knob.kind.low * scale, knob.kind.high * scale) == (
            Fraction(least.replace("_", "")),
            Fraction(most.replace("_", "")),
        )


def test_every_parameter_has_a_default_that_it_takes() -> None:
    for words in CCAS_OVER.values():
        for entry in words:
            for knob in entry.parameters if entry is not BPF else ():
                assert isinstance(knob, Knob)
                assert knob.field and knob.default
                if isinstance(knob.kind, Quantities) and knob.field != "rtt0":
                    scale = 1000 if knob.field.endswith("_ms") else 1
                    assert knob.kind.low is not None and knob.kind.high is not None
                    low, high = knob.kind.low * scale, knob.kind.high * scale
                    assert low <= Fraction(str(knob.initial)) <= high


def test_all_ccas_of_the_guests_kernel_are_there() -> None:
    assert [name for name in TCP_CCAS.names() if name != BPF.name] == [
        "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp",
        "nv", "reno", "scalable", "vegas", "veno", "westwood", "yeah",
    ]  # fmt: skip
