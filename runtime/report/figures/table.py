"""The figure `table`: a summary of a metric for each group, with its interval."""

from __future__ import annotations

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import Cell, count, decimals_for, interval, one_line, scaled
from fairc.runtime.report.sheet import Sheet

from .base import FigureKind, Subject
from .query import Summing, load
from .wording import by_text


def requested(subject: Subject, request: FigureRequest) -> Sheet:
    """Make the table; options: `by`, `facet` (the first columns), `percentile`, `stat`, `ci`."""
    query = load(subject, request, endless=True)
    names, scale, sums = query.each(), query.scale, Summing(query)
    groups = [(key, sums(found)) for key, found in query.groups(names)]
    query.check(1, len(groups), "rows")
    ends = [v / scale.factor for _, e in groups for v in (e.value, e.low, e.high) if v is not None]
    digits = max(3, decimals_for(ends)) if not scale.unit else decimals_for(ends)
    rows: list[tuple[Cell, ...]] = []
    for key, e in groups:
        value = "" if e.value is None else scaled(e.value, scale, digits)
        between = interval(e.low, e.high, scale, digits) or e.reason
        rows.append((*map(one_line, key), count(e.n), value, between))
    unit = f" ({scale.unit})" if scale.unit else ""
    what = f"{sums.what.capitalize()} over the cells of a group, and its {sums.interval}."
    title = f"{sums.what.capitalize()} of {query.title(by_text(names))}"
    if query.definition:
        what = f"{query.definition}, and its {sums.of_claims}."
        title = query.title(by_text(names))
    return query.sheet(
        title=title,
        caption=f"{what}{sums.remark(names)} {query.basis(names)}",
        head=(
            *((one_line(name), False) for name in names),
            ("cells", True),
            (f"{query.name if query.definition else sums.what}{unit}", True),
            (f"{100 * sums.level:g} % interval", True),
        ),
        rows=rows,
    )


KIND = FigureKind("table", requested)
