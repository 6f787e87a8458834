"""Which baselines a plan has: of whom, shared by what, and with which draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from specs import compilation_of, experiment_of

from fairc import compiler
from fairc.cell.framing import ETHERNET
from fairc.compiler.plan import Cell, parse_cell
from fairc.compiler.plan.cells import cell_json
from fairc.compiler.plan.identity import genuine
from fairc.runtime.measurement.demand import demand_bps

FILE = """fexp 1
experiment e {{
  {sweep}
  topology = dumbbell(rate: 10Mbit/s, rtt: 40ms, queue: fifo(1bdp))
  {flows}
  {timing}
  repeat = {repeat}
  measure = [{measure}]
}}
"""
FLOWS = """flow victim { cca = cubic  workload = requests(size: 20kB, every: exponential(1s)) }
  flow rival { cca = new  workload = bulk }"""


def text(
    sweep: str = "sweep { new = [cubic, bbr, reno] }",
    flows: str = FLOWS,
    timing: str = "duration = 10s",
    repeat: int = 3,
    measure: str = "harm(victim)",
) -> str:
    return FILE.format(sweep=sweep, flows=flows, timing=timing, repeat=repeat, measure=measure)


def compiled(source: str) -> compiler.Compilation:
    return compilation_of(source)


def cells(source: str) -> list[Cell]:
    return list(compiled(source).cells())


def alone(source: str) -> list[Cell]:
    return [cell for cell in cells(source) if cell.baseline]


def names(found: list[Cell]) -> Iterator[tuple[str, ...]]:
    return (tuple(flow.name for flow in cell.flows) for cell in found)


def test_configurations_that_differ_in_rivals_share_one() -> None:
    found = cells(text())
    plan = compiled(text()).plan
    assert (plan.cells, plan.baselines, len(found)) == (12, 3, 12)
    baselines = [cell for cell in found if cell.baseline]
    assert [cell.repetition for cell in baselines] == [1, 2, 3]
    assert {*names(baselines)} == {("victim",)}
    (configuration,) = {cell.configuration for cell in baselines}
    others = [cell for cell in found if not cell.baseline]
    assert all(cell.baselines == {"victim": configuration} for cell in others)
    for cell in found:
        assert genuine(cell)
        assert parse_cell(cell_json(cell)) == cell
    # Each before the cells that are compared with it, so that a reader needs no second pass.
    there: set[tuple[str, int]] = set()
    for cell in found:
        assert {(c, cell.repetition) for c in cell.baselines.values()} <= there
        there.add((cell.configuration, cell.repetition))


def test_a_value_of_the_victim_or_of_the_path_makes_another_one() -> None:
    swept = "sweep { new = [cubic, bbr]  old = [cubic, reno]  rate = [5Mbit/s, 10Mbit/s] }"
    found = alone(
        text(sweep=swept, repeat=1)
        .replace("rate: 10Mbit/s", "rate: rate")
        .replace("{ cca = cubic", "{ cca = old")
    )
    assert len(found) == 4
    assert sorted((c.bindings["old"], c.bindings["rate"]) for c in found) == [
        ("cubic", "10Mbit/s"),
        ("cubic", "5Mbit/s"),
        ("reno", "10Mbit/s"),
        ("reno", "5Mbit/s"),
    ]


def test_it_is_the_cell_of_a_file_without_the_others() -> None:
    """Same seed, same draws, same network: only the rival's hosts are left over."""
    only = text(sweep="", flows=FLOWS.partition("\n")[0], measure="goodput")
    for solo, baseline in zip(cells(only), alone(text()), strict=True):
        assert baseline.seed == solo.seed
        (mine,), (theirs,) = baseline.flows, solo.flows
        assert replace(mine, source="", address="", client_address="") == replace(
            theirs, source="", address="", client_address="", bottleneck=mine.bottleneck
        )
        assert baseline.deadline_ns == solo.deadline_ns


