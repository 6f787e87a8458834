"""Values of several configurations in one group: a mixture, whose interval would answer no
question.

How often each configuration occurs is set by the sweep and not a property of a network, and
repetitions of one configuration are closer to each other than to those of another. A mixture keeps
its value but has no interval and no test. Configurations drawn by `sample` are different: there the
group is a random sample of them, if each of them is in it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .reading import Outcome


def names_to_add(
    outcomes: Iterable[Outcome], swept: Sequence[str], *, sampled: bool
) -> tuple[str, ...]:
    """Return the swept names that divide a group into configurations; empty: it has one, or is no
    mixture.

    The fewest that a look at each in turn finds: of names that change together the first. outcomes:
    the cell of each value. sampled: whether the configurations are a random sample, each of which
    may occur once.
    """
    cells: dict[str, set[str]] = {}
    names: dict[str, Mapping[str, str]] = {}
    for outcome in outcomes:
        cells.setdefault(outcome.configuration, set()).add(outcome.cell)
        if outcome.configuration not in names:
            names[outcome.configuration] = dict(outcome.bindings)
    if len(names) < 2 or (sampled and all(len(own) == 1 for own in cells.values())):
        return ()
    found: list[str] = []
    parts = 1
    for name in swept:
        tried = [*found, name]
        apart = len({tuple(of.get(n, "") for n in tried) for of in names.values()})
        if apart > parts:
            found, parts = tried, apart
    return tuple(found)


def pools_cells(outcomes: Sequence[Outcome]) -> bool:
    """Tell whether several values are of the same cell: of its flows, or of its loads.

    outcomes: the cell of each.
    """
    return len({outcome.cell for outcome in outcomes}) < len(outcomes)


def ticked(names: Sequence[str]) -> str:
    """Return "`queue` and `cca`"."""
    marked = [f"`{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(marked[:-1]), marked[-1])))
