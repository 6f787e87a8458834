"""Applications as their users saw them: videos that play and stall, requests and their answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairc.runtime.arrays import Floats

from .artefacts import NS, US, ArtefactError, field


@dataclass(frozen=True, slots=True)
class Video:
    """One video as its player showed it, until `until_s`; times in s after the epoch.

    asked_s: when its connection was opened. started_s: when it first played, None if it never did.
    stalls_s: (begin, end) of each stall; one still under way at `until_s` ends there. ended:
    whether it played to its end.
    """

    connection: int
    asked_s: float
    started_s: float | None
    stalls_s: tuple[tuple[float, float], ...]
    ended: bool
    until_s: float

    @property
    def startup_s(self) -> float | None:
        """Time from asking for the video until it played, s; None if it never did."""
        return None if self.started_s is None else self.started_s - self.asked_s

    @property
    def qoe(self) -> float | None:
        """Quality of experience, 1.5 to 5; None for a video that never started.

        3.50 exp(-(0.15 L + 0.19) N) + 1.50 with N stalls of mean length L, s (Sanhaji et al.,
        ConEx Performance Evaluation and Application to Video Streaming, 2015, after Hossfeld et
        al., Internet Video Delivery in YouTube, 2013).
        """
        if self.started_s is None:
            return None
        # N (0.15 L + 0.19) with N L = time stalled.
        return 3.5 * math.exp(-(0.15 * self.stalled_s + 0.19 * len(self.stalls_s))) + 1.5

    @property
    def stalled_s(self) -> float:
        """Total time stalled, s."""
        return sum(end - begin for begin, end in self.stalls_s)


@dataclass(frozen=True, slots=True)
class Transfers:
    """Short transfers: when each began, s after the epoch, and how long it took, s.

    start_s, duration_s: of those that were completed. unfinished_s: start of the others.
    """

    start_s: Floats
    duration_s: Floats
    unfinished_s: Floats


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests that were begun, in order of their start; columns of shape (requests,).

    connection, number: stream of requests, and the request's number in it. start_s: after the
    epoch.
    duration_s: until the last byte; NaN for one that was not answered in full. bytes: of the
    answer, or what had arrived of it. late_s: how late each stream began a request at worst.
    """

    connection: NDArray[np.int64]
    number: NDArray[np.int64]
    start_s: Floats
    duration_s: Floats
    bytes: NDArray[np.int64]
    late_s: Floats

    def __len__(self) -> int:
        return len(self.start_s)

    @property
    def transfers(self) -> Transfers:
        """These requests as transfers."""
        ended = ~np.isnan(self.duration_s)
        return Transfers(self.start_s[ended], self.duration_s[ended], self.start_s[~ended])


def videos(
    events: Iterable[Mapping[str, Any]], asked_s: Mapping[int, float], until_s: float, file: str
) -> tuple[Video, ...]:
    """Return the videos of a flow, one per connection of `asked_s` (when it was opened).

    events: `playing`, `stalled` and `played` of the client. until_s: when the flow was stopped or
    the cell ended; later events are not counted. Raises ArtefactError for an order of events that
    no player produces.
    """
    seen: dict[int, list[tuple[float, str]]] = {connection: [] for connection in asked_s}
    # Events are written when the player's program next wakes up; those of one time keep the file's
    # order.
    for event in sorted(events, key=lambda e: e["t_ns"]):
        connection, at_s = field(event, "connection", file), event["t_ns"] * NS
        if connection not in seen:
            raise ArtefactError(f"{file}: connection {connection} plays, but was never opened")
        if at_s <= until_s:
            seen[connection].append((at_s, str(event["event"])))
    return tuple(
        _video(connection, asked_s[connection], moments, until_s, file)
        for connection, moments in sorted(seen.items())
    )


_FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "": ("playing",),
    "playing": ("stalled", "played"),
    "stalled": ("playing",),
    "played": (),
}


def _video(
    connection: int,
    asked_s: float,
    moments: Sequence[tuple[float, str]],
    until_s: float,
    file: str,
) -> Video:
    state, started_s, stalls = "", None, list[tuple[float, float]]()
    for at_s, event in moments:
        if event not in _FOLLOWS[state]:
            after = f"after {state!r}" if state else "at first"
            raise ArtefactError(f"{file}: connection {connection} is {event!r} {after}")
        if event == "playing" and started_s is None:
            started_s = at_s
        elif event == "playing":
            stalls[-1] = (stalls[-1][0], at_s)
        elif event == "stalled":
            stalls.append((at_s, until_s))
        state = event
    return Video(connection, asked_s, started_s, tuple(stalls), state == "played", until_s)


def requests(
    fetched: Sequence[Mapping[str, Any]],
    unfinished: Sequence[Mapping[str, Any]],
    asked: Sequence[Mapping[str, Any]],
    file: str,
) -> Requests:
    """Return the requests of a flow from its client's events, by name. Raises ArtefactError."""

    def column(events: Sequence[Mapping[str, Any]], key: str) -> NDArray[np.int64]:
        return np.array([field(e, key, file) for e in events], np.int64)

    def both(key: str) -> NDArray[np.int64]:
        return np.concatenate([column(fetched, key), column(unfinished, key)])

    opened_ns, number = both("opened_ns"), both("request")
    done_ns = np.array([e["t_ns"] for e in fetched], np.int64)
    if (done_ns < opened_ns[: len(done_ns)]).any():
        raise ArtefactError(f"{file}: a request was answered before it was begun")
    duration_s = np.full(len(opened_ns), np.nan)
    duration_s[: len(done_ns)] = (done_ns - opened_ns[: len(done_ns)]).astype(np.float64) * NS
    connection, size = both("connection"), both("bytes")
    order = np.lexsort((number, connection, opened_ns))
    return Requests(
        connection=connection[order],
        number=number[order],
        start_s=opened_ns[order].astype(np.float64) * NS,
        duration_s=duration_s[order],
        bytes=size[order],
        late_s=column(asked, "late_us").astype(np.float64) * US,
    )


NO_REQUESTS = requests([], [], [], "")
