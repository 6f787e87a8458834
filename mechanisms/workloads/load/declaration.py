"""Declaration of `load`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from fairc.cell.frames import QUIC_BYTES
from fairc.dsl.core.diagnostics import Diagnostic, Label, warning
from fairc.dsl.core.entries import Entries, Parameter, Use
from fairc.dsl.core.kinds import A_POSITIVE_TIME, Quantities, Words
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER
from fairc.dsl.model import Distribution, Flow, Input, Page, Path, Refusal, Workload
from fairc.mechanisms.workloads.workload import NS, Quantify, WorkloadEntry
from fairc.words.distributions import A_RANDOM_TIME, distribution, draw, is_drawn, mean
from fairc.words.pages.page import PAGES, page_of

from .cell import LoadWorkload

Client = Literal["chromium", "plain"]
HttpVersion = Literal["h1", "h2", "h3"]

MIN_TIMEOUT_NS = 60 * NS
TIMEOUT_FACTOR = 10
ROUND_TRIPS = 4
"""Round trips at the start of a connection: TCP, TLS, the request, and one for slow start."""

CHROMIUM_BYTES = 1250
"""With which Chromium begins over QUIC (kDefaultMaxPacketSize), whatever the route says; else it
falls back to TCP.
"""

OWN_NS = 30 * NS
"""Time for a browser to start and to stop around each load."""

NOT_FOR_BROWSERS: Mapping[str, str] = {
    "window": "a browser chooses its own receive window",
    "fast_open": "Chromium no longer supports TCP Fast Open",
}
SENSELESS: Mapping[str, str] = {
    "count": "a client opens as many connections as it needs; for several clients write `users`",
    "rate": "a web server sends as fast as its CCA lets it",
    "over": "`http` decides this: h1 and h2 are over TCP, h3 is over QUIC",
}

_CLIENT: Words[Client] = Words("client", ("chromium", "plain"))
_BROWSER: Words[Client] = Words("browser", ("chromium",))
_HTTP: Words[HttpVersion] = Words("HTTP version", ("h1", "h2", "h3"))

PAGE = Parameter("page", Entries(PAGES), "what is loaded", required=True)
CLIENT = Parameter("client", _CLIENT, "a browser, or `plain`: none", "chromium")
BROWSER = Parameter("browser", _BROWSER, "the same as `client`")
HTTP = Parameter("http", _HTTP, "HTTP version", "h2")
MOST_LOADS = 100
LOADS = Parameter(
    "loads",
    Quantities((NUMBER,), low=1, high=MOST_LOADS, whole=True),
    "number of loads, one after the other",
    "1",
)
IDLE = Parameter("idle", A_RANDOM_TIME, "pause between loads", "0s")
EVERY = Parameter(
    "every",
    A_POSITIVE_TIME,
    "time from the begin of a load to that of the next; one that takes longer delays the next",
    otherwise="as soon as the last has ended and `idle` is over",
)
TIMEOUT = Parameter(
    "timeout",
    A_POSITIVE_TIME,
    "a load that takes longer has failed",
    otherwise="by its size",
)


@dataclass(frozen=True)
class Load(Workload):
    """The workload `load`: a page, loaded repeatedly, with pauses (s).

    part: with no pause between its loads. http: h3: the first load is over h2, and learns of h3.
    timeout_ns: None: by the page's size.
    """

    part: LoadWorkload
    page: Page
    http: HttpVersion
    idle: Distribution
    timeout_ns: int | None
    noun = "page loads"
    only_in_packets = "page loads"
    senseless = SENSELESS

    @property
    def page_loads(self) -> int:
        """The number of its page loads."""
        return len(self.part.protocols)

    @property
    def needs_quic(self) -> str:
        """The reason why its CCA must exist over QUIC besides TCP; empty: it need not."""
        h3 = self.http == "h3"
        return "`http: h3` needs a CCA that exists over TCP and over QUIC" if h3 else ""

    @property
    def quic_datagram_bytes(self) -> int:
        """The smallest maximum datagram size of its loads over HTTP/3, bytes; 0: there are none."""
        if "h3" not in self.part.protocols:
            return 0
        return CHROMIUM_BYTES if self.part.client == "chromium" else QUIC_BYTES

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The recording of the page, if there is one."""
        return (self.page.file,) if self.page.file else ()

    @property
    def draws_pauses(self) -> bool:
        """Whether the pauses between its loads are drawn."""
        return self.page_loads > 1 and is_drawn(self.idle)

    def refused(self, flow: Flow, given: Collection[str]) -> Iterator[Refusal]:
        """Yield the keys that a browser does not obey."""
        for key, why in NOT_FOR_BROWSERS.items():
            off = key == "fast_open" and not flow.options.fast_open
            if self.part.client != "plain" and key in given and not off:
                help = "leave it out, or write `client: plain`"
                yield Refusal(key, f"`{key}` cannot be set for a browser", help, why)

    def warnings(self, at: Span) -> Iterator[Diagnostic]:
        """Yield what a recording lost, and that no load is over HTTP/3."""
        if self.page.file is not None and self.page.remarks:
            yield warning(
                "har-simplified",
                f"recording `{self.page.file.path}`: {'; '.join(self.page.remarks)}",
                self.page.span,
            )
        if self.http == "h3" and self.page_loads == 1:
            yield warning(
                "no-h3-load",
                "no load of this page is over HTTP/3",
                at,
                note="`http: h3` with one load",
                notes=(
                    "the first load is over h2, as in a browser that does not know the server yet",
                ),
                help="write `loads: 2` or more, and use the loads after the first",
            )

    def own_time_ns(self, flow: Flow, path: Path) -> int:
        """Return the time of all loads and (on average) their pauses, one after the other, ns."""
        load_ns, loads = self.load_ns(path), self.page_loads
        pauses_ns = int((loads - 1) * mean(self.idle) * NS)
        return max(pauses_ns + loads * load_ns, (loads - 1) * self.part.every_ns + load_ns)

    def load_ns(self, path: Path) -> int:
        """Return what one load needs alone: its bytes at the bottleneck's rate, its round trips,
        ns.
        """
        moving_ns = self.page.size_bytes * 8 * NS // path.rate_bps if path.rate_bps else 0
        return moving_ns + (ROUND_TRIPS + self.page.depth) * path.base_rtt_ns

    def latest_ns(self, path: Path) -> int:
        """Return the time after which a load has failed, ns: as written, else 10 times what it
        needs, >= 60 s.
        """
        if self.timeout_ns is not None:
            return self.timeout_ns
        return max(MIN_TIMEOUT_NS, TIMEOUT_FACTOR * self.load_ns(path))

    def patience_ns(self, path: Path) -> int:
        """Return how long all loads take at most, without their pauses, ns."""
        return self.page_loads * (max(self.latest_ns(path), self.part.every_ns) + OWN_NS)

    def pauses_ns(self, flow: Flow, seed: int) -> tuple[int, ...]:
        """Return the pause before each load, ns: the first has none, each other draws its own."""
        later = range(1, self.page_loads)
        drawn = (draw(self.idle, seed, "idle", flow.name, str(k)) for k in later)
        return (0, *(round(pause * NS) for pause in drawn))

    def lower(self, flow: Flow, path: Path, seed: int, shared: Mapping[str, Any]) -> LoadWorkload:
        """Return its part of the plan."""
        return replace(
            self.part,
            idle_ns=self.pauses_ns(flow, seed),
            timeout_ns=self.latest_ns(path),
            quic_parameters=dict(flow.quic_parameters),
        )


