"""The public interface for packages outside of fairc: everything else changes without notice.

    from fairc.api import MetricEntry, Parameter

Words: entries of the language, their parameters and diagnostics. The plan: cells, and what is in
them. Metrics: a cell as it was measured, and values. Figures: samples, marks, panels, captions.
Engines: results, and artefacts as they are read. docs/build/plugins.md says how a package adds
each of them.

A name is imported where it is first used: a package that declares a word loads neither numpy nor
matplotlib for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairc import __version__ as __version__

if TYPE_CHECKING:
    from fairc.cell.expansion import lower as _netems_below
    from fairc.cell.frames import frame_bytes as frame_bytes, segment_bytes as segment_bytes
    from fairc.cell.links import (
        IN_ORDER_BPS as IN_ORDER_BPS,
        Impairment as Impairment,
        lower_name as lower_name,
    )
    from fairc.cell.observation import PING_BYTES as PING_BYTES
    from fairc.cell.queues import queue_bytes as queue_bytes
    from fairc.compiler.plan import (
        Capture as Capture,
        Cell as Cell,
        FigureRequest as FigureRequest,
        Flow as Flow,
        Interface as Interface,
        MetricRequest as MetricRequest,
        Qdisc as Qdisc,
        Queue as Queue,
    )
    from fairc.compiler.targets import Target as Target
    from fairc.dsl.core.diagnostics import (
        Diagnostic as Diagnostic,
        Label as Label,
        Severity as Severity,
    )
    from fairc.dsl.core.entries import Entry as Entry, Parameter as Parameter, Use as Use
    from fairc.dsl.core.kinds import (
        A_COUNT as A_COUNT,
        A_POSITIVE_TIME as A_POSITIVE_TIME,
        A_PROBABILITY as A_PROBABILITY,
        A_RATE as A_RATE,
        A_TIME as A_TIME,
        Lists as Lists,
        Words as Words,
    )
    from fairc.dsl.model import MetricRequest as _SpecMetricRequest
    from fairc.mechanisms.queues.codel.cell import CoDel as CoDel
    from fairc.mechanisms.queues.discipline import (
        SIZE as _QUEUE_SIZE,
        Discipline as Discipline,
        LinkQueue as LinkQueue,
    )
    from fairc.mechanisms.queues.fifo.cell import Fifo as Fifo
    from fairc.mechanisms.queues.fq_codel.cell import FqCoDel as FqCoDel
    from fairc.runtime.engines import EngineKind as EngineKind
    from fairc.runtime.engines.base import (
        RawResult as RawResult,
        refuse_images as refuse_images,
        result as _raw_result,
    )
    from fairc.runtime.formatting import counted as counted
    from fairc.runtime.measurement import (
        FlowRecord as FlowRecord,
        Measurement as Measurement,
        headers as headers,
        pcap as pcap,
        round_trips as round_trips,
    )
    from fairc.runtime.measurement.paths import Paths as Paths, Place as Place
    from fairc.mechanisms.devices.pep.cell import Pep as Pep
    from fairc.mechanisms.devices.policer.cell import Policer as Policer
    from fairc.mechanisms.devices.policer.decisions import policed as _policed_packets
    from fairc.runtime.measurement.curves import Curve as Curve
    from fairc.runtime.measurement.results import MetricValue as MetricValue
    from fairc.runtime.metrics.base import (
        Metric as Metric,
        Presentation as Presentation,
        Value as Value,
        window as _seconds_measured,
    )
    from fairc.runtime.repetitions.reading import Outcome as Outcome
    from fairc.runtime.report.figures.base import (
        Drawing as Drawing,
        FigureKind as FigureKind,
        NothingToDraw as NothingToDraw,
        Subject as Subject,
    )
    from fairc.runtime.report.figures.chart import (
        WIDE_LEFT as WIDE_LEFT,
        Axis as Axis,
        Chart as Chart,
        Panel as Panel,
    )
    from fairc.runtime.report.figures.layout import Key as Key
    from fairc.runtime.report.figures.marks import (
        Band as Band,
        ErrorBars as ErrorBars,
        Line as Line,
        Mark as Mark,
        dots as dots,
    )
    from fairc.runtime.report.figures.query import in_order as in_order, load as _load_samples
    from fairc.runtime.report.figures.style import (
        INK as INK,
        LIMIT as LIMIT,
        MUTED as MUTED,
        SERIES as SERIES,
        Dash as Dash,
        colour as colour,
    )
    from fairc.runtime.report.figures.traces import representatives as representatives
    from fairc.runtime.report.figures.wording import worded as worded
    from fairc.runtime.report.run import Run as Run
    from fairc.words.ccas import TCP_CCAS as TCP_CCAS
    from fairc.words.figures import (
        FACET as _FIGURE_FACET,
        METRIC as _FIGURE_METRIC,
        WHERE as _FIGURE_WHERE,
        FigureEntry as FigureEntry,
    )
    from fairc.words.metric_entry import (
        A_FLOW as A_FLOW,
        FlowTiming as FlowTiming,
        MetricEntry as MetricEntry,
        Need as Need,
    )
    from fairc.words.metrics import A_SAMPLE_TIME as A_SAMPLE_TIME

    # A type checker takes no name as exported that has another one where it is from.
    netems_below = _netems_below
    SpecMetricRequest = _SpecMetricRequest
    QUEUE_SIZE = _QUEUE_SIZE
    raw_result = _raw_result
    policed_packets = _policed_packets
    seconds_measured = _seconds_measured
    load_samples = _load_samples
    FIGURE_FACET = _FIGURE_FACET
    FIGURE_METRIC = _FIGURE_METRIC
    FIGURE_WHERE = _FIGURE_WHERE

_PLACES = {
    # Words: entries of the language, and their parameters.
    "fairc.dsl.core.diagnostics": "Diagnostic Label Severity",
    "fairc.dsl.core.entries": "Entry Parameter Use",
    "fairc.dsl.core.kinds": "A_COUNT A_POSITIVE_TIME A_PROBABILITY A_RATE A_TIME Lists Words",
    "fairc.dsl.model": "MetricRequest:SpecMetricRequest",
    "fairc.words.metric_entry": "A_FLOW FlowTiming MetricEntry Need",
    "fairc.words.metrics": "A_SAMPLE_TIME",
    "fairc.words.figures": "FACET:FIGURE_FACET METRIC:FIGURE_METRIC WHERE:FIGURE_WHERE FigureEntry",
    "fairc.words.ccas": "TCP_CCAS",
    "fairc.mechanisms.queues.discipline": "SIZE:QUEUE_SIZE Discipline LinkQueue",
    # The plan: cells, and what is in one.
    "fairc.compiler.plan": ("Capture Cell FigureRequest Flow Interface MetricRequest Qdisc Queue"),
    "fairc.mechanisms.devices.pep.cell": "Pep",
    "fairc.mechanisms.devices.policer.cell": "Policer",
    "fairc.mechanisms.queues.codel.cell": "CoDel",
    "fairc.mechanisms.queues.fifo.cell": "Fifo",
    "fairc.mechanisms.queues.fq_codel.cell": "FqCoDel",
    "fairc.cell.expansion": "lower:netems_below",
    "fairc.cell.frames": "frame_bytes segment_bytes",
    "fairc.cell.links": "IN_ORDER_BPS Impairment lower_name",
    "fairc.cell.observation": "PING_BYTES",
    "fairc.cell.queues": "queue_bytes",
    "fairc.compiler.targets": "Target",
    # Metrics: a cell as it was measured, and values.
    "fairc.runtime.measurement": "FlowRecord Measurement headers pcap round_trips",
    "fairc.runtime.measurement.curves": "Curve",
    "fairc.runtime.measurement.results": "MetricValue",
    "fairc.runtime.metrics.base": "Metric Presentation Value window:seconds_measured",
    # Figures: samples, marks, panels, captions.
    "fairc.runtime.formatting": "counted",
    "fairc.runtime.repetitions.reading": "Outcome",
    "fairc.runtime.report.figures.base": "Drawing FigureKind NothingToDraw Subject",
    "fairc.runtime.report.figures.chart": "WIDE_LEFT Axis Chart Panel",
    "fairc.runtime.report.figures.layout": "Key",
    "fairc.runtime.report.figures.marks": "Band ErrorBars Line Mark dots",
    "fairc.runtime.report.figures.query": "in_order load:load_samples",
    "fairc.runtime.report.figures.style": "INK LIMIT MUTED SERIES Dash colour",
    "fairc.runtime.report.figures.traces": "representatives",
    "fairc.runtime.report.figures.wording": "worded",
    "fairc.runtime.report.run": "Run",
    # Engines: results, and artefacts as they are read (docs/reference/artefacts.md).
    "fairc.runtime.engines": "EngineKind",
    "fairc.runtime.engines.base": "RawResult refuse_images result:raw_result",
    "fairc.runtime.measurement.paths": "Paths Place",
    "fairc.mechanisms.devices.policer.decisions": "policed:policed_packets",
}
"""Modules, and what of each is in the interface; `own:name` where it has another name here."""

MODULES = {
    name.rpartition(":")[2]: (module, name.partition(":")[0])
    for module, names in _PLACES.items()
    for name in names.split()
}
"""Each name, and its module and its name there."""

if not TYPE_CHECKING:  # a type checker would take any name from it

    def __getattr__(name: str) -> object:
        """Import a name where it is first used. Raises AttributeError for any other name."""
        if name not in MODULES:
            raise AttributeError(f"`{name}` is not in the interface of fairc")
        module, own = MODULES[name]
        # As `from module import own` does: some of the names are modules of a package.
        found = globals()[name] = getattr(__import__(module, fromlist=[own]), own)
        return found

    def __dir__() -> list[str]:
        """Return the names of the interface."""
        return ["__version__", *MODULES]