def test_a_longer_queue_because_of_the_rival_is_another_path() -> None:
    """A buffer in BDPs counts the longest round trip: alone the victim keeps the buffer."""
    rivals = FLOWS.replace("{ cca = new", "{ cca = cubic  rtt = new")
    found = alone(text(sweep="sweep { new = [0ms, 40ms] }", flows=rivals, repeat=1))
    assert len(found) == 2
    queues = [
        [i.queue for node in cell.nodes for i in node.interfaces if i.bottleneck] for cell in found
    ]
    assert queues[0] != queues[1]


def test_several_victims_are_alone_each() -> None:
    found = alone(text(measure="harm(victim), harm(rival)", repeat=1))
    assert sorted(names(found)) == [("rival",)] * 3 + [("victim",)]
    assert sorted(names(alone(text(measure="harm", repeat=1)))) == sorted(names(found))


def test_a_group_is_alone_together_and_one_of_it_by_itself() -> None:
    flows = (
        "flow f[i] for i in 1..3 { cca = cubic  workload = bulk }"
        "  flow rival { cca = new  workload = bulk }"
    )
    assert {*names(alone(text(flows=flows, measure="harm(f)")))} == {("f-1", "f-2", "f-3")}
    assert {*names(alone(text(flows=flows, measure="harm(f[2])")))} == {("f-2",)}


def test_without_a_rival_there_is_none() -> None:
    """Nor does a configuration need one in which everybody is named, or the victim is absent."""
    when = FLOWS.replace("rival {", "rival when new == bbr {")
    found = cells(text(flows=when, repeat=1))
    assert [cell.baselines != {} for cell in found if not cell.baseline] == [False, True, False]
    absent = FLOWS.replace("victim {", "victim when new == bbr {")
    found = cells(text(flows=absent, repeat=1))
    assert [cell.baselines != {} for cell in found if not cell.baseline] == [False, True, False]


def test_shuffled_and_excluded_repetitions() -> None:
    """Baselines are of the repetitions that any of their configurations keeps, in any order."""
    shuffled = text(timing="duration = 10s  order = shuffled")
    assert {c.id for c in cells(shuffled)} == {c.id for c in cells(text())}
    bindings = {c.configuration: c.bindings for c in cells(text())}
    assert all(c.bindings == bindings[c.configuration] for c in cells(shuffled))
    some = text(timing="duration = 10s  exclude repetition == 2")
    assert [cell.repetition for cell in alone(some)] == [1, 3]
    assert compiled(some).plan.baselines == 2


def test_windows_that_depend_on_the_rival_make_others() -> None:
    swept = "sweep { new = [cubic, bbr]  late = [2s, 4s] }"
    rival = FLOWS.replace("rival {", "rival { start = late ")
    one = alone(text(sweep=swept, flows=rival, repeat=1))
    assert len(one) == 1
    several = text(sweep=swept, flows=rival, repeat=1, measure="harm(victim, from: late)")
    assert len(alone(several)) == 2


def test_what_is_measured_changes_no_cell() -> None:
    before = {c.id for c in cells(text(measure="goodput"))}
    assert before == {c.id for c in cells(text()) if not c.baseline}


def test_of_flows_that_share_arrivals_each_keeps_its_own() -> None:
    """The rival's part of the process is gone, and the victim's is what it was."""
    load = "workload = requests(size: 20kB, every: exponential(100ms), share: {})"
    flows = (
        f"flow victim {{ cca = cubic  {load.format('30%')} }}"
        f"  flow rival {{ cca = new  {load.format('70%')} }}"
    )
    found = cells(text(flows=flows, repeat=1))
    (baseline,) = [cell for cell in found if cell.baseline]
    (beside,) = [f for f in found[1].flows if f.name == "victim"]
    assert replace(baseline.flows[0], source="") == replace(beside, source="")


FILM = "video(bitrate: 1Mbit/s, length: 10s)"
PAGES = "load(page(html: 50kB, objects: 2 of 20kB), client: plain)"


