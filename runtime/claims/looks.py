"""The claims that an interim analysis ("look") leaves undecided: a range of repetitions may end once there are none.

The intervals are those of the final verdicts (deciding.py): at the end of a range both use the same
values, so they agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from fairc.compiler.plan import Claim, ClaimTerm, Plan
from fairc.runtime.metrics import value_named

from .deciding import undecided
from .values import Place, chosen

if TYPE_CHECKING:
    from fairc.runtime.statistics.ending import Done

Row = tuple[str, ...]
"""A configuration, as its value on each axis of the plan in canonical text."""


class Looks:
    """Decides the claims of a plan at each look.

    bindings: configuration -> its swept values, for all that take part. Claims are examined only in these; a claim
    about none of them, or about a mean that includes others, is left out.
    """

    def __init__(self, plan: Plan, bindings: Mapping[str, Mapping[str, str]]) -> None:
        self._plan = plan
        self._rows = {
            name: tuple(at[axis.name] for axis in plan.axes) for name, at in bindings.items()
        }
        self.claims = tuple(_within(plan.claims, set(self._rows.values())))

    def undecided(self, cells: Iterable[Done]) -> tuple[str, ...]:
        """Return the texts of the claims that are not decided. cells: all available ones, each once."""
        return undecided(self._plan, _Seen(self._rows, cells), self.claims)


def _within(claims: Iterable[Claim], rows: set[Row]) -> Iterator[Claim]:
    """Yield the claims, with only the units that are about these configurations."""
    for claim in claims:
        units = tuple(u for u in claim.units if all(term.cells in rows for term in u.terms))
        if len(units) == len(claim.units):
            yield claim
        elif units and claim.over == "each":
            yield claim.model_copy(update={"units": units})


class _Seen:
    """Values of terms, read from cells as `Values` reads them from tables."""

    def __init__(self, rows: Mapping[str, Row], cells: Iterable[Done]) -> None:
        self._cells: dict[Row, list[Done]] = {}
        for cell in sorted(cells, key=lambda cell: cell.repetition):
            self._cells.setdefault(rows[cell.configuration], []).append(cell)

    def of(self, term: ClaimTerm) -> dict[int, float] | str:
        """Return the values of a term by repetition, or the reason why there are none."""
        try:
            metric = value_named(term.metric).name
        except KeyError:
            return "not known here"
        here: dict[Place, dict[int, float]] = {}
        for cell in self._cells.get(term.cells, []):
            for (name, flow, load), value in cell.values.items():
                if name == metric:
                    of_place = here.setdefault((flow, load), {})
                    if value is not None:
                        of_place[cell.repetition] = value
        return chosen(term, here) or "no value"

    def remark(self, term: ClaimTerm) -> str:
        """Say nothing: a look only decides."""
        return ""
