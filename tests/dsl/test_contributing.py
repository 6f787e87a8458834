"""CONTRIBUTING.md: a copy of the program gets a new word of each kind in the files that its table
names, and runs it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WRITTEN_BY_THE_CAMPAIGN = {"tests/torture/record.jsonl", "docs/trust/reliability.md"}
PATHS = re.findall(r"`([A-Za-z][\w.-]*(?:/[\w.-]+)+/?)`", TEXT)
TABLE = {
    word: set(re.findall(r"`([^`]*/[^`]*)`", places))
    for word, places in re.findall(r"^\| ([\w ]+) \| \d \| (.*) \|$", TEXT, re.MULTILINE)
}
ROOMS = ("cell", "compiler", "dsl", "runtime", "words", "fairc")
SPEC = """fexp 1
experiment toy {{
  topology = {topology}
  flow f {{ cca = reno  workload = {workload} }}
  duration = 3s
  measure = [{metric}]
  {more}
}}
"""


@dataclass(frozen=True)
class Toy:
    """A new word.

    files: new ones, path -> text, with NAME for the word in the path. edits: of files that are
    there, path -> (text, what replaces it). spec: what of SPEC it changes. made: a file that
    `compile` or `run` then writes, and what is in it.
    """

    name: str
    files: Mapping[str, str]
    edits: Mapping[str, tuple[tuple[str, str], ...]]
    spec: Mapping[str, str] = field(default_factory=dict)
    made: tuple[str, str] = ("run/report.html", "goodput")


QUEUE = '''"""`hhf`: heavy-hitter filter."""

from __future__ import annotations

from fairc.compiler import plan

from .discipline import SIZE, Discipline, LinkQueue


def _lower(given: LinkQueue) -> plan.Qdisc:
    return plan.Qdisc(
        limit_packets=given.packets, discipline="hhf", arguments=(("limit", given.packets),)
    )


HHF = Discipline(
    name="hhf",
    summary="Heavy-hitter filter",
    parameters=(SIZE,),
    lower=_lower,
    is_random=True,
    order="flows",
    probes={"hhf": "limit 10"},
    modules=("sch_hhf",),
)
'''
METRIC = '''"""Megabytes that a flow's client received."""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, Value, window

VOLUME = Value("volume", "B", "bytes received")


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the bytes of each requested flow."""
    found = []
    for flow in measurement.sessions(request.sessions):
        _, end_s = window(measurement, flow)
        found.append(VOLUME.of(float(flow.delivered_bytes(np.array([0.0, end_s]))[0]), flow.name))
    return tuple(found)


METRIC = Metric("volume", (VOLUME,), compute)
'''
FIGURE = '''"""The figure `numbers`: every value in a row."""

from __future__ import annotations

from fairc.compiler.plan import FigureRequest

from fairc.runtime.report.sheet import Sheet

from .base import FigureKind, Subject


def make(subject: Subject, request: FigureRequest | None) -> Sheet:
    """Make the table."""
    return Sheet("numbers", "asked", "All numbers", "How many.", (("cells", True),), ((str(len(subject.run.configurations)),),))


KIND = FigureKind("numbers", make)
'''
PRESET = """fexp 1

# A server and a client with a link of 2 Mbit/s between them.
topology short(
  rtt = 20ms,  # time: base round trip of the path
) {
  node server, client
  link server -- client { rate = 2Mbit/s  delay = rtt / 2 }
}
"""
LOSS = '''"""`rare`: a loss probability in packets per loss."""

from __future__ import annotations

from fractions import Fraction

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_COUNT

from .losses import Loss, LossModel

EVERY = Parameter("every", A_COUNT, "packets per loss", required=True)
RARE = LossModel(
    name="rare",
    summary="One packet in so many, at random",
    parameters=(EVERY,),
    build=lambda use: Loss(use.span, own=Fraction(1, int(use[EVERY].number))),
)
'''
WORKLOAD = '''"""`parcel`: a file of 50 kB."""

from __future__ import annotations

from dataclasses import dataclass

from fairc.cell.workloads import ParcelWorkload
from fairc.dsl.model import Workload

from .workload import WorkloadEntry


@dataclass(frozen=True)
class Parcel(Workload):
    """The workload `parcel`."""

    kind = "parcel"

    def lower(self, flow, path, seed, shared):
        """Return its part of the plan."""
        return ParcelWorkload()


WORKLOAD = WorkloadEntry(
    name="parcel", summary="50 kB", parameters=(), build=lambda use: Parcel()
)
'''
PLANNED = """
@dataclass(frozen=True, slots=True, kw_only=True)
class ParcelWorkload(Transfer):
    greedy = True
    kind: Literal["parcel"] = "parcel"

    def plain(self) -> dict[str, Any]:
        return {"kind": "file", "bytes": 50_000}

    def total_bytes(self, connections: int) -> int:
        return 50_000 * connections


