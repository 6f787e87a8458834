"""The figure `table`: a summary of a metric for each group, with its interval."""

from __future__ import annotations

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import Cell, Number, count, decimals_for, one_line, scaled

from .base import FigureKind, Sheet, Subject, few, limits
from .cases import by_text, load, names_of, separated, stem
from .summing import summing


def make(subject: Subject, request: FigureRequest | None) -> Sheet:
    """Make the table; options: `by`, `facet` (the first columns), `percentile`, `stat`, `ci`."""
    assert request is not None, "not a default figure"
    cases = load(subject, request, endless=True)
    facet, by = (names_of(request, option, cases) for option in ("facet", "by"))
    names = separated((*facet, *by), (), cases)
    sums = summing(request, cases)
    groups = [(key, sums(found)) for key, found in cases.groups(names)]
    few(len(groups), limits("table").groups, "rows")
    ends = [
        v / cases.scale.factor for _, e in groups for v in (e.value, e.low, e.high) if v is not None
    ]
    digits = max(3, decimals_for(ends)) if not cases.scale.unit else decimals_for(ends)

    def shown(value: float) -> Number:
        return scaled(value, cases.scale, digits)

    rows: list[tuple[Cell, ...]] = []
    for key, e in groups:
        interval = (shown(e.low), shown(e.high)) if e.low is not None and e.high is not None else ""
        value = "" if e.value is None else shown(e.value)
        rows.append((*map(one_line, key), count(e.n), value, interval or e.reason))
    unit = f" ({cases.scale.unit})" if cases.scale.unit else ""
    return Sheet(
        name=stem(subject, request),
        section="asked",
        title=f"{sums.what.capitalize()} of {cases.title(by_text(names))}",
        caption=f"{sums.what.capitalize()} over the cells of a group, and its {sums.interval}."
        f"{sums.remark(names)} {cases.basis(names)}",
        head=(
            *((one_line(name), False) for name in names),
            ("cells", True),
            (f"{sums.what}{unit}", True),
            (f"{100 * sums.level:g} % interval", True),
        ),
        rows=tuple(rows),
    )


KIND = FigureKind("table", make)
