"""The verdict on a cell: does the set-up that ran match the plan? It never judges the outcome.

A check is a function of a measurement that yields findings; the gravest one decides. The
rules are those of measurement.md, named in each check. A new check goes into the module of its
subject and into CHECKS:

service     the bottleneck's rate while packets wait; shaper and changes on time; the checks
            of mechanisms of links
finding     what a check yields
delay       base RTT, jitter; random_delays: what a correct netem may show
loss        random losses; drops where there should be none; expected_losses: how many
order       the queue's order, copies, and packets that overtake others
buffers     what a queue holds
marking     code points of flows; what links do to them and to ECN
captures    complete (else no check of packets is done), consistent, long enough; no
            super-packets
counters    a cell without captures: what its verdict rests on
endpoints   CCA, how programs ended, limits of the hosts; the checks of workloads and devices
options     ECN, SACK, initial window, parameters of the CCA
tunnels     tunnels: what their ends lost, and the bits of what carries packets
processing  the time that hosts take per packet; the transmitters and delays of links
schedule    programs on time
ways        the packets of each flow take its way
guest       CPU load, the script's notes
"""

from __future__ import annotations

from fairc.runtime.measurement import Measurement

from .buffers import buffer
from .captures import captures, frame_sizes, incomplete, unfinished
from .counters import counters
from .delay import base_rtt, constant_delay, random_delay
from .endpoints import (
    congestion_control,
    datagrams,
    device_packets,
    devices,
    host_buffers,
    host_limits,
    processes,
    remarks,
    resets,
    workloads,
)
from .finding import Check, Finding, Verdict
from .guest import machine_load, notes
from .loss import chosen_losses, loss_bursts, loss_counts, other_drops, random_loss
from .marking import code_points, marking
from .options import ecn_without_feedback, least_timeouts, transport_options
from .order import copies, overtaking, queue_order
from .processing import delays, processing, transmission
from .schedule import schedule
from .service import (
    bucket_depths,
    changes,
    links,
    outdated,
    overrun,
    service_rate,
    service_schedule,
)
from .tunnels import tunnels
from .ways import ways

__all__ = ["CHECKS", "Finding", "Verdict", "judge", "loss_counts"]

CHECKS: tuple[Check, ...] = (
    outdated,
    service_rate,
    overrun,
    bucket_depths,
    links,
    base_rtt,
    constant_delay,
    random_delay,
    processing,
    transmission,
    delays,
    random_loss,
    loss_bursts,
    chosen_losses,
    marking,
    code_points,
    copies,
    overtaking,
    queue_order,
    buffer,
    other_drops,
    captures,
    unfinished,
    counters,
    ways,
    frame_sizes,
    congestion_control,
    processes,
    resets,
    workloads,
    remarks,
    transport_options,
    ecn_without_feedback,
    least_timeouts,
    host_buffers,
    host_limits,
    datagrams,
    devices,
    device_packets,
    tunnels,
    machine_load,
    schedule,
    service_schedule,
    changes,
    notes,
)

WITHOUT_PACKETS: tuple[Check, ...] = (
    outdated,
    base_rtt,
    processing,
    delays,
    other_drops,
    congestion_control,
    processes,
    resets,
    workloads,
    remarks,
    transport_options,
    ecn_without_feedback,
    least_timeouts,
    host_buffers,
    host_limits,
    datagrams,
    devices,
    machine_load,
    changes,
    notes,
)
"""The checks that no captured packet enters: all that there are where a capture is incomplete."""


def judge(measurement: Measurement) -> tuple[Verdict, tuple[str, ...]]:
    """Return the verdict on a cell and every reason against it, gravest first.

    Where a capture is incomplete, checks of packets would find faults that are not there.
    """
    findings = list(incomplete(measurement))
    checks = WITHOUT_PACKETS if findings else CHECKS
    findings += [finding for check in checks for finding in check(measurement)]
    findings.sort(key=lambda finding: finding.verdict != "invalid")
    verdict: Verdict = findings[0].verdict if findings else "valid"
    return verdict, tuple(finding.reason for finding in findings)
