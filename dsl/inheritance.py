"""`extends`: an experiment with the statements of its base.

Keys, `let`s, metrics, services, swept names, `precision` and the topology of the experiment replace
those of the base. Flows, groups of users, services and `hosts` merge key by key. Claims, figures,
conditions of `exclude` and keys that may be repeated add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from fairc.words.blocks.experiment import EXPERIMENT

from .core.diagnostics import Label
from .core.problems import Gather, fail
from .core.registry import refuse_unknown
from .text import syntax

Repeated = TypeVar("Repeated", syntax.Flow, syntax.Users)

DEPTH_LIMIT = 20
"""A chain of more bases than this is a mistake."""


def whole(
    experiment: syntax.Experiment, declared: Mapping[str, syntax.Experiment]
) -> syntax.Experiment:
    """Return an experiment with everything that it inherits.

    declared: all experiments and templates of a file, by name. Raises CompileError for a base that
    does not exist, for bases in a circle, and for a swept name that is left without values.
    """
    chain = _chain(experiment, declared)
    statements = chain.pop().statements
    while chain:
        statements = _merged(statements, chain.pop().statements)
    return replace(experiment, statements=statements)


def bases(
    experiment: syntax.Experiment, declared: Mapping[str, syntax.Experiment]
) -> tuple[syntax.Experiment, ...]:
    """Return what an experiment inherits from, nearest first; arguments as of `whole`."""
    return tuple(_chain(experiment, declared)[1:])


def _chain(
    experiment: syntax.Experiment, declared: Mapping[str, syntax.Experiment]
) -> list[syntax.Experiment]:
    """Return an experiment and its bases, nearest first."""
    chain = [experiment]
    while (base := chain[-1].extends) is not None:
        if base.text not in declared:
            refuse_unknown("template or experiment", "experiment", base.text, declared, base.span)
        following = declared[base.text]
        if any(following is link for link in chain):
            fail(
                "extends-loop",
                f"`{following.name.text}` extends itself, directly or through another experiment",
                base.span,
                labels=(Label(following.name.span, "declared here"),),
                help="give the first of them no `extends`",
            )
        if len(chain) > DEPTH_LIMIT:
            fail("too-deep", f"more than {DEPTH_LIMIT} experiments extend each other", base.span)
        chain.append(following)
    return chain


def _merged(
    base: Sequence[syntax.Statement], own: Sequence[syntax.Statement]
) -> tuple[syntax.Statement, ...]:
    """Return the statements of an experiment after those of its base that it does not replace.

    What merges stands where the base has it, so swept names keep their order.
    """
    replaced = {key for statement in own if (key := _key(statement)) is not None}
    merging: dict[tuple[type, str], int] = {}
    for number, statement in enumerate(own):
        if (place := _place(statement)) is not None:
            merging.setdefault(place, number)
    result: list[syntax.Statement] = []
    taken: set[int] = set()
    for statement in base:
        place = _place(statement)
        if place is not None and place in merging:
            taken.add(merging[place])
            result.append(_together(statement, own[merging.pop(place)]))
        elif (key := _key(statement)) is None or key not in replaced:
            result.append(statement)
    if any(isinstance(s, syntax.Sweep) for s in base):
        sweeps = {number: s for number, s in enumerate(own) if isinstance(s, syntax.Sweep)}
        result = _swept(result, [b for sweep in sweeps.values() for b in sweep.bindings])
        taken.update(sweeps)
    return (*result, *(s for number, s in enumerate(own) if number not in taken))


def _key(statement: syntax.Statement) -> tuple[str, str] | None:
    """Return what a statement replaces in a base, or None if it adds to it or merges with it."""
    if isinstance(statement, syntax.Setting):
        name = statement.key.text
        repeats = name in EXPERIMENT and EXPERIMENT.get(name, statement.key.span).repeated
        return None if repeats else ("setting", name)
    if isinstance(statement, syntax.InlineTopology):
        return "setting", "topology"
    if isinstance(statement, syntax.Let | syntax.Metric):
        return type(statement).__name__, statement.name.text
    if isinstance(statement, syntax.Precision):
        return "precision", ""
    if isinstance(statement, syntax.Claim):
        return "claim", statement.text.value
    return None


def _place(statement: syntax.Statement) -> tuple[type, str] | None:
    """Return what a statement merges with in a base, if it does."""
    if isinstance(statement, syntax.Flow | syntax.Users | syntax.Service):
        return type(statement), statement.name.text
    if isinstance(statement, syntax.Hosts):
        return type(statement), ""
    return None


def _together(base: syntax.Statement, own: syntax.Statement) -> syntax.Statement:
    """Return a block of a base with the keys of the experiment's block of the same name."""
    if isinstance(base, syntax.Hosts) and isinstance(own, syntax.Hosts):
        return replace(own, settings=_settings(base.settings, own.settings))
    if isinstance(base, syntax.Service) and isinstance(own, syntax.Service):
        return replace(own, settings=_settings(base.settings, own.settings))
    if isinstance(base, syntax.Users) and isinstance(own, syntax.Users):
        return _repeated(base, own)
    if isinstance(base, syntax.Flow) and isinstance(own, syntax.Flow):
        service = base.base if own.base is None else own.base
        return replace(_repeated(base, own), base=service)
    raise AssertionError("only blocks of one kind and name are merged")


