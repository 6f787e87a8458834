"""Queues from the language to `tc`: sizes, defaults, what is doubted."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from documents import queue_words, red_weight
from pydantic import TypeAdapter, ValidationError
from specs import compilation_of
from tables import rows

from fairc import dsl
from fairc.cell.queues import disciplines, queue_lines
from fairc.compiler import Cell, Compilation, plan
from fairc.compiler.plan import cell_json, parse_cell
from fairc.dsl.core.diagnostics import Severity
from fairc.mechanisms.queues.prio.cell import Prio
from fairc.mechanisms.queues.prio.declaration import BANDS
from fairc.mechanisms.queues.red.cell import Red
from fairc.mechanisms.queues.registry import QUEUES
from fairc.runtime.engines import host

ROOT = Path(__file__).parents[2]


def compilation(queue: str, rate: str = "12.112Mbit/s", loss: str = "0%") -> Compilation:
    """One flow over a link of 1000 full frames per second."""
    text = f"""fexp 1
experiment e {{
  topology = bottleneck(rate: {rate}, rtt: 40ms, loss: {loss}, queue: {queue})
  flow a {{ cca = cubic  workload = bulk }}
  duration = 60s
  measure = [goodput]
}}
"""
    return compilation_of(text)


def bottleneck(cell: Cell) -> plan.Interface:
    node, name = cell.flows[0].bottleneck
    return next(i for n in cell.nodes if n.name == node for i in n.interfaces if i.name == name)


def words(queue: str, **options: Any) -> str:
    """The bottleneck's queue as tc takes it."""
    interface = bottleneck(next(iter(compilation(queue, **options).cells())))
    assert interface.queue is not None
    assert interface.shaper is not None
    return queue_words(interface.queue, interface.shaper.rate_bps)


WRITTEN = """
fifo(20pkt) | pfifo limit 20
fifo(1bdp) | bfifo limit 60560
red(limit: 100ms, min: 10%, max: 100%, pmax: 100%, ecn: on) | gred vq 0 limit 151400 min 15140 max
    151400 avpkt 1514 burst 41 probability 0.9999999998 bandwidth 12112000bit ecn
red(100pkt, min: 10pkt, max: 50ms, pmax: 10%) | gred vq 0 limit 151400 min 15140 max 75700 avpkt
    1514 burst 25 probability 0.1000000000 bandwidth 12112000bit
red(120pkt) | gred vq 0 limit 181680 min 15140 max 45420 avpkt 1514 burst 18 probability
    0.0200000000 bandwidth 12112000bit
red(8750B) | gred vq 0 limit 8750 min 729 max 2187 avpkt 364 burst 5 probability 0.0200000000
    bandwidth 12112000bit
codel(100pkt) | codel limit 100 target 5ms interval 100ms noecn
codel(1bdp, target: 7ms) | codel limit 40 target 7ms interval 100ms noecn
fq_codel(15kB, interval: 50ms) | fq_codel limit 10 flows 1024 quantum 1514 target 5ms interval
    50ms memory_limit 33554432 drop_batch 64 ecn
fq_codel(10000pkt, flows: 16, ecn: off) | fq_codel limit 10000 flows 16 quantum 1514 target 5ms
    interval 100ms memory_limit 81920000 drop_batch 64 noecn
pie(50ms) | pie limit 50 target 15ms tupdate 15ms alpha 2 beta 20 noecn nobytemode
    no_dq_rate_estimator
fq_pie(50pkt, target: 20ms) | fq_pie limit 50 flows 1024 target 20ms tupdate 15ms alpha 2 beta 20
    quantum 1514 memory_limit 33554432 ecn_prob 10 noecn nobytemode no_dq_rate_estimator
fq | fq limit 1000 flow_limit 100 quantum 3028 initial_quantum 15140 buckets 1024 orphan_mask 1023
    nopacing
sfq(1515B) | sfq limit 2 flows 128 divisor 1024 depth 127 quantum 1514 perturb 0
cake(20pkt) | cake unlimited besteffort flows nowash no-ack-filter no-split-gso raw overhead 0 rtt
    100ms memlimit 46880
dualpi2(20pkt) | dualpi2 limit 20 memlimit 33554432 target 15ms tupdate 16ms alpha 0.160156 beta
    3.199219 step_thresh 1ms min_qlen_step 0 coupling_factor 2 drop_on_overload drop_dequeue
    classic_protection 10 l4s_ect no_split_gso
dualpi2(1bdp, target: 20ms, tupdate: 10ms, alpha: 1/s, beta: 5/s, coupling: 3, step: 5pkt,
    protection: 25%, l4s: any, drop: enqueue, overload: overflow) | dualpi2 limit 40 memlimit
    33554432 target 20ms tupdate 10ms alpha 1.000000 beta 5.000000 step_thresh 5p min_qlen_step 0
    coupling_factor 3 overflow drop_enqueue classic_protection 25 any_ect no_split_gso
"""


