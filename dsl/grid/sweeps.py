"""The grid: axes, their values, the cross product, and what `exclude` leaves of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, islice, product
from math import prod

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, SIZES, Dimension, in_si
from fairc.dsl.core.values import Applied, ListValue, Quantity, TupleValue, Value, shown
from fairc.dsl.expressions.evaluate import Scope, Work, evaluate, truth
from fairc.dsl.expressions.names import depending, used_names
from fairc.dsl.model.requests import Axis
from fairc.dsl.text import syntax

from .memo import Memo
from .sampling import Bindings, Point, Sample, shuffled

STEPS = frozenset({"range", "arange", "linspace", "seq"})
"""Words by which other languages list numbers."""

CELL_LIMIT = 10_000_000
"""More cells than this are a mistake: a cell takes seconds, and this many take a year."""

AXIS_LIMIT = 50

CHECK_LIMIT = 1000
"""How many values of one axis `check` examines in a small file; the others are checked when cells
are made.
"""

PART_LIMIT = 200_000
"""How many parts of a file, times values, `check` examines: fewer values of an axis in a large
file.
"""

WALK_LIMIT = 3_000_000
"""How many combinations of values may have to be decided one by one, times the parts of conditions
and ten more.
"""

RESERVED = {
    "repetition": ("the number of a repetition", "trial"),
    "load": ("the number of a page load", "demand"),
    "time": ("the time since the start of a cell", "length"),
}
"""Name that cannot be swept -> what it means in figures and tables, and another one."""

SAMPLE_LIMIT = 1_000_000
"""A sample is drawn from at most this many configurations: each of them is examined."""

UNITS_OF_PATHS = frozenset({"pkt", "bdp", "pkt/s"})
"""Units of which a size depends on path and MTU."""

Row = tuple[Value, ...]

SizeUnits = Callable[[Bindings, Collection[Dimension], Span], Mapping[Dimension, Fraction]]
"""Returns what sizes of some units are in a configuration, bits; the place is where they are
compared. Raises CompileError.
"""


@dataclass(frozen=True)
class Group:
    """One binding of a sweep: the names that it binds together, and its values.

    rows: the distinct rows, or None if they depend on names bound before.
    """

    binding: syntax.Binding
    names: tuple[str, ...]
    expression: syntax.Expr
    rows: tuple[Row, ...] | None


@dataclass(frozen=True)
class _Exclude:
    """An `exclude`: its condition, the names on which that depends, and whether it holds."""

    condition: syntax.Expr
    names: frozenset[str]
    holds: Memo[[Bindings], bool]


class Grid:
    """All configurations of a sweep, in file order, the last name varying fastest.

    Building it evaluates the lists once; nothing is ever multiplied out in memory.
    single: names for which a single value counts as a list of one (`--set loss=1%`).
    parts: of the file, without its sweep.
    own: the `let`s of the experiment itself, whose values are shown by their names.
    """

    def __init__(
        self,
        bindings: Sequence[syntax.Binding],
        excludes: Sequence[syntax.Exclude],
        lets: Mapping[str, syntax.Expr],
        repeat: int,
        single: Collection[str] = (),
        parts: int = 1,
        own: Collection[str] = (),
    ) -> None:
        self._lets = lets
        self._examined = max(2, min(CHECK_LIMIT, PART_LIMIT // max(1, parts)))
        self._single = single
        self.work = Work()
        self._swept = swept = {word.text for binding in bindings for word in binding.names}
        varying = depending(lets, swept)
        self._varying = {name: lets[name] for name in lets if name in varying}
        fixed = {name: lets[name] for name in lets if name not in self._varying}
        self._own = own
        self._fixed = Scope({}, fixed, work=self.work, own=own)
        self.repeat = repeat
        self.sample: Sample | None = None
        self._sizes: SizeUnits | None = None
        self._path: frozenset[str] = frozenset()
        self.groups: list[Group] = []
        if len(bindings) > AXIS_LIMIT:
            fail("too-many", f"a sweep has at most {AXIS_LIMIT} lists", bindings[AXIS_LIMIT].span)
        gather = Gather()
        seen: dict[str, Span] = {}
        for binding in bindings:
            with gather.attempt():
                _check_names(binding, seen)
                self.groups.append(self._group(binding, set(seen)))
            seen.update((word.text, word.span) for word in binding.names)
        gather.finish()
        self._excludes = [
            self._exclude(exclude.condition, used_names([exclude.condition], lets))
            for exclude in excludes
        ]
        self._limit()

    def compare_sizes(self, units: SizeUnits, names: frozenset[str]) -> None:
        """Let conditions compare sizes of different units.

        units: returns what they are in a configuration that binds `names`, on which they depend.
        Raises CompileError if an `exclude` then depends on too much.
        """
        self._sizes, self._path = units, names
        self._excludes = [
            self._exclude(each.condition, self.names_of(each.condition)) for each in self._excludes
        ]
        self._limit()

    def names_of(self, condition: syntax.Expr) -> frozenset[str]:
        """Return the names on which a condition depends, also through the sizes of a path."""
        used = used_names([condition], self._lets)
        asks = self._sizes is not None and self._asks(condition, used)
        return used | self._path if asks else used

    def _asks(self, condition: syntax.Expr, used: frozenset[str]) -> bool:
        """Return whether a condition compares sizes of different units for any values."""
        swept = [group.expression for group in self.groups if used & set(group.names)]
        lets = [
            self._lets[name]
            for name in used_names([condition, *swept], self._lets)
            if name in self._lets
        ]
        parts = (part for node in (condition, *swept, *lets) for part in node.walk())
        if not any(isinstance(p, syntax.Number) and p.unit in UNITS_OF_PATHS for p in parts):
            return False
        number = Quantity(Fraction(1), NUMBER, condition.span)
        asked: list[Span] = []

        def note(wanted: Collection[Dimension], at: Span) -> Mapping[Dimension, Fraction]:
            asked.append(at)
            return dict.fromkeys(SIZES, Fraction(1))

        for bound in self.projected(used):
            values = {**bound, "repetition": number}
            scope = Scope(values, self._varying, self._fixed, units=note)
            with Gather().attempt():
                evaluate(condition, scope)
            if asked:
                return True
        return False

    def _group(self, binding: syntax.Binding, before: set[str]) -> Group:
        names = tuple(word.text for word in binding.names)
        depends = used_names([binding.value], self._lets) & before
        self._refuse_later(binding, before)
        rows = None if depends else self._rows(binding, binding.value, {})
        return Group(binding, names, binding.value, rows)

    def _refuse_later(self, binding: syntax.Binding, before: set[str]) -> None:
        """Refuse a list with a name that is swept later, or with a `let` of the experiment that
        uses one.
        """
        later = self._swept - before - {word.text for word in binding.names}
        for name in sorted(used_names([binding.value], {}) & later):
            fail(
                "unknown-name",
                f"`{binding.names[0].text}` needs `{name}`, which is swept after it",
                binding.value.span,
                help=f"sweep `{name}` before `{binding.names[0].text}`",
            )
        for name in sorted(used_names([binding.value], self._lets) & set(self._own)):
            needed = used_names([self._lets[name]], self._lets) & later
            if needed:
                fail(
                    "unknown-name",
                    f"`{name}` needs `{min(needed)}`, which is swept after it",
                    binding.value.span,
                    labels=(Label(self._lets[name].span, f"`{name}` is defined here"),),
                    help=f"sweep `{min(needed)}` before `{binding.names[0].text}`",
                )

    def _rows(
        self, binding: syntax.Binding, expression: syntax.Expr, bound: Bindings
    ) -> tuple[Row, ...]:
        """Return the distinct rows of a binding, given the names bound before it."""
        value = evaluate(expression, self.scope(bound))
        items = value.items if isinstance(value, ListValue) else None
        if items is None and binding.names[0].text in self._single:
            items = (value,)
        if items is None:
            fail(
                "wrong-type",
                f"`{binding.names[0].text}` is swept over a list, not over {value.phrase}",
                value.span,
                help=_as_list(value),
            )
        if not items:
            fail(
                "empty-sweep",
                f"`{binding.names[0].text}` has no values, so there are no cells",
                value.span,
            )
        rows: dict[tuple[str, ...], Row] = {}
        for item in items:
            row = _row(binding, item)
            rows.setdefault(tuple(part.canonical for part in row), row)
        return tuple(rows.values())

    def _limit(self) -> None:
        """Refuse a grid that is too large, by multiplication alone."""
        first = self.groups[0].binding.span if self.groups else None
        bound = self.upper_bound()
        if bound > CELL_LIMIT:
            fail(
                "too-many-cells",
                f"this sweep makes up to {bound:,} cells; the limit is {CELL_LIMIT:,}",
                first,
                help="sweep fewer values, or split the experiment",
            )
        walked = prod(self._longest(self.groups.index(group)) for group in self._walked())
        if any("repetition" in each.names for each in self._excludes):
            walked *= self.repeat
        parts = sum(sum(1 for _ in each.condition.walk()) for each in self._excludes)
        most = WALK_LIMIT // (10 + parts)
        if walked > max(most, 1):
            what = "an `exclude`" if parts else "a list"
            fail(
                "too-many-cells",
                f"{what} depends on up to {walked:,} combinations of values, to be decided one by"
                f" one; the limit is {most:,}",
                first,
                help="sweep fewer values, write fewer or shorter conditions, or split the"
                " experiment",
            )

    def _walked(self) -> list[Group]:
        """Return the groups on which an `exclude` or another list depends: they cannot be
        multiplied.
        """
        names = {name for each in self._excludes for name in each.names}
        dependent = {n for g in self.groups if g.rows is None for n in g.names}
        return self._needed(names | dependent)

    def upper_bound(self) -> int:
        """Return an upper bound on the number of cells, before `exclude`."""
        return prod((self._longest(i) for i in range(len(self.groups))), start=self.repeat)

    def _longest(self, index: int) -> int:
        group = self.groups[index]
        if group.rows is not None:
            return len(group.rows)
        return max(len(self._rows_of(group, b)) for b in self.varied(index))

    def scope(self, bound: Bindings, others: Bindings | None = None) -> Scope:
        """Return the scope of a configuration: its swept names, then the file's `let`s."""
        units = None
        if self._sizes is not None and self._path <= bound.keys():
            units = partial(self._sizes, bound)
        return Scope(
            {**bound, **(others or {})}, self._varying, self._fixed, units=units, own=self._own
        )

    def _rows_of(self, group: Group, bound: Bindings) -> tuple[Row, ...]:
        if group.rows is not None:
            return group.rows
        return self._rows(group.binding, group.expression, bound)

    def varied(self, upto: int | None = None) -> Iterator[Bindings]:
        """Yield the first configuration, then every value of each axis with the others first.

        The sum of the axes, not their product: enough to evaluate every swept value once.
        """
        groups = self.groups[:upto]

        def fill(fixed: int, row: Row | None) -> Bindings:
            bound: Bindings = {}
            for i, group in enumerate(groups):
                chosen = row if i == fixed and row is not None else self._rows_of(group, bound)[0]
                bound.update(zip(group.names, chosen, strict=True))
            return bound

        first = fill(-1, None)
        yield first
        for i, group in enumerate(groups):
            rows = self._rows_of(group, first)
            for row in rows[1 : self._examined]:
                yield fill(i, row)

    def axes(self) -> tuple[Axis, ...]:
        """Return every swept name with its distinct values, in order of first appearance."""
        found: dict[str, dict[str, Value]] = {n: {} for g in self.groups for n in g.names}
        for group in self.groups:
            if group.rows is not None:
                for row in group.rows:
                    for name, value in zip(group.names, row, strict=True):
                        found[name].setdefault(shown(value), value)
        dependent = {n for g in self.groups if g.rows is None for n in g.names}
        if dependent:
            for bound in self._assignments(self._needed(dependent)):
                for name in dependent:
                    found[name].setdefault(shown(bound[name]), bound[name])
        return tuple(_axis(name, values) for name, values in found.items())

    def projected(self, names: Collection[str]) -> Iterator[Bindings]:
        """Yield the bindings of these names and of those they depend on.

        Values that an `exclude` drops are included, and equal ones may come more than once.
        """
        return self._assignments(self._needed(set(names)))

    def _needed(self, names: set[str]) -> list[Group]:
        """Return the groups that bind these names, and all that those depend on."""
        needed = set(names)
        chosen = []
        for group in reversed(self.groups):
            if needed & set(group.names):
                chosen.append(group)
                if group.rows is None:
                    needed |= used_names([group.expression], self._lets)
        return chosen[::-1]

    def _assignments(self, groups: Sequence[Group]) -> Iterator[Bindings]:
        """Yield the cross product of some groups."""
        last = max((i + 1 for i, group in enumerate(groups) if group.rows is None), default=0)
        names = [name for group in groups[last:] for name in group.names]
        rows = [group.rows for group in groups[last:] if group.rows is not None]

        def below(index: int, bound: Bindings) -> Iterator[Bindings]:
            if index == last:  # no later group depends on what is bound: most of most grids
                for chosen in product(*rows):
                    yield {**bound, **dict(zip(names, chain.from_iterable(chosen), strict=True))}
                return
            group = groups[index]
            for row in self._rows_of(group, bound):
                yield from below(index + 1, {**bound, **dict(zip(group.names, row, strict=True))})

        return below(0, {})

    def assignments(self) -> Iterator[Bindings]:
        """Yield the bindings of every configuration, including those that an `exclude` drops."""
        return self._assignments(self.groups)

    def kept(self, bound: Bindings) -> tuple[int, ...]:
        """Return the repetitions of a configuration that no `exclude` drops."""
        everything = range(1, self.repeat + 1)
        each = []
        for exclude in self._excludes:
            if "repetition" in exclude.names:
                each.append(exclude.condition)
            elif exclude.holds(bound, bound):
                return ()
        if not each:
            return tuple(everything)
        return tuple(r for r in everything if not any(self._holds(c, bound, r) for c in each))

    def _exclude(self, condition: syntax.Expr, names: frozenset[str]) -> _Exclude:
        def holds(bound: Bindings) -> bool:
            return truth(evaluate(condition, self.scope(bound)), condition.span)

        return _Exclude(condition, names, Memo(holds, tuple(sorted(names & self._swept))))

    def _holds(self, condition: syntax.Expr, bound: Bindings, repetition: int) -> bool:
        number = Quantity(Fraction(repetition), NUMBER, condition.span)
        scope = self.scope(bound, {"repetition": number})
        return truth(evaluate(condition, scope), condition.span)

    def draw(self, sample: Sample, span: Span) -> None:
        """Keep only a random sample. Raises CompileError if there is too much to draw from."""
        if self.upper_bound() // self.repeat > SAMPLE_LIMIT:
            fail(
                "too-many",
                f"a sample is drawn from at most {SAMPLE_LIMIT:,} configurations",
                span,
                help="sweep fewer values",
            )
        self.sample = sample

    def without_effect(self) -> list[int]:
        """Return the numbers of the `exclude`s that hold for no cell. Walks the grid."""
        waiting = dict(enumerate(self._excludes))
        for bound in self._assignments(self.groups):
            for index, exclude in list(waiting.items()):
                several = self.repeat if "repetition" in exclude.names else 1
                if any(self._holds(exclude.condition, bound, r) for r in range(1, several + 1)):
                    del waiting[index]
            if not waiting:
                break
        return list(waiting)

    def unreachable(self) -> list[tuple[str, Value]]:
        """Return the swept values that no cell is left with. Walks the grid."""
        missing = {
            (name, value.canonical): value
            for group in self.groups
            for row in group.rows or ()
            for name, value in zip(group.names, row, strict=True)
        }
        for bound, _ in self._kept():
            for name, value in bound.items():
                missing.pop((name, value.canonical), None)
            if not missing:
                break
        return [(name, value) for (name, _), value in missing.items()]

    def configurations(self) -> Iterator[Point]:
        """Yield the bindings and the repetitions of each configuration, in file order.

        Those that keep no repetition, or that the sample does not draw, are left out.
        """
        return iter(self._drawn) if self.sample else self._kept()

    def spread(self, most: int) -> Iterator[Point]:
        """Yield at most `most` of the same, evenly spread over all.

        Only the combinations of values that must be decided one by one are walked.
        """
        step = max(1, -(-self.count().configurations // most))
        if step == 1 or self.sample:
            yield from islice(self.configurations(), 0, None, step)
            return
        walked = self._walked()
        others = [group for group in self.groups if group not in walked]
        each = prod(len(group.rows or ()) for group in others)
        number = first = 0  # of the next one, and of the first one with these walked values
        for some in self._assignments(walked):
            kept = self.kept(some)
            if not kept:
                continue
            while number < first + each:
                rest, bound = number - first, dict(some)
                for group in reversed(others):
                    assert group.rows is not None
                    rest, place = divmod(rest, len(group.rows))
                    bound.update(zip(group.names, group.rows[place], strict=True))
                yield {name: bound[name] for group in self.groups for name in group.names}, kept
                number += step
            first += each

    def shuffled(self, seed: int, repetition: int) -> Iterator[Point]:
        """Yield the same as `configurations` in a random order."""
        return iter(shuffled(self.configurations(), seed, repetition))

    @cached_property
    def _drawn(self) -> list[Point]:
        assert self.sample is not None
        return self.sample.draw(self._kept())

    def _kept(self) -> Iterator[Point]:
        for bound in self._assignments(self.groups):
            self.work.reset()
            kept = self.kept(bound)
            if kept:
                yield bound, kept

    def count(self) -> model.Count:
        """Count configurations and cells.

        Axes on which no `exclude` and no other list depends are multiplied, not walked.
        """
        walked = self._walked()
        factor = prod(len(g.rows or ()) for g in self.groups if g not in walked)
        configurations = cells = total = 0
        for bound in self._assignments(walked):
            kept = len(self.kept(bound)) if self._excludes else self.repeat
            configurations += bool(kept)
            cells += kept
            total += self.repeat
        found = model.Count(configurations * factor, cells * factor, (total - cells) * factor, 0)
        if self.sample is None:
            return found
        cells = sum(len(kept) for _, kept in self._drawn)
        return model.Count(len(self._drawn), cells, found.excluded, found.cells - cells)


def _axis(name: str, values: Mapping[str, Value]) -> Axis:
    """Return an axis; its values are numbers if all have the same unit."""
    quantities = [v for v in values.values() if isinstance(v, Quantity)]
    dimensions = {v.dimension for v in quantities}
    if len(quantities) < len(values) or len(dimensions) != 1:
        return Axis(name=name, values=tuple(values))
    numbers, unit = in_si([v.number for v in quantities], dimensions.pop())
    return Axis(name=name, values=tuple(values), numbers=numbers, unit=unit)


def _check_names(binding: syntax.Binding, seen: Mapping[str, Span]) -> None:
    gather = Gather()
    own: dict[str, Span] = dict(seen)
    for word in binding.names:
        with gather.attempt():
            if word.text in own:
                fail(
                    "duplicate-name",
                    f"`{word.text}` is swept twice",
                    word.span,
                    labels=(Label(own[word.text], "first occurrence"),),
                )
            if word.text in RESERVED:
                meaning, other = RESERVED[word.text]
                fail(
                    "reserved-name",
                    f"`{word.text}` already has a meaning in the language",
                    word.span,
                    note=f"in figures and tables it is {meaning}",
                    help=f"choose another name, such as `{other}`",
                )
            own[word.text] = word.span
    gather.finish()


def _row(binding: syntax.Binding, item: Value) -> Row:
    if not binding.is_tuple:
        return (item,)
    wanted = len(binding.names)
    if not isinstance(item, TupleValue) or len(item.items) != wanted:
        got = f"{len(item.items)}" if isinstance(item, TupleValue) else item.phrase
        fail(
            "wrong-type",
            f"each value must be a tuple of {wanted}, one per name, not {got}",
            item.span,
            labels=(Label(binding.names[0].span, "the names are bound here"),),
        )
    return item.items


def _as_list(value: Value) -> str:
    """Return the help for a value that is swept and no list."""
    if isinstance(value, Applied) and value.name in STEPS:
        return "whole numbers are `1..5`, values in equal steps `(1..5) * 10ms`"
    text = value.span.text
    if isinstance(value, TupleValue):
        listed = f"[{', '.join(item.span.text for item in value.items)}]"
        return f"write `{listed}` for several values, `[{text}]` for a single one"
    return f"write `[{text}]` for a single value"
