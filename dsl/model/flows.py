"""Flows: who sends what to whom, and over which transport."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fairc.dsl.core.source import Span

from .workloads import Distribution, Workload

Transport = Literal["tcp", "quic", "udp", "web"]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a flow's transport, each what the file says or else its default.

    accurate_ecn: of TCP, with ecn: the receiver counts marks (AccECN).
    send_buffer_bytes, receive_buffer_bytes: None: large enough to limit nothing.
    """

    initial_window_packets: int = 10
    receive_window_bytes: int | None = None
    ecn: bool = False
    accurate_ecn: bool = False
    sack: bool = True
    pacing: bool = False
    fast_open: bool = False
    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    qlog: bool = False


@dataclass(frozen=True, slots=True)
class OwnCca:
    """A CCA of the user's own: a BPF struct_ops object that registers it under `name`."""

    name: str
    content: bytes
    span: Span


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow: `connections` parallel connections from `server` to `client`, one session.

    cca: None over UDP, and where an image brings its own. cca_parameters: over TCP those that the file gives, under the names
    of the kernel; over QUIC all of them.
    start_ns: ns after the start of the cell; None: drawn for each connection from `random_start` (s),
    and without one 0 plus the seeded offset of measurement.md.
    stop_ns: ns after the start of the cell, or None.
    declared: the name of the statement that it comes from, `name` unless there are users.
    users: the group that it is a user's flow of.
    rate_bps: limit of the sending rate at the generator, bit/s of IP, or None.
    extra_rtt_ns: round trip that is added for this flow alone, ns.
    own_cca: the object that `cca` comes from, unless it is the kernel's or the QUIC stack's.
    image: the container image of another QUIC stack, which has a CCA of its own.
    quic_parameters: of a page load over HTTP/3: all of those that the CCA has over QUIC.
    ecn_given: where `ecn` is written for it; None: its default holds.
    """

    name: str
    server: str
    client: str
    connections: int
    cca: str | None
    workload: Workload
    start_ns: int | None
    stop_ns: int | None
    span: Span
    random_start: Distribution | None = None
    declared: str = ""
    users: str | None = None
    transport: Transport = "tcp"
    cca_parameters: Mapping[str, int | float | bool] = field(default_factory=dict)
    options: Options = Options()
    rate_bps: int | None = None
    extra_rtt_ns: int = 0
    own_cca: OwnCca | None = None
    quic_parameters: Mapping[str, int | float | bool] = field(default_factory=dict)
    image: str | None = None
    ecn_given: Span | None = None
