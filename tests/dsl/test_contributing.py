"""CONTRIBUTING.md: a copy of the program gets a new word of each kind in the files that its table
names, and runs an experiment that uses them all.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from waiting import completed

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WRITTEN_BY_THE_CAMPAIGN = {"tests/torture/record.jsonl", "docs/trust/reliability.md"}
PATHS = re.findall(r"`([A-Za-z][\w.-]*(?:/[\w.-]+)+/?)`", TEXT)
TABLE = {
    word: set(re.findall(r"`([^`]*/[^`]*)`", places))
    for word, places in re.findall(r"^\| ([\w ]+) \| \d \| (.*) \|$", TEXT, re.MULTILINE)
}
PACKAGES = ("cell", "compiler", "dsl", "mechanisms", "runtime", "words", "fairc")
SPEC = """fexp 1
experiment toys {
  sweep {
    net = [
      bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: hhf(100pkt), loss: rare(every: 50)),
      short(rtt: 10ms),
    ]
  }
  topology = net
  flow f { cca = reno  workload = parcel }
  duration = 3s
  measure = [volume]
  report { numbers() }
}
"""
LINKED = """fexp 1
experiment linked {
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms) with { link left -> right { %s } }
  flow f { cca = reno  workload = bulk }
  duration = 3s
  measure = [goodput, loss_rate]
}
"""
HEADER = '"""A toy."""\n\nfrom __future__ import annotations\n\n'


@dataclass(frozen=True)
class Toy:
    """A new word.

    name: the word. files: new ones, path -> text, with NAME for the word in the path. edits: of
    files that are there, path -> (text, what replaces it).
    """

    name: str
    files: Mapping[str, str]
    edits: Mapping[str, tuple[tuple[str, str], ...]]


QUEUE = """from fairc.mechanisms.queues.discipline import SIZE, Discipline, LinkQueue

from .cell import Hhf


def _lower(given: LinkQueue) -> Hhf:
    return Hhf(limit_packets=given.packets)


DECLARATION = Discipline(
    part=Hhf,
    name="hhf",
    summary="Heavy-hitter filter",
    parameters=(SIZE,),
    lower=_lower,
    is_random=True,
    order="flows",
    probes={"hhf": "limit 10"},
    modules=("sch_hhf",),
)
"""
QUEUE_PART = '''from dataclasses import dataclass
from typing import Literal

from fairc.cell.queues import QUEUE_KINDS, InPackets


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Hhf(InPackets):
    """Heavy-hitter filter."""

    kind: Literal["hhf"] = "hhf"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return f"limit {self.limit_packets}"
'''
METRIC = '''import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared, window

VOLUME = declared("volume", "bytes received")


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the bytes of each requested flow."""
    found = []
    for flow in measurement.sessions(request.sessions):
        _, end_s = window(measurement, flow)
        found.append(VOLUME.of(float(flow.delivered_bytes(np.array([0.0, end_s]))[0]), flow.name))
    return tuple(found)


METRIC = Metric("volume", (VOLUME,), compute)
'''
FIGURE = '''from fairc.compiler.plan import FigureRequest

from fairc.runtime.report.sheet import Sheet

from .base import FigureKind, Subject


