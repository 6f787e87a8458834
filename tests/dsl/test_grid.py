"""The grid: order, duplicates, dependent axes, `exclude`, counting, limits."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from specs import experiment_of
from strategies import Spec, specs

from fairc.dsl import Diagnostics, Source, load
from fairc.dsl.experiment import Experiment
from fairc.dsl.model import Configuration

Check = Callable[..., Diagnostics]
Build = Callable[..., list[Configuration]]
Make = Callable[..., Experiment]


def bound(build: Build, *statements: str, **options: str) -> list[dict[str, str]]:
    return [dict(c.bindings) for c in build(*statements, **options)]


def test_last_name_varies_fastest(build: Build) -> None:
    swept = "sweep { d = [1s, 2s]  w = [0s, 0.5s] }"
    found = bound(build, swept, "duration = d", "warmup = w")
    assert [tuple(c.values()) for c in found] == [
        ("1s", "0s"),
        ("1s", "500ms"),
        ("2s", "0s"),
        ("2s", "500ms"),
    ]


def test_equal_values_make_one_configuration(build: Build) -> None:
    assert bound(build, "sweep { d = [1s, 1000ms, 2s] }", "duration = d") == [
        {"d": "1s"},
        {"d": "2s"},
    ]


def test_tuples_are_bound_together(build: Build) -> None:
    swept = "sweep { (first, second) = pairs(reno, bbr) }"
    flows = [
        "flow a { cca = first  workload = file(1MB) }",
        "flow b { cca = second  workload = file(1MB) }",
    ]
    found = build(swept, *flows, "stop = first")
    assert [[f.cca for f in c.scenario.flows] for c in found] == [
        ["reno", "reno"],
        ["reno", "bbr"],
        ["bbr", "bbr"],
    ]
    assert {c.scenario.stop for c in found} == {"first"}


def test_a_list_may_use_names_bound_before(build: Build, experiment: Make) -> None:
    swept = "sweep { n = [1, 2, 5]  m = [1, n] }"
    flow = "flow a { cca = cubic  count = m  workload = file(1MB) }"
    statements = (swept, flow, "duration = n * 1s")
    assert bound(build, *statements) == [
        {"n": "1", "m": "1"},
        {"n": "2", "m": "1"},
        {"n": "2", "m": "2"},
        {"n": "5", "m": "1"},
        {"n": "5", "m": "5"},
    ]
    made = experiment(*statements)
    assert made.count() == (5, 5, 0, 0)
    assert made.axes[1].values == ("1", "2", "5")


def test_a_let_may_use_a_swept_name(build: Build) -> None:
    found = build("sweep { d = [1s, 2s] }", "duration = twice", before="let twice = 2 * d\n")
    assert [c.scenario.duration_ns for c in found] == [2 * 10**9, 4 * 10**9]


def test_exclude_sees_cells(build: Build, experiment: Make) -> None:
    statements = (
        "sweep { d = [1s, 2s]  w = [0s, 0.5s] }",
        "duration = d",
        "warmup = w",
        "repeat = 5",
        "exclude d == 1s and repetition > 2",
        "exclude not (w == 0s) and d >= 2s",
    )
    kept = {tuple(c.bindings.values()): c.repetitions for c in build(*statements)}
    assert kept == {
        ("1s", "0s"): (1, 2),
        ("1s", "500ms"): (1, 2),
        ("2s", "0s"): (1, 2, 3, 4, 5),
    }
    assert experiment(*statements).count() == (3, 9, 11, 0)


def test_sweeps_over_topologies_and_queues(build: Build) -> None:
    before = "topology two(rate) { node server, client  link server -- client { rate = rate } }\n"
    found = build(
        (
            "sweep { kind = [fifo]  net = [two(5Mbit/s), bottleneck(rate: 1Mbit/s, queue:"
            " kind(10kB))] }"
        ),
        "topology = net",
        before=before,
    )
    assert [len(c.scenario.network.nodes) for c in found] == [2, 4]
    assert found[0].bindings["net"] == "two(5Mbit/s)"


def test_words_of_a_sweep_act_as_functions(build: Build) -> None:
    found = build(
        "sweep { kind = [fifo]  size = [10kB, 20kB] }",
        "topology = bottleneck(rate: 1Mbit/s, queue: kind(size))",
    )
    queues = [c.scenario.network.links[2].forward.queue for c in found]
    assert [(q.kind, q.size.canonical) for q in queues] == [("fifo", "10kB"), ("fifo", "20kB")]


def test_a_great_grid_is_counted_without_being_made(experiment: Make) -> None:
    axes = "  ".join(f"x{i} = (1..100) * 1s" for i in range(3))
    made = experiment(f"sweep {{ {axes} }}", "duration = x0 + x1 + x2", "repeat = 10")
    assert made.count() == (10**6, 10**7, 0, 0)
    assert next(made.configurations()).scenario.duration_ns == 3 * 10**9


def test_errors_of_every_swept_value_are_found_at_their_places(check: Check) -> None:
    found = check(
        "sweep { d = [1s, 2MB, 3, -4s]  l = [0%, 200%] }",
        "duration = d",
        "topology = bottleneck(rate: 1Mbit/s, loss: l)",
    )
    assert [(d.code, d.span.text) for d in found if d.span] == [
        ("wrong-dimension", "2MB"),
        ("missing-unit", "3"),
        ("out-of-range", "-4s"),
        ("out-of-range", "200%"),
    ]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(specs())
def test_the_grid_is_the_product_of_its_axes(spec: Spec) -> None:
    made, found = load(Source("file.fexp", spec.text))
    assert [d.message for d in found.errors] == []
    assert made is not None
    configurations, cells, excluded, unsampled = made.count()
    listed = list(made.configurations())
    assert configurations == len(listed) == prod(len(axis.values) for axis in made.axes)
    assert cells == configurations * spec.repeat
    assert excluded == unsampled == 0
    assert len({tuple(c.bindings.items()) for c in listed}) == len(listed)
    assert [axis.name for axis in made.axes] == list(spec.axes)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(specs())
def test_two_loads_are_the_same(spec: Spec) -> None:
    first, second = (load(Source("file.fexp", spec.text))[0] for _ in range(2))
    assert first is not None and second is not None
    assert [repr(c) for c in first.configurations()] == [repr(c) for c in second.configurations()]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(specs(), st.data())
def test_the_product_less_what_is_excluded(spec: Spec, data: st.DataObject) -> None:
    if not spec.axes:
        return
    name = data.draw(st.sampled_from(sorted(spec.axes)))
    value = data.draw(st.sampled_from(spec.axes[name]))
    least = data.draw(st.integers(1, spec.repeat + 1))
    statement = f"exclude {name} == {value} and repetition >= {least}"
    text = spec.text.replace("measure", f"{statement}\n  measure")
    made, found = load(Source("file.fexp", text))
    whole = experiment_of(spec.text)
    assume("wrong-dimension" not in {d.code for d in found})  # sizes and times in one list
    axes = {axis.name: len(axis.values) for axis in whole.axes}
    touched = prod(axes.values()) // axes[name]
    gone = touched * (spec.repeat - least + 1)
    if made is None:
        assert [d.code for d in found.errors] == ["nothing-left"]
        assert gone == prod(axes.values()) * spec.repeat
        return
    count = made.count()
    assert count.excluded == gone
    assert count.cells == prod(axes.values()) * spec.repeat - gone
    assert count.cells == sum(len(c.repetitions) for c in made.configurations())


def test_conditions_compare_sizes_of_different_units(build: Build) -> None:
    """1 Mbit/s and 50 ms: a BDP is 6250 bytes, a frame 1514."""
    found = build(
        "sweep { rate = [1Mbit/s, 10Mbit/s]  buffer = [0.4bdp, 1bdp, 1bdp + 1pkt, 4pkt, 9kB] }",
        "topology = bottleneck(rate: rate, rtt: 50ms, queue: fifo(buffer))",
        "exclude buffer < 2pkt",
        "exclude buffer in 6.5kB..8kB",
        "exclude rate * 50ms < 5pkt and buffer == 9kB",
    )
    assert [(c.bindings["rate"], c.bindings["buffer"]) for c in found] == [
        ("1Mbit/s", "1bdp"),
        ("1Mbit/s", "4pkt"),
        *(("10Mbit/s", buffer) for buffer in ("0.4bdp", "1bdp", "1bdp + 1pkt", "4pkt", "9kB")),
    ]


def test_a_bdp_in_a_condition_is_that_of_the_longest_round_trip(build: Build) -> None:
    found = build(
        "sweep { extra = [0ms, 50ms]  n = [0, 1] }",
        "topology = dumbbell(rate: 1Mbit/s, rtt: 50ms)",
        "flow a { cca = cubic  workload = bulk }",
        "flow b { cca = cubic  workload = bulk  rtt = extra  count = n }",
        "duration = 60s",
        "exclude 1bdp > 10kB",
    )
    assert [(c.bindings["extra"], c.bindings["n"]) for c in found] == [
        ("0s", "0"),
        ("0s", "1"),
        ("50ms", "0"),
    ]
