"""Hosts take the planned time per packet, or the engines' default where the plan sets none."""

from __future__ import annotations

from collections.abc import Iterator

from fairc.compiler.targets.processing import DEFAULT_NS
from fairc.runtime.measurement import Measurement

from .finding import Finding


def processing(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: each host's delay is in force as planned: limit, order, the stream's seed.

    `other_drops` reports its drops. If the kernel's netem takes no seed, the script has reported it.
    """
    found, planned_ns = measurement.processing, measurement.cell.processing_ns
    allowed = (0, DEFAULT_NS) if planned_ns is None else (planned_ns,)
    if found.bound_ns not in allowed:
        yield Finding(
            "invalid",
            f"hosts take up to {found.bound_ns / 1e3:g} us per packet,"
            f" not {allowed[-1] / 1e3:g} us",
        )
    for nic in found.expected:
        where, planned = f"{nic.node}/{nic.name}", nic.impairment
        netem = found.found.get((nic.node, nic.name))
        if netem is None:
            yield Finding("invalid", f"packets of a host are not delayed: no netem at {where}")
            continue
        differing = [
            f"{name} {there}, not {wanted}"
            for name, there, wanted in (
                ("delay (ns)", netem.delay_ns, planned.delay_ns),
                ("jitter (ns)", netem.jitter_ns, planned.jitter_ns),
                ("limit", netem.limit_packets, planned.limit_packets),
                ("seed", netem.seed, planned.seed if netem.seed is not None else None),
                ("order kept", netem.in_order, planned.in_order),
            )
            if there != wanted
        ]
        if differing:
            yield Finding("invalid", f"the netem at {where} has {'; '.join(differing)}")
