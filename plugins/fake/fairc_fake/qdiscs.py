"""What `tc` would have said about the queues of a cell that the fluid model ran."""

from __future__ import annotations

from typing import Any

from fairc.api import IN_ORDER_BPS, Cell, Impairment, Paths, lower_name, netems_below

from .fluid import HEADER_BYTES, Trace


def shown(cell: Cell, trace: Trace, *, after: bool) -> dict[str, Any]:
    """Return what `tc -s -j qdisc show` would have printed in every node."""
    document: dict[str, Any] = {}
    paths = {flow.name: Paths(cell).of(flow) for flow in cell.flows}
    for node in cell.nodes:
        rows = document.setdefault(node.name, [])
        for interface in node.interfaces:
            place = (node.name, interface.name)
            passed = [
                f
                for frames in trace.frames.values()
                for f in frames
                if after and place in paths[f.flow.name]
            ]
            hop = interface.impairment
            lost = sum(f.lost for f in passed) if hop is not None and hop.loss else 0
            counters = {
                "dev": interface.name,
                "bytes": sum(f.payload + HEADER_BYTES for f in passed),
                "packets": len(passed) - lost,
                "drops": lost,
                "overlimits": 0,
                "requeues": 0,
                "backlog": 0,
                "qlen": 0,
            }
            if interface.netem is not None:
                root = {"kind": "netem", "handle": "1:", "root": True}
                rows.append({**root, **counters, "options": _options(interface.netem)})
            elif interface.shaper is not None and interface.queue is not None:
                shaper = "htb" if interface.shaper.transmitter or interface.changes else "tbf"
                rows.append({"kind": shaper, "handle": "1:", "root": True, **counters})
                rows.append(
                    {
                        "kind": interface.queue.tc_name,
                        "handle": "2:",
                        "parent": "1:1",
                        **counters,
                    }
                )
    for (node_name, name), netems in netems_below(cell).items():
        places: tuple[dict[str, Any], ...] = (
            {"handle": "1:", "root": True},
            {"handle": "2:", "parent": "1:1"},
        )
        for netem, at in zip(netems, places, strict=False):
            row = {"kind": "netem", "dev": lower_name(name), **at, "options": _options(netem)}
            document[node_name].append(row)
    return document


def _options(netem: Impairment) -> dict[str, Any]:
    """Return what it would have printed about a netem."""
    delay = {"delay": netem.delay_ns / 1e9, "jitter": netem.jitter_ns / 1e9, "correlation": 0}
    options: dict[str, Any] = {"limit": netem.limit_packets, "delay": delay, "seed": netem.seed}
    rate_bps = IN_ORDER_BPS if netem.in_order and netem.rate_bps is None else netem.rate_bps
    return options if rate_bps is None else {**options, "rate": {"rate": rate_bps // 8}}
