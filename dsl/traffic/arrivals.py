"""The arrivals that several flows share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from fairc.cell.seeds import stream_seed
from fairc.cell.workloads import SharedArrivals
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.model import Flow

PROCESS = ("shared arrivals",)
"""Name of the stream that belongs to no flow; no flow can have this name."""

LEAST_PART = Fraction(1, 10**6)
"""The smallest share of one stream of requests: each draws all arrivals of the process to find its
own.
"""


def shared_arrivals(flows: Iterable[Flow], seed: int) -> dict[str, SharedArrivals]:
    """Return the part of each flow that shares a process of arrivals, by its name.

    Parts lie one after the other in the order of the flows, and the last one ends at 1.
    """
    parts: dict[str, SharedArrivals] = {}
    low = Fraction()
    for flow in flows:
        if (shared := flow.workload.shared_process) is not None:
            high = low + shared[0]
            parts[flow.name] = SharedArrivals(
                seed=stream_seed(seed, *PROCESS), low=float(low), high=float(high)
            )
            low = high
    return parts


def check_arrivals(flows: Sequence[Flow], users: Mapping[str, int]) -> None:
    """Raise CompileError unless the flows with a share are the parts of one process.

    flows: as declared. users: the number of users of each group.
    """
    parts = [(flow, both) for flow in flows if (both := flow.workload.shared_process)]
    if not parts:
        return
    (first, (_, every)), gather = parts[0], Gather()
    for flow, (share, own_every) in parts:
        with gather.attempt():
            if flow.random_start is not None:
                fail(
                    "conflicting-arrivals",
                    f"`{flow.name}` has a random start, but shares its arrivals with other flows",
                    flow.span,
                    notes=("an arrival process has one start",),
                    help="write a time, or leave `start` out",
                )
            agreed = {"every": own_every == every, "start": flow.start_ns == first.start_ns}
            for key, alike in agreed.items():
                if not alike:
                    fail(
                        "conflicting-arrivals",
                        f"`{first.name}` and `{flow.name}` share their arrivals, but differ in"
                        f" `{key}`",
                        flow.span,
                        labels=(Label(first.span, "the other flow"),),
                        notes=(
                            f"`{key}` applies to all arrivals, of which each flow gets its share",
                        ),
                        help="give both the same value, or leave `share` out for separate arrivals",
                    )
        streams = flow.connections * users.get(flow.users or "", 1)
        with gather.attempt():
            if share / streams < LEAST_PART:
                fail(
                    "out-of-range",
                    f"each stream of requests of `{flow.name}` would have less than"
                    f" {float(LEAST_PART):.4%} of the arrivals",
                    flow.span,
                    note=f"{streams} streams",
                    help="increase the share, or use fewer streams",
                )
    gather.finish()
    total = sum((share for _, (share, _) in parts), Fraction())
    if total != 1:
        *others, (last, _) = parts
        fail(
            "conflicting-arrivals",
            f"the shares of the arrivals add up to {_percent(total)}, not to 100%",
            last.span,
            labels=tuple(Label(flow.span, _percent(share)) for flow, (share, _) in others),
            help="flows with a `share` split a single arrival process between them",
        )


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):g}%"
