"""Entries of the registries: a word, its typed parameters, and whether it can run yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from .diagnostics import Label
from .kinds import Kind, refuse, used
from .literals import literal
from .problems import Gather, fail, not_yet
from .registry import Registry, suggest
from .source import Span
from .values import Applied, Argument, Quantity, Symbol, Value

T = TypeVar("T")
Q = TypeVar("Q")


@dataclass(frozen=True)
class Parameter(Generic[T]):
    """A parameter of an entry, or a key of a block.

    default: what applies if it is omitted, as a literal of the language; `fallback` is its value.
    otherwise: the same in prose, where it depends on something else. required: must be given.
    repeated: takes all remaining positional arguments, or exactly `count` of them; a repeated key
    may be given several times, as if its values were one list. runs: False if it cannot be used
    yet.
    """

    name: str
    kind: Kind[T]
    summary: str
    default: str = ""
    required: bool = False
    repeated: bool = False
    runs: bool = True
    count: int | None = None
    otherwise: str = ""

    @cached_property
    def fallback(self) -> T:
        """The value of the default. Raises ValueError for a parameter without one."""
        return self.kind.take(literal(self.default), f"the default of `{self.name}`")

    @property
    def unless_given(self) -> str:
        """What applies if it is omitted, as text; empty if nothing does."""
        return self.default or self.otherwise


@dataclass(frozen=True)
class Entry:
    """A word of the language with its parameters, in the order of positional arguments."""

    name: str
    summary: str
    parameters: tuple[Parameter[Any], ...] = ()
    runs: bool = False
    instead: str | None = None
    values: tuple[str, ...] = ()
    """Sub-values of a metric, such as `F` of `fairness`."""
    unit: str = ""
    """SI unit of a metric."""


E = TypeVar("E", bound=Entry)
E_co = TypeVar("E_co", bound=Entry, covariant=True)


@dataclass(frozen=True)
class Use(Generic[E_co]):
    """An entry with checked arguments; `repeated` has all values of a repeated parameter, `typed`
    the last.

    use[PARAMETER] is its value, or its default; use.given(PARAMETER) is None if it is not given.
    places: where each argument is given, at its name if it has one.
    """

    entry: E_co
    arguments: Mapping[str, Value]
    repeated: tuple[Any, ...]
    span: Span
    typed: Mapping[str, object] = field(default_factory=dict)
    places: Mapping[str, Span] = field(default_factory=dict)

    def __getitem__(self, parameter: Parameter[T]) -> T:
        """Return the value of a parameter, or its default. Raises ValueError if it has neither."""
        if parameter.name in self.typed:
            return cast(T, self.typed[parameter.name])
        return parameter.fallback

    def given(self, parameter: Parameter[T]) -> T | None:
        """Return the value of a parameter, or None if it is not given."""
        return cast("T | None", self.typed.get(parameter.name))

    def span_of(self, parameter: Parameter[Any]) -> Span:
        """Return where a parameter is given, or else where the entry is used."""
        value = self.arguments.get(parameter.name)
        return self.span if value is None else value.span


def bind(registry: Registry[E], value: Value, use: str, at: Span | None = None) -> Use[E]:
    """Look a word up and check its arguments.

    Raises CompileError for an unknown word or wrong arguments, and `not-yet` if it cannot run.
    """
    if not isinstance(value, Symbol | Applied):
        refuse(Entries(registry), value, use, at)
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


def _running(registry: Registry[E]) -> str | None:
    running = [f"`{entry.name}`" for entry in registry if entry.runs]
    return f"supported: {', '.join(running)}" if running else None


def match(entry: E, given: tuple[Argument, ...], span: Span, at: Span | None = None) -> Use[E]:
    """Assign arguments to an entry's parameters and check each. Raises CompileError."""
    gather = Gather()
    named: dict[str, tuple[Value, Span]] = {}
    typed: dict[str, object] = {}
    repeated: list[object] = []
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
                    f"`{entry.name}` takes {_count(limit, 'argument')}; this is one too many",
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
            subject = f"`{parameter.name}` of `{entry.name}`"
            typed[parameter.name] = parameter.kind.take(argument.value, subject, at)
            if parameter.repeated:
                repeated.append(typed[parameter.name])
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
                    note=f"`{parameter.name}` is {parameter.kind.phrase}",
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
    values = {name: value for name, (value, _) in named.items()}
    places = {name: place for name, (_, place) in named.items()}
    return Use(entry, values, tuple(repeated), span, typed, places)


def _parameter(entry: Entry, name: str, span: Span) -> Parameter[Any]:
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
class Entries(Generic[E]):
    """The kind "an entry of this registry", perhaps with arguments."""

    registry: Registry[E]

    @property
    def phrase(self) -> str:
        """Name the registry."""
        word = self.registry.word
        return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"

    def take(self, value: Value, use: str, at: Span | None = None) -> Use[E]:
        """Return the entry. Raises CompileError unless the word is known and its arguments fit."""
        return bind(self.registry, value, use, at)


@dataclass(frozen=True)
class Either(Generic[Q, E]):
    """The kind "a plain quantity, or an entry of a registry", such as `1%` or `loss(both: 1%)`.

    bare: whether a word without arguments can be an entry; if not, it is an undefined name.
    """

    quantity: Kind[Q]
    registry: Registry[E]
    phrase: str
    bare: bool = True

    def take(self, value: Value, use: str, at: Span | None = None) -> Q | Use[E]:
        """Return either.

        Raises CompileError unless the value is such a quantity or a word that fits.
        """
        if isinstance(value, Quantity) or (isinstance(value, Symbol) and not self.bare):
            return self.quantity.take(value, use, at)
        if not isinstance(value, Symbol | Applied):
            refuse(self, value, use, at)
        return bind(self.registry, value, use, at)


__all__ = ["Either", "Entries", "Entry", "Parameter", "Use", "bind", "match", "used"]
