"""Tunnels as parts of the plan, and what does not go with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairc.compiler import plan
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.model import Tunnel
from fairc.mechanisms.effects.registry import EFFECTS

from .report import Report
from .routing import LEAST_MTU, RoutedPath, Traffic, between, fitting_bytes, headers
from .wiring import Egress, Wiring


def tunnels(
    wiring: Wiring, traffic: Traffic, everything: Traffic, report: Report
) -> tuple[plan.Tunnel, ...]:
    """Return the tunnels; report those that carry nothing, that are too narrow, or that hide what a
    proxy or a device must read.

    everything: the flows with all paths that they ever take.
    """
    for tunnel in wiring.network.tunnels:
        crossing = [path for _, path in everything if tunnel in path.tunnels]
        if traffic and not crossing:
            report.warn(
                "idle-tunnel",
                f"no packet takes the tunnel `{tunnel.name}`",
                tunnel.span,
                f"it carries packets that pass `{tunnel.a}` and then `{tunnel.b}`, in either"
                " direction",
                "name two routers that flows pass one after the other",
            )
        if crossing:
            _check_sizes(wiring, tunnel, crossing, report)
    for _, path in everything:
        _check_readers(wiring, path, report)
    return tuple(_lowered(wiring, tunnel) for tunnel in wiring.network.tunnels if wiring.ends)


def labels(path: RoutedPath) -> tuple[Label, ...]:
    """Return where the file gives the headers that make a path's packets smaller."""
    return tuple(
        Label(tunnel.header_given, f"a tunnel on its path adds {tunnel.header_bytes} bytes")
        for tunnel in path.tunnels
    )


def _lowered(wiring: Wiring, tunnel: Tunnel) -> plan.Tunnel:
    out, far = (out for out, end in wiring.ends.items() if end.tunnel is tunnel)
    return plan.Tunnel(
        name=tunnel.name,
        a=out.place,
        b=far.place,
        header_bytes=tunnel.header_bytes,
        ecn=tunnel.ecn,
        source=str(tunnel.span),
    )


def _check_sizes(
    wiring: Wiring, tunnel: Tunnel, crossing: Sequence[RoutedPath], report: Report
) -> None:
    """Refuse a tunnel whose packets are larger than what it leads over, or that leaves none of the
    size that every host accepts.
    """
    widths = [
        egress.interface.mtu - added
        for path in crossing
        for way in (path.data, path.acks)
        for egress, added in _inside(wiring, tunnel, way)
    ]
    left = min(widths)
    if tunnel.mtu is not None and tunnel.mtu > left:
        assert tunnel.mtu_given is not None
        report.reject(
            "tunnel-above-mtu",
            f"this tunnel makes packets larger than the MTU: {tunnel.mtu} bytes and a header of"
            f" {tunnel.header_bytes}",
            tunnel.mtu_given,
            f"its path takes packets of {left + tunnel.header_bytes} bytes, and routers fragment"
            " nothing",
            f"write `mtu = {left}B`, or leave it out: hosts then send what fits",
            labels=(Label(tunnel.header_given, "what it adds"),),
        )
        return
    smallest = min(
        min(fitting_bytes(way, wiring)) for path in crossing for way in (path.data, path.acks)
    )
    if smallest < LEAST_MTU:
        report.reject(
            "tunnel-above-mtu",
            f"this tunnel leaves packets of {smallest} bytes",
            tunnel.header_given,
            f"its path takes packets of {left + tunnel.header_bytes} bytes, and every host must be"
            f" able to send {LEAST_MTU} (RFC 791)",
            "write a smaller `header`, or give the links that it crosses a larger `mtu`",
        )


def _inside(wiring: Wiring, tunnel: Tunnel, way: Sequence[Egress]) -> Iterator[tuple[Egress, int]]:
    """Yield the egresses that packets leave by in a tunnel, with all that is then added to them."""
    inside = False
    for egress, added in zip(way, headers(way, wiring), strict=True):
        end = wiring.ends.get(egress)
        if end is not None and end.tunnel is tunnel:
            inside = not inside
        if inside:
            yield egress, added


def _check_readers(wiring: Wiring, path: RoutedPath, report: Report) -> None:
    """Refuse devices, proxies and media that would have to read packets
    inside of a tunnel.
    """
    for way in (path.data, path.acks):
        hidden = [egress for egress, added in zip(way, headers(way, wiring), strict=True) if added]
        label = tuple(Label(tunnel.span, "it hides what it carries") for tunnel in path.tunnels)
        for egress in hidden:
            device = egress.way.device
            if egress.part == "queue" and device is not None and device.tunnelled is not None:
                report.reject(
                    device.tunnelled.code,
                    f"this {device.noun} reads TCP's headers, and packets pass it in a tunnel",
                    device.span,
                    labels=label,
                    help=device.tunnelled.help,
                )
            medium = egress.way.medium
            if egress.part == "queue" and medium is not None and medium.reads is not None:
                does, misplaced = medium.reads
                report.reject(
                    misplaced.code,
                    f"this link {does}, and packets pass it in a tunnel",
                    egress.way.span,
                    labels=label,
                    help=misplaced.help,
                )
            for effect in egress.way.impairment.effects:
                entry = EFFECTS[effect.kind]
                report.reject(
                    entry.tunnelled.code,
                    f"this link {entry.does}, which pass it in a tunnel",
                    egress.way.span,
                    "packets of a tunnel have no checksum, so captures do not show which are"
                    " damaged",
                    entry.tunnelled.help,
                    labels=label,
                )
        for pair in wiring.network.proxies:
            ends = (pair.ends, pair.ends[::-1])
            across = {egress for a, b in ends for egress in between(wiring, a, b)}
            if not across.isdisjoint(hidden):
                report.reject(
                    "pep-in-tunnel",
                    f"the proxies of `{pair.name}` split TCP connections, here inside of a tunnel",
                    pair.span,
                    labels=label,
                    help="let the tunnel end in front of their link, or write `mode = none`",
                )