def make(subject: Subject, request: FigureRequest | None) -> Sheet:
    """Make the table."""
    return Sheet("numbers", "requested", "All numbers", "How many.", (("cells", True),), ((str(len(subject.run.configurations)),),))


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
LOSS = """from fractions import Fraction

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_COUNT

from .model import Loss, LossModel

EVERY = Parameter("every", A_COUNT, "packets per loss", required=True)
RARE = LossModel(
    name="rare",
    summary="One packet in so many, at random",
    parameters=(EVERY,),
    build=lambda use: Loss(use.span, own=Fraction(1, int(use[EVERY].number))),
)
"""
WORKLOAD = """from fairc.dsl.model import Workload
from fairc.mechanisms.workloads.workload import WorkloadEntry

from .cell import Parcel

DECLARATION = WorkloadEntry(
    name="parcel", summary="50 kB", parameters=(), build=lambda use: Workload(Parcel())
)
"""
WORKLOAD_PART = """from dataclasses import dataclass
from typing import Any, Literal

from fairc.cell.workloads import WORKLOAD_KINDS, Workload


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel(Workload):
    greedy = True
    kind: Literal["parcel"] = "parcel"

    def plain(self) -> dict[str, Any]:
        return {"kind": "file", "bytes": 50_000}

    def total_bytes(self, connections: int) -> int:
        return 50_000 * connections
"""
DEVICE = '''from dataclasses import dataclass

from fairc.dsl.core.entries import Entries, Entry, Parameter
from fairc.dsl.core.kinds import AnyName
from fairc.dsl.core.registry import Registry
from fairc.dsl.model import LinkDevice, Misplaced
from fairc.mechanisms.devices.device import DeviceEntry

MODES = Registry("sieve", "sieve", [Entry("wide", "It lets all packets through", runs=True)])
AT = Parameter("at", AnyName("a router"), "where", required=True)
TO = Parameter("to", AnyName("a node"), "to this neighbour", required=True)
MODE = Parameter("mode", Entries(MODES), "what it does", required=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sieve(LinkDevice):
    """A sieve in front of a queue."""

    noun = "sieve"


DECLARATION = DeviceEntry(
    noun="sieve",
    summary="Sieves packets",
    example="sieve NAME { at = left  to = right  mode = wide }",
    modes=MODES,
    key=Parameter("sieve", Entries(MODES), "sieve in front of the queue", otherwise="none"),
    block=Registry("key of sieve", "key", [AT, TO, MODE]),
    at=AT,
    to=TO,
    mode=MODE,
    read=lambda use, name: Sieve(name=name, span=use.span),
    no_link=Misplaced("no-sieve-link", "write another link"),
    twice=Misplaced("duplicate-sieve", "keep one of them"),
    between_proxies=Misplaced("sieved-pep", "sieve another link"),
    does="sieve",
    is_done="sieved",
)
'''
DEVICE_LOWERING = '''from typing import Any

from .cell import Sieve


def lower(device: Any, egress: Any, wiring: Any, *_: object) -> Sieve:
    """Return it."""
    ingress = wiring.other(egress).name
    return Sieve(name=device.name, node=egress.node, ingress=ingress, egress=egress.name)
'''
DEVICE_PART = '''from dataclasses import dataclass
from typing import Literal

from fairc.cell.devices import DEVICE_KINDS, FrontDevice


@DEVICE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Sieve(FrontDevice):
    """A sieve."""

    kind: Literal["sieve"] = "sieve"

    @property
    def actions(self) -> str:
        """The action of tc."""
        return "police rate 9000000bit burst 90000 mtu 65535 overhead 14 conform-exceed drop/ok"
'''
LINK = """from typing import Any

from fairc.cell.medium import Repair
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_SWITCH
from fairc.mechanisms.links.link import LinkMechanism, LinkSettings

from .cell import Patient

PATIENT = Parameter("patient", A_SWITCH, "losses are made good", "off")


def repair(settings: LinkSettings) -> tuple[Repair, Parameter[Any]] | None:
    return (Patient(), PATIENT) if settings.given(PATIENT) else None


DECLARATION = LinkMechanism(
    keys=(PATIENT,),
    medium=lambda settings: None,
    repair=repair,
    features=(),
    required=lambda medium, repair: iter(()),
)
"""
LINK_PART = """from dataclasses import dataclass
from typing import ClassVar, Literal

from fairc.cell.batch import duration
from fairc.cell.medium import REPAIR_KINDS, Repair


@REPAIR_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Patient(Repair):
    module: ClassVar[str] = "netem"

    kind: Literal["patient"] = "patient"

    @property
    def longest_ns(self) -> int:
        return 0

    def lost(self, loss: float) -> float:
        return 0.0

    def words(self, limit_packets: int, delay_ns: int, loss: float, seed: int | None) -> str:
        return f"netem limit {limit_packets} delay {duration(delay_ns)} seed {seed or 1}"
"""
EFFECT = """from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_SWITCH
from fairc.dsl.model import Misplaced
from fairc.mechanisms.effects.effect import EffectEntry

from .cell import Garble

DECLARATION = EffectEntry(
    key=Parameter("garble", A_SWITCH, "a tenth of the packets is damaged", "off"),
    read=lambda on: Garble() if on else None,
    does="damages packets",
    beside_copies="each copy would be damaged for itself",
    tunnelled=Misplaced("garble-in-tunnel", "put `garble` elsewhere"),
)
"""
EFFECT_PART = """from dataclasses import dataclass
from typing import Literal

from fairc.cell.effects import EFFECT_KINDS, Effect


@EFFECT_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Garble(Effect):
    trait = "damaged packets"
    kind: Literal["garble"] = "garble"

    @property
    def damaged(self) -> float:
        return 0.1

    @property
    def words(self) -> str:
        return "corrupt 10%"
"""
ENGINE = '''from .uml import UmlEngine


class CopiedEngine(UmlEngine):
    """The engine."""

    name = "copied"
'''
COMMAND = '''"""`fairc hail`: say hail."""

from . import console


def hail() -> None:
    """Say hail."""
    console.result("hail")
'''
COMMAND_LINE = '''@fairc.command()
def hail() -> None:
    """Say hail."""


@fairc.command()
def lsp() -> None:
'''
TARGET = '''from pathlib import Path

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
        {
            "mechanisms/queues/NAME/__init__.py": "",
            "mechanisms/queues/NAME/declaration.py": QUEUE,
            "mechanisms/queues/NAME/cell.py": QUEUE_PART,
        },
        {"mechanisms/__init__.py": (('        "prio",\n', '        "prio",\n        "hhf",\n'),)},
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
    ),
    "preset": Toy("short", {"words/presets/NAME.fexp": PRESET}, {}),
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
    ),
    "workload": Toy(
        "parcel",
        {
            "mechanisms/workloads/NAME/__init__.py": "",
            "mechanisms/workloads/NAME/declaration.py": WORKLOAD,
            "mechanisms/workloads/NAME/cell.py": WORKLOAD_PART,
        },
        {
            "mechanisms/__init__.py": (
                ('        "program",\n', '        "program",\n        "parcel",\n'),
            )
        },
    ),
    "device in front of a queue": Toy(
        "sieve",
        {
            "mechanisms/devices/NAME/__init__.py": "",
            "mechanisms/devices/NAME/declaration.py": DEVICE,
            "mechanisms/devices/NAME/lowering.py": DEVICE_LOWERING,
            "mechanisms/devices/NAME/cell.py": DEVICE_PART,
        },
        {
            "mechanisms/__init__.py": (
                ('        "policer",\n', '        "policer",\n        "sieve",\n'),
            )
        },
    ),
    "medium or repair of links": Toy(
        "patient",
        {
            "mechanisms/links/NAME/__init__.py": "",
            "mechanisms/links/NAME/declaration.py": LINK,
            "mechanisms/links/NAME/cell.py": LINK_PART,
        },
        {"mechanisms/__init__.py": (('("radio",)', '("radio", "patient")'),)},
    ),
    "effect of links": Toy(
        "garble",
        {
            "mechanisms/effects/NAME/__init__.py": "",
            "mechanisms/effects/NAME/declaration.py": EFFECT,
            "mechanisms/effects/NAME/cell.py": EFFECT_PART,
        },
        {"mechanisms/__init__.py": (('("corrupt",)', '("corrupt", "garble")'),)},
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
    "command": Toy(
        "hail",
        {"fairc/cli/NAME.py": COMMAND},
        {"fairc/cli/commands.py": (("@fairc.command()\ndef lsp() -> None:\n", COMMAND_LINE),)},
    ),
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
    ),
}


def test_every_path_is_there() -> None:
    missing = [path for path in PATHS if not re.search("NAME|CODE", path)]
    missing = [path for path in missing if not (ROOT / path).exists()]
    assert set(missing) <= WRITTEN_BY_THE_CAMPAIGN


@pytest.mark.parametrize("word", TOYS)
def test_a_new_word_touches_the_files_that_the_table_names(word: str) -> None:
    """The endpoints have a workload in a file more; this one is what `file` is to them."""
    toy = TOYS[word]
    named = {path for path in TABLE[word] if not path.startswith("endpoints/")}
    assert {*toy.files, *toy.edits} == named


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program with every toy."""
    copy = tmp_path_factory.mktemp("program")
    for package in PACKAGES:
        # With its bytecode, but for what other tests' processes are just writing.
        writing = shutil.ignore_patterns("*.pyc.*")
        shutil.copytree(ROOT / package, copy / package, symlinks=True, ignore=writing)
    (copy / "endpoints").symlink_to(ROOT / "endpoints")
    (copy / "grammar.lark").symlink_to(ROOT / "grammar.lark")
    for toy in TOYS.values():
        for path, text in toy.files.items():
            place = copy / path.replace("NAME", toy.name)
            assert not place.exists()
            place.parent.mkdir(exist_ok=True)
            is_headed = text.startswith('"""') or not path.endswith(".py")
            place.write_text(text if is_headed else HEADER + text)
        for path, edits in toy.edits.items():
            text = (copy / path).read_text()
            for old, new in edits:
                assert text.count(old) == 1, f"{path} no longer has {old!r} once"
                text = text.replace(old, new)
            (copy / path).write_text(text)
    return copy


@pytest.fixture
def fairc(program: Path, tmp_path: Path) -> Callable[..., str]:
    """Return a function that calls the copy's `fairc ARGUMENTS...` beside the toys' spec."""
    (tmp_path / "toys.fexp").write_text(SPEC)

    def call(*arguments: str) -> str:
        done = completed(
            [sys.executable, "-m", "fairc", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(program)},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


@pytest.mark.full
def test_a_copy_with_the_new_words_runs_them(fairc: Callable[..., str], tmp_path: Path) -> None:
    assert "2 valid" in (said := fairc("run", "toys.fexp", "-o", "run")), said
    page = (tmp_path / "run/report.html").read_text()
    assert "volume" in page and "How many" in page
    fairc("compile", "toys.fexp", "-o", "out", "--target", "names")
    assert (tmp_path / "out/names.txt").read_text() == "2 cells\n"
    assert fairc("hail") == "hail\n"


@pytest.mark.full
def test_a_copy_with_a_new_engine_runs_on_it(fairc: Callable[..., str]) -> None:
    where = "repetition == 1 and net == short(rtt: 10ms)"
    said = fairc("run", "toys.fexp", "-o", "run", "--engine", "copied", "--where", where)
    assert "1 valid" in said, said


@pytest.mark.full
@pytest.mark.parametrize(
    ("link", "kind", "reported"),
    [
        ("sieve = wide", "sieve", ""),
        ("loss = 5%  patient = on", "patient", ""),
        ("garble = on", "garble", "damaged packets"),
    ],
)
def test_a_copy_with_new_keys_of_links_runs_them(
    fairc: Callable[..., str], tmp_path: Path, link: str, kind: str, reported: str
) -> None:
    """A device, a repair and an effect."""
    (tmp_path / "link.fexp").write_text(LINKED % link)
    assert "1 valid" in (said := fairc("run", "link.fexp", "-o", "run", "--engine", "uml")), said
    assert f'"kind":"{kind}"' in (tmp_path / "run/cells.jsonl").read_text()
    assert reported in (tmp_path / "run/report.html").read_text()
