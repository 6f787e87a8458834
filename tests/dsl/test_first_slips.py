"""What people write first, and the help that shows the right line."""

from __future__ import annotations

import pytest

from fairc.compiler import compile
from fairc.dsl import Source, load

TOPOLOGY = "bottleneck(rate: 1Mbit/s, rtt: 50ms)"
WORKLOAD = "file(1MB)"


def helps(experiment: str) -> list[tuple[str, str]]:
    _, diagnostics = load(Source("file.fexp", f"fexp 1\nexperiment e {{\n{experiment}\n}}\n"))
    return [(d.code, f"{d.note} {d.help}") for d in diagnostics.errors]


def of(topology: str = TOPOLOGY, workload: str = WORKLOAD, more: str = "") -> str:
    return (
        f"topology = {topology}\nflow a {{ cca = cubic  workload = {workload} }}\n{more}\n"
        "measure = [goodput]"
    )


@pytest.mark.parametrize(
    ("experiment", "code", "line"),
    [
        (of(more="sweep depth = [1bdp, 2bdp]"), "syntax", "`sweep { depth = [1bdp, 2bdp] }`"),
        (of(workload="page(html: 30kB)"), "unknown-workload", "`workload = load(page("),
        (of("bottleneck(rate: 10Mbps, rtt: 50ms)"), "unknown-unit", "`10Mbit/s`"),
        (of(more="sweep { cca = cubic, bbr  x = [1, 2] }"), "syntax", "`[cubic, bbr]`"),
        (of(more="exclude cca = cubic"), "syntax", "`==` instead of this"),
        (of(more="flow b { let x = 5ms }"), "syntax", "move `let x = 5ms` out of this block"),
        (of(more="link a -- b"), "syntax", "it stands in a topology"),
        (of(more="for i in 1..3 { }"), "syntax", "`flow f[i] for i in 1..3 { ... }`"),
        (of(more="if 1 > 0 { }"), "syntax", "`flow f when n > 0 { ... }`"),
        (of(more="flow my-flow { cca = cubic  workload = bulk  stop = 1s }"), "syntax", "`_`"),
        (of(more="claim { holds = 1 < 2 }"), "syntax", 'claim "'),
        (of("bottleneck(rate: 1Mbit/s, latency: 50ms)"), "unknown-argument", "`delay`"),
        (of(more="runs = 5"), "unknown-key", "`repeat`"),
        (
            of(more=f"flow b {{ cca = cubic  ecn = on  workload = {WORKLOAD} }}"),
            "conflicting-options",
            "`topology = dumbbell(...)`",
        ),
    ],
)
def test_the_help_shows_the_right_line(experiment: str, code: str, line: str) -> None:
    found = helps(experiment)
    assert found and {c for c, _ in found} == {code}
    assert line in found[0][1]


def test_flows_of_a_dumbbell_have_hosts_of_their_own() -> None:
    text = of(
        "dumbbell(rate: 1Mbit/s, rtt: 50ms)",
        more=f"flow up {{ from = client  to = server  cca = bbr  ecn = on  workload = {WORKLOAD} }}",
    )
    made, found = load(Source("file.fexp", f"fexp 1\nexperiment e {{\n{text}\n}}\n"))
    assert made is not None, [d.message for d in found]
    (cell,) = compile(made).cells()
    assert {n.name for n in cell.nodes if n.kind == "host"} == {
        *("a-client", "a-server", "up-client", "up-server"),
    }
    a, up = cell.flows
    assert (a.server, a.client, up.server, up.client) == (
        *("a-server", "a-client", "up-client", "up-server"),
    )
    assert [flow.options.ecn for flow in cell.flows] == [False, True]
    assert len({flow.base_rtt_ns for flow in cell.flows}) == 1


def test_users_of_a_dumbbell_are_still_users() -> None:
    more = f"users u {{ count = 2 }}\nflow b {{ users = u  cca = cubic  workload = {WORKLOAD} }}"
    text = of("dumbbell(rate: 1Mbit/s, rtt: 50ms)", more=more)
    made, found = load(Source("file.fexp", f"fexp 1\nexperiment e {{\n{text}\n}}\n"))
    assert made is not None, [d.message for d in found]
    (cell,) = compile(made).cells()
    hosts = sorted(node.name for node in cell.nodes if node.kind == "host")
    assert hosts == ["a-client", "a-server", "u-1", "u-1-server", "u-2", "u-2-server"]


OWN = """topology {
  node s1, c1
  router r
  link s1 -- r { rate = 10Mbit/s  delay = 1ms }
  link r -- c1 { rate = 1Mbit/s  delay = 10ms }
}
measure = [goodput]
"""


def test_a_node_keeps_its_name_where_a_swept_name_is_the_same() -> None:
    text = (
        f"{OWN} sweep {{ c1 = [cubic, bbr] }} flow a {{ from = s1  to = c1  cca = c1  workload ="
        f" {WORKLOAD} }}"
    )
    made, found = load(Source("file.fexp", f"fexp 1\nexperiment e {{\n{text}\n}}\n"))
    assert made is not None, [d.message for d in found]
    cells = list(compile(made).cells())
    assert [(c.flows[0].client, c.flows[0].cca) for c in cells] == [("c1", "cubic"), ("c1", "bbr")]


def test_swept_nodes_are_what_they_are_swept_over() -> None:
    text = (
        f"{OWN} sweep {{ end = [c1, s1] }} flow a {{ from = s1  to = end  cca = cubic  workload ="
        f" {WORKLOAD} }}"
    )
    assert [code for code, _ in helps(text)] == ["same-ends"]
    text = text.replace("[c1, s1]", "[c2]")
    assert [code for code, _ in helps(text)] == ["unknown-node"]


def test_nothing_is_said_of_combinations_that_do_not_occur() -> None:
    """LEDBAT is over QUIC only; the pair that cannot be is left out of the sweep."""
    sweep = "sweep { cca = [ledbat, cubic]  over = [quic, tcp] }"
    flow = (
        f"topology = {TOPOLOGY} flow a {{ cca = cca  over = over  workload = {WORKLOAD} }} measure"
        f" = [goodput]"
    )
    assert [code for code, _ in helps(f"{sweep} {flow}")] == ["impossible-pair"]
    assert helps(f"{sweep} exclude cca == ledbat and over == tcp {flow}") == []
    # What occurs is looked at, even where the first value of the other axes does not go with it.
    sweep = "sweep { cca = [ledbat, cubic, nocca]  over = [quic, tcp] }"
    exclude = "exclude cca == ledbat and over == tcp  exclude cca == nocca and over == quic"
    assert [code for code, _ in helps(f"{sweep} {exclude} {flow}")] == ["unknown-cca"]


def test_a_warm_up_beyond_the_end_is_an_error() -> None:
    assert [c for c, _ in helps(of(more="duration = 5s  warmup = 10s"))] == ["warmup-too-long"]


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("flow f[i] for i in 1..2 = film", "write `flow f[i] = film for i in 1..2`"),
        ("flow f when n > 1 = film { start = 1s }", "write `flow f = film when n > 1`"),
    ],
)
def test_a_service_stands_before_the_loops_of_a_flow(written: str, advice: str) -> None:
    text = f"fexp 1\n\nexperiment e {{\n  {written}\n}}\n"
    _, found = load(Source("f.fexp", text))
    first = next(iter(found))
    assert (first.code, first.help) == ("syntax", advice)
    assert first.span is not None and first.span.text == "= film"
