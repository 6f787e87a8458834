"""Verdicts on the criteria of a suite, from the claims of its members' run directories.

A run of a suite with one value for each parameter is a variant, with a folder of its own:

    RESULTS/VARIANT/suite.json            what was set, and how each member went
    RESULTS/VARIANT/FILE/EXPERIMENT       the run directory of a member

A member counts only while the files of the suite and what was set in it are those of its run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from fairc.cell.text import Text
from fairc.compiler.files import content, whole
from fairc.compiler.record import Sha256
from fairc.dsl.model.base import Model
from fairc.runtime.claims.deciding import ClaimVerdict, Decision, Verdict
from fairc.runtime.claims.forms import Validity
from fairc.runtime.repetitions.reading import Measurements
from fairc.runtime.report.place import PAGE
from fairc.runtime.run.outcome import count_cells, decide_claims
from fairc.runtime.store.folder import PLAN, Store, StoreError
from fairc.runtime.store.occupant import PARTIAL

from .folder import Criterion, Member, Suite

STATE = "suite.json"
LONGEST = 80
"""Characters of a variant's folder."""

Status = Literal["run", "not run", "not applicable", "broken"]
Standing = Literal[
    "refuted", "broken", "not run", "undecided", "holds", "not applicable", "not tested"
]
WORST: tuple[Standing, ...] = ("refuted", "broken", "not run", "undecided", "holds")
"""Of several claims that decide a criterion the first of these that one of them has."""
OF_CLAIM: Mapping[Verdict, Standing] = {
    "holds": "holds",
    "fails": "refuted",
    "undecided": "undecided",
}

CHANGED = "the suite, or what it sets, has changed since its run: run it again"


class MemberRun(Model):
    """The last run of a member. made_of: as `stamp` returns."""

    status: Literal["run", "not applicable", "broken"]
    reason: Text
    made_of: Sha256


class State(Model):
    """The stored state of a variant; settings: the values of all parameters."""

    suite: Text
    settings: dict[str, Text]
    quick: bool
    members: Annotated[dict[str, MemberRun], Field(default_factory=dict)]


@dataclass(frozen=True, slots=True)
class Variant:
    """A suite with a value for each parameter; folder: in which it runs."""

    folder: Path
    settings: Mapping[str, str]
    quick: bool

    @property
    def values(self) -> tuple[str, ...]:
        """What distinguishes it from others: `cca=bbr3`, `over=quic`, `quick`."""
        set_to = (f"{name}={value}" for name, value in self.settings.items())
        return (*set_to, *(["quick"] if self.quick else []))

    @property
    def label(self) -> str:
        """The values, as text."""
        return ", ".join(self.values) or "whole"


@dataclass(frozen=True, slots=True)
class MemberStanding:
    """A member of a variant. page: of its report, below the folder of the suite's results."""

    member: Member
    status: Status
    reason: str
    page: str = ""
    decision: Decision | None = None
    validity: Validity | None = None


@dataclass(frozen=True, slots=True)
class CriterionStanding:
    """A criterion in a variant; claims: those that decide it, with their members."""

    criterion: Criterion
    standing: Standing
    reason: str
    claims: tuple[tuple[str, ClaimVerdict], ...] = ()


@dataclass(frozen=True, slots=True)
class VariantStanding:
    """All of a variant, in the order of the suite."""

    variant: Variant
    members: tuple[MemberStanding, ...]
    criteria: tuple[CriterionStanding, ...]

    @property
    def summary(self) -> str:
        """How many criteria stand how, as text."""
        counts = Counter(each.standing for each in self.criteria)
        order: tuple[Standing, ...] = (*WORST, "not applicable", "not tested")
        return ", ".join(numbered(counts[each], each) for each in order if counts[each])


def numbered(count: int, standing: Standing) -> str:
    """Return `1 holds`, `2 hold`, `2 refuted`."""
    return f"{count} {'hold' if standing == 'holds' and count != 1 else standing}"


def headings(variants: Sequence[Variant]) -> tuple[str, list[str]]:
    """Return what all variants share, as text, and a heading for each with the other values."""
    if len(variants) == 1:
        return "", [variants[0].label]
    shared = [value for value in variants[0].values if all(value in v.values for v in variants)]
    own = [[value for value in v.values if value not in shared] for v in variants]
    return ", ".join(shared), [", ".join(values) or "whole" for values in own]


def variant_of(suite: Suite, results: Path, given: Mapping[str, str], *, quick: bool) -> Variant:
    """Return the variant of a suite with these values of parameters; others have defaults."""
    settings = {p.name: given.get(p.name, p.default) for p in suite.parameters}
    text = Variant(results, settings, quick).label
    name = re.sub(r"[^\w.=,-]", "_", text.replace(", ", ","), flags=re.ASCII)
    if name != text.replace(", ", ",") or len(name) > LONGEST:
        name = f"{name[:LONGEST]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return Variant(results / name.lstrip("."), settings, quick)


