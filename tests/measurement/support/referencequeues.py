"""Queues in software, packet by packet: what the verdict on a queue is tested against.

Arrivals of one instant are queued in the order in which they are given, and departures of that
instant come before or after them, as `departs_first` says. The captures know neither.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal

from frames import ethernet, ipv4, tcp, timestamps, udp
from madeartefacts import Made
from madecell import CLIENTS, FULL, MS, SERVERS, made_cell
from madepackets import Passed, Sent

from fairc.compiler import plan
from fairc.compiler.plan import Cell
from fairc.mechanisms.queues.codel import cell as planned_codel
from fairc.mechanisms.queues.dualpi2 import cell as planned_dualpi2
from fairc.mechanisms.queues.fifo.cell import Fifo
from fairc.mechanisms.queues.fq_codel.cell import FqCoDel
from fairc.mechanisms.queues.pie import cell as planned_pie
from fairc.mechanisms.queues.red import cell as planned_red
from fairc.mechanisms.queues.sfq import cell as planned_sfq

Kind = Literal["data", "ack", "reset", "datagram"]
SIZES: dict[Kind, int] = {"data": FULL, "ack": 66, "reset": 54, "datagram": 242}
RATE_BPS = 1_000_000


@dataclass(frozen=True)
class Arrival:
    """A packet that comes to the queue from one of two servers; resets and datagrams of one server
    are alike.
    """

    t_ns: int
    side: int
    kind: Kind

    @property
    def size(self) -> int:
        return SIZES[self.kind]


@dataclass(frozen=True)
class Served(Passed):
    """What became of an arrival."""

    arrival: Arrival

    def frame(self, transport: object) -> bytes:
        side, kind = self.arrival.side, self.arrival.kind
        ends = f"10.0.{SERVERS[side]}.1", f"10.0.{CLIENTS[side] + 10}.1"
        ports = 5001 + side, 40_000
        if kind == "datagram":
            content = udp(*ports, bytes(SIZES[kind] - 42))
            return ethernet(ipv4(*ends, 17, content))
        if kind == "reset":
            return ethernet(ipv4(*ends, 6, tcp(*ports, b"", sequence=7, flags=4)))
        content = tcp(
            *ports,
            bytes(SIZES[kind] - 66),
            sequence=self.number,
            options=timestamps(self.arrival.t_ns // MS, 1),
        )
        return ethernet(ipv4(*ends, 6, content, ip_id=self.number % 2**16))


@dataclass
class Queue:
    """A FIFO with tail drop; the others differ in what they drop, and in which packet is next."""

    limit: int
    in_bytes: bool = False
    dice: Random = field(default_factory=lambda: Random(1))
    waiting: deque[int] = field(default_factory=deque)
    arrivals: Sequence[Arrival] = ()

    def plan(self) -> plan.Queue:
        if self.in_bytes:
            return Fifo(limit_bytes=self.limit)
        return Fifo(limit_packets=self.limit)

    def taken(self) -> int:
        return sum(self.arrivals[n].size if self.in_bytes else 1 for n in self.waiting)

    def fits(self, number: int) -> bool:
        own = self.arrivals[number].size if self.in_bytes else 1
        return self.taken() + own <= self.limit

    def push(self, number: int) -> None:
        if self.fits(number):
            self.waiting.append(number)

    def pop(self, now_ns: int) -> int | None:
        return self.waiting.popleft() if self.waiting else None


class Red(Queue):
    """Drops at random at its entry, the more the fuller it is."""

    def plan(self) -> plan.Queue:
        return planned_red.Red(
            limit_bytes=self.limit,
            min_bytes=1,
            max_bytes=self.limit,
            average_packet_bytes=1000,
            burst_packets=1,
            probability=0.5,
            ecn=False,
        )

    def push(self, number: int) -> None:
        if self.dice.random() >= 0.5 * self.taken() / self.limit:
            super().push(number)


class Pie(Queue):
    """Drops at random at its entry."""

    def plan(self) -> plan.Queue:
        return planned_pie.Pie(
            limit_packets=self.limit, target_ns=MS, update_ns=MS, alpha=2, beta=20, ecn=False
        )

    def push(self, number: int) -> None:
        if self.dice.random() >= 0.2:
            super().push(number)


class CoDel(Queue):
    """Drops at its head what has waited for too long."""

    def plan(self) -> plan.Queue:
        return planned_codel.CoDel(
            limit_packets=self.limit, target_ns=MS, interval_ns=MS, ecn=False
        )

    def pop(self, now_ns: int) -> int | None:
        while self.waiting:
            number = self.waiting.popleft()
            if now_ns - self.arrivals[number].t_ns < 5 * MS or self.dice.random() < 0.7:
                return number
        return None


class Fair(Queue):
    """Serves flows in turn; what overflows is taken from the head of the longest."""

    def plan(self) -> plan.Queue:
        return FqCoDel(
            limit_packets=self.limit,
            target_ns=MS,
            interval_ns=MS,
            flows=1024,
            quantum_bytes=FULL,
            memory_bytes=2**25,
            drop_batch=1,
            ecn=False,
        )

    def line(self, number: int) -> tuple[int, bool]:
        return self.arrivals[number].side, self.arrivals[number].kind == "datagram"

    def push(self, number: int) -> None:
        self.waiting.append(number)
        if len(self.waiting) > self.limit:
            lines = [self.line(n) for n in self.waiting]
            longest = max(dict.fromkeys(lines), key=lines.count)
            del self.waiting[lines.index(longest)]

    def pop(self, now_ns: int) -> int | None:
        if not self.waiting:
            return None
        served = next(
            (n for n in self.waiting if self.line(n) != self.line(self.waiting[0])),
            self.waiting[0],
        )
        number = served if self.dice.random() < 0.5 else self.waiting[0]
        self.waiting.remove(number)
        return number


class Sfq(Fair):
    """As `Fair`; drops a packet of the longest flow at its tail."""

    def plan(self) -> plan.Queue:
        return planned_sfq.Sfq(
            limit_packets=self.limit,
            flows=127,
            divisor=1024,
            depth_packets=127,
            quantum_bytes=FULL,
            perturb_s=0,
        )

    def push(self, number: int) -> None:
        self.waiting.append(number)
        if len(self.waiting) > self.limit:
            lines = [self.line(n) for n in self.waiting]
            longest = max(dict.fromkeys(lines), key=lines.count)
            del self.waiting[len(lines) - 1 - lines[::-1].index(longest)]


class DualPi2(Queue):
    """Two queues: data before everything else, even within a connection."""

    def plan(self) -> plan.Queue:
        return planned_dualpi2.DualPi2(
            limit_packets=self.limit,
            target_ns=MS,
            update_ns=MS,
            alpha=1,
            beta=1,
            coupling=2,
            step_ns=MS,
            protection_percent=10,
            l4s="ect1",
            drop="dequeue",
            overload="drop",
            memory_bytes=2**25,
        )

    def pop(self, now_ns: int) -> int | None:
        first = next((n for n in self.waiting if self.arrivals[n].kind == "data"), None)
        if first is None:
            return super().pop(now_ns)
        self.waiting.remove(first)
        return first


class Leaky(Queue):
    """A FIFO that drops data although there is room: not a drop-tail queue."""

    def push(self, number: int) -> None:
        if self.arrivals[number].kind == "data" and self.dice.random() < 0.2:
            return
        super().push(number)


class Roomy(Queue):
    """A FIFO that holds twice its limit."""

    def fits(self, number: int) -> bool:
        own = self.arrivals[number].size if self.in_bytes else 1
        return self.taken() + own <= 2 * self.limit


class Narrow(Queue):
    """A FIFO that holds half its limit."""

    def fits(self, number: int) -> bool:
        own = self.arrivals[number].size if self.in_bytes else 1
        return self.taken() + own <= self.limit // 2


class Shuffled(Queue):
    """A FIFO that sends its last packet first, now and then."""

    def pop(self, now_ns: int) -> int | None:
        if self.waiting and self.dice.random() < 0.2:
            return self.waiting.pop()
        return super().pop(now_ns)


def served(
    queue: Queue, arrivals: Sequence[Arrival], departs_first: Callable[[], bool], delay_ns: int
) -> Iterator[Served]:
    """Send packets, in order of time, through a queue; yield what became of each."""
    queue.arrivals = arrivals
    left: dict[int, int] = {}
    free_ns = 0

    def serve(until_ns: int, inclusive: bool) -> None:
        nonlocal free_ns
        while queue.waiting and (free_ns < until_ns or (inclusive and free_ns == until_ns)):
            number = queue.pop(free_ns)
            if number is not None:
                left[number] = free_ns
                free_ns += arrivals[number].size * 8 * 10**9 // RATE_BPS

    for number, arrival in enumerate(arrivals):
        serve(arrival.t_ns, departs_first())
        free_ns = max(free_ns, arrival.t_ns) if not queue.waiting else free_ns
        queue.push(number)
    serve(10**18, inclusive=True)
    for number, arrival in enumerate(arrivals):
        left_ns = left.get(number)
        yield Served(
            Sent(arrival.t_ns, arrival.side, frame_bytes=arrival.size),
            number,
            left_ns,
            None if left_ns is None else left_ns + delay_ns,
            arrival,
        )


def cell_with(queue: Queue) -> Cell:
    """A made-up cell whose bottleneck has a queue."""
    cell = made_cell(rate_bps=RATE_BPS)
    nodes = tuple(
        replace(
            node,
            interfaces=tuple(
                replace(i, queue=queue.plan()) if i.bottleneck else i for i in node.interfaces
            ),
        )
        for node in cell.nodes
    )
    return replace(cell, nodes=nodes)


def through(
    queue: Queue, arrivals: Sequence[Arrival], departs_first: Callable[[], bool] = lambda: True
) -> Made:
    """A cell in which packets, in order of time, went through a queue."""
    cell = cell_with(queue)
    packets = list(served(queue, arrivals, departs_first, cell.flows[0].base_rtt_ns // 2))
    return Made(cell, [*packets], 600_000 * MS)
