"""`load`: a client loads a page, each time over a new connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from fairc.cell.workloads import BROWSER as PROGRAM
from fairc.cell.workloads import LoadWorkload, PageObject
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entries, Parameter, Use
from fairc.dsl.core.kinds import A_POSITIVE_TIME, Quantities, Words
from fairc.dsl.core.problems import fail
from fairc.dsl.core.units import NUMBER
from fairc.dsl.model import Distribution, Flow, Input, OnPath, Page, Workload
from fairc.words.distributions import A_RANDOM_TIME, distribution, mean
from fairc.words.draws import draw
from fairc.words.pages.page import PAGES, page_of

from .workload import NS, WorkloadEntry

Client = Literal["chromium", "plain"]
HttpVersion = Literal["h1", "h2", "h3"]

MIN_TIMEOUT_NS = 60 * NS
TIMEOUT_FACTOR = 10
ROUND_TRIPS = 4
"""Round trips at the start of a connection: TCP, TLS, the request, and one for slow start."""

OWN_NS = 30 * NS
"""Time for a browser to start and to stop around each load."""

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
TIMEOUT = Parameter(
    "timeout",
    A_POSITIVE_TIME,
    "a load that takes longer has failed",
    otherwise="by its size",
)


@dataclass(frozen=True)
class Load(Workload):
    """The workload `load`: a page, loaded repeatedly, with pauses (s).

    http: h3: the first load is over h2, and learns of h3. timeout_ns: None: by the page's size.
    """

    page: Page
    client: Client
    http: HttpVersion
    loads: int
    idle: Distribution
    timeout_ns: int | None
    kind = "load"
    noun = "page loads"
    only_in_packets = "page loads"

    @property
    def programs(self) -> frozenset[str]:
        """A browser, unless a client without one loads the page."""
        return frozenset() if self.client == "plain" else frozenset({PROGRAM})

    @property
    def protocols(self) -> tuple[HttpVersion, ...]:
        """The HTTP version of each load."""
        versions: list[HttpVersion] = [self.http] * self.loads
        if self.http == "h3":
            versions[0] = "h2"
        return tuple(versions)

    @property
    def size_bytes(self) -> int:
        """Bytes of all loads."""
        return self.page.size_bytes * self.loads

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The recording of the page, if there is one."""
        return (self.page.file,) if self.page.file else ()

    @property
    def draws_pauses(self) -> bool:
        """Whether the pauses between its loads are drawn."""
        return self.loads > 1 and self.idle.kind != "constant"

    def own_time_ns(self, path: OnPath) -> int:
        """Return the time of all loads and (on average) their pauses, one after the other, ns."""
        pauses_ns = int((self.loads - 1) * mean(self.idle) * NS)
        return pauses_ns + self.loads * self.load_ns(path)

    def load_ns(self, path: OnPath) -> int:
        """Return what one load needs alone: its bytes at the bottleneck's rate, its round trips,
        ns.
        """
        moving_ns = self.page.size_bytes * 8 * NS // path.rate_bps if path.rate_bps else 0
        return moving_ns + (ROUND_TRIPS + self.page.depth) * path.base_rtt_ns

    def latest_ns(self, path: OnPath) -> int:
        """Return the time after which a load has failed, ns: as written, else 10 times what it
        needs, >= 60 s.
        """
        if self.timeout_ns is not None:
            return self.timeout_ns
        return max(MIN_TIMEOUT_NS, TIMEOUT_FACTOR * self.load_ns(path))

    def patience_ns(self, path: OnPath) -> int:
        """Return how long all loads take at most, without their pauses, ns."""
        return self.loads * (self.latest_ns(path) + OWN_NS)

    def pauses_ns(self, flow: Flow, seed: int) -> tuple[int, ...]:
        """Return the pause before each load, ns: the first has none, each other draws its own."""
        drawn = (draw(self.idle, seed, "idle", flow.name, str(k)) for k in range(1, self.loads))
        return (0, *(round(pause * NS) for pause in drawn))

    def lower(self, path: OnPath, seed: int, shared: Mapping[str, Any]) -> LoadWorkload:
        """Return its part of the plan."""
        return LoadWorkload(
            page=_objects(self.page),
            client=self.client,
            protocols=self.protocols,
            idle_ns=self.pauses_ns(path.flow, seed),
            timeout_ns=self.latest_ns(path),
            quic_parameters=dict(path.flow.quic_parameters),
        )


@lru_cache(1024)
def _objects(page: Page) -> tuple[PageObject, ...]:
    return tuple(
        PageObject(path=o.path, bytes=o.size_bytes, type=o.type, parent=o.parent)
        for o in page.objects
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
    timeout = use.given(TIMEOUT)
    return Load(
        page=page_of(use[PAGE]),
        client=client or browser or CLIENT.fallback,
        http=use[HTTP],
        loads=use[LOADS].whole,
        idle=distribution(use[IDLE]),
        timeout_ns=(timeout.ns or None) if timeout is not None else None,
    )


LOAD = WorkloadEntry(
    name="load",
    summary="A client loads a page, each time over a new connection",
    parameters=(PAGE, CLIENT, BROWSER, HTTP, LOADS, IDLE, TIMEOUT),
    build=_build,
)
