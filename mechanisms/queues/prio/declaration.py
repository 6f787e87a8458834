"""Declaration and lowering of `prio`."""

from __future__ import annotations

from functools import reduce

from fairc.dsl.core.entries import Entries, Parameter, Use
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import added, keep_order
from fairc.dsl.model import Queue
from fairc.mechanisms.queues.discipline import Discipline, LinkQueue, queue_of
from fairc.words.dscp import CODE_POINTS

from .cell import MOST_BANDS, Band, Prio

BANDS: Registry[Discipline] = Registry("queue within `prio`", "queue", ())
"""The queues that a band can be: they keep the order of each flow, and do not look at classes."""

PARAMETERS = tuple(
    Parameter(
        name,
        Entries(BANDS),
        f"queue of packets with `{name}`" + ", or with a code point without one" * (not code_point),
        required=code_point == 0,
    )
    for name, code_point in CODE_POINTS.items()
)


def _read(use: Use[Discipline], span: Span) -> Queue:
    """Return its bands in the order in which they are written. Raises CompileError."""
    bands = {}
    for name, band in use.typed.items():
        assert isinstance(band, Use)
        bands[CODE_POINTS[name]] = queue_of(band, band.span)
    if len(bands) < 2:
        fail(
            "one-band",
            "`prio` with one queue has nothing to put first",
            span,
            help="give another class a queue in front of it, such as"
            " `prio(ef: fifo(100pkt), cs0: fifo(1000pkt))`, or write the queue alone",
        )
    if len(bands) > MOST_BANDS:
        fail(
            "too-many-arguments",
            f"`prio` has {len(bands)} queues, and Linux allows {MOST_BANDS}",
            span,
            help="leave out classes that may wait with `cs0`",
        )
    size = reduce(lambda a, b: added(a, b, span), (band.size for band in bands.values()))
    return Queue(use.entry.name, size, span, bands=bands)


def _lower(given: LinkQueue) -> Prio:
    return Prio(
        limit_bytes=given.limit.limit_bytes,
        limit_packets=given.limit.limit_packets,
        bands=tuple(Band(code_point=point, queue=made) for point, made in given.bands.items()),
    )


DECLARATION = Discipline(
    part=Prio,
    inner=BANDS,
    name=keep_order("prio"),
    summary=(
        "Strict priority: a queue for each code point, the first that is written is served first;"
        " other code points wait with `cs0`"
    ),
    parameters=PARAMETERS,
    read=_read,
    lower=_lower,
    order="flows",
    probes={"prio": "bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"},
    modules=("sch_prio", "cls_flower"),
)
