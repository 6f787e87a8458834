"""Arguments of a topology: the scope of its body, and help for what it does not take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label, warning
from fairc.dsl.core.entries import Elsewhere, assign
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Applied, Symbol, Value
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.text import syntax
from fairc.words.blocks import link as keys
from fairc.words.presets import TOPOLOGIES


class ArgumentScope(Scope):
    """The scope of a topology's body: its parameters, then what is around it.

    places: where each argument is that it is called with.
    """

    def __init__(
        self,
        values: Mapping[str, Value],
        defaults: Mapping[str, syntax.Expr],
        outer: Scope | None,
        circular: Callable[[tuple[str, ...]], NoReturn],
        places: Mapping[str, Span],
    ) -> None:
        super().__init__(values, defaults, outer, circular)
        self._places = places
        self._asked = set[str]()

    def get(self, name: str) -> Value | None:
        """Return the value of a name, or None if it is not bound. Raises CompileError."""
        self._asked.add(name)
        return super().get(name)

    def without_effect(self) -> Iterator[Diagnostic]:
        """Yield a warning for each argument that nothing has asked for; call once the topology is
        built.
        """
        for name, place in self._places.items():
            if name not in self._asked:
                yield warning(
                    "no-effect",
                    f"`{name}` changes nothing here",
                    place,
                    note="other arguments replace it",
                    help="leave it out, or leave out the arguments that replace it",
                )


def argument_scope(
    topology: syntax.Topology,
    value: Symbol | Applied,
    outer: Scope | None,
) -> ArgumentScope:
    """Return the scope of a topology's body.

    Raises CompileError for arguments that do not fit its parameters.
    """
    gather = Gather()
    deferred: dict[str, syntax.Expr] = {}
    names: dict[str, syntax.Parameter] = {}
    for parameter in topology.parameters:
        with gather.attempt():
            if parameter.name.text in names:
                fail(
                    "duplicate-parameter",
                    f"two parameters are called `{parameter.name.text}`",
                    parameter.name.span,
                    labels=(Label(names[parameter.name.text].name.span, "the first one"),),
                )
            names[parameter.name.text] = parameter
    assigned = assign(
        topology.name.text,
        names,
        ((argument.key, argument.place, argument.value) for argument in value.arguments),
        gather,
        labels=(Label(topology.name.span, f"`{topology.name.text}` is defined here"),),
        elsewhere=links_have(topology),
    )
    values = {name: given for name, _, given in assigned}
    for name, parameter in names.items():
        if name in values:
            continue
        if parameter.default is not None:
            deferred[name] = parameter.default
            continue
        with gather.attempt():
            fail(
                "missing-argument",
                f"`{topology.name.text}` needs its argument `{name}`",
                value.span,
                labels=(Label(parameter.span, f"`{name}` has no default"),),
            )
    gather.finish()
    places = {name: place for name, place, _ in assigned}
    circular = _circular(topology.name.text, names, value.span)
    return ArgumentScope(values, deferred, outer, circular, places)


def _circular(
    topology: str, names: Mapping[str, syntax.Parameter], at: Span
) -> Callable[[tuple[str, ...]], NoReturn]:
    """Return what refuses defaults that need each other: one of them must be given.

    at: the call, of which this is reported once.
    """
    first: list[CompileError] = []

    def refuse(circle: tuple[str, ...]) -> NoReturn:
        if first:
            raise first[0]
        listed = " or ".join(f"`{name}`" for name in circle)
        needs = tuple(Label(names[name].span, "its default needs another one") for name in circle)
        message = f"`{topology}` needs its argument {listed}"
        first.append(CompileError([Diagnostic("missing-argument", message, at, labels=needs)]))
        raise first[0]

    return refuse


def links_have(topology: syntax.Topology) -> Elsewhere:
    """Return the help for what a topology does not take: attributes of links, and arguments that a
    single preset has.
    """

    def help_for(name: str, text: str) -> str | None:
        links = (each for each in topology.body.elements if isinstance(each, syntax.Link))
        ends = sorted((e for each in links for e in each.ends), key=lambda e: e.arrow == "--")
        taken = [parameter.name.text for parameter in topology.parameters]
        others = [
            preset.name
            for preset in TOPOLOGIES
            if any(parameter.name.text == name for parameter in preset.declaration.parameters)
        ]
        if len(others) == 1 and topology.name.text in TOPOLOGIES:
            return f"`{others[0]}` takes it: `topology = {others[0]}({name}: {text})`"
        if name not in keys.LINK or not ends or suggest(name, taken) is not None:
            return None
        link = f"link {ends[0].span.text} {{ {name} = {text} }}"
        return f"links have it: `{topology.name.text}(...) with {{ {link} }}`"

    return help_for
