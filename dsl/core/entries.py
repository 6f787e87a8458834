"""Entries of the registries: a word, its typed parameters, and whether it runs already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .diagnostics import Label
from .kinds import Kind, refuse, used
from .problems import Gather, fail, not_yet
from .registry import Registry, suggest
from .source import Span
from .values import Applied, Argument, Quantity, Symbol, Value


@dataclass(frozen=True)
class Parameter:
    """A parameter of an entry, or a key of a block.

    default: what holds when it is not given, as text for people; required: it must be given;
    repeated: takes all remaining positional arguments, or exactly `count` of them; runs: False if it
    cannot be used yet.
    """

    name: str
    kind: Kind
    summary: str
    default: str = ""
    required: bool = False
    repeated: bool = False
    runs: bool = True
    count: int | None = None


@dataclass(frozen=True)
class Entry:
    """A word of the language with its parameters, in the order of positional arguments."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...] = ()
    runs: bool = False
    instead: str | None = None
    values: tuple[str, ...] = ()
    """Sub-values of a metric, such as `F` of `fairness`."""
    unit: str = ""
    """SI unit of a metric."""


@dataclass(frozen=True)
class Use:
    """An entry with checked arguments; repeated ones are collected under their parameter."""

    entry: Entry
    arguments: Mapping[str, Value]
    repeated: tuple[Value, ...]
    span: Span


def bind(registry: Registry[Entry], value: Value, use: str, at: Span | None = None) -> Use:
    """Look a word up and check its arguments.

    Raises CompileError: unknown word, wrong arguments, or a `not-yet` if it cannot run.
    """
    if not isinstance(value, Symbol | Applied):
        refuse(Entries(registry), value, use, at)
    assert isinstance(value, Symbol | Applied)
    name_span = value.name_span if isinstance(value, Applied) else value.span
    entry = registry.get(value.name, name_span)
    given = value.arguments if isinstance(value, Applied) else ()
    gather, result = Gather(), None
    with gather.attempt():
        result = match(entry, given, value.span, at)
    if not entry.runs:
        found = f"the {registry.word} `{entry.name}`"
        gather.found.append(not_yet(found, value.span, entry.instead or _running(registry)))
    gather.finish()
    assert result is not None
    return result


def _running(registry: Registry[Entry]) -> str | None:
    running = [f"`{entry.name}`" for entry in registry if entry.runs]
    return f"what runs now: {', '.join(running)}" if running else None


def match(entry: Entry, given: tuple[Argument, ...], span: Span, at: Span | None = None) -> Use:
    """Assign arguments to an entry's parameters and check each. Raises CompileError."""
    gather = Gather()
    named: dict[str, tuple[Value, Span]] = {}
    repeated: list[Value] = []
    positional = list(entry.parameters)
    for argument in given:
        with gather.attempt():
            where = argument.key_span or argument.value.span
            if argument.key is not None:
                parameter = _parameter(entry, argument.key, where)
            elif positional:
                parameter = positional[0]
                if not parameter.repeated:
                    positional.pop(0)
            else:
                limit = len(entry.parameters)
                fail(
                    "too-many-arguments",
                    f"`{entry.name}` takes {_count(limit, 'argument')}, and this is one more",
                    where,
                    help=_signature(entry),
                )
            if parameter.name in named and not parameter.repeated:
                first = named[parameter.name][1]
                fail(
                    "duplicate-argument",
                    f"`{parameter.name}` is given twice",
                    where,
                    labels=(Label(first, "given here first"),),
                )
            named[parameter.name] = (argument.value, where)
            parameter.kind.check(argument.value, f"`{parameter.name}` of `{entry.name}`", at)
            if parameter.repeated:
                repeated.append(argument.value)
            if not parameter.runs:
                what = f"the argument `{parameter.name}` of `{entry.name}`"
                whole = Span(where.source, where.start, argument.value.span.end)
                inside = whole.source is argument.value.span.source and whole.start < whole.end
                gather.found.append(not_yet(what, whole if inside else where))
    for parameter in entry.parameters:
        if parameter.required and parameter.name not in named:
            with gather.attempt():
                fail(
                    "missing-argument",
                    f"`{entry.name}` needs its argument `{parameter.name}`",
                    span,
                    note=f"`{parameter.name}` is {parameter.kind.words}",
                    help=_signature(entry),
                )
        elif parameter.count not in (None, len(repeated)) and parameter.repeated:
            with gather.attempt():
                few = len(repeated) < parameter.count
                fail(
                    "missing-argument" if few else "too-many-arguments",
                    f"`{entry.name}` takes {_count(parameter.count, 'name')},"
                    f" {len(repeated)} given",
                    span,
                    note=f"{parameter.name}: {parameter.summary}",
                    help=_signature(entry),
                )
    gather.finish()
    return Use(entry, {k: v for k, (v, _) in named.items()}, tuple(repeated), span)


def _parameter(entry: Entry, name: str, span: Span) -> Parameter:
    known = {p.name: p for p in entry.parameters}
    if name not in known:
        near = suggest(name, known)
        fail(
            "unknown-argument",
            f"`{entry.name}` takes no argument called `{name}`",
            span,
            note=f"did you mean `{near}`?" if near else "",
            help=_signature(entry),
        )
    return known[name]


def _signature(entry: Entry) -> str:
    if not entry.parameters:
        return f"`{entry.name}` takes no arguments"
    return f"`{entry.name}` takes: {', '.join(p.name for p in entry.parameters)}"


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Entries:
    """The kind "an entry of this registry", perhaps with arguments."""

    registry: Registry[Entry]

    @property
    def words(self) -> str:
        """Name the registry."""
        word = self.registry.word
        return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"

    def check(self, value: Value, use: str, at: Span | None = None) -> None:
        """Raise CompileError unless the word is known and its arguments fit."""
        bind(self.registry, value, use, at)


@dataclass(frozen=True)
class Either:
    """The kind "a plain quantity, or an entry of a registry", such as `1%` or `loss(both: 1%)`.

    bare: whether a word without arguments can be an entry; else it is a name that is missing.
    """

    quantity: Kind
    registry: Registry[Entry]
    words: str
    bare: bool = True

    def check(self, value: Value, use: str, at: Span | None = None) -> None:
        """Raise CompileError unless the value is such a quantity, or a word that fits."""
        if isinstance(value, Quantity) or (isinstance(value, Symbol) and not self.bare):
            self.quantity.check(value, use, at)
        elif isinstance(value, Symbol | Applied):
            bind(self.registry, value, use, at)
        else:
            refuse(self, value, use, at)


__all__ = ["Either", "Entries", "Entry", "Parameter", "Use", "bind", "match", "used"]
