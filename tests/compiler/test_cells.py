"""The grid: order, identity, seeds, start offsets, and the header of the plan."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairc.compiler import Cell, Plan, compile
from fairc.compiler import compilation as module
from fairc.compiler.plan import cell_json, parse_cell
from fairc.compiler.plan.identity import identity_of
from fairc.compiler.schema import schema
from fairc.dsl.core.diagnostics import CompileError
from fairc.dsl.model import Scenario

ROOT = Path(__file__).parents[2]


def test_repetitions_come_one_after_the_other(make: SimpleNamespace) -> None:
    made = make.experiment(make.quickstart(), make.quickstart(loss=0.01), repeat=3)
    cells = list(compile(made).cells())
    assert [(c.repetition, c.bindings["n"]) for c in cells] == [
        (r, n) for r in (1, 2, 3) for n in ("0", "1")
    ]


def test_left_out_repetitions_stay_out(make: SimpleNamespace) -> None:
    made = make.experiment(make.quickstart(), make.quickstart(loss=0.01), repeat=3)
    made.made[0] = replace(made.made[0], repetitions=(1, 3))
    cells = list(compile(made).cells())
    assert [(c.repetition, c.bindings["n"]) for c in cells] == [
        (1, "0"),
        (1, "1"),
        (2, "1"),
        (3, "0"),
        (3, "1"),
    ]


def test_configurations_beyond_those_kept_give_the_same_cells(
    make: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make.experiment(*[make.quickstart(rtt_ms=10 * n) for n in range(1, 5)], repeat=3)
    expected = list(compile(made).cells())
    for kept in (0, 1, 3):
        monkeypatch.setattr(module, "KEPT_CONFIGURATIONS", kept)
        assert list(compile(made).cells()) == expected


def test_identities_tell_cells_apart_and_nothing_else(make: SimpleNamespace) -> None:
    made = make.experiment(make.quickstart(), make.quickstart(loss=0.01), repeat=3)
    cells = list(compile(made).cells())
    assert len({cell.id for cell in cells}) == 6
    assert len({cell.configuration for cell in cells}) == 2
    for cell in cells:
        assert cell.id == identity_of(parse_cell(cell_json(cell)))
        assert len(cell.id) == 16 and int(cell.id, 16) >= 0


def test_what_does_not_change_an_identity(make: SimpleNamespace) -> None:
    cell = make.cell(make.quickstart())
    flow = replace(cell.flows[0], source="elsewhere.fexp:99")
    same = [
        replace(cell, captures=()),
        replace(cell, flows=(flow, *cell.flows[1:])),
    ]
    assert {identity_of(other) for other in same} == {cell.id}
    assert identity_of(replace(cell, deadline_ns=1)) != cell.id


def test_seeds_follow_the_experiment_the_bindings_and_the_repetition(
    make: SimpleNamespace,
) -> None:
    scenarios = [make.quickstart(), make.quickstart(loss=0.01)]
    cells = list(compile(make.experiment(*scenarios, repeat=2)).cells())
    other = list(compile(make.experiment(*scenarios, repeat=2, seed=2)).cells())
    assert len({cell.seed for cell in [*cells, *other]}) == 8


def test_paired_configurations_share_their_streams(make: SimpleNamespace) -> None:
    scenarios = [make.quickstart(loss=0.01), make.quickstart(loss=0.02)]
    one, two, *_ = compile(make.experiment(*scenarios, repeat=2, paired=True)).cells()
    assert one.seed == two.seed and one.id != two.id
    assert [flow.start_ns for flow in one.flows] == [flow.start_ns for flow in two.flows]

    def loss_seeds(cell: Cell) -> list[int | None]:
        return [i.impairment.seed for n in cell.nodes for i in n.interfaces if i.impairment]

    assert loss_seeds(one) == loss_seeds(two)
    one, two, *_ = compile(make.experiment(*scenarios, repeat=2)).cells()
    assert loss_seeds(one) != loss_seeds(two)


def starts_of(cells: Iterable[Cell]) -> list[tuple[tuple[int, ...], ...]]:
    return [tuple(flow.starts_ns for flow in cell.flows) for cell in cells]


def test_configurations_draw_alike_unless_told_otherwise(make: SimpleNamespace) -> None:
    scenarios = [make.quickstart(loss=0.01), make.quickstart(loss=0.02)]
    cells = list(compile(make.experiment(*scenarios, repeat=2)).cells())
    one, two, again, _ = starts_of(cells)
    assert one == two != again
    assert len({cell.seed for cell in cells}) == 4
    own = list(compile(make.experiment(*scenarios, repeat=2, common=False)).cells())
    assert len(set(starts_of(own))) == 4


def test_a_sweep_draws_what_the_experiment_without_it_drew(make: SimpleNamespace) -> None:
    alone = make.cell(make.quickstart())
    swept, _ = compile(make.experiment(make.quickstart(), make.quickstart(loss=0.02))).cells()
    assert starts_of([alone]) == starts_of([swept])


def test_ids_change_only_where_draws_do(make: SimpleNamespace) -> None:
    """Earlier versions drew as `draws = own` does."""

    def ids(*scenarios: Scenario, **options: Any) -> list[str]:
        return [cell.id for cell in compile(make.experiment(*scenarios, **options)).cells()]

    fixed = [
        make.scenario(make.dumbbell(rtt_ms=rtt), [make.flow("f", start_ns=0)]) for rtt in (40, 50)
    ]
    drawn = [make.quickstart(loss=0.01), make.quickstart(loss=0.02)]
    assert ids(*fixed) == ids(*fixed, common=False)
    assert ids(drawn[0]) == ids(drawn[0], common=False)
    assert ids(*drawn, paired=True) == ids(*drawn, paired=True, common=False)
    assert set(ids(*drawn)).isdisjoint(ids(*drawn, common=False))


def test_the_plan_says_what_is_common(make: SimpleNamespace) -> None:
    scenarios = [make.quickstart(loss=0.01), make.quickstart(loss=0.02)]

    def common(**options: Any) -> str:
        return " ".join(compile(make.experiment(*scenarios, **options)).plan.common)

    assert "the start of each flow" in common() and "losses" not in common()
    assert "the start of each flow" in common(paired=True) and "losses" in common(paired=True)
    assert common(common=False) == ""
    alone = compile(make.experiment(scenarios[0])).plan
    assert alone.common == () and '"common"' not in alone.model_dump_json()


def test_streams_of_one_cell_differ(make: SimpleNamespace) -> None:
    way = make.way(1_000_000, 10, 0.01)
    net = make.network(
        ["s1", "c1"], ["r1"], [make.link("s1", "r1", way), make.link("r1", "c1", way)]
    )
    cell = make.cell(make.scenario(net, [make.flow("f")]))
    seeds = [i.impairment.seed for n in cell.nodes for i in n.interfaces if i.impairment]
    assert len(seeds) == len(set(seeds)) == 4


def test_start_offsets_stay_within_one_rtt(make: SimpleNamespace) -> None:
    for rtt_ms, bound_ns in ((50, 50_000_000), (2, 10_000_000)):
        made = make.experiment(make.quickstart(rtt_ms=rtt_ms, queue=make.size(9)), repeat=50)
        starts = [flow.start_ns for cell in compile(made).cells() for flow in cell.flows]
        assert len(set(starts)) == 100
        assert all(0 <= start < bound_ns for start in starts)
        assert min(starts) < bound_ns / 4 and max(starts) > bound_ns * 3 / 4


def test_a_declared_start_is_kept(make: SimpleNamespace) -> None:
    made = make.scenario(make.dumbbell(), [make.flow("f", start_ns=5), make.flow("g", start_ns=0)])
    assert [flow.start_ns for flow in make.cell(made).flows] == [5, 0]


def test_equal_input_gives_an_equal_plan(make: SimpleNamespace) -> None:
    one, two = (compile(make.experiment(make.quickstart(), repeat=2)) for _ in range(2))
    assert one.plan == two.plan
    assert list(one.cells()) == list(two.cells()) == list(one.cells())
    assert Plan.model_validate_json(one.plan.model_dump_json()) == one.plan


def test_what_varies_is_said(make: SimpleNamespace) -> None:
    def varied(*scenarios: object) -> str:
        return " ".join(compile(make.experiment(*scenarios)).plan.varied)

    fixed = make.scenario(make.dumbbell(), [make.flow("f", start_ns=0)])
    lossy = make.scenario(make.dumbbell(loss=0.01), [make.flow("f", start_ns=0)])
    assert varied(fixed) == ""
    assert "losses" in varied(lossy) and "start" not in varied(lossy)
    assert "start" in varied(make.quickstart()) and "losses" not in varied(make.quickstart())
    assert "losses" in varied(fixed, lossy), "the first configuration is not the whole sweep"


def test_all_errors_of_a_sweep_are_reported_at_once(make: SimpleNamespace) -> None:
    bad_queue = make.quickstart(queue=make.size(100, "B", line=20))
    bad_rtt = make.quickstart(rtt_ms=0, queue=make.size(1, "bdp", line=30))
    compilation = compile(make.experiment(make.quickstart(), bad_queue, bad_rtt, repeat=2))
    cells = compilation.cells()
    assert next(cells).bindings == {"n": "0"}
    with pytest.raises(CompileError) as caught:
        next(cells)
    assert [d.code for d in caught.value.diagnostics] == ["useless-queue", "bdp-without-rtt"]


def test_a_warning_of_many_configurations_is_given_once(make: SimpleNamespace) -> None:
    size = make.size(0.4, "bdp")
    scenarios = [make.quickstart(rtt_ms=rtt, queue=size) for rtt in (50, 51, 52)]
    compilation = compile(make.experiment(*scenarios))
    assert len(list(compilation.cells())) == 3
    assert [d.code for d in compilation.diagnostics] == ["small-queue"]


def test_the_published_schema_is_current(update: bool) -> None:
    path = ROOT / "docs/reference/plan.schema.json"
    if update:
        path.write_text(schema())
    assert path.read_text() == schema()


def test_the_schema_describes_both_documents() -> None:
    definitions = json.loads(schema())["$defs"]
    assert {"Plan", "Cell", "Interface", "Flow"} <= set(definitions)
    assert definitions["Cell"]["additionalProperties"] is False


def test_sharing_a_network_changes_nothing(make: SimpleNamespace) -> None:
    """Configurations over one network object, and over equal ones, give the same cells."""
    net = make.dumbbell(loss=0.01)
    ccas = ("cubic", "bbr", "reno")
    shared = [make.scenario(net, [make.flow("f", cca=cca)]) for cca in ccas]
    apart = [make.scenario(make.dumbbell(loss=0.01), [make.flow("f", cca=cca)]) for cca in ccas]
    turned = make.scenario(net, [make.flow("f", "c1", "s1")])
    one = list(compile(make.experiment(*shared, turned)).cells())
    other = list(compile(make.experiment(*apart, turned)).cells())
    assert one == other
    assert [cell.flows[0].cca for cell in one] == ["cubic", "bbr", "reno", "cubic"]
    assert one[0].nodes[0] is one[1].nodes[0]
    assert one[3].flows[0].bottleneck != one[0].flows[0].bottleneck
