"""The extra RTT of a flow, as additional delay on the link of one of its hosts."""

from __future__ import annotations

from dataclasses import replace

from fairc.dsl.model import Direction, Flow, Link, Network

from .report import Report


def lengthen(network: Network, flows: tuple[Flow, ...], report: Report) -> Network:
    """Return the network with the `rtt` of each flow added to the link of its client, or else of
    its server, half in each direction.

    The host must belong to this flow alone and have one link, so that no other flow is delayed.
    """
    if not any(flow.extra_rtt_ns for flow in flows):
        return network
    links = list(network.links)
    for flow in flows:
        if flow.extra_rtt_ns:
            index = _own_link(flow, flows, links)
            if index is None:
                _refuse(report, flow)
            else:
                links[index] = _longer(links[index], flow.extra_rtt_ns)
    return replace(network, links=tuple(links))


def _own_link(flow: Flow, flows: tuple[Flow, ...], links: list[Link]) -> int | None:
    """Return the index of the only link of a host that no other flow uses, or None."""
    others = {end for other in flows if other is not flow for end in (other.client, other.server)}
    for host in (flow.client, flow.server):
        touching = [index for index, link in enumerate(links) if host in (link.a, link.b)]
        if host not in others and len(touching) == 1:
            return touching[0]
    return None


def _longer(link: Link, rtt_ns: int) -> Link:
    there = rtt_ns // 2
    return replace(
        link,
        forward=_later(link.forward, there),
        backward=_later(link.backward, rtt_ns - there),
    )


def _later(way: Direction, delay_ns: int) -> Direction:
    first, *later = [
        replace(state, delay_ns=state.delay_ns + delay_ns) for state in way.impairments
    ]
    changes = zip(way.changes, later, strict=True)
    return replace(
        way,
        impairment=first,
        changes=tuple(replace(change, impairment=state) for change, state in changes),
    )


def _refuse(report: Report, flow: Flow) -> None:
    report.reject(
        "shared-host",
        f"the `rtt` of the flow `{flow.without_user}` has no link of its own",
        flow.span,
        "it is added to the only link of a host that no other flow uses",
        "give the flow a node of its own (`from`, `to` or `users`), or the link a `delay`",
    )
