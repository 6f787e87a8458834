"""Rates of connections under random losses, which limit them where their share of the link does
not.

Padhye, Firoiu, Towsley and Kurose, Modeling TCP throughput: a simple model and its empirical
validation, SIGCOMM 1998, equation 31, with an acknowledgement for each packet that grows the window
(b = 1) and a retransmission timeout of a round trip and Linux's 200 ms. CUBIC is faster where round
trips are long: RFC 9438, section 5.1, figure 4 (C = 0.4, beta = 0.7). A CCA that follows a model of
the path is not limited.
"""

from __future__ import annotations

import math

from fairc.words.ccas import CCAS

RTO_MIN_S = 0.2
RTT_MIN_S = 0.001
"""A shorter round trip counts as this: frames take time even where links have no delay."""
LONGEST_S = 8640.0
"""No flow is expected to take longer, s: ten times this, the default deadline, is a day."""


def packets_per_s(cca: str | None, loss: float, rtt_s: float) -> float:
    """Return the packets that a connection sends per second; infinity where losses do not limit it.

    loss: probability that a packet is lost at random, 0 to 1. rtt_s: base round trip, s.
    """
    rtt_s = max(rtt_s, RTT_MIN_S)
    growth = CCAS[cca].growth if cca is not None and cca in CCAS else ""
    if not loss or cca is None or growth == "model":
        return math.inf
    if loss >= 1:
        return 0.0
    timeouts = min(1.0, 3 * math.sqrt(3 * loss / 8)) * loss * (1 + 32 * loss**2)
    found = 1 / (rtt_s * math.sqrt(2 * loss / 3) + (rtt_s + RTO_MIN_S) * timeouts)
    if growth == "time":
        found = max(found, 1.054 * (rtt_s / loss) ** 0.75 / rtt_s)
    return found


def moving_s(cca: str | None, packets: float, connections: int, loss: float, rtt_s: float) -> float:
    """Return the time that losses let packets take over equal connections, s; 0 where they limit
    nothing.

    Slow start lasts until the first loss, after 1 / loss packets (Cardwell, Savage and Anderson,
    Modeling TCP latency, INFOCOM 2000, section III.A), and each loss halves the window until it is
    that of the steady state: until then losses do not limit it.
    """
    each_s = packets_per_s(cca, loss, rtt_s)
    if not each_s:
        return math.inf
    if math.isinf(each_s):
        return 0.0
    halvings = max(0.0, math.log2(1 / (loss * each_s * max(rtt_s, RTT_MIN_S))))
    return max(0.0, packets / connections - (1 + halvings) / loss) / each_s
