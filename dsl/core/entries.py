"""Entries of the registries: a word, its typed parameters, and whether it can run yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from .diagnostics import CompileError, Label
from .kinds import Kind, Texts, refuse, used
from .literals import literal
from .problems import Gather, fail, not_yet
from .registry import Registry, suggest
from .source import Span
from .values import Applied, Argument, Quantity, Symbol, Text, Value

A = TypeVar("A")
T = TypeVar("T")
Q = TypeVar("Q")


Elsewhere = Callable[[str, str], str | None]
"""Returns the help for a name that belongs elsewhere, given with a value as it is written; None for
any other.
"""


@dataclass(frozen=True)
class Parameter(Generic[T]):
    """A parameter of an entry, or a key of a block.

    default: what applies if it is omitted, as a literal of the language; `fallback` is its value.
    otherwise: the same in prose, where it depends on something else.
    required: must be given.
    repeated: takes all remaining positional arguments, or exactly `count` of them; a repeated key
    may be given several times, as if its values were one list.
    runs: False if it cannot be used yet.
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
        """The default, as text; empty if there is none."""
        return self.default or self.otherwise


@dataclass(frozen=True)
class Entry:
    """A word of the language with its parameters, in the order of positional arguments.

    further: the kind of named arguments beyond them, where it takes any.
    """

    name: str
    summary: str
    parameters: tuple[Parameter[Any], ...] = ()
    runs: bool = False
    instead: str | None = None
    values: tuple[str, ...] = ()
    """Sub-values of a metric, such as `F` of `fairness`."""
    unit: str = ""
    """SI unit of a metric."""
    further: Kind[Any] | None = None


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

    @property
    def further(self) -> dict[str, object]:
        """The named arguments beyond the entry's parameters."""
        known = {parameter.name for parameter in self.entry.parameters}
        return {name: value for name, value in self.typed.items() if name not in known}

    def span_of(self, parameter: Parameter[Any]) -> Span:
        """Return where a parameter is given, or else where the entry is used."""
        value = self.arguments.get(parameter.name)
        return self.span if value is None else value.span


def bind(
    registry: Registry[E],
    value: Value,
    use: str,
    at: Span | None = None,
    elsewhere: Elsewhere = lambda name, text: None,
) -> Use[E]:
    """Look a word up and check its arguments; elsewhere: help for those that belong elsewhere.

    Raises CompileError for an unknown word or wrong arguments, and `not-yet` if it cannot run.
    """
    if not isinstance(value, Symbol | Applied):
        refuse(Entries(registry), value, use, at, _wrapped(registry, value))
    entry = registry.get(value.name, value.name_span, note=_by_position(value, use))
    given = value.arguments
    gather, result = Gather(), None
    with gather.attempt():
        result = match(entry, given, value.span, at, elsewhere)
    if not entry.runs:
        found = f"the {registry.word} `{entry.name}`"
        gather.found.append(not_yet(found, value.span, entry.instead or _running(registry)))
    gather.finish()
    assert result is not None
    return result


def _wrapped(registry: Registry[E], value: Value) -> str | None:
    """Return the help for a quantity that is the argument of a word, such as a queue's size."""
    for entry in registry if isinstance(value, Quantity) else ():
        with suppress(CompileError, IndexError):
            entry.parameters[0].kind.take(value, "it")
            return f"write `{entry.name}({value.canonical})`"
    return None


def _by_position(value: Value, use: str) -> str:
    """Return the note on a value that is given without its parameter's name."""
    before = value.span.source.text[: value.span.start].rstrip()
    return f"this is {use}" if use.startswith("`") and before.endswith(("(", ",")) else ""


def _running(registry: Registry[E]) -> str | None:
    running = [f"`{entry.name}`" for entry in registry if entry.runs]
    return f"supported: {', '.join(running)}" if running else None


def assign(
    word: str,
    names: Collection[str],
    arguments: Iterable[tuple[str | None, Span, A]],
    gather: Gather,
    *,
    positional: Iterable[str] | None = None,
    repeated: Collection[str] = (),
    labels: tuple[Label, ...] = (),
    elsewhere: Elsewhere = lambda name, text: None,
) -> list[tuple[str, Span, A]]:
    """Return the arguments of a word by the names of their parameters, each with its place.

    arguments: with their names (None: given by position) and places.
    gather: collects those that fit no parameter, and second ones.
    positional: the parameters that may be given by position; None: all.
    repeated: those that take any number of arguments.
    labels: of an unknown name. elsewhere: help for names that belong elsewhere.
    """
    waiting = list(names if positional is None else positional)
    places: dict[str, Span] = {}
    found: list[tuple[str, Span, A]] = []
    for key, at, argument in arguments:
        with gather.attempt():
            name = key if key is not None else waiting[0] if waiting else None
            if name is None:
                takes = f"takes {_count(len(names), 'argument')}; this is one too many"
                if positional is not None:
                    takes = "takes no further argument without a name"
                fail("too-many-arguments", f"`{word}` {takes}", at, help=signature(word, names))
            if name not in names:
                other = elsewhere(name, _written(argument))
                near = None if other else suggest(name, names)
                fail(
                    "unknown-argument",
                    f"`{word}` takes no argument called `{name}`",
                    at,
                    note=f"did you mean `{near}`?" if near else "",
                    labels=labels,
                    help=other or signature(word, names),
                )
            if name in places and name not in repeated:
                first = Label(places[name], "given here first")
                fail("duplicate-argument", f"`{name}` is given twice", at, labels=(first,))
            places.setdefault(name, at)
            if name in waiting and name not in repeated:
                waiting.remove(name)
            found.append((name, at, argument))
    return found


