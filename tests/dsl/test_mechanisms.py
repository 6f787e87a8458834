"""A mechanism is a folder and a line of the list: the program names none of them, and does without
those that are removed.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from trees import tree_of
from waiting import completed

from fairc.cell.devices import DEVICE_KINDS
from fairc.cell.effects import EFFECT_KINDS
from fairc.cell.medium import MEDIUM_KINDS, REPAIR_KINDS
from fairc.cell.queues import QUEUE_KINDS
from fairc.cell.workloads import WORKLOAD_KINDS
from fairc.cell.workloads import Workload as PlannedWorkload
from fairc.dsl.model import Workload
from fairc.mechanisms import MECHANISMS, register

ROOT = Path(__file__).parents[2]
CORE = ("cell", "dsl", "words", "compiler", "runtime", "fairc/cli")
register()
NAMES = {path.parent.name for path in (ROOT / "mechanisms").glob("*/*/cell.py")}
CLASSES = {
    kind.__name__
    for kinds in (
        *(QUEUE_KINDS, WORKLOAD_KINDS, DEVICE_KINDS),
        *(EFFECT_KINDS, MEDIUM_KINDS, REPAIR_KINDS),
    )
    for kind in kinds
    if kind.__module__.startswith("fairc.mechanisms.")
}
STAYING = {
    "compiler/engines.py": {"module", "program"},  # what an engine lacks, by the word for it
    "words/ccas/module.py": {"module"},  # the CCA of this name
    "runtime/uml/confinement.py": {"program"},  # a path
    "runtime/uml/image_files.py": {"program"},  # a folder
    "runtime/uml/launcher.py": {"program"},  # what runs in the confinement
    "runtime/uml/namespaces.py": {"program"},  # the same
    "runtime/engines/host.py": {"fifo"},  # the kernel's module of bfifo and pfifo
    "runtime/calibration/cases.py": {"red", "iperf3"},  # cases with these
    "runtime/calibration/transfers.py": {"iperf3"},  # the same
    "runtime/vm/recipe.py": {"iperf3"},  # a package of Debian
    "words/metrics.py": {"video"},  # a kind of frames, as in the following
    "runtime/measurement/frames.py": {"video"},
    "runtime/metrics/freezes.py": {"video"},
    "dsl/core/registry.py": {"fifo", "bulk"},  # what other tools call droptail, and greedy
}
"""File -> the names in it that have a reason to be there."""
DEVICES = NAMES & {*MECHANISMS["devices"], *MECHANISMS["links"], *MECHANISMS["effects"]}
"""Those whose names no identifier of the core has in it; a queue's is often a plain word."""
EVERYDAY = {"file", "load", "requests"}
"""Names that mean something else as well: as words they say nothing, in imports they do."""
REMOVED = {
    "queues": ("prio", "red", "cake"),
    "workloads": (
        *("file", "iperf3", "load", "interop", "media", "onoff", "ping"),
        *("program", "requests", "video"),
    ),
    "devices": ("pep", "policer"),
    "links": ("radio",),
    "effects": ("corrupt",),
}

SPEC = """fexp 1
experiment core {
  sweep { queue = [fifo(20pkt), codel(20pkt), fq_codel(20pkt), dualpi2(20pkt)] }
  topology = bottleneck(rate: 2Mbit/s, rtt: 20ms, queue: queue)
  flow a { cca = reno  workload = bulk }
  duration = 3s
  measure = [goodput, queue_delay]
}
"""


def test_the_core_names_no_mechanism() -> None:
    found = {}
    for package in CORE:
        for path in sorted((ROOT / package).rglob("*.py")):
            place = str(path.relative_to(ROOT))
            names = set(named(tree_of(path)))
            if names - STAYING.get(place, set()):
                found[place] = names
    assert not found, "go through the registry of the family, or a hook of the mechanism"


def test_a_name_is_found() -> None:
    source = """
from fairc.mechanisms.queues.red.cell import Red as R
from fairc.mechanisms.queues import prio
if isinstance(queue, plan.Fifo) or queue.kind == "codel":
    in_policers = cell.policer
"""
    found = {"red", "Red", "prio", "Fifo", "codel", "in_policers", "policer"}
    assert set(named(ast.parse(source))) == found


def named(tree: ast.AST) -> Iterator[str]:
    """Yield the mechanisms that a module imports, and those in its identifiers and its words."""
    for node in ast.walk(tree):
        for field in ("name", "id", "attr", "arg"):
            words = str(getattr(node, field, "")).lower().split("_")
            if any(word.removesuffix("s") in DEVICES for word in words):
                yield str(getattr(node, field))
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            yield from (each for each in parts if "mechanisms" in parts and each in NAMES)
            names = {alias.name for alias in node.names}
            yield from names & (CLASSES | (NAMES if "mechanisms" in parts else set()))
        elif isinstance(node, ast.Name) and node.id in CLASSES:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr in CLASSES:
            yield node.attr
        elif isinstance(node, ast.Constant) and node.value in NAMES - EVERYDAY:
            yield str(node.value)


