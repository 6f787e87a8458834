"""A closed set of words: each name occurs once, and an unknown one is answered with the choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, NoReturn, Protocol, TypeVar, cast

from . import plugins
from .diagnostics import CompileError, Diagnostic
from .source import Span


class Named(Protocol):
    """Anything that a registry can hold."""

    @property
    def name(self) -> str:
        """The word that stands for it in the language."""
        ...


T = TypeVar("T", bound=Named)

ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "accecn": ("accurate",),
    "algorithm": ("cca",),
    "alpha": ("shape",),
    "aqm": ("queue",),
    "arrival": ("every",),
    "arrivals": ("every",),
    "average": ("mean",),
    "avg": ("mean",),
    "bandwidth": ("rate", "down"),
    "bbr1": ("bbr",),
    "bbr2": ("bbr3",),
    "bbrv1": ("bbr",),
    "bbrv2": ("bbr3",),
    "bbrv3": ("bbr3",),
    "buffer": ("queue",),
    "bulk_transfer": ("bulk",),
    "bulksend": ("bulk",),
    "bw": ("rate",),
    "capacity": ("rate",),
    "cc": ("cca",),
    "chrome": ("chromium",),
    "clients": ("users",),
    "completion_time": ("fct",),
    "congestion": ("cca",),
    "congestion_control": ("cca",),
    "delay": ("rtt",),
    "dest": ("to",),
    "discard": ("warmup",),
    "destination": ("to",),
    "disabled": ("off",),
    "downlink": ("down",),
    "download": ("file",),
    "downstream": ("down",),
    "drop": ("loss",),
    "drop_rate": ("loss_rate",),
    "drops": ("loss_rate",),
    "duration": ("length", "time"),
    "droptail": ("fifo",),
    "dst": ("to",),
    "dup": ("duplicate",),
    "ect0": ("on",),
    "ect1": ("accurate",),
    "enabled": ("on",),
    "end": ("stop",),
    "end_time": ("stop",),
    "fairness_index": ("fairness",),
    "false": ("off",),
    "flow_completion_time": ("fct",),
    "ftp": ("bulk",),
    "greedy": ("bulk",),
    "http": ("load",),
    "init_cwnd": ("initial_window",),
    "initcwnd": ("initial_window",),
    "interarrival": ("every",),
    "interval": ("every",),
    "iterations": ("repeat",),
    "iw": ("initial_window",),
    "jain": ("jain_session", "fairness"),
    "jain_index": ("jain",),
    "jains_index": ("jain",),
    "l4s": ("accurate",),
    "latency": ("delay", "rtt"),
    "length": ("duration",),
    "limit": ("size",),
    "loss_probability": ("loss",),
    "max_p": ("pmax",),
    "max_th": ("max",),
    "maxp": ("pmax",),
    "maxth": ("max",),
    "median": ("p50",),
    "metrics": ("measure",),
    "min_th": ("min",),
    "minth": ("min",),
    "name": ("title",),
    "network": ("topology",),
    "new_reno": ("reno",),
    "newreno": ("reno",),
    "no": ("off",),
    "num_flows": ("count",),
    "packet_loss": ("loss_rate", "loss"),
    "parallel": ("count",),
    "p50": ("median",),
    "period": ("every",),
    "pfifo": ("fifo",),
    "pfifo_fast": ("fifo",),
    "plot": ("line",),
    "plr": ("loss",),
    "point_to_point": ("bottleneck",),
    "pointtopoint": ("bottleneck",),
    "poisson": ("exponential",),
    "priority": ("dscp",),
    "protocol": ("over",),
    "qdelay": ("queue_delay",),
    "qdisc": ("queue",),
    "queueing_time": ("queue_delay",),
    "random": ("uniform",),
    "rate": ("down", "every"),
    "rcvbuf": ("receive_buffer",),
    "rebuffering": ("stalls",),
    "rebuffers": ("stalls",),
    "receive_window": ("window",),
    "receiver": ("to",),
    "repetitions": ("repeat",),
    "retransmission_rate": ("retransmissions",),
    "retransmits": ("retransmissions",),
    "rtt": ("hop",),
    "runs": ("repeat",),
    "runtime": ("duration",),
    "rwnd": ("window",),
    "satellite": ("geo",),
    "saturating": ("bulk",),
    "scatter": ("line",),
    "sender": ("from",),
    "sigma": ("deviation",),
    "sink": ("to",),
    "size": ("workload", "limit"),
    "sndbuf": ("send_buffer",),
    "sojourn_time": ("queue_delay",),
    "src": ("from",),
    "start_time": ("start",),
    "std": ("deviation",),
    "stddev": ("deviation",),
    "stop_time": ("stop",),
    "tail_drop": ("fifo",),
    "tcp_rmem": ("receive_buffer",),
    "tcp_wmem": ("send_buffer",),
    "tcpbbr": ("bbr",),
    "tcpcubic": ("cubic",),
    "tcpnewreno": ("reno",),
    "time": ("duration",),
    "timeseries": ("line",),
    "tos": ("dscp",),
    "traffic": ("workload",),
    "transport": ("over",),
    "true": ("on",),
    "tso": ("offload",),
    "ttfb": ("ttr",),
    "uplink": ("up",),
    "upstream": ("up",),
    "vivace": ("pcc",),
    "wlan": ("wifi",),
    "yes": ("on",),
}
"""Words of other tools and papers, and what they are called here, the likeliest first."""

LISTED = 50
"""The most names that a message lists."""

COMPARED = 200
"""The most names of like length that are compared with an unknown one."""


class Registry(Generic[T]):
    """Entries of one kind by name.

    word: what an entry is called in messages (`CCA`); code: errors have the code `unknown-<code>`.
    misplaced: words that belong elsewhere, with the help that shows the right line.
    """

    def __init__(
        self, word: str, code: str, entries: Iterable[T], misplaced: Mapping[str, str] | None = None
    ) -> None:
        self.word = word
        self.code = code
        self._group = ""
        self._misplaced = dict(misplaced or {})
        self._entries: dict[str, T] = {}
        for entry in entries:
            self.register(entry)

    def register(self, entry: T) -> None:
        """Add an entry. Raises ValueError if its name is taken."""
        if entry.name in self._entries:
            raise ValueError(f"two entries are called {entry.name!r} among the {self.word}s")
        self._entries[entry.name] = entry

    def accept(self, group: str) -> None:
        """Also take other packages' entries: a group of entry points, loaded on first use."""
        self._group = group

    def extended(self, entries: Iterable[T]) -> Registry[T]:
        """Return a registry with more entries. Raises ValueError if one of their names is taken."""
        return Registry(self.word, self.code, (*self, *entries), self._misplaced)

    def _all(self) -> dict[str, T]:
        group, self._group = self._group, ""
        if group:
            kind = type(next(iter(self._entries.values())))
            for point, entry in plugins.load(group, kind):
                try:
                    self.register(cast(T, entry))
                except ValueError as error:
                    plugins.note(point, str(error))
                else:
                    plugins.note(point)
        return self._entries

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[T]:
        return iter(self._all().values())

    def __getitem__(self, name: str) -> T:
        """Return the entry of a name that has been checked. Raises KeyError.

        One of fairc's own needs no other package.
        """
        return self._entries[name] if name in self._entries else self._all()[name]

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._all())

    def get(self, name: str, span: Span, note: str = "") -> T:
        """Return the entry called `name`. Raises CompileError at `span` with the choices; note:
        what to say there if none is near.
        """
        if name in self._all():
            return self._entries[name]
        raise CompileError(
            [unknown(self.word, self.code, name, self.names(), span, self.misplaced(name), note)]
        )

    def misplaced(self, name: str) -> str | None:
        """Return the help for a word that belongs elsewhere, or None."""
        return self._misplaced.get(name)


