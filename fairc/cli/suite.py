"""`fairc suite`: list, plan, run or report suites: experiments that decide a standard's criteria
for your controller or queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from fairc import compiler
from fairc.dsl.core.diagnostics import CompileError, Diagnostics
from fairc.dsl.core.registry import suggest
from fairc.runtime.formatting import size
from fairc.runtime.host.faults import EngineUnavailable, MachineFault
from fairc.runtime.report import place
from fairc.runtime.report.run import ReportError
from fairc.runtime.run.progress import duration
from fairc.runtime.store.folder import OccupiedError, StoreError
from fairc.runtime.suites import folder as suites
from fairc.runtime.suites import forms, standing
from fairc.runtime.suites.folder import Member, Suite
from fairc.runtime.suites.standing import MemberRun, State, Variant

from . import console
from .failures import Status, UsageError
from .plan import outlook
from .results import fresh_tables
from .run import RunOptions, one_of
from .sources import requested_engine, runnable, show
from .targets import Allowed, read_target

RESULTS = Path("results", "suites")
FILES = {
    place.PAGE: forms.as_html,
    "report.md": forms.as_markdown,
    "junit.xml": forms.as_junit,
    "bencher.json": forms.as_bencher,
}
NOT_OVER = "impossible-pair"
"""The code of a controller that does not exist over a transport."""
LONGEST = 400
"""Characters of a reason that is kept."""


def suite_list(form: str) -> None:
    """List the suites that come with fairc: title, parameters, cost, folder."""
    found = [suites.read(path) for path in suites.shipped().values()]
    if form == "json":
        console.result(console.as_json([_described(suite) for suite in found]))
        return
    for place_, suite in enumerate(found):
        if place_:
            console.result("")
        console.result(f"{suite.name}: {suite.title}")
        for parameter in suite.parameters:
            console.result(
                f"  --set {parameter.name}=...  {parameter.about}  [default: {parameter.default}]"
            )
        untested = sum(bool(criterion.reason) for criterion in suite.criteria)
        console.result(
            f"  {len(suite.members)} experiments, {len(suite.criteria)} criteria, {untested} of"
            f" them not tested; {suite.cost}"
        )
        console.result(f"  {suite.folder}")


def _described(suite: Suite) -> dict[str, object]:
    return {
        "name": suite.name,
        "title": suite.title,
        "source": suite.source,
        "cost": suite.cost,
        "folder": str(suite.folder),
        "parameters": [asdict(parameter) for parameter in suite.parameters],
        "members": [member.name for member in suite.members],
        "criteria": [asdict(criterion) for criterion in suite.criteria],
    }


def suite_plan(
    name: Path,
    settings: dict[str, str],
    only: tuple[str, ...],
    quick: bool,
    jobs: int,
    form: str,
    engine: str | None,
) -> int:
    """Show cells, estimated time and disk of each experiment; run nothing."""
    suite = suites.read(suites.find(name))
    requested = requested_engine(engine)
    _check_settings(suite, settings)
    documents: list[dict[str, Any]] = []
    for member in _chosen(suite, only):
        try:
            set_ = suite.settings(member, settings, quick=quick)
            (experiment,) = runnable(suite.target(member), set_)
            document, _ = outlook(compiler.compile(experiment, requested), jobs)
        except CompileError as error:
            ran = _refused(error)
            documents.append({"member": member.name, "status": ran.status, "reason": ran.reason})
            if form == "text":
                console.result(f"{member.name}: {ran.status}: {ran.reason}")
            continue
        documents.append({"member": member.name, "status": "planned", **document})
        if form == "text":
            console.result(_line(member, document))
    planned = [d for d in documents if d["status"] == "planned"]
    if form == "json":
        console.result(console.as_json({"suite": suite.name, "members": documents}))
    else:
        keys = ("cells", "wall_s", "disk_bytes", "kept_bytes")
        cells, wall_s, disk, kept = (sum(d[key] for d in planned) for key in keys)
        console.result(
            f"{len(planned)} experiments: at most {cells} cells, about {duration(wall_s)} with"
            f" --jobs {jobs}; {size(kept)} of disk, {size(disk)} with --keep-raw"
        )
    return Status.WRONG if any(d["status"] == "broken" for d in documents) else Status.WELL


def _line(member: Member, document: Mapping[str, object]) -> str:
    wall = float(str(document["wall_s"]))
    text = f"{member.name}: {document['cells']} cells, about {duration(wall)}"
    if isinstance(least := document.get("least"), dict):
        text += f"; at least {least['cells']} cells, {duration(least['wall_s'])}"
    return f"{text}; engine {document['engine']}"


def suite_run(
    name: Path,
    settings: dict[str, str],
    only: tuple[str, ...],
    quick: bool,
    output: Path | None,
    engine: str | None,
    jobs: int,
    keep_raw: bool,
    allow_module: bool,
    allow_program: bool,
) -> int:
    """Run the missing cells of each experiment, and write the suite's page."""
    suite = suites.read(suites.find(name))
    _check_settings(suite, settings)
    members = _chosen(suite, only)
    results = output or RESULTS / suite.name
    variant = standing.variant_of(suite, results, settings, quick=quick)
    options = RunOptions(
        engine=engine,
        requested=requested_engine(engine),
        jobs=jobs,
        allowed=Allowed(modules=allow_module, programs=allow_program),
        chose_folder=True,
        keep_raw=keep_raw,
    )
    state = standing.read_state(variant.folder)
    if state is None:
        _check_values(suite, variant, members[0], settings)
    place.require_place(results)
    if state is None:
        state = State(suite=suite.name, settings=dict(variant.settings), quick=quick, members={})
        standing.write_state(variant, state)
    elif any(
        (ran := state.members.get(m.name)) and ran.made_of != standing.stamp(suite, variant, m)
        for m in members
    ):
        console.say(
            f"{suite.name} has changed since its last run: its experiments are planned again"
        )
    for number, member in enumerate(members, 1):
        console.outcome(f"{member.name} ({variant.label}), {number} of {len(members)}")
        made_of = standing.stamp(suite, variant, member)
        ran = _ran(suite, variant, member, options)
        state = standing.read_state(variant.folder) or state  # another run may have added to it
        state.members[member.name] = ran.model_copy(update={"made_of": made_of})
        standing.write_state(variant, state)
        console.outcome("")
    return _report(suite, results, variant)


