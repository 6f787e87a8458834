"""Settings that flows of one cell share: the kernel's CCAs, and those of a host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.model import Flow, Proxies
from fairc.words.ccas import QUIC_CCAS, TCP_CCAS

Place = tuple[str | None, ...]
Claim = tuple["Shared", Place, object]
"""A shared setting, its place, and the value that a flow wants."""


@dataclass(frozen=True, eq=False)
class Shared:
    """Something that flows share.

    name: names it, given its place.
    why: why there is only one of it.
    help: what to do, given its place.
    """

    code: str
    name: Callable[[Place], str]
    why: str
    help: Callable[[Place], str]


_HOSTS = (
    "separate hosts: `topology = dumbbell(...)` is `bottleneck` with a pair of hosts for each flow"
)
_CONFIGURATIONS = "give both the same value, or put them into different configurations"
_OVER_QUIC = "; with `over = quic` each flow has its own parameters"
_ONE_HOST = "Linux has one value per host"

PARAMETERS = Shared(
    "conflicting-parameters",
    lambda place: f"the parameters of `{place[0]}`",
    "a kernel has one set of them for all flows over TCP",
    lambda place: _CONFIGURATIONS + (_OVER_QUIC if place[0] in QUIC_CCAS else ""),
)
PROGRAM = Shared(
    "conflicting-parameters",
    lambda place: f"the program of `{place[0]}`",
    "a kernel has one CCA of each name",
    lambda _: _CONFIGURATIONS,
)
ACCURATE_ECN = Shared(
    "conflicting-options",
    lambda place: f"`ecn = accurate` of {_host(place)}, which opens their connections",
    "Linux asks for AccECN in all connections of a host, or in none (net.ipv4.tcp_ecn = 3)",
    lambda _: f"write `ecn = accurate` in both flows or in none, or give them {_HOSTS}",
)
SACK = Shared(
    "conflicting-options",
    lambda place: f"`sack` of {_host(place)}",
    _ONE_HOST,
    lambda _: f"give both the same value, or {_HOSTS}",
)
IDLE_RESTART = Shared(
    "conflicting-options",
    lambda place: f"`idle_restart` of {_host(place)}",
    _ONE_HOST,
    lambda _: f"give both the same value, or {_HOSTS}",
)
NOTSENT_LOWAT = Shared(
    "conflicting-options",
    lambda place: f"`notsent_lowat` of {_host(place)}",
    "programs of others have that of their host (net.ipv4.tcp_notsent_lowat)",
    lambda _: f"give both the same value, or {_HOSTS}",
)
PATHS = Shared(
    "conflicting-options",
    lambda place: f"the paths of {_host(place)}",
    "a host has one list of its addresses for Multipath TCP",
    lambda _: f"give both the same `mptcp(...)`, or {_HOSTS}",
)


def check_sharing(flows: Sequence[Flow], proxies: Sequence[Proxies]) -> None:
    """Raise CompileError for flows (and proxies) that want different values of what they share.

    flows: as declared; those of a group of users share no host with any other flow.
    """
    gather = Gather()
    known: dict[tuple[Shared, Place], tuple[object, Flow | Proxies]] = {}
    users: list[Flow | Proxies] = [flow for flow in flows if flow.transport in ("tcp", "web")]
    for flow in (*users, *proxies):
        for shared, place, value in _claims(flow):
            first, owner = known.setdefault((shared, place), (value, flow))
            if first != value:
                with gather.attempt():
                    fail(
                        shared.code,
                        f"`{owner.name}` and `{flow.name}` disagree on {shared.name(place)}",
                        flow.span,
                        labels=(Label(owner.span, "the other flow"),),
                        notes=(shared.why,),
                        help=shared.help(place),
                    )
    gather.finish()


def _claims(flow: Flow | Proxies) -> Iterator[Claim]:
    if isinstance(flow, Proxies):
        yield PARAMETERS, (flow.cca,), TCP_CCAS[flow.cca].complete(flow.cca_parameters)
        return
    if flow.cca_module is not None:
        pass  # several of one name are built under names of their own
    elif flow.cca_object is not None:
        yield PROGRAM, (flow.cca,), flow.cca_object
    elif flow.cca is not None:
        known = TCP_CCAS[flow.cca].complete if flow.cca in TCP_CCAS else dict
        yield PARAMETERS, (flow.cca,), known(flow.cca_parameters)
    opener = flow.server if flow.workload.part.opened_by_sender else flow.client
    yield ACCURATE_ECN, (flow.users, opener), flow.options.accurate_ecn
    for host in (flow.server, flow.client):
        yield SACK, (flow.users, host), flow.options.sack
    # A window belongs to the end that sends; where it is not given, Linux reduces it.
    restarts = flow.options.idle_restart is not False
    yield IDLE_RESTART, (flow.users, flow.server), restarts
    if flow.workload.part.measures_itself or flow.workload.part.own_code is not None:
        yield NOTSENT_LOWAT, (flow.users, flow.server), flow.options.notsent_lowat_bytes
    if flow.multipath is not None:
        how = (flow.multipath.on_failure, flow.multipath.backup)
        yield PATHS, (flow.users, flow.client), (flow.server, *how)


def _host(place: Place) -> str:
    users, host = place
    return f"the host `{host}`" if users is None else f"`{host}` of the users `{users}`"
