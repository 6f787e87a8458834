"""What flows of one cell must agree on: the kernel's CCAs, and what Linux sets per host or route."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .diagnostics import Label
from .model import Flow
from .problems import Gather, fail
from .transports import complete

PER_HOST = ("ecn", "sack")
"""Options of TCP that hold for a whole host."""

Place = tuple[str | None, ...]


class _Claim(NamedTuple):
    """What a flow wants a shared place to be."""

    code: str
    place: Place
    value: object
    what: str
    why: str


def check_sharing(flows: Sequence[Flow]) -> None:
    """Raise CompileError for flows that want the same thing to be two things at once.

    flows: as declared; those of one group of users share no host with anybody else.
    """
    gather = Gather()
    known: dict[tuple[str, Place], tuple[_Claim, Flow]] = {}
    for flow in flows:
        if flow.transport != "tcp":
            continue
        for claim in _claims(flow):
            first, owner = known.setdefault((claim.what, claim.place), (claim, flow))
            if first.value != claim.value:
                with gather.attempt():
                    fail(
                        claim.code,
                        f"`{owner.name}` and `{flow.name}` want {claim.what} to differ",
                        flow.span,
                        labels=(Label(owner.span, "the other flow"),),
                        notes=(claim.why,),
                        help="give both the same, or put them into different configurations"
                        if claim.code == "conflicting-parameters"
                        else "give both the same, or hosts of their own",
                    )
    gather.finish()


def _claims(flow: Flow) -> Iterable[_Claim]:
    if flow.own_cca is not None:
        what, why = f"the program of `{flow.cca}`", "a kernel has one CCA of a name"
        yield _Claim("conflicting-parameters", (flow.cca,), flow.own_cca.content, what, why)
    elif flow.cca is not None:
        given = tuple(sorted(complete(flow.cca, flow.cca_parameters).items()))
        what, why = f"the parameters of `{flow.cca}`", "a kernel has one set of them for all flows"
        yield _Claim("conflicting-parameters", (flow.cca,), given, what, why)
    server, client = (flow.users, flow.server), (flow.users, flow.client)
    for option in PER_HOST:
        for host in (server, client):
            name = host[1] if host[0] is None else f"{host[0]}'s {host[1]}"
            value = getattr(flow.options, option)
            what, why = f"`{option}` of the host `{name}`", "Linux has one value for a whole host"
            yield _Claim("conflicting-options", host, value, what, why)
    yield _Claim(
        "conflicting-options",
        (*server, *client),
        flow.options.initial_window_packets,
        f"`initial_window` from `{flow.server}` to `{flow.client}`",
        "Linux has one value for a route",
    )
