"""Checks of a grid: its draws and its sample, conditions without effect, values without cells."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import NamedTuple

from fairc.dsl.blocks import Block
from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label, warning
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import refuse_unknown
from fairc.dsl.core.values import shown
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.model.requests import Axis
from fairc.dsl.text import syntax
from fairc.words.blocks.experiment import DRAWS, PAIRED, SAMPLE

from .sampling import Bindings, Sample
from .sweeps import Grid


class Draws(NamedTuple):
    """Shared draws. common: starts, arrivals, sizes and pauses; paired: these and the losses."""

    common: bool = True
    paired: bool = False


def draws(block: Block, scope: Scope) -> Draws:
    """Return what the keys of an experiment say. Raises CompileError."""
    given = block.given(DRAWS, scope)
    # Configurations that are drawn one by one are independent, and no two of them are compared.
    sample = block.settings.get(SAMPLE.name)
    one_by_one = sample is not None and not isinstance(sample.value, syntax.Several)
    common = given == "common" if given else not one_by_one
    paired = block.get(PAIRED, scope)
    if paired and given == "own":
        fail(
            "conflicting-draws",
            "`paired = on` shares all random draws between configurations, `draws = own` shares"
            " none",
            block.settings[PAIRED.name].span,
            labels=(Label(block.settings[DRAWS.name].span, "each configuration has its own here"),),
            help="keep one of them",
        )
    return Draws(common, paired)


def draw_sample(block: Block, grid: Grid, seed: int) -> None:
    """Let the grid draw a sample, if one is wanted. Raises CompileError."""
    setting = block.settings.get(SAMPLE.name)
    if setting is None:
        return
    gather, size = Gather(), None
    of: tuple[str, ...] = ()
    per: tuple[str, ...] = ()
    counted = copy(block)
    if isinstance(setting.value, syntax.Several):
        # Its names are those of the sweep, which are no values here.
        counted.replace(replace(setting, value=setting.value.count))
        with gather.attempt():
            of = swept_names(setting.value.item, grid, "of")
    with gather.attempt():
        per = swept_names(setting.per, grid, "per")
    with gather.attempt():
        size = counted.get(SAMPLE, Scope({})).whole
    gather.finish()
    assert size is not None
    grid.draw(Sample(size, per, seed, of), setting.value.span)


def swept_names(written: syntax.Expr | None, grid: Grid, word: str) -> tuple[str, ...]:
    """Return the swept names after a word, `per` or `of`: none, one, or a tuple of them. Raises
    CompileError.
    """
    parts = written.items if isinstance(written, syntax.TupleOf | syntax.ListOf) else (written,)
    swept = [name for group in grid.groups for name in group.names]
    gather = Gather()
    names = []
    for part in parts if written is not None else ():
        with gather.attempt():
            names.append(_swept_name(part, swept, word))
    gather.finish()
    return tuple(names)


def _swept_name(node: syntax.Expr | None, swept: Sequence[str], word: str) -> str:
    """Return a name after a word. Raises CompileError unless it is swept."""
    assert node is not None
    inner = node.inner if isinstance(node, syntax.Group) else node
    if not isinstance(inner, syntax.Name) or inner.rest:
        fail(
            "wrong-type",
            f"`{word}` takes swept names",
            node.span,
            help=f"`{word} a`, or `{word} (a, b)`",
        )
    if inner.text not in swept:
        refuse_unknown("swept name", "name", inner.text, swept, inner.span)
    return inner.text


def excluded(grid: Grid, excludes: Sequence[syntax.Exclude]) -> Iterator[Diagnostic]:
    """Yield warnings about excludes without effect, and about values that no cell is left with.

    Walks the grid. Raises CompileError if every cell is excluded.
    """
    if not excludes:
        return
    configurations = grid.count().configurations
    if configurations == 0:
        fail(
            "nothing-left",
            "every cell is excluded",
            excludes[-1].span,
            help="loosen the condition",
        )
    for number in grid.without_effect():
        yield warning(
            "no-effect",
            "this excludes no cell",
            excludes[number].span,
            help="no value of the sweep makes the condition true",
        )
    for name, value in grid.unreachable():
        yield warning(
            "unreachable",
            f"every cell with `{name}` at {shown(value)} is excluded",
            value.span,
            help="leave the value out of the sweep, or loosen an `exclude`",
        )


def words_alone(
    node: syntax.Node, axes: Sequence[Axis], names: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a warning for each comparison of a swept name with a word that only begins values of
    it: `queue != fifo` always holds, as no value is `fifo` where one is `fifo(1bdp)`.

    node: the experiment. names: what is not a word of the language in its conditions.
    """
    values = {axis.name: axis.values for axis in axes}
    for part in node.walk():
        if not isinstance(part, syntax.Compare | syntax.Within):
            continue
        sides = [
            item
            for side in (part.left, part.right)
            for item in (side.items if isinstance(side, syntax.ListOf) else (side,))
            if isinstance(item, syntax.Name) and not item.rest and not item.index
        ]
        for name in (side.text for side in sides if side.text in values):
            for word in sides:
                called = [v for v in values[name] if v.startswith(f"{word.text}(")]
                if called and word.text not in (*names, *values, *values[name]):
                    yield _word_alone(name, word, called[0])


def _word_alone(name: str, word: syntax.Name, first: str) -> Diagnostic:
    """Describe a word that is compared with a name whose values have it with arguments; first: one
    of these.
    """
    arguments = first[len(word.text) :]
    return warning(
        "word-alone",
        f"no value of `{name}` is `{word.text}` alone",
        word.span,
        note=f"this is not `{first}`",
        help=f"write `{first}`, or sweep the word: `sweep {{ kind = [{word.text}] }}`,"
        f" and write `kind{arguments}` where it is used",
    )


def occurring(grid: Grid, most: int) -> Iterator[Bindings]:
    """Yield configurations that together have every swept value that occurs: those of `varied` that
    are kept.

    One that an `exclude` drops is replaced by the first kept ones with its values, if the grid has
    at most `most` cells; a value that never occurs is left out. So nothing is reported about what
    never runs.
    """
    missing: set[tuple[str, str]] = set()
    seen: set[tuple[str, str]] = set()
    for bound in grid.varied():
        values = {(name, value.canonical) for name, value in bound.items()}
        if _occurs(grid, bound):
            seen |= values
            yield bound
        else:
            missing |= values
    missing -= seen
    if not missing or grid.upper_bound() > most:
        return
    for bound in grid.assignments():
        values = {(name, value.canonical) for name, value in bound.items()}
        if values & missing and _occurs(grid, bound):
            missing -= values
            yield bound
            if not missing:
                return


def _occurs(grid: Grid, bound: Bindings) -> bool:
    """Return whether any repetition is kept; True if a condition is wrong, which is reported
    elsewhere.
    """
    try:
        return bool(grid.kept(bound))
    except CompileError:
        return True