def _ran(suite: Suite, variant: Variant, member: Member, options: RunOptions) -> MemberRun:
    """Run a member, and return how it went; what is wrong with it is shown, and stops no other.

    Raises OccupiedError, MachineFault.
    """
    settings = suite.settings(member, variant.settings, quick=variant.quick)
    try:
        (what,) = read_target(suite.target(member), settings)
        one_of(what, standing.run_of(variant, member), options)
    except CompileError as error:
        ran = _refused(error)
        if ran.status == "broken":
            show(Diagnostics(error.diagnostics))
        else:
            console.say(f"{member.name}: {ran.status}: {ran.reason}")
        return ran
    except (MachineFault, OccupiedError):
        raise
    except (UsageError, StoreError, ReportError, EngineUnavailable) as error:
        text = error.message if isinstance(error, UsageError) else str(error)
        help = getattr(error, "help", "") or getattr(error, "remedy", "")
        console.complain(f"error: {text}")
        if help:
            console.complain(f"help: {help}")
        return _member_run("broken", text)
    return _member_run("run", "")


def suite_report(name: Path, output: Path | None) -> None:
    """Write the suite's page from the stored results, with Markdown, JUnit XML and Bencher's JSON;
    run nothing.
    """
    suite = suites.read(suites.find(name))
    results = output or RESULTS / suite.name
    if not standing.variants_in(suite, results):
        raise UsageError(
            f"{results} has no results of the suite {suite.name}", f"fairc suite run {name}"
        )
    _report(suite, results)


def _report(suite: Suite, results: Path, of: Variant | None = None) -> int:
    """Write all forms of all variants; return the exit status of one of them."""
    found = [
        standing.standing(suite, variant, fresh_tables)
        for variant in standing.variants_in(suite, results)
    ]
    record = place.record_of_all(results)
    for each in found:
        console.outcome(f"{each.variant.label}: {each.summary}")
    for file, form in FILES.items():
        console.outcome(str(record.write(file, form(suite, found).encode())))
    wanted = [each for each in found if of is None or each.variant.folder == of.folder]
    bad = {c.standing for each in wanted for c in each.criteria} & {"refuted", "broken"}
    broken = any(m.status == "broken" for each in wanted for m in each.members)
    return Status.NOT_ALL_VALID if bad or broken else Status.WELL


def _refused(error: CompileError) -> MemberRun:
    """Return how a member stands that does not compile."""
    wrong = Diagnostics(error.diagnostics).errors
    text = "; ".join(found.message for found in wrong) or str(error)
    is_skipped = bool(wrong) and all(found.code == NOT_OVER for found in wrong)
    return _member_run("not applicable" if is_skipped else "broken", text)


def _member_run(status: Literal["run", "not applicable", "broken"], reason: str) -> MemberRun:
    text = console.visible(" ".join(reason.split()))[:LONGEST]
    return MemberRun(status=status, reason=text, made_of="0" * 64)


def _check_settings(suite: Suite, settings: Mapping[str, str]) -> None:
    """Refuse what is no parameter of a suite. Raises UsageError."""
    known = [parameter.name for parameter in suite.parameters]
    has = f"its parameters are {', '.join(known)}" if known else "it has no parameters"
    _require(settings, known, f"is no parameter of the suite {suite.name}", has)


def _require(names: Iterable[str], known: Sequence[str], fault: str, has: str) -> None:
    """Refuse names that are not known. fault: what such a name is; has: the help. Raises
    UsageError.
    """
    for name in names:
        if name not in known:
            near = suggest(name, known)
            raise UsageError(f"`{name}` {fault}{f'; did you mean `{near}`?' if near else ''}", has)


def _check_values(suite: Suite, variant: Variant, member: Member, given: Mapping[str, str]) -> None:
    """Refuse a given value that is wrong in itself, before the page has a column of it. Raises
    CompileError.
    """
    try:
        read_target(
            suite.target(member), suite.settings(member, variant.settings, quick=variant.quick)
        )
    except CompileError as error:
        for found in Diagnostics(error.diagnostics).errors:
            name = found.span.source.text.partition("=")[0] if found.span is not None else ""
            if found.code != NOT_OVER and name in given:
                raise


def _chosen(suite: Suite, only: Sequence[str]) -> list[Member]:
    """Return the members that are asked for. Raises UsageError."""
    known = [member.name for member in suite.members]
    has = f"its members are {', '.join(known)}"
    _require(only, known, f"is no member of the suite {suite.name}", has)
    return [member for member in suite.members if not only or member.name in only]
