"""Radio links: batches that do not fit a cell or its rate."""

from __future__ import annotations

from fairc.cell.workloads import Distribution
from fairc.compiler.passes.report import Report
from fairc.compiler.passes.wiring import Wiring
from fairc.dsl.core.source import Span
from fairc.dsl.model import Direction

from .cell import RadioMedium, times_ns

LEAST_SHARE = 0.9
"""Of a link's rate that slots must leave, or they are warned of."""


def check(wiring: Wiring, end_ns: int | None, report: Report) -> None:
    """Refuse batches that last as long as a cell, warn of slots that waste much of a link's rate.

    end_ns: of the cell, None where it ends by itself.
    """
    for egress in wiring:
        medium = egress.way.medium
        if egress.part != "queue" or medium is None:
            continue
        if isinstance(medium.planned, RadioMedium):
            _check_length(medium.planned, medium.span, end_ns, report)
            _check_share(egress.way, medium.planned, medium.span, report)


def _check_length(medium: RadioMedium, span: Span, end_ns: int | None, report: Report) -> None:
    given: tuple[tuple[str, Distribution | None], ...]
    given = (("every", medium.every), ("hold", medium.hold))
    for name, times in given:
        if end_ns is None or times is None:
            continue
        values = times_ns(times)
        typical_ns = sum(values) // len(values)
        if typical_ns >= end_ns:
            report.reject(
                "long-batch",
                f"`{name}` of this batch is as long as the cell",
                span,
                help="make it shorter, or the cell longer",
                note=f"{typical_ns / 1e9:g} s, and the cell ends after {end_ns / 1e9:g} s",
            )


def _check_share(way: Direction, medium: RadioMedium, span: Span, report: Report) -> None:
    """A slot has as many full frames as end before the next one, at least one."""
    if medium.every is None or way.rate_bps is None:
        return
    values = times_ns(medium.every)
    slot_ns = sum(values) / len(values)
    frame_ns = 8 * way.frame_bytes * 10**9 / way.rate_bps
    frames = int(slot_ns // frame_ns)
    if medium.size_packets is not None:
        frames = min(frames, medium.size_packets)
    lasts_ns = slot_ns if frames else slot_ns * -(-frame_ns // slot_ns)
    share = max(1, frames) * frame_ns / lasts_ns
    if share < LEAST_SHARE:
        report.warn(
            "coarse-slots",
            f"these slots leave {share:.0%} of the link's rate",
            span,
            f"a full frame takes {frame_ns / 1e6:.3g} ms, and a slot of {slot_ns / 1e6:g} ms has"
            f" {max(1, frames)} at most",
            "make the slots longer, or the rate of the link higher",
        )
