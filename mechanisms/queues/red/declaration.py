"""Declaration and lowering of `red`."""

from __future__ import annotations

from collections.abc import Iterator

from fairc.dsl.core.diagnostics import Diagnostic, warning
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_POSITIVE_SHARE
from fairc.mechanisms.queues.discipline import ECN, Discipline, LinkQueue
from fairc.words.sizes import A_QUEUE_SIZE, A_THRESHOLD

from .cell import Red

# tc holds the probability of RED as a 32-bit fraction: 1 is not one of them.
MAX_PROBABILITY = 1 - 2**-32

LIMIT = Parameter("limit", A_QUEUE_SIZE, "size of the queue", "1000pkt")
MIN = Parameter("min", A_THRESHOLD, "average queue at which dropping starts", otherwise="max / 3")
MAX = Parameter(
    "max", A_THRESHOLD, "average queue at which the probability is `pmax`", otherwise="limit / 4"
)
PMAX = Parameter("pmax", A_POSITIVE_SHARE, "probability at the upper threshold", "2%")


def _lower(given: LinkQueue) -> Red:
    """Defaults of tc-red(8): max a quarter of the limit, min a third of max, probability 2 %."""
    most = given.threshold(MAX) or max(1, given.bytes // 4)
    least = given.threshold(MIN) or max(1, most // 3)
    # The smaller `min` is in packets, the less a packet weighs in the average that tc derives:
    # nothing at one packet, where RED would never act. Below two, the average counts in halves of
    # `min`.
    packet = max(1, min(given.frame_bytes, least // 2))
    return Red(
        limit_bytes=given.bytes,
        min_bytes=least,
        max_bytes=most,
        average_packet_bytes=packet,
        burst_packets=None if least == most else _burst(least, most, packet),
        probability=min(float(given[PMAX].number), MAX_PROBABILITY),
        ecn=given[ECN],
    )


def _burst(least: int, most: int, packet: int) -> int:
    """Return the burst that the average ignores, in packets: that of tc-red(8), or the longest the
    kernel can hold.

    least, most, packet: bytes.
    """
    shortest = -(-least // packet)
    burst = -(-(2 * least + most) // (3 * packet)) + 1
    # Linux, red_check_params: the average times 2^log must fit into 32 bits.
    while most.bit_length() + _weight_log(least, burst, packet) >= 32 and burst > shortest:
        burst = shortest + (burst - shortest) // 2
    return burst


def _weight_log(least: int, burst: int, packet: int) -> int:
    """Return -log2 of a packet's weight in the average as tc derives it (iproute2,
    tc_red_eval_ewma); 32: none fits.
    """
    wanted = burst + 1 - least / packet
    for log in range(1, 32):
        weight = 2.0**-log
        if wanted <= (1 - (1 - weight) ** burst) / weight:
            return log
    return 32


def _doubts(given: LinkQueue, queue: Red) -> Iterator[Diagnostic]:
    span = given.written.span
    if queue.min_bytes > queue.max_bytes:
        yield Diagnostic(
            code="thresholds-crossed",
            message="`min` of `red` must not be above `max`",
            span=span,
            notes=(f"min is {queue.min_bytes} bytes, max is {queue.max_bytes} bytes",),
        )
    elif queue.max_bytes > given.bytes:
        yield warning(
            code="thresholds-crossed",
            message="`max` of `red` is beyond the limit, so the queue is full before it is reached",
            span=span,
            notes=(f"max is {queue.max_bytes} bytes, the limit {given.bytes} bytes",),
        )
    if queue.min_bytes < given.frame_bytes:
        yield warning(
            code="threshold-below-packet",
            message="`min` of `red` is less than one packet",
            span=span,
            notes=(f"{queue.min_bytes} B: dropping starts as soon as anything waits",),
            help="increase `min` or the limit",
        )


DECLARATION = Discipline(
    part=Red,
    name="red",
    summary="Random Early Detection; percentages are of `limit`; equal `min` and `max`: a step",
    parameters=(LIMIT, MIN, MAX, PMAX, ECN),
    lower=_lower,
    doubts=_doubts,
    is_random=True,
    order="all",
    probes={"gred": "setup vqs 1 default 0"},
    modules=("sch_red",),
)