def unknown(
    word: str,
    code: str,
    name: str,
    choices: Iterable[str],
    span: Span,
    help: str | None = None,
    note: str = "",
) -> Diagnostic:
    """Describe an unknown name, with the nearest choice as a suggestion."""
    known = sorted(set(choices))
    if word in ("metric", "figure"):
        help = help or plugins.offer(name)
    near = None if help else suggest(name, known)
    return Diagnostic(
        code=f"unknown-{code}",
        message=f"no {word} is called `{name}`",
        span=span,
        note=f"did you mean `{near}`?" if near else note,
        help=help or (f"known: {listed(known)}" if known else f"this file defines no {word}"),
    )


def refuse_unknown(word: str, code: str, name: str, choices: Iterable[str], span: Span) -> NoReturn:
    """Raise CompileError for an unknown name, with the nearest choice as a suggestion."""
    raise CompileError([unknown(word, code, name, choices, span)])


def listed(names: Sequence[str]) -> str:
    """Write names one after the other; of a great many, the first."""
    if len(names) <= LISTED:
        return ", ".join(names)
    return f"{', '.join(names[:LISTED])} and {len(names) - LISTED} more"


def suggest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that other tools call so, or the one nearest to a word; None if none is
    near enough.
    """
    choices = set(choices)
    for other in ELSEWHERE.get(word.lower(), ()):
        if other in choices:
            return other
    limit = max(1, len(word) // 3) if len(word) > 1 else 0
    similar = (
        choice
        for choice in choices
        if abs(len(choice) - len(word)) <= limit or (len(word) > 2 and choice.startswith(word))
    )
    ranked = sorted(
        (distance(word.lower(), choice.lower(), limit), not choice.startswith(word), choice)
        for choice in sorted(similar)[:COMPARED]
    )
    for found, no_prefix, choice in ranked:
        if found <= limit or not no_prefix:
            return choice
    return _jumbled(word.lower(), choices) or _part(word.lower(), choices)


def _jumbled(word: str, choices: Iterable[str]) -> str | None:
    """Return the only choice that begins alike and has the letters of a word, but for one of them,
    in an order one edit further away than `suggest` looks: `jane` for `jain`.
    """
    limit = len(word) // 3 + 1
    near = [
        choice
        for choice in choices
        if len(word) > 3
        and choice[:1].lower() == word[0]
        and max(_beyond(word, choice.lower()), _beyond(choice.lower(), word)) <= 1
        and distance(word, choice.lower(), limit) <= limit
    ]
    return near[0] if len(near) == 1 else None


def _beyond(a: str, b: str) -> int:
    """Return how many letters a text has more than another one."""
    return (Counter(a) - Counter(b)).total()


def _part(word: str, choices: Iterable[str]) -> str | None:
    """Return the longest choice that a word of several parts consists of in part: `cwnd` for
    `cwnd_mean`, `bbr` for `tcp_bbr`.
    """
    parts = f"_{word}_"
    found = [choice for choice in choices if len(choice) > 2 and f"_{choice.lower()}_" in parts]
    return max(found, key=lambda choice: (len(choice), choice), default=None)


def distance(a: str, b: str, limit: int) -> int:
    """Return the number of edits (insert, delete, replace, swap neighbours) from a to b.

    Anything above `limit` may come back as `limit + 1`.
    """
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        older, before, row = before, row, [i]
        for j, y in enumerate(b, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if older and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
