"""Command line settings beyond the file, the commands that repeat the run, and what was named
before there were results.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from fairc.compiler.plan import Plan
from fairc.dsl.model.metric_names import request_label
from fairc.runtime.formatting import counted, listed, one_line
from fairc.runtime.run.history import DECLARED, INVOCATIONS, LOCKED, results_before

from .run import Run
from .sheet import Sheet, section_table

Kind = Literal["confirmatory", "exploratory", "not known"]


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that command lines made, as printed.

    settings: the values in the file, and those in force. sentences: the same, and which cells were
    chosen, for the top of the page.
    """

    settings: Sheet
    sentences: tuple[str, ...]


def overrides(run: Run) -> Changes:
    """Return the changes that the command line made to the file's values."""
    plan = run.plan
    settings = tuple((s.name, one_line(s.instead), one_line(s.value)) for s in plan.settings)
    sentences = []
    if settings:
        changed = [
            f"`{name} = {value}` ({_original(original)})" for name, original, value in settings
        ]
        sentences.append(f"Changed from the file with `--set`: {listed(changed, limit=8)}.")
    if plan.engine_asked:
        sentences.append(
            f"The engine {plan.engine} was requested with `--engine` or `FAIRC_ENGINE`."
        )
    conditions = [f"`{one_line(i['where'])}`" for i in _needed(run) if "where" in i]
    if conditions:
        sentences.append(f"Cells were selected with `--where`: {listed(conditions)}.")
    sheet = section_table(
        "settings",
        "Replaced by --set",
        (("name", False), ("in the file", False), ("in force", False)),
        settings,
        "Replaced by `--set`: values in the file below, and values in force",
    )
    return Changes(sheet, tuple(sentences))


def _original(text: str) -> str:
    return f"in the file `{text}`" if text else "not in the file"


def _needed(run: Run) -> list[Mapping[str, Any]]:
    """Return the commands that together produced the reported results.

    One that ran the whole plan is enough; else every command has its part, in order.
    """
    history: list[Mapping[str, Any]] = run.lock.get(INVOCATIONS, [])
    now = run.lock.get("plan", {}).get("sha256")
    here = [entry for entry in history if entry["plan"] == now]
    whole = [entry for entry in here if "where" not in entry]
    if not whole:
        return history
    checked = [entry for entry in here if "phase_check" in entry]
    best = [entry for entry in whole if entry in checked][-1:]
    return best or [whole[-1], *checked]


def file_name(run: Run) -> str:
    """Return the name of the `.fexp` file, without the folder that it was in on one machine."""
    return PurePath(run.plan.file).name


def commands(run: Run) -> tuple[tuple[str, str], ...]:
    """Return the commands that repeat the run and read its results: (command, what it does)."""
    results = shlex.quote(_results(run.plan))
    again = again_by(run)
    first = "runs what is missing, and writes this report"
    if len(again) > 1:
        first = "each runs a part of it, in this order; the last one writes this report"
    return (
        *((command, first) for command in again),
        *(
            (f"{command} --fresh", "runs every cell again")
            for command in again[:1]
            if len(again) == 1
        ),
        (f"fairc table {results} {_first_metric(run.plan)}", "a metric as a table"),
        (f"fairc report {results} --format pdf", "the figures as PDF"),
    )


def _first_metric(plan: Plan) -> str:
    """Return the first value that `measure` names; goodput, which every flow has, without one."""
    return next((shown for one in plan.measure for shown in one.shown), "goodput")


def _results(plan: Plan) -> str:
    """Return the folder in which `fairc run` puts a run of the plan."""
    suite = f"{PurePath(plan.file).stem}/" if plan.experiments else ""
    return f"results/{suite}{plan.experiment}"


def again_by(run: Run) -> list[str]:
    """Return the commands, in the folder of the `.fexp` file, that together run everything
    again.
    """
    return [_command(run, entry) for entry in _needed(run) or [_of_plan(run.plan)]]


def _of_plan(plan: Plan) -> Mapping[str, Any]:
    """Return the command of a plan whose run directory has kept none."""
    settings = {setting.name: setting.value for setting in plan.settings}
    return {"settings": settings} | ({"engine": plan.engine} if plan.engine_asked else {})


def _command(run: Run, entry: Mapping[str, Any]) -> str:
    file = PurePath(run.plan.target).name
    command = ["fairc", "run", file, "-o", _results(run.plan)]
    for name, value in entry.get("settings", {}).items():
        command += ["--set", f"{name}={value}"]
    if "engine" in entry:
        command += ["--engine", entry["engine"]]
    if "where" in entry:
        command += ["--where", entry["where"]]
    if any(flow.pulled_image for scene in run.scenes.values() for flow in scene.flows):
        command.append("--allow-image")
    if any(flow.cca_module for scene in run.scenes.values() for flow in scene.flows):
        command.append("--allow-module")
    workloads = (flow.workload for scene in run.scenes.values() for flow in scene.flows)
    if any(workload.own_code is not None for workload in workloads):
        command.append("--allow-program")
    if "phase_check" in entry:
        command.append("--phase-check")
    return shlex.join(command)


@dataclass(frozen=True, slots=True)
class Declarations:
    """The metrics that were named before there were results.

    named: those of `measure`, by name, each with its kind. sentences: the same as text. late: the
    metrics named later, in a sentence for the top of the page; or empty.
    """

    named: Mapping[str, Kind]
    sentences: tuple[str, ...]
    late: str = ""

    def kind(self, metric: str) -> Kind:
        """Return the kind of a value by its full name (`fairness.F`): not named is exploratory."""
        return self.named.get(metric) or self.named.get(request_label(metric)) or "exploratory"


def declared(run: Run) -> Declarations:
    """Return which metrics were named before there were results, by the lock."""
    names = [name for request in run.plan.measure for name in request.shown]
    before = results_before(run.plan, run.lock)
    if before is None:
        sentence = (
            f"Named in the experiment's `measure`: {listed(names) or 'none'}; it is unknown"
            " whether they were named before any result existed, because an earlier version of"
            " fairc kept no record."
        )
        return Declarations(dict.fromkeys(names, "not known"), (sentence,))
    first = [name for name in names if before.get(name, (1, ""))[0] == 0]
    late = [
        f"{name} (on {when(before[name][1])}, when {counted(before[name][0], 'result')} existed)"
        for name in names
        if name in before and name not in first
    ]
    times = sorted({when(before[name][1]) for name in first})
    locked = f", locked on {listed(times)}" if times else ""
    which = listed(first) or "none"
    sentences = [
        (
            "Confirmatory: named in the experiment's `measure` before any cell had a"
            f" result{locked} ({which})."
        )
    ]
    added = ""
    if late:
        added = f"Exploratory, because added to `measure` after results existed: {listed(late)}."
        sentences.append(added)
    kinds: dict[str, Kind] = {n: "confirmatory" if n in first else "exploratory" for n in names}
    return Declarations(kinds, tuple(sentences), added)


def locked(run: Run) -> str:
    """Return when the first run locked the directory, by the lock; empty if an earlier version
    recorded no time.
    """
    found = run.lock.get(LOCKED) or next(iter(run.lock.get(DECLARED, [])), None)
    if not found:
        return ""
    results = found["results"]
    there = (
        "before any cell had a result"
        if not results
        else f"when {counted(results, 'result')} existed"
    )
    return f"The experiment was locked on {when(found['at'])}, {there}."


def when(at: str) -> str:
    """Format a time of the lock.

    >>> when("2026-11-22T06:19:18Z")
    '2026-11-22 06:19 UTC'
    """
    return f"{at[:10]} {at[11:16]} UTC"