def variants_in(suite: Suite, results: Path) -> list[Variant]:
    """Return the variants of a suite that have run, by name. Raises StoreError."""
    found = []
    for path in sorted(results.glob(f"*/{STATE}")):
        state = read_state(path.parent)
        if state is not None and set(state.settings) == {p.name for p in suite.parameters}:
            settings = {p.name: state.settings[p.name] for p in suite.parameters}
            found.append(Variant(path.parent, settings, state.quick))
    return found


def run_of(variant: Variant, member: Member) -> Path:
    """Return the run directory of a member."""
    return variant.folder / Path(member.spec).stem / member.experiment


def read_state(folder: Path) -> State | None:
    """Return what is kept of a variant; None if nothing is. Raises StoreError."""
    path = folder / STATE
    try:
        return State.model_validate_json(content(path))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError):
        raise StoreError(f"{path} is not a file that fairc wrote: move or remove it") from None


def write_state(variant: Variant, state: State) -> None:
    """Keep the state of a variant, whose folder is made. Raises StoreError, OSError."""
    scratch = variant.folder / PARTIAL
    for folder in (variant.folder, scratch):
        if folder.is_symlink():
            raise StoreError(f"{folder} is a link, and nothing is written through one: remove it")
    scratch.mkdir(parents=True, exist_ok=True)
    with whole(variant.folder / STATE, scratch) as part:
        part.write_text(f"{state.model_dump_json(indent=1)}\n", encoding="utf-8")


def stamp(suite: Suite, variant: Variant, member: Member) -> str:
    """Hash what a member is run from: all experiments of the suite's folder, and what is set.

    A run directory in it has copies of them.
    """
    total = hashlib.sha256()
    for path in sorted(suite.folder.rglob("*.fexp")):
        place = path.relative_to(suite.folder)
        copied = any((suite.folder / above / PLAN).is_file() for above in place.parents[:-1])
        if not copied and path.is_file():
            total.update(f"{place.as_posix()}\n".encode())
            total.update(hashlib.sha256(content(path)).digest())
    settings = suite.settings(member, variant.settings, quick=variant.quick)
    total.update(json.dumps([member.spec, member.experiment, settings]).encode())
    return total.hexdigest()


def standing(
    suite: Suite, variant: Variant, measure: Callable[[Path], Measurements]
) -> VariantStanding:
    """Return how a variant stands. measure: returns what a run directory measured.

    Raises StoreError, TableError.
    """
    state = read_state(variant.folder)
    ran = state.members if state is not None else {}
    members = {
        member.name: _member(suite, variant, member, ran.get(member.name), measure)
        for member in suite.members
    }
    criteria = tuple(_criterion(criterion, members) for criterion in suite.criteria)
    return VariantStanding(variant, tuple(members.values()), criteria)


def _member(
    suite: Suite,
    variant: Variant,
    member: Member,
    ran: MemberRun | None,
    measure: Callable[[Path], Measurements],
) -> MemberStanding:
    if ran is None:
        return MemberStanding(member, "not run", "")
    if ran.made_of != stamp(suite, variant, member):
        return MemberStanding(member, "not run", CHANGED)
    if ran.status != "run":
        return MemberStanding(member, ran.status, ran.reason)
    run = run_of(variant, member)
    if not (run / PLAN).is_file():
        return MemberStanding(member, "not run", f"{run} is gone: run it again")
    measured = measure(run)
    if _is_changed(suite, measured):
        return MemberStanding(member, "not run", CHANGED)
    store = Store(run)
    page = (run / PAGE).relative_to(variant.folder.parent).as_posix()
    decision, validity = decide_claims(measured, store), count_cells(measured, store)
    return MemberStanding(member, "run", "", page, decision, validity)


def _is_changed(suite: Suite, measured: Measurements) -> bool:
    """Return whether a file that a plan reads, a trace or a module, is another one now."""
    for read in measured.plan.inputs:
        path = suite.folder / read.path
        if not path.is_file() or hashlib.sha256(content(path)).hexdigest() != read.sha256:
            return True
    return False


def _criterion(criterion: Criterion, members: Mapping[str, MemberStanding]) -> CriterionStanding:
    if criterion.reason:
        return CriterionStanding(criterion, "not tested", criterion.reason)
    found: list[Standing] = []
    reasons: list[str] = []
    claims: list[tuple[str, ClaimVerdict]] = []
    skipped: list[str] = []
    for name in criterion.members:
        of = members[name]
        if of.status == "not applicable":
            skipped.append(f"{name}: {of.reason}")
        elif of.decision is None:
            found.append("broken" if of.status == "broken" else "not run")
            reasons.append(": ".join(filter(None, (name, of.reason))))
        else:
            claims += [(name, decided) for decided in _of(criterion, of.decision)]
    found.extend(OF_CLAIM[decided.verdict] for _, decided in claims)
    if not found:
        reasons = skipped or ["its members make no claim about what is set"]
        return CriterionStanding(criterion, "not applicable", "; ".join(reasons))
    worst = min(found, key=WORST.index)
    return CriterionStanding(criterion, worst, "; ".join((*reasons, *skipped)), tuple(claims))


def _of(criterion: Criterion, decision: Decision) -> Iterator[ClaimVerdict]:
    """Yield the claims of a member that decide a criterion."""
    for decided in decision.claims:
        if not criterion.claims or decided.claim.text in criterion.claims:
            yield decided
