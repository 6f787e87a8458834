"""No text of a plan becomes anything but text in what is emitted: every field of today's schema,
with hostile texts.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import canaries
import hostile
import pytest
import yaml
from plan_corpus import corpus
from pydantic import ValidationError
from representatives import few

from fairc.cell.expansion import expand
from fairc.cell.text import Text
from fairc.compiler import Cell
from fairc.compiler.compilation import Compilation
from fairc.compiler.estimate import Estimate
from fairc.compiler.plan import Plan
from fairc.compiler.targets import containers, jobs, kubernetes, mininet, slurm
from fairc.dsl.core.diagnostics import CompileError
from fairc.runtime.pack import readme

LOADER = yaml.CSafeLoader  # the parser in Python took three quarters of the time
KNOWN_WORDS = (
    "FigureRequest.options",
)  # lines by their type, and then the words of the figure alone


@cache
def found() -> dict[str, tuple[str, Any, canaries.Path, str]]:
    """Return slot -> (plan or cell, its document, path, text there): the smallest that has it."""
    best: dict[str, tuple[int, str, Any, canaries.Path, str]] = {}
    for name, (compilation, cell) in corpus().items():
        for model in (compilation.plan, cell):
            text = canaries.as_json(model)
            for slot, path, old in canaries.places(model):
                if slot not in best or len(text) < best[slot][0]:
                    best[slot] = (len(text), name, json.loads(text), path, old)
    return {slot: value[1:] for slot, value in best.items()}


def test_every_field_that_holds_text_is_tried() -> None:
    """A new field needs a plan that has it: an example, or a line in
    tests/support/plan_corpus.py.
    """
    assert sorted(canaries.slots() - found().keys()) == []
    assert sorted(found().keys() - canaries.slots()) == []


def test_a_new_field_would_be_noticed() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Wider(Cell):
        tags: dict[str, int]
        label: Text = ""
        more: str = "x"

    known = canaries.slots_of(Wider)
    assert {"Wider.label", "Wider.tags", "Wider.more", "Flow.name"} <= known
    assert "Wider.repetition" not in known and "Fifo.kind" not in known


def taken(slot: str) -> Iterator[tuple[Plan | Cell, str, str]]:
    """Yield (plan or cell, old text, new text) of what the schema lets through with a hostile text
    in a slot.
    """
    _, document, path, old = found()[slot]
    model = Plan if "cells" in document else Cell
    for new in (*canaries.TEXTS, *canaries.NAMES):
        for planted in canaries.planted(document, path, old, new):
            try:
                made = canaries.of_json(model, json.dumps(planted))
            except (ValidationError, ValueError):
                continue
            if canaries.as_json(made) != json.dumps(document):
                yield made, old, new
                break


@pytest.mark.parametrize("slot", few(sorted(canaries.slots()), *sorted(canaries.slots())[::8]))
def test_a_canary_stays_text(slot: str) -> None:
    name = found()[slot][0]
    compilation = corpus()[name][0]
    tried = 0
    for made, old, new in taken(slot):
        tried += 1
        try:
            if isinstance(made, Cell):
                _cell(made, _usual(name), old, new)
            else:
                _plan(made, compilation, old, new)
        except (AssertionError, yaml.YAMLError, SyntaxError, ValueError) as error:
            pytest.fail(f"{slot} = {new!r}: {error!r:.500}")
    assert tried or slot not in canaries.free() or slot in KNOWN_WORDS, (
        f"no text is taken as {slot}: what it may hold is not tried"
    )


# ---- What is emitted of a cell ----------------------------------------------------------------


@cache
def _usual(name: str) -> dict[str, str]:
    return _files(corpus()[name][1])


def _files(cell: Cell) -> dict[str, str]:
    """Return what targets write for a cell, by name; what a target refuses is left out."""
    made = {}
    with suppress(CompileError):
        made["mininet"] = mininet.render(cell)
    if not [*containers.obstacles(cell)]:
        job = containers.describe(cell)
        made["containers"] = containers.render(cell, job)
        made["compose"] = containers.render_compose(cell, job, "localhost/fairc-cell:0")
    return made


def _cell(made: Cell, known: dict[str, str], old: str, new: str) -> None:
    files = _files(made)
    for name in files.keys() & known.keys():
        if name == "compose":
            tree = yaml.load(files[name], LOADER)
            assert _shape(canaries.renamed(tree, new, old)) == _shape(
                yaml.load(known[name], LOADER)
            )
        else:
            hostile.refuse_program(files[name], known[name])
    for document in (expand(made), expand(made, epoch_ns=1, slack_ns=1000)):
        hostile.refuse_document(document)


def _shape(tree: Any) -> Any:
    """Return a tree in which texts that are no keys are their kind: what names decide on beyond
    themselves.
    """
    if isinstance(tree, dict):
        return {key: _shape(value) for key, value in sorted(tree.items(), key=str)}
    if isinstance(tree, list):
        return [*map(_shape, tree)]
    if isinstance(tree, str):
        assert "\n" not in tree and not re.search(r"(?<!\$)(\$\$)*\$(?!\$)", tree), tree
        return "text"
    return tree


# ---- What is emitted of a plan ----------------------------------------------------------------


def _jobs(plan: Plan) -> dict[str, str]:
    engine = plan.engine if plan.engine not in kubernetes.PRIVILEGED else "uml"
    plan = plan.model_copy(update={"engine": engine})
    with tempfile.TemporaryDirectory() as folder:
        estimate = Estimate(1)
        estimate.add(corpus()["rest"][1], plan.cells)
        kubernetes.finish(Path(folder), plan, estimate)
        slurm.finish(Path(folder), plan, estimate)
        names = ("kubernetes/job.yaml", "kubernetes/volume.yaml", "slurm.sh")
        return {name: Path(folder, name).read_text(encoding="utf-8") for name in names}


def _plan(made: Plan, compilation: Compilation, old: str, new: str) -> None:
    usual = compilation.plan
    name, known_name = jobs.job_name(made), jobs.job_name(usual)
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?", name)
    files, known = _jobs(made), _jobs(usual)
    for file in files:
        if file == "slurm.sh":
            code, usual_code = (_code(text) for text in (files[file], known[file]))
            usual_code = [line.replace(known_name, name) for line in usual_code]
            if made.engine != usual.engine:  # which is a word, and the last one
                assert re.fullmatch(r"[a-z][a-z0-9-]*", made.engine)
                code, usual_code = (
                    [re.sub(r" --engine .*", "", x) for x in y] for y in (code, usual_code)
                )
            assert code == usual_code
        else:
            tree, usual_tree = (
                [*yaml.load_all(text, LOADER)] for text in (files[file], known[file])
            )
            assert json.loads(json.dumps(usual_tree).replace(known_name, name)) == tree
    cited = yaml.load(readme.citation([made]), LOADER)
    assert cited["title"] == (made.title or made.experiment)
    assert cited.get("references", [{}])[0].get("title", "") == made.citation


def _code(script: str) -> list[str]:
    return [x for x in script.splitlines() if not x.startswith("#") or x.startswith("#SBATCH")]
