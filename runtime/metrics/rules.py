"""The rules of measurement that metrics and verdicts cite as `measurement.md, rule N`: what makes a number publishable.

The report includes those that its metrics cite, `fairc show METRIC` prints them, docs/trust/measurement.md has all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

CITED = re.compile(r"measurement\.md,\s+rules?\s+([0-9]+)(?:(\s+(?:to|and)\s+)([0-9]+))?")

_PLACES = """
`rtt` is the base round trip, host to host and without queueing; half of it is the delay of each direction, on a separate hop. `rate` is the link's rate on the wire (Ethernet frames without preamble: 1514 bytes for a full packet). `loss` is random loss in the direction of the data, after the bottleneck's queue, unless stated otherwise. `queue` is the bottleneck's buffer in the direction of the data: frame bytes that wait, without the packet in service. A `bdp` is the rate times the base RTT of the path, of the longest where RTTs differ.
A delay hop holds at least twice what can be in flight on it; a drop there, or in any queue that is not a bottleneck, makes a cell invalid.
A frame of L bytes takes L / R to send on a link of rate R, however idle the link is, and the next one begins no earlier (store and forward); where the file says `transmit = bucket`, a token bucket of one frame lets it pass in no time. A queueing delay ends when the transmission begins. The RTT that packets measure on an idle path is `rtt` and the times of the frames. Access links have a finite rate (10 times the bottleneck's, at least 100 Mbit/s), so that initial windows arrive spaced.
There are no super-packets: segmentation and receive offloads are off, and no frame above the MTU meets a queue.
AQMs have the parameters that the experiment gives or their published defaults; where one packet lasts longer than a target, or a threshold is below one packet, there is a warning.
"""
_CONDITIONS = """
Transports are compared with the same ECN, pacing, initial window, MTU, acknowledgement frequency, HyStart and buffers; the report lists what differs.
Buffers of hosts are at least twice the BDP plus the queue. The time for which a flow is limited by its receive window or send buffer is recorded; above 1 % the cell is flagged.
How a sender paces is explicit and recorded.
Options that are global to a kernel cannot differ between flows of one cell.
The transport follows from the CCA where it can; an impossible pair is an error.
"""
_RANDOMNESS = """
A cell without random loss is almost deterministic, so repetitions vary something: by default every flow's start is late by a seeded, uniform time of up to one base RTT (at least 10 ms). The report says what the seeds varied. Where nothing varied there is no interval and no test.
Every random stream (losses, jitter, arrivals, starts, hash secrets of the kernel) is derived from the cell's seed, one stream per link.
Repetitions are independent draws. Fewer than 6 have no 95 % interval of their median: the values themselves are printed. Where the values decide the number of repetitions (`repeat = 8..30`), the intervals are valid at every interim analysis.
"""
_COUNTED = """
Packets are captured at the entry of the bottleneck's queue, at its exit, and after the losses, with the kernel's timestamps, and the headers of data and ACKs at the hosts that send; a capture that drops a packet makes the cell invalid.
Sessions compete from the moment at which all have had their first data to the last byte of the one that ends first. A session is active by the state of its application, not by packets, so a flow that starves counts as zero.
Slots are 100 ms. Bytes are apportioned to slots by the time that they take on the wire: a packet on the border of two is split. With few packets per slot, random sharing alone lowers an index of fairness; this floor is printed with it.
Fairness counts IP bytes at the bottleneck's exit, goodput the bytes delivered to applications; both are stored.
When a flow ends first, the others go on (`stop = all`) or the cell ends (`stop = first`). A metric never changes what a cell does. Reaching the deadline is recorded.
Windows and smoothed RTTs are sampled inside the sender's process (TCP_INFO, or the QUIC connection's own state). The RTT of a packet lasts from its transmission to the arrival of the ACK that covers it, both at its sender's interface, over TCP as over QUIC.
"""
_TRUST = """
Validity judges the set-up of a cell (rate while the queue is backlogged, base RTT, buffer, probability of loss), never its outcome. A loss count is tested at a level that a correct emulator passes 99.99 % of the time. No cell is left out because of its result; invalid cells are shown, and left out of summaries with their number.
Where computing costs time, the busy share of the processor is recorded for each slot. Above 70 % in any slot the cell is flagged; it is invalid when a shaper or an endpoint fell behind its schedule. Cells with a browser are judged by that alone, and report a load without a network: the browser's own time.
What is confirmatory (named before any result existed) and what is exploratory is visible in the report.
"""

SECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "Where things are": _PLACES,
        "Equal conditions": _CONDITIONS,
        "Randomness": _RANDOMNESS,
        "What is counted": _COUNTED,
        "Trust": _TRUST,
    }
)
"""The rules by section, one per line."""

RULES: Mapping[int, str] = MappingProxyType(
    dict(enumerate((line for text in SECTIONS.values() for line in text.strip().splitlines()), 1))
)
"""The rules by number, from 1."""


def cited(text: str) -> tuple[int, ...]:
    """Return the numbers of the rules that a text cites, ascending.

    >>> cited("RFC 6298; measurement.md, rules 1 and 19. Also measurement.md, rules 15 to 17.")
    (1, 15, 16, 17, 19)
    """
    found: set[int] = set()
    for match in CITED.finditer(text):
        first, last = int(match[1]), int(match[3] or match[1])
        found |= set(range(first, last + 1)) if "to" in (match[2] or "") else {first, last}
    return tuple(sorted(found))
