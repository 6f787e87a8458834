"""The claims that an interim analysis leaves undecided: a range of repetitions may end
once there are none.

The intervals are those of the final verdicts (deciding.py): at the end of a range both use the same
values, so they agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fairc.compiler.plan import Claim, Plan
from fairc.runtime.repetitions.reading import CellValues, InterimMeasurements

from .deciding import undecided
from .values import Row, Values


class InterimClaims:
    """Decides the claims of a plan at each interim analysis.

    bindings: configuration -> its swept values, for all that take part. Claims are examined only in
    these; a claim about none of them, or about the mean or a share of more than them, is left out.
    """

    def __init__(self, plan: Plan, bindings: Mapping[str, Mapping[str, str]]) -> None:
        self._plan = plan
        rows = {tuple(at[axis.name] for axis in plan.axes) for at in bindings.values()}
        self.claims = tuple(_within(plan.claims, rows))

    def undecided(self, cells: Iterable[CellValues]) -> tuple[str, ...]:
        """Return the texts of the claims that are not decided.

        cells: all available ones, each once.
        """
        terms = (term for claim in self.claims for term in claim.terms)
        values = Values(InterimMeasurements(self._plan, cells), terms)
        return undecided(self._plan, values, self.claims)


def _within(claims: Iterable[Claim], rows: set[Row]) -> Iterator[Claim]:
    """Yield the claims, with only the units that are about these configurations."""
    for claim in claims:
        units = tuple(u for u in claim.units if all(term.cells in rows for term in u.terms))
        if len(units) == len(claim.units):
            yield claim
        elif units and claim.over == "each" and claim.least == 1:
            yield claim.model_copy(update={"units": units})