def _build(use: Use[WorkloadEntry]) -> Load:
    client, browser = use.given(CLIENT), use.given(BROWSER)
    if client is not None and browser is not None:
        fail(
            "duplicate-argument",
            "`client` and `browser` both choose who loads the page",
            use.span_of(BROWSER),
            labels=(Label(use.span_of(CLIENT), "given here, too"),),
            help="keep `client`: `chromium` is a browser, `plain` a client without one",
        )
    timeout, every = use.given(TIMEOUT), use.given(EVERY)
    page, http, loads = page_of(use[PAGE]), use[HTTP], use[LOADS].whole
    timeout_ns = (timeout.ns or None) if timeout is not None else None
    part = LoadWorkload(
        page=page.objects,
        client=client or browser or CLIENT.fallback,
        protocols=tuple("h2" if http == "h3" and not i else http for i in range(loads)),
        idle_ns=(0,) * loads,
        every_ns=every.ns if every is not None else 0,
        timeout_ns=timeout_ns or MIN_TIMEOUT_NS,
    )
    return Load(part, page, http, distribution(use[IDLE]), timeout_ns)


def _sentence(load: LoadWorkload, quantity: Quantify) -> str:
    objects, loads = len(load.page), len(load.protocols)
    size = quantity(sum(item.bytes for item in load.page), "B")
    page = f"a page of {objects} object{'s' * (objects > 1)} and {size}"
    who = "Chromium" if load.client == "chromium" else "a client without a browser"
    over = " and ".join(sorted(set(load.protocols)))
    return f"{loads} load{'s' * (loads > 1)} of {page} in {who} over {over}"


DECLARATION = WorkloadEntry(
    name="load",
    summary="A client loads a page, each time over a new connection",
    parameters=(PAGE, CLIENT, BROWSER, HTTP, LOADS, IDLE, TIMEOUT, EVERY),
    build=_build,
    sentence=_sentence,
    needs_tcp="a page needs a CCA over TCP; every page starts over TCP: with `http: h3`, the first"
    " load learns of QUIC",
    initial_window_packets=32,  # of the servers of Thomas et al., and of large web servers today
)