Workload = (
"""
ENGINE = '''"""`copied`: the kernel of `uml`, by another name."""

from __future__ import annotations

from .uml import UmlEngine


class CopiedEngine(UmlEngine):
    """The engine."""

    name = "copied"
'''
COMMAND = '''"""`fairc hail`: say hail."""

from __future__ import annotations

import click

from . import console


@click.command()
def hail() -> None:
    """Say hail."""
    console.result("hail")
'''
TARGET = '''"""Target `names`: the names of the cells, a line each."""

from __future__ import annotations

from pathlib import Path

from fairc.compiler.estimate import Estimate
from fairc.compiler.plan import Plan

from .rendering import template


def finish(directory: Path, plan: Plan, estimate: Estimate) -> None:
    """Write `names.txt`."""
    (directory / "names.txt").write_text(template("names.j2").render(cells=plan.cells))
'''

TOYS = {
    "queue": Toy(
        "hhf",
        {"words/queues/NAME.py": QUEUE},
        {
            "words/queues/__init__.py": (
                ("from . import ", "from . import hhf, "),
                ("        prio.PRIO,\n", "        prio.PRIO,\n        hhf.HHF,\n"),
            )
        },
        {"topology": "bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: hhf(100pkt))"},
    ),
    "metric": Toy(
        "volume",
        {"runtime/metrics/NAME.py": METRIC},
        {
            "words/metrics.py": (
                (
                    '        _metric(\n            "plt",',
                    (
                        '        _metric("volume", "B", "Bytes received", FLOW),\n'
                        '        _metric(\n            "plt",'
                    ),
                ),
            )
        },
        {"metric": "volume"},
        ("run/report.html", "volume"),
    ),
    "figure": Toy(
        "numbers",
        {"runtime/report/figures/NAME.py": FIGURE},
        {
            "words/figures.py": (
                (
                    '        _figure(\n            "table",',
                    (
                        '        _figure("numbers", "All numbers", most=(1, 1)),\n       '
                        ' _figure(\n            "table",'
                    ),
                ),
            )
        },
        {"more": "report { numbers() }"},
        ("run/report.html", "How many"),
    ),
    "preset": Toy(
        "short", {"words/presets/NAME.fexp": PRESET}, {}, {"topology": "short(rtt: 10ms)"}
    ),
    "loss model": Toy(
        "rare",
        {"words/losses/NAME.py": LOSS},
        {
            "words/losses/__init__.py": (
                (
                    "from . import gilbert_elliott, loss",
                    "from . import gilbert_elliott, loss, rare",
                ),
                ("[loss.LOSS, ", "[loss.LOSS, rare.RARE, "),
            )
        },
        {"topology": "bottleneck(rate: 2Mbit/s, rtt: 20ms, loss: rare(every: 50))"},
    ),
    "workload": Toy(
        "parcel",
        {"words/workloads/NAME.py": WORKLOAD},
        {
            "cell/workloads.py": (
                ("\nWorkload = (\n", PLANNED),
                ("    | Iperf3Workload\n", "    | Iperf3Workload\n    | ParcelWorkload\n"),
            )
        },
        {"workload": "parcel"},
    ),
    "engine": Toy(
        "copied",
        {"runtime/engines/NAME.py": ENGINE},
        {
            "runtime/engines/__init__.py": (
                (
                    '        EngineKind(\n            "docker",',
                    (
                        '        EngineKind("copied", "again", "copied:CopiedEngine", image="uml"),\n'
                        '        EngineKind(\n            "docker",'
                    ),
                ),
            ),
            "compiler/engines.py": (
                (
                    "\n}\n\n\ndef profile",
                    '\n    "copied": Profile((BPF,), UML),\n}\n\n\ndef profile',
                ),
            ),
        },
    ),
    "command": Toy("hail", {"fairc/cli/NAME.py": COMMAND}, {}),
    "target": Toy(
        "names",
        {
            "compiler/targets/NAME.py": TARGET,
            "compiler/targets/templates/NAME.j2": "{{ cells }} cells\n",
        },
        {
            "compiler/targets/__init__.py": (
                ("from . import containers,", "from . import names, containers,"),
                (
                    '        Target("slurm"',
                    (
                        '        Target("names", "the cells", finish=names.finish),\n       '
                        ' Target("slurm"'
                    ),
                ),
            )
        },
        {},
        ("out/names.txt", "1 cells"),
    ),
}


def test_every_path_is_there() -> None:
    missing = [path for path in PATHS if not re.search("NAME|CODE", path)]
    missing = [path for path in missing if not (ROOT / path).exists()]
    assert set(missing) <= WRITTEN_BY_THE_CAMPAIGN


@pytest.mark.parametrize("word", TOYS)
def test_a_new_word_needs_the_files_that_the_table_names(word: str, tmp_path: Path) -> None:
    """The endpoints have a workload in a file more; this one is what `file` is to them."""
    toy = TOYS[word]
    touched = {*toy.files, *toy.edits}
    assert touched == {path for path in TABLE[word] if not path.startswith("endpoints/")}
    program = tmp_path / "program"
    for room in ROOMS:
        shutil.copytree(ROOT / room, program / room, symlinks=True)  # with its bytecode
    (program / "endpoints").symlink_to(ROOT / "endpoints")
    (program / "grammar.lark").symlink_to(ROOT / "grammar.lark")
    for path, text in toy.files.items():
        place = program / path.replace("NAME", toy.name)
        assert not place.exists()
        place.write_text(text)
    for path, edits in toy.edits.items():
        text = (program / path).read_text()
        for old, new in edits:
            assert text.count(old) == 1, f"{path} no longer has {old!r} once"
            text = text.replace(old, new)
        (program / path).write_text(text)
    usual = {
        "topology": "bottleneck(rate: 2Mbit/s, rtt: 20ms)",
        "workload": "file(50kB)",
        "metric": "goodput",
        "more": "",
    }
    (tmp_path / "toy.fexp").write_text(SPEC.format(**{**usual, **toy.spec}))

    def fairc(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "fairc", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(program)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    if word == "command":
        assert "say hail" in fairc("--help").lower()
        assert fairc(toy.name) == "hail\n"
        return
    engine = ("--engine", toy.name) if word == "engine" else ()
    said = fairc("run", "toy.fexp", "-o", "run", *engine)
    assert "1 valid" in said, said
    fairc("compile", "toy.fexp", "-o", "out", "--target", toy.name if word == "target" else "json")
    path, text = toy.made
    assert text in (tmp_path / path).read_text()
