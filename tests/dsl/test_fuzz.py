"""Broken input that grows, or has hurt: diagnostics, never an exception.

What is random is tried by tests/support/torture/faults/specs.py.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torture.faults.specs import Hang, at_most, check

from fairc.dsl import CompileError, Diagnostics, Source, condition


def survive(text: str) -> Diagnostics:
    return check(Source("file.fexp", text))[1]


@given(st.text(max_size=60))
def test_any_condition(text: str) -> None:
    try:
        condition(text).matches({"latency": "50ms", "cca": "cubic"}, 1)
    except CompileError as error:
        assert error.diagnostics


@pytest.mark.parametrize(
    "value",
    [
        "[" * 10_000 + "]" * 10_000,
        "(" * 10_000,
        "f(" * 10_000,
        "-" * 10_000 + "1",
        "not " * 10_000 + "1",
        "1" * 10_000,
        "1e400",
        "1e-400s",
        "1s" + " + 1s" * 10_000,
        '"' + "x" * 10_000,
        "a." * 10_000 + "a",
        "$(reboot)",
        "`rm -rf /`",
    ],
    ids=lambda value: value[:8],
)
def test_bombs(value: str) -> None:
    found = survive(
        "fexp 1\nexperiment e {\n  topology = bottleneck(rate: 1Mbit/s)\n"
        f"  flow a {{ cca = cubic  workload = file(1MB) }}\n  duration = {value}\n"
        "  measure = [goodput]\n}\n"
    )
    assert found.errors or value.startswith("1s")


LONG = 300_000
RUNS = {
    "a word": "a" * LONG,
    "digits": "1" * LONG,
    "quotes": r"\"" * (LONG // 2),
    "every": "every " * (LONG // 6),
    "spaces": " " * LONG,
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("wrong", ["flow a { cca cubic }", "flow a-b { }", "down 1s }"])
def test_long_runs_before_an_error(run: str, wrong: str) -> None:
    """A pattern that begins anywhere in a run, and ends at the error, takes hours of these."""
    for line in (f"# {RUNS[run]}\n {wrong}", f"{RUNS[run]} {wrong}"):
        with at_most(20):
            assert survive(f"fexp 1\nexperiment e {{\n {line}\n}}\n").errors


def test_a_chain_of_lets() -> None:
    lets = "\n".join(f"let a{i} = a{i + 1}" for i in range(3000))
    found = survive(f"fexp 1\n{lets}\nlet a3000 = 1s\nexperiment e {{ duration = a0 }}\n")
    assert found.errors


def test_lists_that_double() -> None:
    lets = "\n".join(f"let a{i} = [a{i + 1}, a{i + 1}]" for i in range(30))
    found = survive(f"fexp 1\n{lets}\nlet a30 = 1s\nexperiment e {{ sweep {{ x = a0 }} }}\n")
    assert "too-many" in {d.code for d in found}


@pytest.mark.parametrize("loads", ["100000000", "2.5Mbit/s"])
def test_loads_beyond_their_limit_are_not_walked(loads: str) -> None:
    """Conditions of figures did, for minutes."""
    with at_most(5):
        found = survive(
            "fexp 1\nexperiment e {\n  topology = geo\n  flow w { cca = bbr  workload ="
            f" load(page(7kB), client: plain, loads: {loads}, idle: 1s) }}\n"
            "  measure = [plt]\n  report { cdf(plt, where: load == 2) }\n}\n"
        )
    assert {"out-of-range", "wrong-dimension"} & {d.code for d in found}


def test_a_sweep_of_very_many_names() -> None:
    axes = "\n".join(f"x{i} = [1]" for i in range(5000))
    assert "too-many" in {d.code for d in survive(f"fexp 1 experiment e {{ sweep {{ {axes} }} }}")}


def test_a_hang_is_noticed() -> None:
    with pytest.raises(Hang), at_most(0.05):
        while True:
            pass
