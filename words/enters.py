"""`enters`: when a flow's congestion controller enters a state, the time of a change of a link."""

from __future__ import annotations

from collections.abc import Mapping

from fairc.dsl.core.entries import Either, Entry, Parameter
from fairc.dsl.core.kinds import A_TIME, AnyName
from fairc.dsl.core.registry import Registry

from .metric_entry import A_FLOW

FLOW = Parameter("flow", A_FLOW, "the flow whose controller it is", required=True)
STATE = Parameter("state", AnyName("a state"), "the state, as in `state(f)`", required=True)
FROM = Parameter("from", A_TIME, "entries before it do not count", "0s")

ENTERINGS: Registry[Entry] = Registry(
    "event",
    "event",
    [
        Entry(
            "enters",
            "When a flow's controller is in a state for the first time: 2 ms after its log says so",
            (FLOW, STATE, FROM),
            runs=True,
        )
    ],
)

A_TIME_OR_ENTERING = Either(A_TIME, ENTERINGS, "a time or `enters(...)`", bare=False)

STATES: Mapping[str, tuple[str, ...]] = {
    "bbr": ("startup", "drain", "probe_bw", "probe_rtt"),
    "bbr3": (
        *("startup", "drain", "probe_rtt"),
        *("probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up"),
    ),
    "copa": ("slow_start", "default", "competitive"),
    "cubic": ("slow_start", "css", "congestion_avoidance"),
    "prague": ("slow_start", "congestion_avoidance", "recovery"),
    "reno": ("slow_start", "css", "congestion_avoidance"),
}
"""The states of the CCAs over QUIC that log theirs."""

OF_OWN_KERNELS: Mapping[str, tuple[str, ...]] = {"bbr": STATES["bbr3"]}
"""The states of the kernel's CCAs that log theirs on a kernel of the user's own: if that kernel has
version 3 of BBR.
"""
