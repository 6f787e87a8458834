"""Every table that a report draws has its CSV and its LaTeX, which compiles whatever its texts
hold.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from representatives import few

from fairc.runtime.report.latex import PACKAGES
from fairc.runtime.run.phase import Findings, Result
from fairc.runtime.statistics import Estimate

Fairc = Callable[..., Any]  # conftest.py

HOSTILE = r"50 % of $x_1^2$ & #1 ~ {a} \\input{/etc/passwd} – µs × ≥ — “é” 中 [b] | <c>"  # noqa: RUF001
EVERY = rf"""fexp 1

experiment every {{
  title    = "{HOSTILE}"
  source   = "{HOSTILE}"
  deviates = "[no] cross traffic, {HOSTILE}, in a text that is long enough for several lines of a column"
  deviates = "*starred* --set `code` ,, ?`"
  sweep {{ rate = [1Mbit/s, 2Mbit/s]  over_b = [tcp, quic] }}
  topology = bottleneck(rate: rate, rtt: 50ms, queue: fifo(2bdp))
  flow a_1 {{ cca = cubic  workload = file(100kB) }}
  flow b   {{ cca = cubic  over = over_b  workload = file(100kB) }}
  warmup = 100ms
  repeat = 8..12
  precision per (rate) {{ goodput = 16% }}
  measure = [fairness, goodput]
  claim "{HOSTILE}" {{ holds = median(goodput, flow: a_1) > 1kbit/s }}
  report {{ table(goodput, by: (flow, rate))  boxplot(goodput, by: (flow, over_b), test: wilcoxon) }}
}}
"""
ALONE = rf"""fexp 1

experiment alone {{
  title    = "{HOSTILE}"
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  flow a {{ cca = cubic  workload = file(100kB) }}
  repeat = 6
  measure = [goodput]
  claim "# 1 & {HOSTILE}" {{ holds = median(goodput) > 1kbit/s }}
}}
"""
TABLES = {
    "alone": {"answer", "autocorrelation", "claims", "lock", "transport-settings", "validity"},
    "every": {
        "01-table-goodput",
        "answer",
        "autocorrelation",
        "cells",
        "claims",
        "comparisons",
        "deviations",
        "endings",
        "lock",
        "metrics",
        "phases",
        "reasons",
        "settings",
        "transport-settings",
        "transports",
        "validity",
        "warmup",
    },
}
SUFFIXES = ("csv", "tex")
BY: dict[str, str | None] = {"rate": "1Mbit/s", "flow": "a_1"}
BEFORE, AFTER = Estimate(12, 588e3, 384e3, 591e3), Estimate(12, 484e3)
PHASES = Findings(
    1,
    4,
    12,
    (12_112_000, 12_112_000),
    {"valid": 12},
    (Result("goodput", "bit/s", BY, "phase-sensitive", BEFORE, AFTER, HOSTILE),),
)
"""A phase check that found something: what one of the fake engine finds depends on the build."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test of a report keeps it for the others."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(params=few(sorted(TABLES), "every"))
def reported(
    request: pytest.FixtureRequest,
    fairc: Fairc,
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
    without_drawing: None,
) -> Path:
    """A run with its page, without its figures, and its tables; the one named `every` has all of them."""
    name: str = request.param
    run = kept / name
    if not run.exists():
        Path(f"{name}.fexp").write_text(EVERY if name == "every" else ALONE)
        more = ["--set", "rate=[1Mbit/s, 2Mbit/s]"] if name == "every" else []
        with monkeypatch.context() as without:
            without.setattr(
                "fairc.runtime.report.build.build", lambda path, _: [path / "report.html"]
            )
            assert fairc("run", f"{name}.fexp", "-o", run, *more).status in (
                0,
                1,
            )  # some are invalid
        warmup = ["--warmup-sensitivity"] if name == "every" else []
        formats = [word for suffix in ("html", *SUFFIXES) for word in ("--format", suffix)]
        with monkeypatch.context() as with_phases:
            if name == "every":
                with_phases.setattr("fairc.runtime.report.phases.findings", lambda _: PHASES)
            assert fairc("report", run, *formats, *warmup).status == 0
    return run