def test_a_fair_share_needs_each_flow_alone_that_may_want_anything() -> None:
    flows = (
        f"flow film[i] for i in 1..2 {{ cca = cubic  workload = {FILM} }}"
        f"  flow pages {{ cca = reno  workload = {PAGES} }}"
        "  flow victim { cca = cubic  workload = requests(size: 20kB, every: exponential(1s)) }"
        "  flow rival { cca = new  workload = bulk }"
    )
    for measure in ("share.fair", "share.fair(rival, from: 2s)", "share, share.fair"):
        found = cells(text(flows=flows, measure=measure, repeat=1))
        assert sorted(names([cell for cell in found if cell.baseline])) == [
            ("film-1",),
            ("film-2",),
            ("pages",),
        ]
        (of,) = {tuple(sorted(cell.baselines)) for cell in found if not cell.baseline}
        assert of == ("film[1]", "film[2]", "pages")
    assert alone(text(flows=flows, measure="share", repeat=1)) == []


def test_a_fair_share_of_what_is_known_needs_nobody_alone() -> None:
    found = compiled(text(measure="share.fair(victim)"))
    assert not any(cell.baseline or cell.baselines for cell in found.cells())
    assert not found.diagnostics
    # Nor does a configuration without the flow, or with one flow.
    flows = FLOWS.replace("victim {", "victim when new == bbr {").replace(
        "workload = bulk", f"workload = {FILM}"
    )
    of = [
        [*cell.baselines]
        for cell in cells(text(flows=flows, measure="share.fair(victim)", repeat=1))
        if not cell.baseline
    ]
    assert of == [[], ["rival"], []]


@pytest.mark.parametrize(
    "more",
    [
        'claim "c" { holds = median(share.fair(victim)) > 50% }',
        "report { line(share.fair(victim), x: new) }",
        'metric own = share.fair(victim)  claim "c" { holds = median(own) > 50% }',
    ],
)
def test_who_names_it_elsewhere_has_baselines(more: str) -> None:
    flows = FLOWS.replace("workload = bulk", f"workload = {FILM}")
    found = compiled(text(flows=flows, measure="share", timing=f"duration = 10s  {more}"))
    assert [one.name for one in found.plan.comparisons] == ["share.fair"]
    assert found.plan.baselines == 9


def test_a_claim_about_another_harm_than_the_measured_one() -> None:
    more = 'claim "c" { holds = median(harm.goodput(victim)) > 50% }'
    found = compiled(text(measure="harm.rtt(victim)", timing=f"duration = 10s  {more}"))
    assert {one.name for one in found.plan.comparisons} == {"harm.rtt", "harm.goodput"}


def test_windows_of_fair_shares_that_depend_on_the_rival_make_others() -> None:
    flows = FLOWS.replace("workload = bulk", "workload = bulk  start = late").replace(
        "requests(size: 20kB, every: exponential(1s))", FILM
    )
    swept = "sweep { new = [cubic, bbr]  late = [2s, 4s] }"
    assert len(alone(text(sweep=swept, flows=flows, repeat=1, measure="share.fair"))) == 1
    late = "share.fair(from: late)"
    assert len(alone(text(sweep=swept, flows=flows, repeat=1, measure=late))) == 2


@pytest.mark.parametrize(
    "workload",
    [
        "bulk",
        "file(1MB)",
        FILM,
        PAGES,
        "requests(size: 20kB, every: exponential(1s))",
        "onoff(rate: 1Mbit/s, on: 1s, off: 1s)",
        "ping(every: 20ms)",
        "iperf3(time: 5s)",
    ],
)
def test_workloads_and_plans_agree_on_what_is_known(workload: str) -> None:
    """A word says that nobody knows what it wants where the plan does not tell, either."""
    name = workload.partition("(")[0]
    over = "" if name == "ping" else "cca = cubic"
    source = text(sweep="", flows=f"flow f {{ {over}  workload = {workload} }}", measure="goodput")
    experiment = experiment_of(source)
    (flow,) = next(iter(experiment.some(1))).scenario.flows
    (planned,) = next(compiler.compile(experiment).cells()).flows
    assert flow.workload.part.adapts == (demand_bps(planned, ETHERNET) is None)


@pytest.mark.parametrize("measure", ["harm(victim)", "harm.rtt(victim)"])
def test_a_file_with_one_flow_is_told(measure: str) -> None:
    compilation = compiled(
        text(sweep="", flows="flow victim { cca = cubic  workload = bulk }", measure=measure)
    )
    assert [c.baselines for c in compilation.cells()] == [{}] * 3
    assert any("no flow competes" in d.message for d in compilation.diagnostics)
