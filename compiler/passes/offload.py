"""Hosts whose interfaces segment: their links must transmit frames behind what counts packets."""

from __future__ import annotations

from fairc.cell.framing import ETHERNET
from fairc.cell.hosts import KERNEL

from .delay_nodes import transmits
from .report import Report
from .routing import Traffic


def check_offload(traffic: Traffic, report: Report) -> None:
    """Refuse what would meet several segments as one packet: the queue of a bottleneck, and a link
    whose shaper is its transmitter as well.
    """
    bottlenecks = {path.bottleneck for _, path in traffic}
    refused = set[object]()
    for flow, path in traffic:
        if flow.transport not in KERNEL:
            continue
        for egress in (path.data[0], path.acks[0]):
            if not egress.rate_bps or egress in refused:
                continue
            if egress in bottlenecks:
                why = "its queue is a bottleneck's, and would count several segments as one packet"
            elif not transmits(egress.way) or egress.way.framing != ETHERNET:
                why = (
                    "with `framing`, a rate that changes, aggregates, `arq` or `transmit = bucket`"
                    " it would transmit several segments as one frame"
                )
            else:
                continue
            refused.add(egress)
            report.reject(
                "offload-at-link",
                f"`offload = on` does not go with the link of the host `{egress.node}`",
                egress.way.span,
                why,
                "put a router between the host and this link, and give the host a faster link"
                " of its own",
            )
