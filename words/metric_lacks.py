"""Reasons for which a metric has no value in a configuration, as far as they are known before
anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairc.dsl.model.names import group_of, label_of, users_of

from .metric_entry import FlowPath, Lacks

OWN_LINK = (
    "the slowest link begins at the sender itself, so no capture sees packets before its queue"
)
NO_GROUP = "no flow has an index or runs on a group of users"
ALL_CONNECTIONS = "; a flow with `count` is one flow: what it has is of all its connections"
ONE_PATH = "no flow runs over several paths (`multipath`)"
# Values of `unfairness` of all sessions together.
_OF_ALL = ("jain", "product", "epsilon_fairness")


def any_of(*reasons: Lacks) -> Lacks:
    """Return the first reason that holds."""

    def lacks(value: str, paths: Sequence[FlowPath]) -> str:
        return next((why for one in reasons if (why := one(value, paths))), "")

    return lacks


def groups(value: str, paths: Sequence[FlowPath]) -> str:
    """Of values of a group of users, or of the flows of an index."""
    if value not in ("user", "group") and not value.startswith("group_"):
        return ""
    if any(users_of(path.flow) or group_of(path.flow) for path in paths):
        return ""
    several = any(path.flow.connections > 1 for path in paths)
    return f"{NO_GROUP}{ALL_CONNECTIONS if several else ''}"


def subflows(value: str, paths: Sequence[FlowPath]) -> str:
    """Of values of each path of a flow over Multipath TCP."""
    if value != "subflow" or any(path.flow.multipath is not None for path in paths):
        return ""
    return ONE_PATH


def at_queue(value: str, paths: Sequence[FlowPath]) -> str:
    """Of values from packets in front of the bottleneck's queue."""
    return OWN_LINK if paths and all(path.in_host for path in paths) else ""


def lost(value: str, paths: Sequence[FlowPath]) -> str:
    """Of shares of lost packets: those lost behind the queue are known in any case."""
    return "" if value == "random" else at_queue(value, paths)


def at_sender(value: str, paths: Sequence[FlowPath]) -> str:
    """Of values from data and ACKs at the sender."""
    if not paths or any(p.flow.transport != "udp" and not _begins_there(p) for p in paths):
        return ""
    over_udp = all(path.flow.transport == "udp" for path in paths)
    return "nobody acknowledges datagrams of UDP" if over_udp else OWN_LINK


def round_trips(value: str, paths: Sequence[FlowPath]) -> str:
    """Of round trips of packets: pings come back over UDP, too, and say when they were sent."""
    if value == "base" or any(path.flow.workload.part.echoes for path in paths):
        return ""
    return at_sender(value, paths)


def _begins_there(path: FlowPath) -> bool:
    """Whether the bottleneck is the first interface of a flow's data."""
    return path.bottleneck is not None and path.passed[:1] == (path.bottleneck,)


def sharing(value: str, paths: Sequence[FlowPath]) -> str:
    """Of values of sessions that share a bottleneck."""
    if len(paths) < 2:
        return ""
    bottlenecks = {path.bottleneck for path in paths}
    crossed = {label_of(path.flow): bottlenecks & {*path.passed} for path in paths}
    first, *others = crossed
    together, reached = [first], set(crossed[first])
    while found := [name for name in others if name not in together and crossed[name] & reached]:
        together += found
        reached |= {place for name in found for place in crossed[name]}
    apart = [name for name in others if name not in together]
    if not apart:
        return ""
    return f"{_ticked(apart)} and {_ticked(together)} have no slowest link in common"


def of_two(*values: str) -> Lacks:
    """Return the reason of values that are defined for two sessions."""

    def lacks(value: str, paths: Sequence[FlowPath]) -> str:
        if value not in values or len(paths) == 2:
            return ""
        return f"it is defined for two sessions, not {len(paths)}"

    return lacks


def of_pairs(value: str, paths: Sequence[FlowPath]) -> str:
    """Of values of the pair of sessions that shares worst: each pair has to share a bottleneck."""
    if value in _OF_ALL:
        return ""
    pairs = ((one, two) for at, one in enumerate(paths) for two in paths[at + 1 :])
    return next((why for pair in pairs if (why := sharing(value, pair))), "")


def fair_product(value: str, paths: Sequence[FlowPath]) -> str:
    """Of a product of shares of a fair one, which flows do not have that adapt to what they get."""
    unknown = [p for p in paths if p.flow.workload.part.adapts]
    if value != "product" or not unknown:
        return ""
    names = _ticked([label_of(path.flow) for path in unknown])
    return f"it is not known how much {names} would take, so fair shares are not"


def own_stack(value: str, paths: Sequence[FlowPath]) -> str:
    """Of what a sender reports of itself: third-party images report nothing."""
    every = bool(paths) and all(path.flow.image is not None for path in paths)
    return "a third-party image does not report it" if every else ""


def start_up(value: str, paths: Sequence[FlowPath]) -> str:
    """Of the start of a video, and of a congestion window."""
    if not value:
        plays = any(path.flow.workload.part.records == "videos" for path in paths)
        return "" if plays else "no flow plays a video; slow start has `startup.time`"
    if all(path.flow.transport == "udp" for path in paths):
        return "a flow over UDP has no window"
    return own_stack(value, paths)


def not_quic(value: str, paths: Sequence[FlowPath]) -> str:
    """Of what Linux reports of its own connections."""
    stacks = {path.flow.transport for path in paths}
    if value in ("receiver", "send_buffer") and stacks == {"quic"}:
        return "the QUIC stack does not report it"
    return ""


def _ticked(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
