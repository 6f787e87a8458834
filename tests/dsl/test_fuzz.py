"""Broken input of every kind: diagnostics, never an exception."""

from __future__ import annotations

import json
import re
from pathlib import Path

import fuzzing
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import mutations

from fairc.dsl import CompileError, Diagnostics, Source, condition, load, read
from fairc.dsl.core.render import LIMIT, render_concise, render_full, render_json

TEXTS = [
    path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parent.parent.parent / "examples").glob("*.fexp"))
]

HEAD = re.compile(r"(error|warning)\[[a-z0-9-]+\]: ")

quick = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def survive(text: str) -> Diagnostics:
    """Load, count and render whatever it is."""
    experiment, found = load(Source("file.fexp", text))
    assert (experiment is None) == bool(found.errors)
    full, concise = render_full(found), render_concise(found)
    # Nothing of a file can reach a terminal but as text; a line of the file stays one line.
    assert (full + concise).replace("\n", "").isprintable()
    assert concise.count("\n") == len(found)
    shown = [f"{each.severity.value}[{each.code}]: " for each in found][:LIMIT]
    assert [line.split(" ")[0] + " " for line in full.splitlines() if HEAD.match(line)] == shown
    assert [each["code"] for each in json.loads(render_json(found))] == [d.code for d in found]
    # What is missing at the end of a file is shown one behind it.
    spans = [d.span for d in found if d.span is not None and d.span.source.text == text]
    assert all(0 <= span.start <= len(text) and span.end <= len(text) + 1 for span in spans)
    if experiment is not None:
        try:
            next(experiment.configurations(), None)
        except CompileError as error:
            assert error.diagnostics
    return found


@quick
@given(mutations(TEXTS))
def test_mutations_of_the_specs(text: str) -> None:
    survive(text)


@quick
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    survive(text)


@quick
@given(st.lists(st.sampled_from([*TEXTS[5].split(), "{", "}", "(", ")", ",", "--"]), max_size=60))
def test_words_in_any_order(words: list[str]) -> None:
    survive("fexp 1\n" + " ".join(words))


@quick
@given(st.binary(max_size=300))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz.fexp"
    file.write_bytes(data)
    try:
        survive(read(file).text)
    except CompileError as error:
        assert error.diagnostics


@quick
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
    with fuzzing.at_most(5):
        found = survive(
            "fexp 1\nexperiment e {\n  topology = geo\n  flow w { cca = bbr  workload ="
            f" load(page(7kB), client: plain, loads: {loads}, idle: 1s) }}\n"
            "  measure = [plt]\n  report { cdf(plt, where: load == 2) }\n}\n"
        )
    assert {"out-of-range", "wrong-dimension"} & {d.code for d in found}


def test_a_sweep_of_very_many_names() -> None:
    axes = "\n".join(f"x{i} = [1]" for i in range(5000))
    assert "too-many" in {d.code for d in survive(f"fexp 1 experiment e {{ sweep {{ {axes} }} }}")}


def test_a_part_of_make_fuzz() -> None:
    endings = [fuzzing.one((2, number)) for number in range(600)]
    assert [(number, problem) for number, _, problem in endings if problem] == []
    assert {ending for _, ending, _ in endings} >= {"does not parse", "is wrong", "runs"}


def test_a_hang_is_noticed() -> None:
    with pytest.raises(fuzzing.Hang), fuzzing.at_most(0.05):
        while True:
            pass