def test_a_workload_of_the_language_says_nothing_that_its_part_says() -> None:
    """`own_time_ns` asks the finished part; `only_in_packets` is here what a message calls it."""
    ours, planned = (
        {name for name in vars(kind) if not name.startswith("_")}
        for kind in (Workload, PlannedWorkload)
    )
    assert ours & planned == {"own_time_ns", "only_in_packets"}


def test_the_list_has_every_folder() -> None:
    for family, names in MECHANISMS.items():
        folders = {
            path.parent.name for path in (ROOT / "mechanisms" / family).glob("*/__init__.py")
        }
        assert folders == set(names)


def test_what_a_cell_runs_needs_the_standard_library_and_cell_alone() -> None:
    """It is copied beside programs and into guests, where nothing else of fairc is."""
    folder = ROOT / "mechanisms"
    for path in (*folder.glob("*/*/cell.py"), *folder.glob("*/*/agent.py")):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= sys.stdlib_module_names, path
            elif isinstance(node, ast.ImportFrom):
                top, *rest = (node.module or "").split(".")
                assert not node.level, path
                assert top in sys.stdlib_module_names or (top, rest[0]) == ("fairc", "cell"), path


def test_checking_loads_nothing_that_only_results_need() -> None:
    code = """import sys, fairc.cli.check
mechanisms = [name for name in sys.modules if ".mechanisms." in name]
late = [name for name in mechanisms if name.endswith((".record", ".check"))]
sys.exit("numpy" in sys.modules or bool(late))"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program without some mechanisms: their folders and their lines are gone."""
    copy = tmp_path_factory.mktemp("program")
    for package in ("cell", "compiler", "dsl", "mechanisms", "runtime", "words", "fairc"):
        writing = shutil.ignore_patterns("*.pyc.*")  # bytecode that other processes just write
        shutil.copytree(ROOT / package, copy / package, symlinks=True, ignore=writing)
    for name in ("endpoints", "grammar.lark", "examples"):
        (copy / name).symlink_to(ROOT / name)
    listed = copy / "mechanisms/__init__.py"
    text = listed.read_text()
    for family, names in REMOVED.items():
        for name in names:
            shutil.rmtree(copy / "mechanisms" / family / name)
            place = text.index('"', text.index(f'    "{family}": (') + len(family) + 6)
            entry = text.index(f'"{name}",', place)
            text = text[:entry] + text[entry + len(name) + 3 :]
    listed.write_text(text)
    return copy


RUN = """
import sys
from pathlib import Path
from fairc import dsl
from fairc.compiler import compile
from fairc.compiler.plan import cell_json, parse_cell
from fairc.compiler.targets import runner

for path in sys.argv[1:]:
    experiment, problems = dsl.load(dsl.read(Path(path)))
    assert experiment is not None, dsl.render_full(problems)
    cell = next(compile(experiment).cells())
    assert parse_cell(cell_json(cell)) == cell
print(*runner.files())
"""


def run(program: Path, folder: Path, *specs: str) -> subprocess.CompletedProcess[str]:
    """Compile a cell of each spec with the copy."""
    return completed(
        [sys.executable, "-c", RUN, *specs],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(program)},
    )


def test_the_core_does_without_them(program: Path, tmp_path: Path) -> None:
    (tmp_path / "core.fexp").write_text(SPEC)
    examples = [
        f"{ROOT}/examples/{name}.fexp" for name in ("bbr-versions", "custom-topology", "mobile")
    ]
    done = run(program, tmp_path, "core.fexp", *examples)
    assert done.returncode == 0, done.stderr
    files = done.stdout.split()
    assert "cell/queues_codel.py" in files
    gone = {f"cell/{family}_{name}.py" for family, names in REMOVED.items() for name in names}
    assert not gone.intersection(files)


def test_keys_of_a_removed_one_are_unknown(program: Path, tmp_path: Path) -> None:
    link = "with { link left -> right { release = batch(size: 4pkt) } }\n  flow"
    (tmp_path / "batch.fexp").write_text(SPEC.replace("flow", link, 1))
    done = run(program, tmp_path, "batch.fexp")
    assert "has no key `release`" in done.stderr


def test_a_removed_one_is_unknown(program: Path, tmp_path: Path) -> None:
    (tmp_path / "red.fexp").write_text(SPEC.replace("codel(20pkt), fq_codel", "red(20pkt), pie"))
    done = run(program, tmp_path, "red.fexp")
    assert "no queue is called `red`" in done.stderr


IDENTITY = """
from fairc.compiler.plan import Requests
from fairc.runtime.run.lock import analysis_identity

print(analysis_identity(Requests()))
"""


def test_what_judges_a_mechanism_is_in_the_identity_of_analyses(program: Path) -> None:
    def identity() -> str:
        done = completed(
            [sys.executable, "-c", IDENTITY],
            cwd=program,
            env={**os.environ, "PYTHONPATH": str(program)},
            check=True,
        )
        return done.stdout

    before, check = identity(), program / "mechanisms/workloads/bulk/check.py"
    check.write_text("def check(measurement, flow): return ()\n")
    after = identity()
    check.unlink()
    assert before == identity() != after
