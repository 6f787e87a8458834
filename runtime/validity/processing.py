"""Hosts take the planned time per packet, or the engines' default where the plan sets none; links
have their rates.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairc.cell.expansion import PROCESSING_NS
from fairc.cell.links import IN_ORDER_BPS, TRANSMITTER_PACKETS, lower_name
from fairc.compiler.plan import Impairment
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.processing import Netem

from .finding import Finding, invalid, see

SIX_DIGITS = 1e-5
"""The share by which a time may differ that tc has written with six digits."""


def processing(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: each host's delay is in force as planned: limit, order, the stream's seed.

    `other_drops` reports its drops. If the kernel's netem takes no seed, the script has reported
    it.
    """
    found, planned_ns = measurement.processing, measurement.cell.processing_ns
    allowed = (0, PROCESSING_NS) if planned_ns is None else (planned_ns,)
    if found.bound_ns not in allowed:
        yield invalid(
            f"hosts take up to {found.bound_ns / 1e3:g} us per packet,"
            f" not {allowed[-1] / 1e3:g} us: another version of fairc ran it; run it again"
        )
    for node, upper in found.expected:
        delay, name = found.delay_of(node, upper), lower_name(upper)
        netems = found.found.get((node, name), ())
        if delay is None:
            continue
        if not netems:
            yield invalid(
                f"packets of a host are not delayed: no netem at {node}/{name}, as the"
                f" kernel lacks it or the set-up failed; {see('qdisc-before.json')}"
            )
        elif differing := _differing(netems[0], delay):
            yield invalid(
                f"the netem at {node}/{name} has {'; '.join(differing)}: the kernel or tc does not"
                f" take it as given; {see('qdisc-before.json')}"
            )


def _differing(netem: Netem, planned: Impairment) -> list[str]:
    """Return how the netem of a host's processing differs from the plan."""
    rate_bps = IN_ORDER_BPS if planned.rate_bps is None else planned.rate_bps
    return [
        f"{name} {there}, not {wanted}"
        for name, there, wanted in (
            ("delay (ns)", netem.delay_ns, planned.delay_ns),
            ("jitter (ns)", netem.jitter_ns, planned.jitter_ns),
            ("limit", netem.limit_packets, planned.limit_packets),
            ("seed", netem.seed, planned.seed if netem.seed is not None else None),
            ("rate (bit/s)", netem.rate_bps, _in_bytes(rate_bps)),
        )
        if there != wanted
    ]


def transmission(measurement: Measurement) -> Iterator[Finding]:
    """Rule 3: every link has its transmitter, with the link's rate."""
    found = measurement.processing
    for (node, name), interface in sorted(measurement.paths.interfaces.items()):
        shaper = interface.shaper
        if shaper is None or shaper.transmitter is None or shaper.medium is not None:
            continue  # the medium judges those
        place, limit = (node, name), None
        if shaper.transmitter == "hop":
            onward = measurement.paths.onward(place)
            if onward is None:
                yield invalid(
                    f"no hop transmits the frames of {node}/{name}: the plan lacks it; compile"
                    f" the spec again"
                )
                continue
            place = onward
        elif shaper.transmitter == "below":
            place, limit = (node, lower_name(name)), TRANSMITTER_PACKETS
        elif interface.queue is not None:
            limit = (interface.queue.limit_packets or 0) + 1
        netems = found.found.get(place, ())
        rate_bps = netems[-1].rate_bps if netems else None
        if rate_bps != _in_bytes(shaper.rate_bps):
            there = "nothing" if rate_bps is None else f"{rate_bps} bit/s"
            yield invalid(
                f"{there} transmits the frames of {node}/{name} at {'/'.join(place)}, not a netem"
                f" of {_in_bytes(shaper.rate_bps)} bit/s: the set-up failed, or the kernel lacks"
                f" netem; {see('qdisc-before.json')}"
            )
        elif limit is not None and netems[-1].limit_packets != limit:
            yield invalid(
                f"the transmitter at {'/'.join(place)} holds {netems[-1].limit_packets} packets,"
                f" not {limit}: tc did not take it as given; {see('qdisc-before.json')}"
            )


def delays(measurement: Measurement) -> Iterator[Finding]:
    """Rules 1, 12, 20: the netem of every link has the plan's delay, jitter and limit, before any
    change.

    Packets show what it does behind bottlenecks, and pings the sum of a path; jitter on the way of
    acknowledgements shows in neither. tc writes times with six digits.
    """
    for place, interface in sorted(measurement.paths.interfaces.items()):
        planned = interface.impairment
        netems = measurement.processing.found.get(place, ())
        if planned is None or planned.repair is not None or not netems:
            continue  # `other_drops` reports one that is not there
        there = netems[0]
        differing = [
            f"{name} {has}, not {wanted}"
            for name, has, wanted in (
                ("delay (ns)", there.delay_ns, planned.delay_ns),
                ("jitter (ns)", there.jitter_ns, planned.jitter_ns),
            )
            if abs(has - wanted) > 1 + SIX_DIGITS * wanted
        ]
        if there.limit_packets != planned.limit_packets:
            differing.append(f"limit {there.limit_packets}, not {planned.limit_packets}")
        if differing:
            yield invalid(
                f"the netem at {'/'.join(place)} has {'; '.join(differing)}: the kernel or tc does"
                f" not take it as given; {see('qdisc-before.json')}"
            )


def _in_bytes(rate_bps: int) -> int:
    """Return a rate as the kernel has it: whole bytes per second, in bit/s."""
    return 8 * (rate_bps // 8)
