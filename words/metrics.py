"""The metrics: a line for each, with its sub-values and whatever else is known about it by its
name.

runtime/metrics has a module of each name with its formula, unit and source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fairc import mechanisms
from fairc.cell.workloads import BROWSER
from fairc.dsl.core.diagnostics import Diagnostic, Severity
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import (
    A_POSITIVE_SHARE,
    A_POSITIVE_TIME,
    A_TIME,
    Quantities,
    Texts,
    Words,
)
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import TIME
from fairc.dsl.model import Flow, MetricRequest

from . import metric_lacks as lacks
from .enters import OF_OWN_KERNELS
from .metric_entry import A_FLOW, FLOW, FROM, WINDOW, FlowTiming, MetricEntry, Need
from .transfers import check_transfers

P = Parameter

_FLOWS = P("flows", A_FLOW, "sessions that are compared; all flows if none is named", repeated=True)
_GAP = P(
    "gap",
    A_TIME,
    "longest pause between two packets of a burst",
    otherwise="a tenth of a full packet's time on the sender's link",
)
_SLOT = P("slot", A_POSITIVE_TIME, "length of a slot", "100ms")
_TWO = P(
    "groups", A_FLOW, "the two groups, of users or flows", repeated=True, required=True, count=2
)
# Of a group of users: what one of them gets, and what all of them get.
_OF_USERS = ("user", "group")
_OF_SUBFLOWS = "subflow"
_PERCENTILES = ("p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99")
_TRANSFERS = ("mean", *_PERCENTILES, "count", "unfinished")
# The shortest period of the endpoints (SHORTEST_PERIOD in endpoints/src/description.rs).
A_SAMPLE_TIME = Quantities((TIME,), low=Fraction(1, 10_000))

_SHARES_OF_STATE = (
    *("alpha", "slow_start", "css", "congestion_avoidance", "startup", "drain", "probe_bw"),
    *("probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up", "probe_rtt"),
    *("recovery", "default", "competitive"),
    *("reconnaissance", "unvalidated", "validating", "safe_retreat"),
)
_CWND_EVERY = P("every", A_SAMPLE_TIME, "time between samples, at least 100us", "100ms")


def _any(holds: Callable[[Flow], bool]) -> Callable[[Sequence[Flow]], bool]:
    return lambda flows: any(map(holds, flows))


def _records(kind: str) -> Callable[[Sequence[Flow]], bool]:
    return _any(lambda flow: flow.workload.part.records == kind)


_VIDEO = Need("plays a video", _records("videos"))
_MEDIA = Need("sends media", _records("captured"))
_FRAMES = (
    FLOW,
    P(
        "kind",
        Words("kind", ("video", "audio")),
        "which frames",
        otherwise="of the video, or without one of the audio",
    ),
    P("way", Words("way", ("down", "up")), "from the server to the client, or back", "down"),
)
_PROGRAM = Need("runs a program", _any(lambda flow: flow.workload.part.own_code is not None))
_LEFT_BEHIND = P("file", Texts(), 'its name, or `"client.stdout"`', required=True)
_LOAD = Need(
    "loads a page",
    _records("loads"),
    instead="of a file, `fct` is the time until its last byte; `workload = load(page(html: 30kB,"
    " objects: 40 of 20kB))` loads a page",
)
_BROWSER = Need(
    "loads a page in a browser",
    _any(lambda flow: BROWSER in flow.workload.part.programs),
)
_TRANSFER = Need(
    "moves a file or answers requests",
    _records("transfers"),
)
_SEVERAL = Need(
    "competes with another flow",
    lambda flows: len(flows) > 1,
    among="competes with another one of them",
)
_SHARED: Mapping[str, Any] = {"need": _SEVERAL, "of_cell": True, "packets": "flow"}
"""Of a value of all flows together that share a bottleneck."""
_CONNECTIONS = Need("has several connections", _any(lambda flow: flow.connections > 1))
_OTHERS = replace(_SEVERAL, of_all=True, otherwise="is 1")
_UDP = Need("runs over UDP", _any(lambda flow: flow.transport == "udp"))
_WINDOW = Need("has a window", _any(lambda flow: flow.transport != "udp"))
_STATE = Need(
    "has a CCA over QUIC, or `bbr` on your own kernel",
    _any(lambda flow: flow.transport == "quic"),
    own_kernel=_any(lambda flow: flow.transport == "tcp" and flow.cca in OF_OWN_KERNELS),
)
_ACKED = Need("has acknowledgements", _any(lambda flow: flow.transport != "udp"))
_ECN = Need("asks for ECN", _any(lambda flow: bool(flow.options.ecn)))
_RESENDS = Need("retransmits", _any(lambda flow: flow.transport != "udp"))


def _metric(
    name: str,
    unit: str,
    summary: str,
    *parameters: Parameter[Any],
    values: tuple[str, ...] = (),
    **known: Any,
) -> MetricEntry:
    return MetricEntry(
        name=name, summary=summary, parameters=parameters, values=values, unit=unit, **known
    )


def _check_recovery(request: MetricRequest, flows: Sequence[FlowTiming]) -> Iterator[Diagnostic]:
    """Yield why a request has no values: the flows end before a slot after the change has."""
    options = request.options
    slot_s, after_s = float(options.get("slot", 1)), float(options.get("after", 0))
    if "every" in options and float(options["every"]) < slot_s:
        yield Diagnostic(
            "out-of-range",
            "the time between changes is shorter than a slot",
            note=f"a slot is {slot_s:g} s",
            help="give a shorter `slot`",
        )
    ends_ns = [flow.ends_ns for flow in flows if flow.ends_ns is not None]
    span_s = max(slot_s, float(options.get("every", 0)))
    if flows and len(ends_ns) == len(flows) and max(ends_ns) < round((after_s + span_s) * 1e9):
        yield Diagnostic(
            "empty-window",
            "no flow lasts long enough after the change",
            note=f"a recovery is looked for until {after_s + span_s:g} s, and the last flow ends"
            f" after {max(ends_ns) / 1e9:g} s",
            help="name an earlier `after`, or make the cell longer",
        )


def _check_frames(request: MetricRequest, flows: Sequence[FlowTiming]) -> Iterator[Diagnostic]:
    """Yield which groups of pictures are longer than their flow, and deadlines that are."""
    deadline_s = float(request.options.get("deadline", 0))
    for flow in flows:
        if flow.ends_ns is None or flow.flow.workload.part.records != "captured":
            continue
        lasts_s = (flow.ends_ns - flow.begins_ns) / 1e9
        group_s = flow.flow.workload.group_s
        if group_s > lasts_s:
            yield Diagnostic(
                "group-too-long",
                f"a group of pictures of `{flow.flow.label}` does not end while it is measured",
                notes=(f"a group lasts {group_s:g} s, it is measured for {lasts_s:g} s",),
                help="write a shorter `group`, or make the cell longer",
                severity=Severity.WARNING,
            )
        if deadline_s >= lasts_s:
            yield Diagnostic(
                "empty-window",
                f"no frame of `{flow.flow.label}` is measured for as long as the deadline",
                notes=(f"the deadline is {deadline_s:g} s, it is measured for {lasts_s:g} s",),
                help="write a shorter `deadline`, or make the cell longer",
            )


LATENCY = (
    "the round trip of packets is `rtt`, their wait at the bottleneck is `queue_delay`, and the way"
    " of UDP datagrams from end to end takes `one_way_delay`"
)

METRICS: Registry[MetricEntry] = Registry(
    "metric",
    "metric",
    [
        _metric(
            "goodput",
            "bit/s",
            "Application bytes delivered per second",
            FLOW,
            *WINDOW,
            values=(*_OF_USERS, _OF_SUBFLOWS),
            over_time=True,
            values_over_time=(_OF_SUBFLOWS,),
            is_level=True,
            from_packets=frozenset({"goodput.subflow"}),
            better="more",
            lacks=lacks.any_of(lacks.groups, lacks.subflows),
        ),
        _metric(
            "share",
            "1",
            "A flow's part of what the flows got, and of its fair share",
            P(
                "flows",
                A_FLOW,
                "of what these got; of what all got if one or none is named",
                repeated=True,
            ),
            *WINDOW,
            values=("competing", "fair"),
            need=_OTHERS,
            is_level=True,
            from_packets=frozenset({"share.fair"}),
            compared={"fair": "throughput"},
            alone=lambda flow: flow.workload.part.adapts,
        ),
        _metric(
            "throughput",
            "bit/s",
            "Frame bytes per second at the bottleneck's exit",
            FLOW,
            *WINDOW,
            values=_OF_USERS,
            is_level=True,
            packets="flow",
            better="more",
            lacks=lacks.groups,
        ),
        _metric(
            "utilization",
            "1",
            "Share of the bottleneck's rate that was used",
            *WINDOW,
            of_cell=True,
            is_level=True,
            packets="all",
        ),
        _metric(
            "rtt",
            "s",
            "Round-trip times of packets",
            FLOW,
            *WINDOW,
            values=("mean", "min", "base", *_PERCENTILES, _OF_SUBFLOWS),
            over_time=True,
            course="mean",
            is_level=True,
            not_levels=frozenset({"rtt.min", "rtt.base"}),
            outside_windows=frozenset({"base"}),
            better="less",
            lacks=lacks.any_of(lacks.subflows, lacks.round_trips),
        ),
        _metric(
            "srtt",
            "s",
            "Round-trip time as the sender smooths it",
            FLOW,
            *WINDOW,
            values=("mean", "min", *_PERCENTILES),
            need=_ACKED,
            outside_windows=frozenset({"min"}),
            over_time=True,
            course="mean",
            is_level=True,
            not_levels=frozenset({"srtt.min"}),
            lacks=lacks.own_stack,
        ),
        _metric(
            "cwnd",
            "packets",
            "Congestion window over time",
            FLOW,
            _CWND_EVERY,
            *WINDOW,
            values=("mean", *_PERCENTILES, "min", "max"),
            need=_WINDOW,
            over_time=True,
            course="mean",
            every=_CWND_EVERY,
            is_level=True,
            lacks=lacks.own_stack,
        ),
        _metric(
            "state",
            "bit/s",
            "State of the CCA, if it logs one: part of the time in each, and what it estimates",
            FLOW,
            _CWND_EVERY,
            *WINDOW,
            values=("max_bw", *_SHARES_OF_STATE),
            need=_STATE,
            over_time=True,
            course="max_bw",
            values_over_time=("alpha",),
            every=_CWND_EVERY,
            units=dict.fromkeys(_SHARES_OF_STATE, "1"),
            lacks=lacks.own_stack,
        ),
        _metric(
            "loss_rate",
            "1",
            "Share of packets lost",
            FLOW,
            *WINDOW,
            values=("total", "queue", "random"),
            is_level=True,
            packets="flow",
            better="less",
            lacks=lacks.lost,
        ),
        _metric(
            "marks",
            "1",
            "Share of the ECN-capable packets that the bottleneck marked",
            FLOW,
            *WINDOW,
            values=("count",),
            units={"count": "packets"},
            is_level=True,
            not_levels=frozenset({"marks.count"}),
            packets="flow",
            need=_ECN,
            lacks=lacks.at_queue,
        ),
        _metric(
            "retransmissions",
            "packets",
            "Retransmitted packets",
            FLOW,
            *WINDOW,
            values=("share",),
            need=_RESENDS,
            units={"share": "1"},
            from_packets=frozenset({"retransmissions.share"}),
            lacks=lacks.own_stack,
        ),
        _metric(
            "acks",
            "1",
            "ACKs for each packet with data",
            FLOW,
            *WINDOW,
            values=("count",),
            need=_ACKED,
            units={"count": "packets"},
            packets="flow",
            lacks=lacks.at_sender,
        ),
        _metric(
            "bursts",
            "packets",
            "Packets that leave their sender back to back",
            FLOW,
            _GAP,
            *WINDOW,
            values=("mean", *_PERCENTILES, "max", "count"),
            units={"count": "1"},
            packets="flow",
            lacks=lacks.at_sender,
        ),
        _metric(
            "limited",
            "1",
            "Share of time limited by something other than the network and the CCA",
            FLOW,
            *WINDOW,
            values=("window_cap", "receiver", "send_buffer", "application"),
            need=_WINDOW,
            lacks=lacks.any_of(lacks.own_stack, lacks.not_quic),
        ),
        _metric(
            "queue_delay",
            "s",
            "Time packets wait at the bottleneck",
            FLOW,
            *WINDOW,
            values=("mean", *_PERCENTILES, "max"),
            is_level=True,
            packets="flow",
            better="less",
            lacks=lacks.at_queue,
        ),
        _metric(
            "fairness",
            "1",
            "Session fairness F, Jain's index, dominance",
            _FLOWS,
            _SLOT,
            *WINDOW,
            values=(
                *("F", "dominance", "jain_session", "jain_slots", "floor", "competition_time"),
                *("product", "epsilon_fairness"),
            ),
            signed=frozenset({"fairness", "fairness.F", "fairness.dominance"}),
            units={"competition_time": "s"},
            is_level=True,
            not_levels=frozenset({"fairness.floor", "fairness.competition_time"}),
            **_SHARED,
            lacks=lacks.any_of(
                lacks.sharing, lacks.of_two("F", "dominance", "floor"), lacks.fair_product
            ),
        ),
        _metric(
            "jain",
            "1",
            "Jain's index at every moment, among the flows that run",
            _FLOWS,
            _SLOT,
            *WINDOW,
            values=("mean", *_PERCENTILES, "min"),
            over_time=True,
            course="mean",
            is_level=True,
            **_SHARED,
            lacks=lacks.sharing,
        ),
        _metric(
            "connection_fairness",
            "1",
            "Jain's index among the connections of a flow",
            FLOW,
            _SLOT,
            *WINDOW,
            values=("jain_session", "jain_slots"),
            need=_CONNECTIONS,
            is_level=True,
            packets="flow",
            from_packets=frozenset(
                {"connection_fairness.jain_session", "connection_fairness.jain_slots"}
            ),
            lacks=lacks.at_queue,
        ),
        _metric(
            "fmp",
            "1",
            "Fairness Measurement Procedure over whole sessions",
            _FLOWS,
            _SLOT,
            P(
                "weights",
                Words("weights", ("linear", "quadratic", "harmonic")),
                "how much more early slots weigh",
                "linear",
            ),
            values=(
                *("fairness", "fairness_rel", "K", "K_rel", "K_pair"),
                *("jain", "product", "epsilon_fairness"),
            ),
            signed=frozenset({"fmp.K", "fmp.K_rel", "fmp.K_pair"}),
            **_SHARED,
            lacks=lacks.any_of(lacks.of_pairs, lacks.fair_product),
        ),
        _metric(
            "unfairness",
            "1",
            "Ratio between what users of two groups get",
            _TWO,
            *WINDOW,
            of_cell=True,
            is_level=True,
            packets="flow",
        ),
        *(each.ENTRY for each in mechanisms.load("devices", "metric_entry")),
        _metric(
            "convergence_time",
            "s",
            "Time until every session has its fair share",
            _FLOWS,
            P("tolerance", A_POSITIVE_SHARE, "how far from the fair share is fair", "10%"),
            P("over", A_POSITIVE_TIME, "window over which shares are taken", "1s"),
            _SLOT,
            *WINDOW,
            values=("reached", "held"),
            units=dict.fromkeys(("reached", "held"), "1"),
            **_SHARED,
            lacks=lacks.sharing,
        ),
        _metric(
            "recovery_time",
            "s",
            "Time from a change until a flow uses its link again",
            FLOW,
            P("after", A_TIME, "when the change is", required=True),
            P("every", A_POSITIVE_TIME, "time between changes", otherwise="one change"),
            P("to", A_POSITIVE_SHARE, "of the rate that the link then has", "80%"),
            P("slot", A_POSITIVE_TIME, "length of a slot", "1s"),
            values=("reached",),
            units={"reached": "1"},
            packets="flow",
            check=_check_recovery,
        ),
        _metric(
            "stationarity",
            "1",
            "Whether throughput is stationary after the warm-up",
            FLOW,
            _SLOT,
            *WINDOW,
            values=("statistic", "p", "autocorrelation"),
            signed=frozenset({"stationarity.autocorrelation"}),
            packets="flow",
        ),
        _metric(
            "plt",
            "s",
            "Page load time: loadEventEnd",
            FLOW,
            need=_LOAD,
            per_load=True,
            better="less",
        ),
        _metric(
            "ttr",
            "s",
            "Time to response: responseStart",
            FLOW,
            need=_LOAD,
            per_load=True,
            better="less",
        ),
        _metric(
            "connect",
            "s",
            "Time to connect for a page: connectEnd",
            FLOW,
            need=_LOAD,
            per_load=True,
            better="less",
        ),
        _metric(
            "fcp",
            "s",
            "First contentful paint of a page",
            FLOW,
            need=_BROWSER,
            per_load=True,
            better="less",
        ),
        _metric(
            "lcp",
            "s",
            "Largest contentful paint of a page",
            FLOW,
            need=_BROWSER,
            per_load=True,
            better="less",
        ),
        _metric("sequence", "B", "Bytes of a page load over time", FLOW, need=_LOAD, per_load=True),
        _metric(
            "json",
            "1",
            "A number in a JSON file that a program of a flow left behind",
            *(_LEFT_BEHIND, P("field", Texts(), 'where in it: `"timings.ttfb"`', required=True)),
            FLOW,
            need=_PROGRAM,
            signed=frozenset({"json"}),
        ),
        _metric(
            "number",
            "1",
            "A number that a program of a flow printed after a text",
            *(_LEFT_BEHIND, P("after", Texts(), "the text before it", required=True)),
            FLOW,
            need=_PROGRAM,
            signed=frozenset({"number"}),
        ),
        _metric(
            "cpu",
            "1",
            "Load of the machine's CPU during page loads",
            FLOW,
            need=_LOAD,
            per_load=True,
        ),
        _metric(
            "fct",
            "s",
            "Flow completion times of requests and files",
            FLOW,
            values=(*_TRANSFERS, *(f"group_{value}" for value in _TRANSFERS)),
            need=_TRANSFER,
            check=check_transfers,
            units=dict.fromkeys(("count", "unfinished", "group_count", "group_unfinished"), "1"),
            better="less",
            lacks=lacks.groups,
        ),
        _metric(
            "qoe",
            "1",
            "Quality of experience of a video",
            FLOW,
            need=_VIDEO,
            better="more",
        ),
        _metric(
            "stalls",
            "1",
            "Interruptions of a video",
            FLOW,
            values=("count", "time"),
            need=_VIDEO,
            units={"time": "s"},
            better="less",
        ),
        _metric(
            "frame_delay",
            "s",
            "Time from the capture of a frame to its complete reception",
            *_FRAMES,
            P("deadline", A_POSITIVE_TIME, "after which a frame is late", "150ms"),
            *WINDOW,
            values=("mean", *_PERCENTILES, "min", "max", "late"),
            units={"late": "1"},
            need=_MEDIA,
            is_level=True,
            not_levels=frozenset({"frame_delay.min"}),
            better="less",
            check=_check_frames,
        ),
        _metric(
            "frames",
            "1",
            "Frames and groups of pictures that were lost or cancelled",
            *_FRAMES,
            *WINDOW,
            values=("lost", "cancelled", "groups_lost", "groups_cancelled", "count", "groups"),
            need=_MEDIA,
            better="less",
            check=_check_frames,
        ),
        _metric(
            "freezes",
            "1",
            "Freezes of a video",
            FLOW,
            _FRAMES[-1],
            *WINDOW,
            values=("count", "time", "share"),
            units={"time": "s"},
            need=_MEDIA,
            better="less",
        ),
        _metric(
            "media_rate",
            "bit/s",
            "Rate of the frames that come whole",
            *_FRAMES,
            *WINDOW,
            values=("sent",),
            need=_MEDIA,
            is_level=True,
            better="more",
        ),
        _metric(
            "startup",
            "s",
            "Time until a video first plays; time, window and reason at which slow start ends",
            FLOW,
            _CWND_EVERY,
            values=("time", "cwnd", "by_loss", "by_mark", "by_itself"),
            units={"cwnd": "packets", "by_loss": "1", "by_mark": "1", "by_itself": "1"},
            every=_CWND_EVERY,
            better="less",
            lacks=lacks.start_up,
        ),
        _metric(
            "datagrams",
            "1",
            "Loss, reordering, duplicates and jitter of UDP datagrams",
            FLOW,
            values=("lost", "reordered", "duplicates", "jitter"),
            need=_UDP,
            units={"jitter": "s"},
        ),
        _metric(
            "one_way_delay",
            "s",
            "Time of UDP datagrams from the sending program to the receiver, over all hops",
            FLOW,
            *WINDOW,
            values=("mean", *_PERCENTILES, "min", "max"),
            need=_UDP,
            is_level=True,
            not_levels=frozenset({"one_way_delay.min"}),
            better="less",
        ),
    ],
    misplaced={
        "latency": LATENCY,
        "delay": LATENCY,
        "jitter": (
            "`datagrams.jitter` is that of a flow over UDP; for TCP and QUIC see `rtt` and"
            " `queue_delay`"
        ),
        **dict.fromkeys(
            ("mean", "median", "p50", "p90", "p95", "p99", "max", "min"),
            "a metric is measured in each repetition, and reports take the statistics over them;"
            " values over time within one are `rtt.p95`, `rtt.max`",
        ),
        "bandwidth": "payload received in time is `goodput`, bytes on the wire `throughput`",
        "loss": "the share of packets that a flow lost is `loss_rate`",
        "power": (
            "it is a custom metric: `metric power = goodput(f) / rtt.p95(f)`, and"
            " `measure = [power]`"
        ),
        "ratio": (
            "it is a custom metric: `metric ratio = goodput(a) / goodput(b)`, and"
            " `measure = [ratio]`"
        ),
    },
)

_COMPARED = {metric.name: metric.name for metric in METRICS if metric.better}

METRICS.register(
    _metric(
        "harm",
        "1",
        "Share of its performance that a flow loses beside others, against being alone",
        FLOW,
        *WINDOW,
        values=tuple(_COMPARED),
        signed=frozenset({"harm", *(f"harm.{name}" for name in _COMPARED)}),
        compared=_COMPARED,
        only_compares=True,
        is_level=True,
        not_levels=frozenset(f"harm.{m.name}" for m in METRICS if not m.is_level),
        outside_windows=frozenset(m.name for m in METRICS if FROM not in m.parameters),
    )
)

GROUP = "fairc.metrics"
"""Entry points of other packages' metrics."""

METRICS.accept(GROUP)