def _repeated(base: Repeated, own: Repeated) -> Repeated:
    """Return a flow or a group of users with the loops and the condition of the base, unless it
    has some of its own.
    """
    settings = _settings(base.settings, own.settings)
    when = base.when if own.when is None else own.when
    if own.loops or own.name.index:
        return replace(own, settings=settings, when=when)
    return replace(own, settings=settings, when=when, name=base.name, loops=base.loops)


def _settings(base: syntax.Settings, own: syntax.Settings) -> syntax.Settings:
    given = {setting.key.text for setting in own.items}
    kept = (setting for setting in base.items if setting.key.text not in given)
    return replace(own, items=(*kept, *own.items))


def _swept(
    statements: Iterable[syntax.Statement], own: Sequence[syntax.Binding]
) -> list[syntax.Statement]:
    """Return statements with the experiment's bindings in place of those that bind its names."""
    gather = Gather()
    binder = {word.text: number for number, b in enumerate(own) for word in b.names}
    waiting = dict(enumerate(own))

    def replaced(binding: syntax.Binding) -> list[syntax.Binding]:
        numbers = [binder[word.text] for word in binding.names if word.text in binder]
        if not numbers:
            return [binding]
        for word in binding.names:
            if word.text not in binder:
                with gather.attempt():
                    _refuse_half(binding, word, own[numbers[0]])
        return [waiting.pop(number) for number in sorted({*numbers}) if number in waiting]

    result: list[syntax.Statement] = []
    last = None
    for statement in statements:
        if isinstance(statement, syntax.Sweep):
            bindings = tuple(new for old in statement.bindings for new in replaced(old))
            statement = replace(statement, bindings=bindings)
            last = len(result)
        result.append(statement)
    gather.finish()
    sweep = result[last] if last is not None else None
    if last is not None and isinstance(sweep, syntax.Sweep):
        result[last] = replace(sweep, bindings=(*sweep.bindings, *waiting.values()))
    return result


def _refuse_half(base: syntax.Binding, word: syntax.Word, own: syntax.Binding) -> None:
    """Refuse to sweep anew some of the names that the base binds together."""
    names = {other.text for other in base.names}
    first = next(w for w in own.names if w.text in names)
    fail(
        "tuple-name",
        f"the base sweeps `{first.text}` together with `{word.text}`, which is left without values",
        first.span,
        labels=(Label(word.span, "swept together here"),),
        help=f"sweep `{word.text}` here, too",
    )