@pytest.mark.parametrize(("queue", "expected"), rows(WRITTEN))
def test_every_parameter_is_written_out(queue: str, expected: str) -> None:
    assert words(queue) == expected


def test_thresholds_are_of_the_path_where_the_limit_is_not() -> None:
    red = bottleneck(
        next(iter(compilation("red(1000pkt, min: 0.25bdp, max: 1bdp + 3pkt)").cells()))
    )
    assert isinstance(red.queue, Red)
    bdp_bytes = 12_112_000 * 40 // 8000
    assert (red.queue.min_bytes, red.queue.max_bytes) == (bdp_bytes // 4, bdp_bytes + 3 * 1514)


@pytest.mark.parametrize(
    ("queue", "most"),
    [
        *((f"red({size}B)", 6) for size in (1514, 8750, 18_168, 18_200, 20_000, 36_300, 37_500)),
        ("red(12MB)", 9),  # tc's own weight, 2^-11, is too fine for the kernel's 32 bits
        ("red(200MB)", 5),
        ("red(10pkt, min: 2B, max: 50%)", 18),
        ("red(10pkt, min: 1B, max: 50%)", 1),
    ],
)
def test_the_average_of_red_can_be_held_by_the_kernel(queue: str, most: int) -> None:
    red = bottleneck(next(iter(compilation(queue).cells()))).queue
    assert isinstance(red, Red)
    assert red.burst_packets is not None
    log = red_weight(red.min_bytes, red.burst_packets, red.average_packet_bytes)
    assert log <= most
    assert red.max_bytes.bit_length() + log < 32  # Linux, red_check_params


@pytest.mark.parametrize(
    ("queue", "rate", "code", "severity"),
    [
        ("fq_codel(10pkt)", "1Mbit/s", "target-below-packet", Severity.WARNING),
        ("cake(10pkt, rtt: 30ms)", "1Mbit/s", "target-below-packet", Severity.WARNING),
        ("pie(10pkt)", "800kbit/s", "target-below-packet", Severity.WARNING),
        ("pie(10pkt, ecn: on)", "1Mbit/s", "nothing-to-mark", Severity.WARNING),
        ("dualpi2(l4s: any)", "100Mbit/s", "no-l4s", Severity.WARNING),
    ],
)
def test_what_makes_no_sense_at_the_rate(
    queue: str, rate: str, code: str, severity: Severity
) -> None:
    compiled = compilation(queue, rate=rate)
    if severity is Severity.ERROR:
        with pytest.raises(dsl.CompileError):
            list(compiled.cells())
    else:
        assert list(compiled.cells())
    found = {d.code: d.severity for d in compiled.diagnostics}
    assert found == {code: severity}


@pytest.mark.parametrize(
    ("queue", "rate", "expected"),
    [
        ("codel(10pkt, scaled: on)", "1Mbit/s", "target 18168us interval 363360us"),
        ("codel(10pkt, scaled: on)", "10Mbit/s", "target 5ms interval 100ms"),
        ("codel(10pkt, interval: 1s, scaled: on)", "1Mbit/s", "target 18168us interval 1000ms"),
        ("fq_codel(10pkt, scaled: on)", "1Mbit/s", "target 18168us interval 363360us"),
        ("pie(10pkt, scaled: on)", "1Mbit/s", "target 18168us tupdate 15ms"),
        ("fq_pie(10pkt, target: 30ms, scaled: on)", "1Mbit/s", "target 30ms tupdate 15ms"),
    ],
)
def test_targets_can_be_scaled_with_the_rate(queue: str, rate: str, expected: str) -> None:
    assert f" {expected} " in f" {words(queue, rate=rate)} "
    assert not list(compilation(queue, rate=rate).diagnostics)


L4S = """fexp 1
experiment e {
  topology {
    node s, s2, c, c2
    router r
    link s -- r, s2 -- r, c2 -- r { rate = 1Gbit/s }
    link r -- c { rate = 10Mbit/s  delay = 5ms  queue = QUEUE }
  }
  flow a { from = s  to = c  cca = CCA  ecn = ECN  workload = bulk }
  flow b { from = s2  to = c2  cca = reno  workload = bulk }
  duration = 10s
  measure = [goodput]
}
"""


@pytest.mark.parametrize(
    ("queue", "cca", "ecn", "codes"),
    [
        ("dualpi2(l4s: any, scaled: on)", "dctcp", "accurate", []),
        ("dualpi2(l4s: any)", "dctcp", "on", ["short-step"]),
        ("dualpi2(l4s: any, step: 2pkt)", "cubic", "on", ["classic-as-l4s"]),
        ("dualpi2(scaled: on)", "dctcp", "on", ["no-l4s"]),
        ("dualpi2(l4s: any, scaled: on)", "cubic", "off", ["no-l4s"]),
    ],
)
def test_what_l4s_needs(queue: str, cca: str, ecn: str, codes: list[str]) -> None:
    """A frame at 10 Mbit/s takes 1.2 ms, the step is at 1 ms."""
    text = L4S.replace("QUEUE", queue).replace("CCA", cca).replace("ECN", ecn)
    compiled = compilation_of(text)
    assert list(compiled.cells())
    doubts = {"no-l4s", "classic-as-l4s", "short-step"}
    assert sorted({d.code for d in compiled.diagnostics} & doubts) == codes


def test_a_step_that_the_kernel_cannot_keep_is_refused() -> None:
    compiled = compilation("dualpi2(step: 5s)")
    with pytest.raises(dsl.CompileError, match="`step` of `dualpi2` must be at most 4s"):
        list(compiled.cells())


@pytest.mark.parametrize(
    ("step", "rate", "codes"),
    [
        ("1ms", "14Mbit/s", ["short-step"]),
        ("1ms", "30Mbit/s", ["short-step"]),
        ("1ms", "36Mbit/s", ["short-step"]),
        ("1ms", "37Mbit/s", []),
        ("3ms", "14Mbit/s", []),
        ("2pkt", "14Mbit/s", []),
    ],
)
def test_the_step_has_room_for_the_second_packet_of_a_pair(
    step: str, rate: str, codes: list[str]
) -> None:
    """Three full frames take 1.009 ms at 36 Mbit/s, 0.982 ms at 37 Mbit/s."""
    compiled = compilation(f"dualpi2(l4s: any, step: {step})", rate=rate)
    assert list(compiled.cells())
    assert [d.code for d in compiled.diagnostics if d.code != "no-l4s"] == codes


def test_the_step_can_be_scaled_with_the_rate() -> None:
    assert "target 18168us tupdate 16ms" in words("dualpi2(scaled: on)", rate="1Mbit/s")
    assert "step_thresh 36336us" in words("dualpi2(scaled: on)", rate="1Mbit/s")
    assert "step_thresh 1ms" in words("dualpi2(scaled: on)", rate="100Mbit/s")


@pytest.mark.parametrize("queue", ["codel(10pkt, target: 13ms)", "pie(10pkt)", "fq(10pkt)"])
def test_what_makes_sense_is_not_doubted(queue: str) -> None:
    compiled = compilation(queue, rate="1Mbit/s")
    assert list(compiled.cells())
    assert not list(compiled.diagnostics)


def test_a_chain_of_losses_as_netem_takes_it() -> None:
    """tc-netem(8): `loss gemodel p r 1-h 1-k`."""
    made = compilation("fifo(1bdp)", loss="gilbert_elliott(p: 1%, r: 30%, h: 20%, k: 99.9%)")
    cell = next(iter(made.cells()))
    (hop,) = [
        i.impairment
        for n in cell.nodes
        for i in n.interfaces
        if i.impairment and i.impairment.bursts
    ]
    assert hop.loss == pytest.approx(
        float(Fraction(1, 31) * Fraction(8, 10) + Fraction(30, 31) / 1000)
    )
    assert hop.seed is not None
    assert hop.words() == (
        f"netem limit 1000 delay 20ms loss gemodel 1% 30% 80% 0.1%"
        f" rate {hop.rate_bps}bit seed {hop.seed}"
    )
    assert "the random losses: one stream per link and direction" in made.plan.varied


def test_what_the_kernels_coins_vary_is_said() -> None:
    words = "the random decisions and the hashes of the queues, from the kernel's generator"
    assert words in compilation("pie(10pkt)").plan.varied
    assert words not in compilation("codel(100pkt)").plan.varied


PRIO = "prio(ef: fifo(20pkt), af41: red(100pkt), cs1: codel(10pkt), cs0: fq_codel(0.5bdp))"


def test_each_band_of_prio_has_its_queue_and_all_but_the_default_a_filter() -> None:
    made = bottleneck(next(iter(compilation(PRIO).cells()))).queue
    assert isinstance(made, Prio)
    first, *lines = queue_lines("r-eth0", made, 12_112_000)
    others = " ".join(["3"] * 16)
    at = "dev r-eth0 parent"
    assert first == f"qdisc add {at} 1:1 handle 2: prio bands 4 priomap {others}"
    assert [line.partition(" limit")[0] for line in lines] == [
        f"qdisc add {at} 2:1 handle 3: pfifo",
        f"filter add {at} 2: protocol ip prio 1 flower ip_tos 0xb8/0xfc classid 2:1",
        f"qdisc add {at} 2:2 handle 4: gred setup vqs 1 default 0",
        f"qdisc change {at} 2:2 handle 4: gred vq 0",
        f"filter add {at} 2: protocol ip prio 1 flower ip_tos 0x88/0xfc classid 2:2",
        f"qdisc add {at} 2:3 handle 5: codel",
        f"filter add {at} 2: protocol ip prio 1 flower ip_tos 0x20/0xfc classid 2:3",
        f"qdisc add {at} 2:4 handle 6: fq_codel",
    ]
    assert made.bands[3].queue.limit_packets == 20  # half of 40
    frames = [20, 100, 10, 20]
    assert (made.limit_bytes, made.limit_packets) == (1514 * sum(frames), None)
    assert disciplines(made) == {"prio", "pfifo", "gred", "codel", "fq_codel"}


def test_a_band_may_have_a_size_in_time() -> None:
    """At 12.112 Mbit/s 20 ms are 30,280 bytes, which is 20 full frames."""
    compiled = compilation("prio(ef: fifo(20ms), af41: fifo(1bdp + 2pkt), cs0: fifo(100pkt))")
    made = bottleneck(next(iter(compiled.cells()))).queue
    assert isinstance(made, Prio)
    limits = [(band.queue.limit_bytes, band.queue.limit_packets) for band in made.bands]
    assert limits == [(30_280, None), (42 * 1514, None), (None, 100)]
    assert made.limit_bytes == 30_280 + 142 * 1514


def test_what_is_doubted_about_a_queue_is_doubted_about_a_band() -> None:
    compiled = compilation("prio(ef: fifo(1pkt), cs0: codel(10pkt, ecn: on))", rate="1Mbit/s")
    assert list(compiled.cells())
    found = {d.code for d in compiled.diagnostics}
    assert found == {"small-queue", "target-below-packet", "nothing-to-mark"}


def test_bands_in_another_order_are_another_queue() -> None:
    text = """fexp 1
experiment e {
  sweep { queue = [prio(ef: fifo(10pkt), cs0: fifo(99pkt)), prio(cs0: fifo(99pkt), ef: fifo(10pkt))] }
  topology = bottleneck(rate: 1Mbit/s, rtt: 40ms, queue: queue)
  flow a { cca = cubic  workload = bulk }
  duration = 60s
  measure = [goodput]
}
"""
    cells = list(compilation_of(text).cells())
    assert [cell.bindings["queue"] for cell in cells] == [
        "prio(ef: fifo(10pkt), cs0: fifo(99pkt))",
        "prio(cs0: fifo(99pkt), ef: fifo(10pkt))",
    ]
    first, second = (bottleneck(cell).queue for cell in cells)
    assert isinstance(first, Prio) and isinstance(second, Prio)
    assert [band.code_point for band in first.bands] == [46, 0]
    assert [band.code_point for band in second.bands] == [0, 46]


def test_bands_keep_the_order_of_each_flow() -> None:
    assert {queue.order for queue in BANDS} == {"all", "flows"}


@pytest.mark.parametrize("points", [(46, 8), (46, 46, 0), (0,)])
def test_a_plan_with_other_bands_is_refused(points: tuple[int, ...]) -> None:
    cell = json.loads(cell_json(next(iter(compilation(PRIO).cells()))))
    node, name = cell["flows"][0]["bottleneck"]
    (router,) = [each for each in cell["nodes"] if each["name"] == node]
    (interface,) = [each for each in router["interfaces"] if each["name"] == name]
    band = interface["queue"]["bands"][0]
    interface["queue"]["bands"] = [band | {"code_point": point} for point in points]
    with pytest.raises(ValidationError, match="band"):
        parse_cell(json.dumps(cell))


def test_the_host_can_be_asked_for_every_queue() -> None:
    """runtime/engines/host.py tries each discipline that a cell needs."""
    written = [queue.name if queue.is_sized else PRIO for queue in QUEUES]
    queues = [bottleneck(next(iter(compilation(q).cells()))).queue for q in written]
    assert None not in queues
    made = {queue.tc_name for queue in queues if queue}
    assert made <= set(host.QDISCS)


@pytest.mark.parametrize(
    ("discipline", "argument"),
    [
        ("choke", ("limit 5; reboot", 1)),
        ("choke", ("limit", "1 2")),
        ("choke", ("limit", "$(reboot)")),
        ("choke limit", ("limit", 1)),
        ("-batch", ("limit", 1)),
    ],
)
def test_a_discipline_of_others_is_a_name_and_plain_arguments(
    discipline: str, argument: tuple[str, int | str]
) -> None:
    def made(queue: plan.Qdisc) -> plan.Interface:
        interface = plan.Interface("a-eth0", "10.0.0.1/30", queue=queue)
        return TypeAdapter(plan.Interface).validate_python(interface)

    good = plan.Qdisc(discipline="choke", limit_packets=5, arguments=(("limit", 5),))
    assert made(good).queue == good
    with pytest.raises(ValidationError):
        made(plan.Qdisc(discipline=discipline, limit_packets=5, arguments=(argument,)))
