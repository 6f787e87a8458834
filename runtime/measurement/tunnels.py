"""Tunnels of a cell: the header of each, and what their ends reported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address

from fairc.cell.roles import tunnel_log
from fairc.compiler.plan import Cell, Tunnel, interfaces_of

from .artefacts import US, ArtefactError, Artefacts, field
from .pcap import Headers


@dataclass(frozen=True, slots=True)
class EndRecord:
    """One end of a tunnel, and its final report.

    name: of its log. encapsulated: packets that it put into others, by their own bits of ECN.
    decapsulated: those that it took out, by their own bits, then those of what carried them.
    dropped: of these, what had to be. lost: what it could not carry: packets that were too large,
    that the interface had no room for, that it did not see. late_s: the longest that a packet was
    in it.
    """

    plan: Tunnel
    name: str
    encapsulated: tuple[int, ...]
    decapsulated: tuple[tuple[int, ...], ...]
    dropped: int
    oversized: int
    refused: int
    missed: int
    late_s: float


def headers(cell: Cell) -> Headers:
    """Return between which addresses tunnels carry packets, and the length of each one's header."""
    at = interfaces_of(cell)
    found: dict[tuple[int, int], int] = {}
    for tunnel in cell.tunnels:
        a, b = (int(IPv4Address(at[place].ip)) for place in (tunnel.a, tunnel.b))
        found |= {(a, b): tunnel.header_bytes, (b, a): tunnel.header_bytes}
    return found


def load(artefacts: Artefacts, cell: Cell) -> tuple[EndRecord, ...]:
    """Read what the ends of all tunnels reported. Raises ArtefactError."""
    return tuple(_load(artefacts, cell))


def _load(artefacts: Artefacts, cell: Cell) -> Iterator[EndRecord]:
    for tunnel in cell.tunnels:
        for node, _ in (tunnel.a, tunnel.b):
            name = tunnel_log(tunnel, node)
            file = f"{name}.ndjson"
            reports = [line for line in artefacts.lines(file) if line.get("event") == "tunnelled"]
            if len(reports) != 1:
                raise ArtefactError(f"{file} has no report of what the tunnel carried")
            (report,) = reports
            try:
                encapsulated = tuple(map(int, report["encapsulated"]))
                decapsulated = tuple(tuple(map(int, row)) for row in report["decapsulated"])
            except (KeyError, TypeError, ValueError) as error:
                raise ArtefactError(f"{file} is not as documented: {error!r}") from None
            counts = {
                key: field(report, key, file)
                for key in ("dropped", "oversized", "refused", "missed")
            }
            late_s = field(report, "late_us", file) * US
            yield EndRecord(tunnel, name, encapsulated, decapsulated, **counts, late_s=late_s)
