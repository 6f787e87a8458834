"""Measurements other than the flows: pings on the idle network, queue statistics."""

from __future__ import annotations

import json
import os
import re
import select
import socket
import struct
import time

from .nodes import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .document import Ping, Seed
    from .nodes import Node, Nodes

    Queues = dict[str, list[dict[str, Any]]]
    """Node -> what `tc -s -j qdisc show` says."""

SO_TIMESTAMPNS = 35
PINGS, MORE_PINGS = 10, 100
"""How many are sent, and how many at a time after that where none has come back."""
PING_EVERY_NS = 10_000_000
PING_PATIENCE_NS, MOST_PINGING_NS = 20_000_000_000, 200_000_000_000
"""How long to go on where none comes back, for a flow and for all: losses may come in bursts."""
PING_BYTES = 14 + 20 + 8 + 16
"""Of a ping's frame: Ethernet, IP, ICMP, and what it carries."""
_UNKNOWN = {"unknown": True}
"""The options of a queue that tc does not know."""


def write_json(path: str, value: object) -> None:
    """Write a file that is either complete or not there."""
    with open(path + ".part", "w") as file:
        json.dump(value, file, indent=1)
    os.replace(path + ".part", path)


def write_queues(nodes: Nodes, path: str, endpoints: str, beyond: Iterable[str]) -> Queues:
    """Write what the queues of every node have counted; return it. Raises Failed."""
    queues = nodes.queues(endpoints, beyond)
    write_json(path, queues)
    return queues


def queues_by_tc(nodes: Nodes, endpoints: str, beyond: Iterable[str]) -> Queues:
    """Return `tc -s -j qdisc show` of every node. Raises Failed.

    beyond: nodes with queues that tc does not know; for these the endpoints' program reads them.
    """
    queues: Queues = {node.name: read_queues(node) for node in nodes}
    for name in beyond:
        unknown = {q["kind"] for q in queues[name] if q["options"] == _UNKNOWN}
        read = [q for q in role_qdiscs(nodes[name], endpoints, ()) if q["kind"] in unknown]
        queues[name] = [q for q in queues[name] if q["kind"] not in unknown] + read
    return queues


def read_queues(node: Node) -> list[dict[str, Any]]:
    """Return `tc -s -j qdisc show` of a node.

    tc writes `[Unknown qdisc, optlen=112]` for the options of a queue that it does not know, which
    is not JSON: they are `_UNKNOWN`.
    """
    text = node.run(["tc", "-s", "-j", "qdisc", "show"])
    unknown = json.dumps(_UNKNOWN)[1:-1]
    queues: list[dict[str, Any]] = json.loads(
        re.sub(r"\[Unknown qdisc, optlen=\d+\]", unknown, text)
    )
    return queues


def role_qdiscs(node: Node, endpoints: str, lines: Sequence[str]) -> list[dict[str, Any]]:
    """Have the endpoints' program add queues to a node, or none; return what is then there, as of
    tc. Raises Failed.
    """
    description = json.dumps({"lines": [*lines]})
    try:
        said = json.loads(node.run([endpoints, "qdiscs", "--epoch-ns", "0", description]))
        queues: list[dict[str, Any]] = said["qdiscs"]
    except ValueError as error:
        raise Failed(f"{node.name}: the kernel's queues cannot be read: {error}") from None
    return queues


def seeds_in_force(queues: Queues, seeds: Iterable[Seed]) -> list[str]:
    """Say which random streams this kernel or tc does not seed (Linux before 6.6, old iproute2)."""
    notes = []
    for wanted in seeds:
        node, interface = wanted["node"], wanted["interface"]
        (netem,) = (q for q in queues[node] if q["dev"] == interface and q["handle"] == "1:")
        if netem["options"].get("seed") != wanted["seed"]:
            notes.append(
                f"randomness at {node}/{interface} has no seed: results differ from run to run"
            )
    return notes


def ping_all(nodes: Nodes, pings: Sequence[Ping]) -> list[dict[str, Any]]:
    """Measure the round trip of every flow on the idle network."""
    results = []
    left_ns = MOST_PINGING_NS
    for number, wanted in enumerate(pings, 1):
        patience_ns = min(left_ns, PING_PATIENCE_NS)
        sent, rtts_ns = nodes[wanted["client"]].call(
            ping, wanted["address"], number, wanted["expected_ns"], wanted["every_ns"], patience_ns
        )
        left_ns -= patience_ns if sent > PINGS else 0
        result = {name: wanted[name] for name in ("flow", "client", "server")}
        results.append({**result, "sent": sent, "rtts_ns": rtts_ns})
    return results


def ping(
    address: str,
    identifier: int,
    expected_ns: int,
    every_ns: int = PING_EVERY_NS,
    patience_ns: int = 0,
) -> tuple[int, list[int]]:
    """Send small ICMP echo requests; return how many, and the round trips in ns (fewer than sent
    when some are lost).

    The arrival is the kernel's timestamp. patience_ns: how long to go on where none comes back.
    """
    last_ns = time.time_ns() + patience_ns
    sent, rtts_ns = 0, list[int]()
    while not sent or (not rtts_ns and time.time_ns() < last_ns):
        count = MORE_PINGS if sent else PINGS
        rtts_ns = _echoes(address, identifier, range(sent, sent + count), expected_ns, every_ns)
        sent += count
    return sent, rtts_ns


def _echoes(
    address: str, identifier: int, numbers: range, expected_ns: int, every_ns: int
) -> list[int]:
    """Send echo requests of these numbers; return the round trips, ns."""
    sent_ns: dict[int, int] = {}
    rtts_ns: list[int] = []
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        ready = select.poll()
        ready.register(raw, select.POLLIN)
        begin = time.time_ns()
        give_up = begin + len(numbers) * every_ns + 2 * expected_ns + 1_000_000_000
        while len(rtts_ns) < len(numbers) and time.time_ns() < give_up:
            is_due = len(sent_ns) < len(numbers)
            due = begin + len(sent_ns) * every_ns if is_due else give_up
            wait_ms = (due - time.time_ns()) / 1e6
            if is_due and wait_ms <= 0:
                number = numbers[len(sent_ns)] & 0xFFFF
                packet = struct.pack("!BBHHH16x", 8, 0, 0, identifier, number)
                total = sum(struct.unpack("!12H", packet))
                packet = struct.pack("!BBHHH16x", 8, 0, 0xFFFF - total % 0xFFFF, identifier, number)
                sent_ns[number] = time.time_ns()
                raw.sendto(packet, (address, 0))
            elif ready.poll(max(0, wait_ms)):
                packet, ancillary, _, _ = raw.recvmsg(256, 64)
                kind, _, _, mark, number = struct.unpack("!BBHHH", packet[20:28])
                ours = kind == 0 and mark == identifier and number in sent_ns
                if ours and _is_undamaged(packet[20:]):  # nobody else has looked yet
                    seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
                    rtts_ns.append(seconds * 1_000_000_000 + nanoseconds - sent_ns[number])
    return rtts_ns


def _is_undamaged(message: bytes) -> bool:
    """Whether the checksum of an ICMP message is right (RFC 1071)."""
    padded = message + bytes(len(message) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    return total % 0xFFFF == 0
