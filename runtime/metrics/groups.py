"""Groups of users, and what one user of each gets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
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


def of_users(measurement: Measurement, flows: Iterable[FlowRecord]) -> tuple[Group, ...]:
    """Return the groups of users that flows run on, and those of flows with an index, in the order
    of the flows. A group has all of its flows, whether or not they are among these.
    """
    names = dict.fromkeys(filter(None, map(group_named, flows)))
    return tuple(
        _group(name, (flow for flow in measurement.flows if group_named(flow) == name))
        for name in names
    )


def group_named(flow: FlowRecord) -> str | None:
    """Return the name of the group that a flow is of; None: it is of none."""
    return users_of(flow.plan) or group_of(flow.plan)


def _group(name: str, flows: Iterable[FlowRecord]) -> Group:
    users: dict[str, list[FlowRecord]] = defaultdict(list)
    for flow in flows:
        users[flow.plan.client if flow.plan.users else flow.name].append(flow)
    return Group(name, tuple(tuple(members) for members in users.values()))


def rates(
    measurement: Measurement,
    each: Mapping[str, MetricValue],
    of_flow: Callable[[Measurement, FlowRecord], MetricValue],
    user: Value,
    whole: Value,
) -> tuple[MetricValue, ...]:
    """Return the rates of one user and of the whole of each group of users; empty without users.

    each: the rate of each requested flow, by its name; of_flow: returns that of any other one. The
    rate of one user is the whole over the number of users.
    """
    found: list[MetricValue] = []
    for group in of_users(measurement, (flow for flow in measurement.flows if flow.name in each)):
        members = [flow for of_user in group.users for flow in of_user]
        parts = [each.get(flow.name) or of_flow(measurement, flow) for flow in members]
        missing = next((value.reason for value in parts if value.value is None), "")
        total = None if missing else sum(value.value or 0.0 for value in parts)
        one = None if total is None else total / len(group.users)
        found += [user.of(one, group.name, missing), whole.of(total, group.name, missing)]
    return tuple(found)
