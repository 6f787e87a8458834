"""The end of a cell and its captures, checked against its flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from . import model
from .core.problems import Gather, fail

Timing = tuple[int | None, int, int | None, Literal["first", "all"], Literal["full", "none"]]
"""Duration, warm-up and deadline of a cell, ns; with which flow it ends; what is captured."""


def check_captures(flows: Sequence[model.Flow], timing: Timing) -> None:
    """Refuse a cell without captures if only packets show what its flows received."""
    gather = Gather()
    for flow in flows if timing[-1] == "none" else ():
        what = flow.workload.only_in_packets or ("an image" if flow.image else "")
        if what:
            with gather.attempt():
                fail(
                    "captures-needed",
                    f"the flow `{flow.name}` cannot be measured without captures",
                    flow.span,
                    note=f"what {what} received, and when, comes from captured packets",
                    help="remove `captures = none`",
                )
    gather.finish()


def check_end(flows: Sequence[model.Flow], timing: Timing) -> None:
    """Refuse a cell that never ends, and flows that never begin."""
    duration, _, deadline, stop, _ = timing
    gather = Gather()
    ends = [f.workload.ends or f.stop_ns is not None for f in flows]
    limit = duration if duration is not None else deadline
    if limit is None and not all(ends) and not (stop == "first" and any(ends)):
        for flow, finite in zip(flows, ends, strict=True):
            if not finite:
                with gather.attempt():
                    fail(
                        "endless",
                        f"the flow `{flow.name}` never ends, and neither does the cell",
                        flow.span,
                        note=f"`{flow.workload.part.kind}` sends for as long as the flow lasts",
                        help="give the experiment a `duration`, or the flow a `stop`",
                    )
    for flow in flows:
        if limit is not None and flow.start_ns is not None and flow.start_ns >= limit:
            with gather.attempt():
                fail(
                    "late-start",
                    f"the flow `{flow.name}` starts after the cell has ended",
                    flow.span,
                    note=f"it starts at {flow.start_ns / 1e9:g} s",
                    help=f"start it before {limit / 1e9:g} s, or make the cell longer",
                )
    gather.finish()
