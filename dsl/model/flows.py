"""Flows: who sends what to whom, and over which transport."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fairc.cell.model import TransportOptions
from fairc.cell.modules import KernelModule
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Size

from .names import flow_of_group, label_of
from .network import Hashed
from .workloads import Distribution, Workload

Transport = Literal["tcp", "quic", "udp", "web"]


@dataclass(frozen=True, slots=True)
class Multipath:
    """The use of several paths by a flow, by Multipath TCP.

    on_failure: whether the second one waits until a link of the client is down. backup: the node
    that paths cross which are used while nothing else works, or None; span: where it is written.
    """

    on_failure: bool
    backup: str | None
    span: Span


@dataclass(frozen=True, kw_only=True)
class Trip:
    """Between which hosts a flow runs, and what it adds to their round trip.

    span: the flow's name.
    extra_rtt_ns: RTT added for this flow alone, ns.
    random_rtt: instead of extra_rtt_ns, drawn in each repetition (s), or None.
    via: the router that its packets pass, both ways; None: their way is the shortest.
    """

    server: str
    client: str
    span: Span
    extra_rtt_ns: int = 0
    random_rtt: Distribution | None = None
    via: str | None = None


@dataclass(frozen=True, kw_only=True)
class Stack:
    """The transport of a flow and its CCA, with the options of both.

    cca: None over UDP, and if an image brings its own.
    cca_parameters: over TCP those that the file gives, by the kernel's names; over QUIC all of
    them.
    quic_parameters: of a page load over HTTP/3: all parameters that the CCA has over QUIC.
    cca_object: the BPF struct_ops object that registers a CCA of the user's own, packed.
    cca_module: the kernel module that does.
    qlog: whether a QUIC server writes one.
    idle_timeout_ns: silence of the peer that ends a connection over QUIC; None: it never does.
    image: the container image of another QUIC stack, which has a CCA of its own.
    multipath: over Multipath TCP; None: over one path.
    resumed: the window that an earlier connection had (Careful Resume), or None.
    """

    transport: Transport = "tcp"
    cca: str | None = None
    cca_parameters: Mapping[str, int | float | bool | str] = field(default_factory=dict)
    quic_parameters: Mapping[str, int | float | bool | str] = field(default_factory=dict)
    cca_object: str | None = None
    cca_module: KernelModule | None = None
    options: TransportOptions = field(default_factory=TransportOptions)
    qlog: bool = False
    idle_timeout_ns: int | None = None
    image: str | None = None
    multipath: Multipath | None = None
    resumed: Size | None = None


@dataclass(frozen=True, kw_only=True)
class Flow(Trip, Stack):
    """A flow: `connections` parallel connections from `server` to `client`, one session.

    start_ns: ns after the start of the cell; None: drawn for each connection from `random_start`
    (s), or without one 0 plus the seeded offset of measurement.md.
    stop_ns: ns after the start of the cell, or None.
    declared: the name of the statement it comes from: `name`, unless there are users.
    users: the group of users that it belongs to, or None.
    send_buffer_bytes, receive_buffer_bytes: of each connection; None: large enough never to be a
    limit.
    rate_bps: limit of the sending rate at the generator, bit/s of IP, or None.
    ecn_given: where the file sets `ecn` for it; None: the default holds.
    dscp: the Diffserv code point of its packets, both ways, six bits.
    way_seed, way_of: what hashes are made with that choose among equal next hops; None: nothing
    chooses.
    way_given: where the file says so.
    """

    name: str
    connections: int
    workload: Workload
    start_ns: int | None
    stop_ns: int | None
    random_start: Distribution | None = None
    declared: str = ""
    users: str | None = None
    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    rate_bps: int | None = None
    ecn_given: Span | None = None
    dscp: int = 0
    way_seed: int | None = None
    way_of: Hashed = "ports"
    way_given: Span | None = None

    @property
    def without_user(self) -> str:
        """Its name in the language, of a user's flow that of all users' flows."""
        return flow_of_group(self)

    @property
    def label(self) -> str:
        """Its name in the language: `f[2]` for `f-2`."""
        return label_of(self)
