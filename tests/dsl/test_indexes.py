"""Flows, nodes, links, users and devices with an index, loops and a condition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairc.dsl.experiment import Experiment
from fairc.dsl.model.names import called, label_of, on_machine, users_of

from .conftest import Build, Check

DUMBBELL = "topology = dumbbell(rate: 10Mbit/s, rtt: 20ms)"
ENDS = "duration = 60s"
CUBIC = "cca = cubic  workload = bulk"


def test_a_flow_for_each_value_of_a_loop(build: Build) -> None:
    (configuration,) = build(
        DUMBBELL, f"flow f[i] for i in 1..3 {{ {CUBIC}  start = (i - 1) * 10s }}", ENDS
    )
    flows = configuration.scenario.flows
    assert [(f.name, f.label, f.declared) for f in flows] == [
        ("f-1", "f[1]", "f"),
        ("f-2", "f[2]", "f"),
        ("f-3", "f[3]", "f"),
    ]
    assert [f.start_ns for f in flows] == [0, 10**10, 2 * 10**10]
    assert [f.server for f in flows] == ["f-1-server", "f-2-server", "f-3-server"]


def test_loops_over_swept_names_lists_and_each_other(build: Build) -> None:
    configurations = build(
        "sweep { n = [1, 2] }",
        DUMBBELL,
        f"flow f[i, trip] for i in 1..n for trip in [10ms, i * 50ms] {{ {CUBIC}  rtt = trip }}",
        ENDS,
    )
    labels = [[f.label for f in c.scenario.flows] for c in configurations]
    assert labels == [
        ["f[1, 10ms]", "f[1, 50ms]"],
        ["f[1, 10ms]", "f[1, 50ms]", "f[2, 10ms]", "f[2, 100ms]"],
    ]
    assert [f.extra_rtt_ns for f in configurations[0].scenario.flows] == [10**7, 5 * 10**7]


def test_a_condition_decides_for_each_instance(build: Build) -> None:
    configurations = build(
        "sweep { rivals = [0, 2] }",
        DUMBBELL,
        f"flow a {{ {CUBIC} }}",
        f"flow b when rivals > 0 {{ {CUBIC} }}",
        f"flow c[i] for i in 1..rivals when rivals > 0 {{ {CUBIC} }}",
        f"flow d[i] for i in 1..4 when i > rivals {{ {CUBIC} }}",
        ENDS,
    )
    labels = [[f.label for f in c.scenario.flows] for c in configurations]
    assert labels == [
        ["a", "d[1]", "d[2]", "d[3]", "d[4]"],
        ["a", "b", "c[1]", "c[2]", "d[3]", "d[4]"],
    ]


def test_statements_of_one_name_stand_for_each_other(build: Build) -> None:
    configurations = build(
        "sweep { kind = [fast, slow] }",
        DUMBBELL,
        f"flow a when kind == fast {{ {CUBIC} }}",
        f"flow a when kind == slow {{ {CUBIC}  rate = 1Mbit/s }}",
        ENDS,
    )
    assert [[f.rate_bps for f in c.scenario.flows] for c in configurations] == [[None], [10**6]]


def test_a_parking_lot_of_indexed_nodes_and_links(build: Build) -> None:
    (configuration,) = build(
        """topology {
    node s[i] for i in 1..3
    node c[i] for i in 1..3
    router r[i] for i in 1..4
    link s[i] -- r[i], r[i + 1] -- c[i] for i in 1..3 { rate = 1Gbit/s }
    link r[i] -- r[i + 1] for i in 1..3 { rate = 10Mbit/s  delay = i * 10ms }
  }""",
        f"flow f[i] for i in 1..3 {{ from = s[i]  to = c[i]  {CUBIC} }}",
        f"flow all {{ from = s[1]  to = c[3]  {CUBIC} }}",
        ENDS,
    )
    network, flows = configuration.scenario.network, configuration.scenario.flows
    assert [node.name for node in network.nodes] == [
        *("s-1", "s-2", "s-3", "c-1", "c-2", "c-3", "r-1", "r-2", "r-3", "r-4")
    ]
    slow = [(link.a, link.b, link.forward.delay_ns) for link in network.links[6:]]
    assert slow == [("r-1", "r-2", 10**7), ("r-2", "r-3", 2 * 10**7), ("r-3", "r-4", 3 * 10**7)]
    assert [(f.server, f.client) for f in flows] == [
        *(("s-1", "c-1"), ("s-2", "c-2"), ("s-3", "c-3"), ("s-1", "c-3"))
    ]


def test_links_devices_and_users_with_an_index(build: Build) -> None:
    (configuration,) = build(
        """topology {
    node server, client
    router left, right
    router a[k] for k in 1..2
    link server -- left, right -- client { rate = 1Gbit/s }
    link left -- a[1], a[1] -- a[2], a[2] -- right { rate = 10Mbit/s }
    policer p[k] for k in 1..1 { at = left  to = a[k]  mode = conex(rate: 100pkt/s, depth: 10pkt) }
  }""",
        "users u[k] for k in 1..2 { count = k }",
        f"flow f[k] for k in 1..2 {{ users = u[k]  {CUBIC} }}",
        ENDS,
    )
    network, flows = configuration.scenario.network, configuration.scenario.flows
    assert [node.name for node in network.nodes if node.kind == "host"] == [
        *("u-1-1", "u-1-1-server", "u-2-1", "u-2-1-server", "u-2-2", "u-2-2-server")
    ]
    assert [(f.name, f.label, f.users, users_of(f)) for f in flows] == [
        ("f-1-1", "f[1]-1", "u", "u[1]"),
        ("f-2-1", "f[2]-1", "u", "u[2]"),
        ("f-2-2", "f[2]-2", "u", "u[2]"),
    ]
    assert called(flows[2]) == {"f[2]-2", "f[2]", "f", "u[2]", "u"}
    policers = [w.device for link in network.links for w in (link.forward, link.backward)]
    assert [policer.name for policer in policers if policer] == ["p-1"]


def test_hosts_of_a_dumbbell_can_be_named(build: Build) -> None:
    (configuration,) = build(
        DUMBBELL,
        f"flow f[i] for i in 1..2 {{ {CUBIC} }}",
        f"flow up {{ from = client[up]  to = server[up]  {CUBIC} }}",
        f"flow beside {{ to = client[f[2]]  {CUBIC} }}",
        ENDS,
    )
    scenario = configuration.scenario
    assert [(f.server, f.client) for f in scenario.flows] == [
        ("f-1-server", "f-1-client"),
        ("f-2-server", "f-2-client"),
        ("up-client", "up-server"),
        ("beside-server", "f-2-client"),
    ]
    assert "beside-client" not in [node.name for node in scenario.network.nodes]


@pytest.mark.parametrize(
    ("label", "machine"),
    [
        ("f", "f"),
        ("f[2]", "f-2"),
        ("down[50ms]", "down-50ms"),
        ("s[1, cubic]", "s-1-cubic"),
        ("q[0.5]", "q-0_2e5"),
        ("q[fq_codel(1bdp)]", "q-fq_5fcodel_281bdp_29"),
    ],
)
def test_names_on_the_machine_and_back(build: Build, label: str, machine: str) -> None:
    assert on_machine(label) == machine
    (configuration,) = build(f"flow a {{ {CUBIC} }}", ENDS)
    (flow,) = configuration.scenario.flows

    class Renamed:
        name, declared, users = machine, label.partition("[")[0], None
        server, client = flow.server, flow.client

    assert label_of(Renamed()) == label


def test_what_measure_and_claims_name(experiment: Callable[..., Experiment]) -> None:
    made = experiment(
        "sweep { n = [2, 3] }",
        DUMBBELL,
        f"flow f[i] for i in 1..n {{ {CUBIC} }}",
        ENDS,
        "repeat = 20",
        "measure = [goodput, goodput.group, fairness(f), rtt(f[1], f[3])]",
        'claim "c" { holds = median(goodput(f[3])) > 1Mbit/s }',
        'claim "d" { holds = median(goodput.group, flow: f) > 1Mbit/s }',
    )
    assert [request.sessions for request in made.requests.measure] == [(), ("f",), ("f[1]", "f[3]")]
    terms = [[(t.flow, t.cells) for u in c.units for t in u.terms] for c in made.claims]
    assert terms == [[("f[3]", ("3",))], [("f", ("2",)), ("f", ("3",))]]


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("flow f for i in 1..2 { CUBIC }", "duplicate-flow"),
        ("flow f[i] for i in 1..2 for i in 1..2 { CUBIC }", "duplicate-name"),
        ("flow f[i] for i in 1..1000000 { CUBIC }", "too-many"),
        ("flow f[i, j] for i in 1..1000 for j in 1..1000 { CUBIC }", "too-many"),
        ("flow f[i] for i in 1..2 { CUBIC  to = node[i] }", "unknown-node"),
        ("flow f[i] for i in 1..2 { CUBIC } flow f { CUBIC }", "duplicate-flow"),
        ("flow f[i] for i in 1..2 { CUBIC } flow f[1, 2] { CUBIC }", "duplicate-flow"),
        ("flow f when 1 == 2 { CUBIC }", "absent-flow"),
        ("flow f when 1 { CUBIC }", "wrong-type"),
    ],
)
def test_bad_loops(check: Check, statement: str, code: str) -> None:
    found = check(statement.replace("CUBIC", CUBIC), DUMBBELL, ENDS)
    assert code in [d.code for d in found.errors]


@pytest.mark.parametrize("name", ["f[9]", "g[1]", "f[1, 2]"])
def test_an_index_that_there_is_not(check: Check, name: str) -> None:
    flow = f"flow f[i] for i in 1..3 {{ {CUBIC} }}"
    found = check(flow, ENDS, f"measure = [rtt({name})]")
    assert [d.code for d in found.errors] == ["unknown-flow"]
    claim = f'claim "c" {{ holds = median(goodput({name})) > 1Mbit/s }}'
    found = check(flow, ENDS, "repeat = 20", claim)
    assert [d.code for d in found.errors] == ["unknown-flow"]


def test_a_loop_over_tuples(build: Build) -> None:
    (configuration,) = build(
        DUMBBELL,
        f"flow f[i] for (i, t) in [(1, 2s), (5, 500ms)] {{ {CUBIC}  start = t }}",
        ENDS,
    )
    flows = configuration.scenario.flows
    assert [(f.label, f.start_ns) for f in flows] == [("f[1]", 2 * 10**9), ("f[5]", 5 * 10**8)]


def test_a_loop_over_the_rows_of_a_file(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns have the units of their header; a column without one has numbers."""
    (tmp_path / "flows.csv").write_text("number, size [kB], start_s\n7, 12.5, 1\n8, 3, .25\n")
    monkeypatch.chdir(tmp_path)
    (configuration,) = build(
        DUMBBELL,
        'flow f[i] for (i, size, t) in rows("flows.csv")'
        " { cca = cubic  start = t  workload = file(size) }",
        ENDS,
    )
    flows = configuration.scenario.flows
    assert [(f.label, f.start_ns, f.workload.part.total_bytes(1)) for f in flows] == [
        ("f[7]", 10**9, 12_500),
        ("f[8]", 250_000_000, 3_000),
    ]


