"""Instances of statements with an index, loops or a condition in a configuration.

    flow f[i] for i in 1..n when n > 1 { ... }

Each instance has a scope with the names of its loops, and a name with the values of its index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from fairc.dsl.core.diagnostics import CompileError, Label
from fairc.dsl.core.problems import fail
from fairc.dsl.core.values import ListValue, TupleValue, Value
from fairc.dsl.model.names import indexed
from fairc.dsl.text import syntax

from .evaluate import Scope, evaluate, truth
from .names import mentioned

INSTANCE_LIMIT = 10_000
"""How often a statement may be declared with its loops: more flows or nodes than any machine has
room for.
"""

LOOP_LIMIT = 10
"""At most so many loops of one statement, each inside the one before it."""

FOR_SOME = "if only some configurations have it, write `when` and a condition: `when n > 0`"


class Looped(Protocol):
    """A statement that may have loops and a condition."""

    @property
    def loops(self) -> tuple[syntax.Loop, ...]:
        """Its loops, the outermost first."""
        ...

    @property
    def when(self) -> syntax.Expr | None:
        """Its condition."""
        ...


def scopes(statement: Looped, scope: Scope) -> Iterator[Scope]:
    """Yield the scope of each instance of a statement, in the order of its loops.

    A condition that names no loop is asked first. Raises CompileError.
    """
    loops, when = statement.loops, statement.when
    if when is not None and not mentioned(when) & {
        name.text for loop in loops for name in loop.names
    }:
        if not truth(evaluate(when, scope), when.span):
            return
        when = None
    if not loops:
        yield scope
        return
    _check_loops(loops)
    for number, inner in enumerate(_within(loops, scope)):
        if number == INSTANCE_LIMIT:
            fail(
                "too-many",
                f"these loops declare more than {INSTANCE_LIMIT:,} of one kind",
                loops[0].span,
                help="one machine emulates a few thousand at most: use fewer values",
            )
        if when is None or truth(evaluate(when, inner), when.span):
            yield inner


def label(reference: syntax.Reference, scope: Scope) -> str:
    """Return the name of an instance: `f[2]`, or `f` without an index. Raises CompileError."""
    if not reference.index:
        return reference.text
    return indexed(reference.text, [evaluate(i, scope).canonical for i in reference.index])


def _within(loops: Sequence[syntax.Loop], scope: Scope) -> Iterator[Scope]:
    """Yield the scopes inside loops; the values of one may depend on the names of those before."""
    loop, *inner = loops
    try:
        values = evaluate(loop.values, scope)
    except CompileError as error:
        raise CompileError(
            replace(d, help=FOR_SOME) if d.code == "empty-range" else d for d in error.diagnostics
        ) from None
    if not isinstance(values, ListValue):
        fail(
            "wrong-type",
            f"a loop is over a list or a range, not {values.phrase}",
            loop.values.span,
            help=f"for example `for {loop.names[0].text} in 1..4`, or"
            f" `for {loop.names[0].text} in [10ms, 50ms]`",
        )
    if not values.items:
        fail(
            "empty-list",
            "this loop is over nothing, so it declares nothing",
            loop.values.span,
            help=FOR_SOME,
        )
    for value in values.items:
        bound = Scope(_bound(loop, value), parent=scope)
        if inner:
            yield from _within(inner, bound)
        else:
            yield bound


def _bound(loop: syntax.Loop, value: Value) -> dict[str, Value]:
    """Return what the names of a loop are for one of its values. Raises CompileError."""
    if len(loop.names) == 1:
        return {loop.names[0].text: value}
    wanted = len(loop.names)
    if not isinstance(value, TupleValue):
        fail(
            "wrong-type",
            f"this loop has {wanted} names, so each item must be a tuple, not {value.phrase}",
            value.span,
            labels=(Label(loop.names[0].span, "the names"),),
            help=f"for example `({', '.join(['1'] * wanted)})`",
        )
    if len(value.items) != wanted:
        fail(
            "wrong-type",
            f"this loop has {wanted} names, and this item {len(value.items)} values",
            value.span,
            labels=(Label(loop.names[0].span, "the names"),),
            help="give the loop a name for each value",
        )
    return {name.text: item for name, item in zip(loop.names, value.items, strict=True)}


def _check_loops(loops: Sequence[syntax.Loop]) -> None:
    """Raise CompileError for too many loops, and for two of one name."""
    if len(loops) > LOOP_LIMIT:
        fail(
            "too-many",
            f"a statement has at most {LOOP_LIMIT} loops",
            loops[LOOP_LIMIT].span,
            help="loop over a list of all values instead",
        )
    known: set[str] = set()
    for loop in loops:
        own = set[str]()
        for name in loop.names:
            if name.text in known | own:
                what = "one loop has" if name.text in own else "two loops have"
                twice = " twice" if name.text in own else ""
                fail("duplicate-name", f"{what} the name `{name.text}`{twice}", name.span)
            own.add(name.text)
        known |= own
