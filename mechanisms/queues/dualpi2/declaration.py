"""Declaration and lowering of `dualpi2`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from fairc.dsl.core.diagnostics import Diagnostic, warning
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_POSITIVE_TIME, A_SHARE, Quantities, Words
from fairc.dsl.core.units import FREQUENCY, NUMBER, PACKETS, TIME
from fairc.dsl.model import Flow, Queue
from fairc.mechanisms.queues.discipline import SCALED, SIZE, Discipline, LinkQueue
from fairc.words.ccas import CCAS, QUIC_CCAS

from .cell import DualPi2

LONGEST_STEP_NS = 4 * 10**9
"""Linux keeps the step, like the controller's interval, as a 32-bit number of nanoseconds."""
STEP_FRAMES = 3
"""Full frames that the second packet of a pair may wait for: the one being sent as the pair
arrives, the first of the pair, and a classic one between them. Delayed ACKs release pairs; a
shorter step marks them whatever the load.
"""

SCALABLE = frozenset(cca.name for cca in CCAS if cca.is_scalable)

A_GAIN = Quantities((FREQUENCY,), low=Fraction(1, 256), high=8_000_000)
L4S_PACKETS: Words[Literal["ect1", "any"]] = Words("value of `l4s`", ("ect1", "any"))
DROPPING: Words[Literal["dequeue", "enqueue"]] = Words("value of `drop`", ("dequeue", "enqueue"))
OVERLOADED: Words[Literal["drop", "overflow"]] = Words("value of `overload`", ("drop", "overflow"))

BOTH = replace(SIZE, summary="of both queues together")
TARGET = Parameter("target", A_POSITIVE_TIME, "target delay of classic packets", "15ms")
TUPDATE = Parameter(
    "tupdate",
    Quantities((TIME,), high=4, open_low=True),
    "interval of the controller",
    "16ms",
)
ALPHA = Parameter("alpha", A_GAIN, "integral gain", "0.16/s")
BETA = Parameter("beta", A_GAIN, "proportional gain", "3.2/s")
COUPLING = Parameter(
    "coupling",
    Quantities((NUMBER,), low=1, high=255, whole=True),
    "factor from the controller's probability to that of an L4S mark",
    "2",
)
STEP = Parameter(
    "step",
    Quantities((TIME, PACKETS), open_low=True),
    "delay, or packets, from which every L4S packet is marked",
    "1ms",
)
SCALED_STEP = replace(
    SCALED,
    summary=f"raise the target to 1.5 and the step to {STEP_FRAMES} full frames on slow links",
)
PROTECTION = Parameter(
    "protection", A_SHARE, "share of the link reserved for classic packets", "10%"
)
L4S = Parameter(
    "l4s",
    L4S_PACKETS,
    "what is L4S: ECT(1) and CE (RFC 9331), or `any` packet that can be marked",
    "ect1",
)
DROP = Parameter("drop", DROPPING, "where packets are dropped and marked", "dequeue")
OVERLOAD = Parameter(
    "overload",
    OVERLOADED,
    "where every L4S packet is marked: drop them as well, or let the queue grow",
    "drop",
)


def _lower(given: LinkQueue) -> DualPi2:
    """Defaults of Linux (sch_dualpi2.c), which are those of RFC 9332, appendix A, for RTTs up to
    100 ms.
    """
    step = given[STEP]
    is_packets = step.dimension == PACKETS
    return DualPi2(
        limit_packets=given.packets,
        target_ns=given.target_ns(TARGET),
        update_ns=given.ns(TUPDATE),
        alpha=round(256 * given[ALPHA].number),
        beta=round(256 * given[BETA].number),
        coupling=int(given[COUPLING].number),
        step_ns=None if is_packets else _step_ns(given),
        step_packets=max(1, round(step.number)) if is_packets else None,
        protection_percent=round(100 * given[PROTECTION].number),
        l4s=given[L4S],
        drop=given[DROP],
        overload=given[OVERLOAD],
        memory_bytes=given.memory_bytes,
    )