def _written(argument: object) -> str:
    """Return an argument as the file has it; an ellipsis where it does not say."""
    span = getattr(argument, "span", None)
    return span.text if isinstance(span, Span) else "..."


def match(
    entry: E,
    given: tuple[Argument, ...],
    span: Span,
    at: Span | None = None,
    elsewhere: Elsewhere = lambda name, text: None,
) -> Use[E]:
    """Assign arguments to an entry's parameters and check each. Raises CompileError."""
    gather = Gather()
    parameters = {parameter.name: parameter for parameter in entry.parameters}
    if entry.further is not None:
        keys = (argument.key for argument in given if argument.key is not None)
        for key in keys:
            parameters.setdefault(key, Parameter(key, entry.further, ""))
    positional = [parameter.name for parameter in entry.parameters]
    values: dict[str, Value] = {}
    places: dict[str, Span] = {}
    typed: dict[str, object] = {}
    repeated: list[object] = []
    assigned = assign(
        entry.name,
        parameters,
        ((argument.key, argument.place, argument.value) for argument in given),
        gather,
        positional=positional if entry.further is not None else None,
        repeated=[parameter.name for parameter in entry.parameters if parameter.repeated],
        elsewhere=elsewhere,
    )
    for name, where, value in assigned:
        parameter = parameters[name]
        values[name], places[name] = value, where
        with gather.attempt():
            try:
                typed[name] = parameter.kind.take(value, f"`{name}` of `{entry.name}`", at)
            except CompileError as error:
                text = _text_meant(entry, given, parameter, value)
                raise CompileError(
                    replace(d, help=text or d.help) for d in error.diagnostics
                ) from None
            if parameter.repeated:
                repeated.append(typed[name])
            if not parameter.runs:
                what = f"the argument `{name}` of `{entry.name}`"
                whole = Span(where.source, where.start, value.span.end)
                inside = whole.source is value.span.source and whole.start < whole.end
                gather.found.append(not_yet(what, whole if inside else where))
    unknown = (argument.key for argument in given if argument.key not in parameters)
    meant = [suggest(key, parameters) for key in unknown if key is not None]
    _check_complete(entry, parameters, values, len(repeated), meant, span, gather)
    gather.finish()
    return Use(entry, values, tuple(repeated), span, typed, places)


def _check_complete(
    entry: Entry,
    parameters: Mapping[str, Parameter[Any]],
    values: Collection[str],
    repeated: int,
    meant: list[str | None],
    span: Span,
    gather: Gather,
) -> None:
    """Refuse arguments of which some are missing, or as many as a parameter does not take.

    values: the names that are given. repeated: how many values the repeated parameter has. meant:
    what unknown names are like.
    """
    for parameter in entry.parameters:
        if parameter.name in meant:
            continue  # it is given, under another name
        if parameter.required and parameter.name not in values:
            if None in meant:  # perhaps what was meant by a name that is like no other
                meant.remove(None)
                continue
            with gather.attempt():
                fail(
                    "missing-argument",
                    f"`{entry.name}` needs its argument `{parameter.name}`",
                    span,
                    note=f"`{parameter.name}` is {parameter.kind.phrase}",
                    help=signature(entry.name, parameters),
                )
        elif parameter.count not in (None, repeated) and parameter.repeated:
            with gather.attempt():
                few = repeated < parameter.count
                fail(
                    "missing-argument" if few else "too-many-arguments",
                    f"`{entry.name}` takes {_count(parameter.count, 'name')}, {repeated} given",
                    span,
                    note=f"{parameter.name}: {parameter.summary}",
                    help=signature(entry.name, parameters),
                )


def _text_meant(
    entry: Entry, given: Iterable[Argument], parameter: Parameter[Any], value: Value
) -> str:
    """Return the help for a word or a text, given by position, that is not of the kind of the next
    parameter where a later one takes a text; else empty.
    """
    named = {argument.key for argument in given}
    later = [p for p in entry.parameters if isinstance(p.kind, Texts) and not p.required]
    by_position = any(argument.key is None and argument.value is value for argument in given)
    word = (
        value.name if isinstance(value, Symbol) else value.value if isinstance(value, Text) else ""
    )
    if not word or not by_position or not later or later[0].name in named or parameter in later:
        return ""
    return f'give it by name, as a text: `{later[0].name}: "{word}"`'


def signature(word: str, names: Iterable[str]) -> str:
    """Return what a word takes, for a message."""
    return f"`{word}` takes: {', '.join(names)}" if names else f"`{word}` takes no arguments"


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