def test_every_table_of_the_page_is_there_in_both_forms(reported: Path) -> None:
    page = (reported / "report.html").read_text("utf-8")
    tables = re.findall(r"<table\b[^>]*>", page)
    drawn = {found[1] for tag in tables if (found := re.search(r'data-sheet="([^"]+)"', tag))}
    assert all("data-sheet" in tag for tag in tables), "a table without its sheet's name"
    files = {suffix: {p.stem for p in reported.glob(f"figures/*.{suffix}")} for suffix in SUFFIXES}
    assert all(drawn <= names for names in files.values())
    assert {name.removeprefix("table-") for name in files["csv"]} == TABLES[reported.name]
    # What nobody sees on the page as a table: a list of reasons.
    assert files["csv"] - drawn <= {"table-reasons"}


def test_sections_draw_their_tables_with_one_template() -> None:
    """Except the answer with its explorer, the claims with their pictures, and the pages of several
    experiments and of a suite, which link to theirs.
    """
    import fairc.runtime.report

    folder = Path(fairc.runtime.report.__file__).parent / "templates"
    tags = {p.name: re.findall(r"<table\b[^>]*>", p.read_text("utf-8")) for p in folder.glob("*")}
    assert {name for name, found in tags.items() if found} == {
        "all.html.j2",
        "answer.html.j2",
        "claims.html.j2",
        "macros.html.j2",
        "suite.html.j2",
    }
    del tags["suite.html.j2"]  # whose tables are in report.md
    assert all("data-sheet=" in tag for found in tags.values() for tag in found)


def test_claims_and_phases_have_exact_numbers(reported: Path) -> None:
    with (reported / "figures/table-claims.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(row["claim"].endswith("(bit/s)") and row["verdict"] for row in rows)
    decided = [row for row in rows if row["interval low"]]
    assert decided
    for row in decided:
        assert (
            1e5 < float(row["interval low"]) <= float(row["value"]) <= float(row["interval high"])
        )
    if reported.name == "every":
        with (reported / "figures/table-phases.csv").open(newline="") as file:
            phases = list(csv.DictReader(file))
        (row,) = phases
        assert (row["run"], row["phase check"]) == ("588000.0", "484000.0")
        assert (row["run, 95 % interval low"], row["phase check, 95 % interval"]) == (
            "384000.0",
            "",
        )


def test_differences_have_exact_numbers(reported: Path) -> None:
    if reported.name != "every":
        return
    with (reported / "figures/table-comparisons.csv").open(newline="") as file:
        found = [row for row in csv.DictReader(file) if row["metric"].startswith("goodput")]
    rows = [row for row in found if row["95 % interval low"]]
    assert rows and all(row["metric"].endswith("(bit/s)") for row in rows)
    for row in rows:
        ends = [float(row[f"95 % interval {end}"]) for end in ("low", "high")]
        assert ends[0] <= float(row["second - first"]) <= ends[1] and max(map(abs, ends)) > 1e3


@pytest.mark.full
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
def test_latex_compiles_in_one_column_of_two_and_none_is_wider(reported: Path) -> None:
    tables = sorted((reported / "figures").glob("*.tex"))
    body = "\n\n".join(f"\\noindent\\input{{{table.stem}}}" for table in tables)
    document = f"\\documentclass[twocolumn]{{article}}{PACKAGES}\\begin{{document}}\n{body}\n\\onecolumn\n{body}\n\\end{{document}}"
    (reported / "figures" / "all.latex").write_text(document, "utf-8")
    command = ["pdflatex", "-draftmode", "-halt-on-error", "-no-shell-escape", "all.latex"]
    done = subprocess.run(
        command,
        cwd=reported / "figures",
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    log = (reported / "figures/all.log").read_text("latin1")
    assert done.returncode == 0, log[-2000:]
    assert "Overfull \\hbox" not in log
