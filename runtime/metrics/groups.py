"""Groups of users, and what one user of each gets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairc.dsl.model.names import group_of, users_of
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Value


@dataclass(frozen=True, slots=True)
class Group:
    """Flows of one name, or of one group of users; users: the flows of each of them."""

    name: str
    users: tuple[tuple[FlowRecord, ...], ...]


def named(measurement: Measurement, name: str) -> Group:
    """Return the group that a name means, of users or of flows; each client host of users, or each
    other flow, is a user.
    """
    return _group(name, measurement.sessions((name,)))


def of_users(flows: Iterable[FlowRecord]) -> tuple[Group, ...]:
    """Return the groups of users that flows run on, and those of flows with an index, in the order
    of the flows.
    """
    found: dict[str, list[FlowRecord]] = defaultdict(list)
    for flow in flows:
        name = users_of(flow.plan) or group_of(flow.plan)
        if name is not None:
            found[name].append(flow)
    return tuple(_group(name, members) for name, members in found.items())


def _group(name: str, flows: Iterable[FlowRecord]) -> Group:
    users: dict[str, list[FlowRecord]] = defaultdict(list)
    for flow in flows:
        users[flow.plan.client if flow.plan.users else flow.name].append(flow)
    return Group(name, tuple(tuple(members) for members in users.values()))


def rates(
    flows: Iterable[FlowRecord], each: Mapping[str, MetricValue], user: Value, whole: Value
) -> tuple[MetricValue, ...]:
    """Return the rates of one user and of the whole of each group of users; empty without users.

    each: the rate of each flow, by its name. The rate of one user is the whole over the number of
    users.
    """
    found: list[MetricValue] = []
    for group in of_users(flows):
        parts = [each[flow.name] for members in group.users for flow in members]
        missing = next((value.reason for value in parts if value.value is None), "")
        total = None if missing else sum(value.value or 0.0 for value in parts)
        one = None if total is None else total / len(group.users)
        found += [user.of(one, group.name, missing), whole.of(total, group.name, missing)]
    return tuple(found)