def test_a_file_with_more_rows_than_a_list_may_have(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "flows.csv").write_text("number\n" + "1\n" * 600_000)
    monkeypatch.chdir(tmp_path)
    loop = 'flow f[i] for (i, j) in rows("flows.csv")'
    (problem,) = check(DUMBBELL, f"{loop} {{ {CUBIC} }}", ENDS)
    assert (problem.code, "the limit of `rows` is 100,000" in problem.message) == ("too-many", True)
    assert problem.help


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        ("(i, i) in [(1, 2)]", "duplicate-name"),
        ("(i, j) in [1, 2]", "wrong-type"),
        ("(i, j) in [(1, 2, 3)]", "wrong-type"),
        ("(i, j) in rows(3)", "wrong-type"),
        ("(i, j) in rows()", "missing-argument"),
        ('(i, j) in rows("no.csv")', "unreadable"),
        ('(i, j) in rows("../no.csv")', "file-path"),
    ],
)
def test_what_a_loop_over_tuples_refuses(check: Check, loop: str, found: str) -> None:
    problems = check(DUMBBELL, f"flow f[i] for {loop} {{ {CUBIC} }}", ENDS)
    assert found in [each.code for each in problems]


def test_a_nat_that_changes_ports_more_often_than_a_plan_has(check: Check) -> None:
    times = ", ".join(f"{n}ms" for n in range(1, 1202))
    (problem,) = check(
        "topology = bottleneck(rate: 10Mbit/s, rtt: 20ms) with {"
        f" link right -> left {{ nat = rebind({times}) }} }}",
        "flow q { over = quic  cca = cubic  workload = bulk }",
        ENDS,
    )
    assert problem.code == "too-many" and problem.span is not None and problem.help
