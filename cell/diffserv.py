"""Hosts give the packets of flows their Diffserv code points, whatever program sends them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .batch import line, word
from .links import remark
from .model import Flow, Node

PROTOCOLS = {"tcp": ("tcp",), "quic": ("udp",), "udp": ("udp",), "web": ("tcp", "udp")}


def marking_filters(flows: Sequence[Flow]) -> set[str]:
    """Return the filters of tc that hosts need for the code points of flows, each once."""
    return {f"flower ip_proto udp src_port 1 action {remark(f.dscp)}" for f in flows if f.dscp}


def marking_lines(node: Node, flows: Sequence[Flow]) -> Iterator[str]:
    """Yield the lines of `tc -batch` by which a host marks what it sends, before its own queues.

    The packets of a flow have its port, which no other flow has, at one end or the other.
    """
    marked = [f for f in flows if f.dscp and node.name in (f.server, f.client)]
    for interface in node.interfaces if marked else ():
        name = word(interface.name)
        yield line(f"qdisc add dev {name} clsact")
        for flow in marked:
            for protocol in PROTOCOLS[flow.transport]:
                for end in ("src_port", "dst_port"):
                    yield line(
                        f"filter add dev {name} egress protocol ip prio 1 flower"
                        f" ip_proto {protocol} {end} {flow.port} action {remark(flow.dscp)}"
                    )