def _step_ns(given: LinkQueue) -> int:
    """Return a step that is written as a time, ns; if `scaled`, at least that of STEP_FRAMES full
    frames.
    """
    step_ns = max(1, round(given[STEP].number * 10**6)) * 1000
    return given.scaled_ns(step_ns, half_frames=2 * STEP_FRAMES)


def _doubts(given: LinkQueue, queue: DualPi2) -> Iterator[Diagnostic]:
    """Yield what is wrong with the delay from which every L4S packet is marked."""
    if queue.step_ns is None:
        return
    frame_ns = Fraction(given.frame_bytes * 8 * 10**9, given.rate_bps)
    if queue.step_ns > LONGEST_STEP_NS:
        yield Diagnostic(
            code="out-of-range",
            message="`step` of `dualpi2` must be at most 4s",
            span=given.written.span,
            notes=("Linux keeps it as a 32-bit number of nanoseconds",),
        )
    elif queue.step_ns < STEP_FRAMES * frame_ns:
        frames = queue.step_ns / frame_ns
        yield warning(
            code="short-step",
            message=(
                "at this rate the step of `dualpi2` marks packets that come in pairs, although no"
                " queue builds up"
            ),
            span=given.written.span,
            notes=(
                (
                    f"the step is {queue.step_ns / 1e6:g} ms, the time of {float(frames):.3g} full"
                    f" frames"
                ),
                (
                    f"delayed ACKs release pairs, and the second of a pair waits for up to"
                    f" {STEP_FRAMES} frames"
                ),
            ),
            help="write `step: 2pkt`, `scaled: on`, or "
            f"a step of at least {math.ceil(STEP_FRAMES * frame_ns / 10**5) / 10:g}ms",
        )


def _misused(queue: Queue, crossing: Sequence[Flow]) -> Iterator[Diagnostic]:
    """Yield that there are no L4S packets, and which classic flows count as L4S.

    Of built-in senders the scalable ones over QUIC use ECT(1); no CCA of the kernel requests it.
    BPF programs and images may.
    """
    unknown = [f for f in crossing if f.cca_object or f.cca_module or f.image]
    taken = queue.options.get(L4S.name) == "any"
    asking = [flow for flow in crossing if flow.options.ecn] if taken else []
    if not asking and not unknown and not any(map(_is_l4s, crossing)):
        why = "no flow requests ECN" if taken else "senders here use ECT(0), and L4S is ECT(1)"
        yield warning(
            code="no-l4s",
            message=(
                "no flow here sends L4S packets: one of the two queues of `dualpi2` stays empty"
            ),
            span=queue.span,
            notes=(why,),
            help="write `ecn = accurate` in a flow with `cca = prague`; or `l4s: any`, and `ecn ="
            " accurate` in the flows whose CCA is made for it",
        )
    for flow in asking:
        if flow not in unknown and flow.cca not in SCALABLE:
            yield warning(
                code="classic-as-l4s",
                message=f"with `l4s: any` the packets of `{flow.name}` count as L4S",
                span=flow.span,
                notes=(
                    f"`{flow.cca}` halves its window at a mark, and L4S packets are marked often",
                ),
                help="leave `ecn` out of this flow, or use a scalable CCA such as dctcp",
            )


def _is_l4s(flow: Flow) -> bool:
    """Return whether a flow's packets are ECT(1)."""
    cca = flow.cca or ""
    scalable = cca in QUIC_CCAS and QUIC_CCAS[cca].is_scalable
    return scalable and flow.transport == "quic" and flow.options.ecn


DECLARATION = Discipline(
    part=DualPi2,
    name="dualpi2",
    summary="Coupled queues for L4S and classic traffic, PI2 (RFC 9332)",
    parameters=(
        *(BOTH, TARGET, TUPDATE, ALPHA, BETA, COUPLING),
        *(STEP, PROTECTION, L4S, DROP, OVERLOAD, SCALED_STEP),
    ),
    lower=_lower,
    target_ns=lambda queue: queue.target_ns,
    doubts=_doubts,
    is_random=True,
    probes={"dualpi2": "limit 10"},
    modules=("sch_dualpi2",),
    misused=_misused,
)
