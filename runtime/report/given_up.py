"""Connections that ended by themselves: shown next to the answer, with the time and the reason."""

from __future__ import annotations

from collections import defaultdict

from fairc.runtime.formatting import listed, one_line

from .run import Run


def given_up(run: Run) -> tuple[str, ...]:
    """Return a sentence on the connections that their transports gave up, if there are any.

    Of each flow the first one is told; cells that do not count are left out.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for cell, flow, ends in run.rows(
        "SELECT cell, flow, given_up FROM flows WHERE len(given_up) > 0 ORDER BY ALL"
    ):
        outcome = run.outcomes.get(cell)
        if outcome is not None and outcome.counts:
            found[flow] += ends
    if not found:
        return ()
    flows = [f"{one_line(flow)}, {one_line(ends[0])}{_more(ends)}" for flow, ends in found.items()]
    return (f"Connections that ended by themselves: {listed(flows)}.",)


def _more(ends: list[str]) -> str:
    return f" (and {len(ends) - 1} more)" if ends[1:] else ""
