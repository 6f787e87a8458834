"""The model behind the fake engine: a bottleneck that is never idle, shared by seeded lot.

Every time in which the bottleneck sends one frame belongs to one of the flows that have something
to send, drawn with fixed weights. The queue fills at half the rate at which time passes, up to half
of its limit, and never drops. There is no congestion control in this: the numbers mean nothing.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from fairc.api import Cell, Flow, Interface, Paths, Place, segment_bytes

HEADER_BYTES = 66  # of Ethernet, IPv4 and TCP with timestamps
UNSHAPED_BPS = 100_000_000


@dataclass(frozen=True, slots=True)
class Frame:
    """A data packet at the bottleneck; times in ns after the epoch, sequence and payload in bytes.

    left_ns: when it left the queue. sent_ns: when the link had sent it.

    connection: of page loads, the number of the load from 0.
    """

    flow: Flow
    connection: int
    sequence: int
    payload: int
    entered_ns: int
    left_ns: int
    sent_ns: int
    lost: bool


@dataclass(slots=True)
class Sender:
    """What a flow has still to send, and when each connection got its last byte (None: never)."""

    flow: Flow
    weight: float
    loss: float
    left: list[int | None]
    next_sequence: list[int]
    again: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def begins_ns(self) -> list[int]:
        """When each connection can send its first frame, as far as that is known."""
        return [start_ns + self.flow.base_rtt_ns for start_ns in self.flow.starts_ns]

    def open(self, now: int) -> list[int]:
        """Return the connections that have begun and have something left to send."""
        every = enumerate(zip(self.begins_ns, self.left, strict=True))
        return [i for i, (at, left) in every if at <= now and (left is None or left > 0)]

    def take(self, lot: random.Random, now: int) -> tuple[int, int, int] | None:
        """Return (connection, sequence, payload) of the next frame, or None when there is none."""
        if self.again:
            return self.again.pop(0)
        open_ = self.open(now)
        if not open_:
            return None
        chosen = lot.choice(open_)
        left = self.left[chosen]
        full = segment_bytes(self.flow.mtu)
        payload = full if left is None else min(full, left)
        self.left[chosen] = None if left is None else left - payload
        sequence = self.next_sequence[chosen]
        self.next_sequence[chosen] += payload
        return chosen, sequence, payload


@dataclass(slots=True)
class Loader(Sender):
    """A flow that loads pages: one connection after the other, each with the whole page.

    began_ns: when each load so far began. waits_ns: until the first frame of each.
    """

    began_ns: list[int] = field(default_factory=list)
    waits_ns: list[int] = field(default_factory=list)

    @property
    def begins_ns(self) -> list[int]:
        """When the first frame of each load that has begun can be sent."""
        return [at + wait for at, wait in zip(self.began_ns, self.waits_ns, strict=False)]

    def open(self, now: int) -> list[int]:
        """Return the load that is under way and has something left to send."""
        every = enumerate(zip(self.begins_ns, self.left, strict=False))
        return [i for i, (at, left) in every if at <= now and left]

    def passed(self, frame: Frame) -> None:
        """Begin the next load, after its pause, when a frame was the last one of a page."""
        workload, number = self.flow.workload, len(self.began_ns)
        if not self.left[frame.connection] and not self.again and number < len(self.left):
            ended_ns = frame.sent_ns + self.flow.base_rtt_ns // 2
            self.began_ns.append(workload.load_begin_ns(number, self.flow.start_ns, ended_ns))


def _loader(flow: Flow, weight: float, loss: float, seed: int) -> Loader:
    """Return a flow of page loads, whose waits are handshakes, a request, and a lot."""
    versions = flow.workload.http_versions
    lot, loads = random.Random(f"{seed} {flow.name}"), len(versions)
    rounds = [2 if version == "h3" else 3 for version in versions]
    return Loader(
        flow,
        weight,
        loss,
        left=[(flow.workload.total_bytes(1) or 0) // loads] * loads,
        next_sequence=[1] * loads,
        began_ns=[flow.start_ns],
        waits_ns=[int(r * flow.base_rtt_ns * lot.uniform(1.0, 1.3)) for r in rounds],
    )


@dataclass(frozen=True, slots=True)
class Trace:
    """What passed each bottleneck, in order; when the cell ended (ns), and by what."""

    frames: dict[Place, list[Frame]]
    ended_ns: int
    ended_by: str


def simulate(cell: Cell) -> Trace:
    """Run the model over a cell; the same cell gives the same trace."""
    limits = [(cell.deadline_ns, "deadline")]
    if cell.duration_ns is not None:
        limits.insert(0, (cell.duration_ns, "duration"))
    end_ns, ended_by = min(limits)
    queues = sorted({flow.bottleneck for flow in cell.flows})
    frames = {queue: _serve(cell, queue, end_ns) for queue in queues}
    ends = {flow.name: _end_ns(flow, frames[flow.bottleneck]) for flow in cell.flows}
    finished = [end for end in ends.values() if end is not None]
    if cell.stop == "first" and finished:
        end_ns, ended_by = min(finished), "first"
    elif cell.duration_ns is None and len(finished) == len(ends):
        end_ns, ended_by = max(finished), "finished"
    return Trace(
        {q: [f for f in passed if f.sent_ns <= end_ns] for q, passed in frames.items()},
        end_ns,
        ended_by,
    )


def until_ns(flow: Flow) -> int | None:
    """Return when a flow stops sending whatever it has sent, ns; None: not before the cell ends."""
    workload, ends = flow.workload, [flow.stop_ns]
    if workload.time_limit_s is not None:
        ends.append(flow.start_ns + flow.base_rtt_ns + workload.time_limit_s * 10**9)
    return min((end for end in ends if end is not None), default=None)


def _end_ns(flow: Flow, frames: list[Frame]) -> int | None:
    """Return when the client of a flow had its last byte or stopped; None: not within the cell."""
    if (stop_ns := until_ns(flow)) is not None:
        return stop_ns
    workload = flow.workload
    wanted = workload.total_bytes(flow.connections)
    ends = workload.greedy or workload.measures_itself or workload.http_versions
    if wanted is None or not ends:
        return None
    delivered = [f for f in frames if f.flow.name == flow.name and not f.lost]
    if sum(f.payload for f in delivered) < wanted:
        return None
    return delivered[-1].sent_ns + flow.base_rtt_ns // 2


def _serve(cell: Cell, queue: Place, end_ns: int) -> list[Frame]:
    lot = random.Random(f"{cell.seed} {queue}")
    paths = Paths(cell)
    interface = paths.interfaces[queue]
    rate_bps = interface.shaper.rate_bps if interface.shaper else UNSHAPED_BPS
    is_bucket = interface.shaper is None or interface.shaper.transmitter is None
    waiting_ns = _limit_bytes(interface) * 8 * 10**9 // rate_bps // 2
    senders = [
        _sender(cell, flow, lot.uniform(0.8, 1.2), paths.loss(paths.behind(queue, flow)))
        for flow in cell.flows
        if flow.bottleneck == queue
    ]
    stops_ns = {s.flow.name: until_ns(s.flow) or end_ns for s in senders}
    began_ns = min(at for s in senders for at in s.begins_ns)
    now, frames = began_ns, []
    while now < end_ns:
        ready = [s for s in senders if now < stops_ns[s.flow.name] and (s.again or s.open(now))]
        if not ready:
            now = min((t for s in senders for t in s.begins_ns if t > now), default=end_ns)
            began_ns = now  # the queue has emptied
            continue
        sender = lot.choices(ready, [s.weight for s in ready])[0]
        taken = sender.take(lot, now)
        assert taken is not None, "a sender that is ready has a frame"
        connection, sequence, payload = taken
        frame_ns = (payload + HEADER_BYTES) * 8 * 10**9 // rate_bps
        entered_ns = now - min((now - began_ns) // 2, waiting_ns)
        left_ns, now = now, now + frame_ns
        if is_bucket:
            left_ns = now
        lost = lot.random() < sender.loss
        if lost:
            sender.again.append(taken)
        place = connection, sequence, payload
        frames.append(Frame(sender.flow, *place, entered_ns, left_ns, now, lost))
        if isinstance(sender, Loader):
            sender.passed(frames[-1])
    return frames


def _sender(cell: Cell, flow: Flow, weight: float, loss: float) -> Sender:
    workload = flow.workload
    if workload.http_versions:
        return _loader(flow, weight, loss, cell.seed)
    total = workload.total_bytes(flow.connections)
    sized = total is not None and (workload.greedy or workload.measures_itself)
    wanted = -(-total // flow.connections) if total is not None and sized else None
    return Sender(
        flow, weight, loss, [wanted] * flow.connections, next_sequence=[1] * flow.connections
    )


def _limit_bytes(interface: Interface) -> int:
    if interface.queue is None:
        return interface.frame_bytes
    if interface.queue.limit_bytes is not None:
        return interface.queue.limit_bytes
    return (interface.queue.limit_packets or 1) * interface.frame_bytes
