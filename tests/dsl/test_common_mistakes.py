"""What people write first, and the help that shows the right line."""

from __future__ import annotations

import pytest
from specs import compilation_of, only_cell_of

from fairc.dsl import Source, load
from fairc.dsl.text.mistakes import REACH

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


WITH_JITTER = "`bottleneck(...) with { link left -> right { jitter = 5ms } }`"
DOWN = ("syntax", "`down from 10s to 12s`")
SIZE = ("unknown-key", "`workload = file(1MB)`")


@pytest.mark.parametrize(
    ("experiment", "code", "line"),
    [
        (of(workload="page(html: 30kB)"), "unknown-workload", "`workload = load(page("),
        (of("bottleneck(rate: 10Mbps, rtt: 50ms)"), "unknown-unit", "`10Mbit/s`"),
        (of(more="sweep { cca = cubic, bbr  x = [1, 2] }"), "syntax", "`[cubic, bbr]`"),
        (of(more="exclude cca = cubic"), "syntax", "`==` instead of this"),
        (of(more="flow b { let x = 5ms }"), "syntax", "move `let x = 5ms` out of this block"),
        (of(more="link a -- b"), "syntax", "it stands in a topology"),
        (of(more="at 10s { rate = 5Mbit/s }"), "syntax", "link left -> right { at 10s { rate"),
        (of(more="every 5s for 1s { loss = 1% }"), "syntax", "for 1s { loss = 1% }` out of this"),
        ("topology { router r  policer p { at r } }", "syntax", "expected `=`"),
        ("topology { node a, b  routers r }", "syntax", "did you mean `router`?"),
        (of(more="down from 10s to 12s"), "syntax", "link left -> right { down from 10s to 12s }"),
        (of(more="for i in 1..3 { }"), "syntax", "`flow f[i] for i in 1..3 { ... }`"),
        (of(more="if 1 > 0 { }"), "syntax", "`flow f when n > 0 { ... }`"),
        (of("bottleneck(rate: 5mbit, rtt: 50ms)"), "unknown-unit", "`5Mbit/s` is a rate"),
        (of(workload="file(1M)"), "unknown-unit", "`1Mbit/s` is a rate, `1MB` a size"),
        (of(f"{TOPOLOGY[:-1]}, queue: tbf)"), "unknown-queue", "`transmit = bucket`"),
        (of(f"{TOPOLOGY[:-1]}, queue: netem(loss: 1%))"), "unknown-queue", "keys of a link"),
        (of(f"{TOPOLOGY[:-1]}, queue: cake(ack-filter: on))"), "syntax", "`ack_filter`"),
        (of(more="flow b { min-rto = 5ms }"), "syntax", "`min_rto`"),
        (of(more="flows b { cca = bbr }"), "syntax", "did you mean `flow`?"),
        (of(more="flow b { cca = bbr  stop_time = 5s  workload = bulk }"), "unknown-key", "`stop`"),
        (of(workload="video(bitrate: 1Mbit/s, duration: 9s)"), "unknown-argument", "`length`"),
        (of(more="metric m = rtt.p99.9(a)"), "syntax", "`fairc show rtt`"),
        (of(more="metric m = rtt(a).p99 / 1s"), "syntax", "`rtt.p99(a)`"),
        (
            of(more='claim "x" { holds = goodput.p50(a) > 1Mbit/s }'),
            "unknown-value",
            "it has: user, group, subflow",
        ),
        (of(more="flow my-flow { cca = cubic  workload = bulk  stop = 1s }"), "syntax", "`_`"),
        (of(more="claim { holds = 1 < 2 }"), "syntax", 'claim "'),
        (of("bottleneck(rate: 1Mbit/s, latency: 50ms)"), "unknown-argument", "`delay`"),
        (of(more="runs = 5"), "unknown-key", "`repeat`"),
        (of(more="hosts { mtu = 1400B }"), "unknown-key", "mtu: 1400B"),
        (of(more="flow b { cca = quic  workload = file(1MB) }"), "unknown-cca", "`over = quic"),
        (of(more="flow b { cca = reno  workload = bulk  end = 5s }"), "unknown-key", "`stop`"),
        (of(more="flow b(cca = reno, workload = bulk)"), "syntax", "stand in braces"),
        (of(f"{TOPOLOGY} with {{ jitter = 5ms }}"), "syntax", "it stands in a link"),
        (of("bottleneck(rate: 1Mbit/s, rtt: .05s)"), "syntax", "a digit before its point"),
        (of(more="let int n = 5"), "syntax", "`let slow = 1Mbit/s`"),
        (of(more="metric m = rtt.99(a)"), "syntax", "`rtt.p99`"),
        (of(more="report { plot(goodput) }"), "unknown-figure", "`line`"),
        (of().replace("[goodput]", "all"), "wrong-type", "write `[goodput]`"),
        (of("bottleneck(rate: 1Mbit/s, rtt: 40m)"), "unknown-unit", "`40ms` is in milliseconds"),
        (of("bottleneck(rate: 1Mbit/s, rtt: 40 m)"), "spaced-unit", "`40ms`"),
        (of("bottleneck(rate: 1Mbit/s, rtt: 40\u00b5s)"), "strange-character", "looks like `u`"),
        (of("bottleneck(rate: 1e7, rtt: 50ms)"), "missing-unit", "write `10Mbit/s`"),
        (of("bottleneck(rate 1Mbit/s, rtt: 50ms)"), "syntax", "colon: `rate: 1Mbit/s`"),
        (of("bottleneck(1Mbit/s, 50ms, fifo(2bdp))"), "unknown-loss-model", "this is `loss` of"),
        (of(f"{TOPOLOGY[:-1]}, queue: 2bdp)"), "wrong-type", "write `fifo(2bdp)`"),
        (of(f"{TOPOLOGY[:-1]}, queue: fq-codel)"), "unknown-name", "`fq_codel` meant?"),
        (of(f"{TOPOLOGY[:-1]}, queue: pfifo_fast)"), "unknown-queue", "`fifo`"),
        (of(more="flow b { cca = TcpNewReno  workload = file(1MB) }"), "unknown-cca", "`reno`"),
        (of(more="flow b { cca reno  workload = file(1MB) }"), "syntax", "`cca = reno`"),
        (of(more="flow b { congestion = reno  workload = file(1MB) }"), "unknown-key", "`cca`"),
        (of(more="sweep = { n = [1, 2] }"), "syntax", "a block has no `=`"),
        (of(more="repeat = 3  // times"), "syntax", "a comment begins with `#`"),
        (of(more="/* long */"), "syntax", "a comment begins with `#`"),
        (of(more="sweep { n = [1, 2] }  exclude n == 1 && n == 2"), "syntax", "`and` and `or`"),
        (of(more="report = [cdf(rtt)]"), "unknown-key", "`report { line(goodput, x: time)"),
        (of(more="report { bars(goodput, x: cca) }"), "unknown-figure", "`line(goodput, x: buffer"),
        (of(more="report { box(goodput) }"), "unknown-figure", "`boxplot(goodput, by: cca)`"),
        (
            of('bottleneck(rate: trace("a.csv", mbps), rtt: 50ms)'),
            "wrong-type",
            '`column: "mbps"`',
        ),
        (
            of('bottleneck(rate: trace("a.csv", "mbps"), rtt: 50ms)'),
            "wrong-type",
            '`column: "mbps"`',
        ),
        (of(more="engine = uml"), "unknown-key", "`fairc run FILE --engine uml`"),
        (of(more="extends = base"), "unknown-key", "`experiment NAME extends BASE { ... }`"),
        (of(more="plot cdf(rtt)"), "syntax", "`report { line(goodput, x: time)"),
        (
            of(more="flow b { cca = cubic  workload = bulk  stop = 1s  when 1 > 0 }"),
            "syntax",
            "`flow f when n > 0 { ... }`",
        ),
        (
            of(more="flow b { cca = cubic  workload = bulk  stop = 1s  for i in 1..3 }"),
            "syntax",
            "`flow f[i] for i in 1..3 { ... }`",
        ),
        (
            of(more="topology { host a, b }").replace(f"topology = {TOPOLOGY}", ""),
            "syntax",
            "`node a, b`",
        ),
        (of("bottleneck(rate: 1Mbit/s, rtt: 50ms, jitter: 5ms)"), "unknown-argument", WITH_JITTER),
        (of("bottleneck(rate: 1Mbit/s) with { link left -> right { at 1s { down } } }"), *DOWN),
        (of("bottleneck(rate: 1Mbit/s) with { link left -> right { down at 9s for 1s } }"), *DOWN),
        (of("bottleneck(rate: 1Mbit/s, queue: fifo(2 * bdp))"), "unknown-name", "`1bdp`"),
        (of("bottleneck(rate: 2 * Mbit/s)"), "unknown-name", "`1Mbit/s`"),
        (of("bottleneck(rate: 5 Mbps)"), "spaced-unit", "`5Mbit/s`"),
        (
            of(more='flow b { cca = cubic  workload = file(1MB)  start = "5s" }'),
            "wrong-type",
            "`5s`",
        ),
        (of(more="flow b { cca = newreno  workload = file(1MB) }"), "unknown-cca", "`reno`"),
        (of(more="flow b { cca = olia  workload = file(1MB) }"), "unknown-cca", "`over = mptcp"),
        (of(more="flow b { cca = cubic  workload = file(1MB)  size = 1MB }"), *SIZE),
        (of(workload="voip"), "unknown-workload", "`over = udp  rate = 64kbit/s"),
        (
            of(more='claim "c" { holds = goodput(a) > 1Mbit/s }'),
            "wrong-type",
            "`median(goodput(a))`",
        ),
        (of(more='claim "c" { goodput > 1Mbit/s }'), "syntax", "`holds = median(goodput(a))"),
        (of(more='claim "c" { median(goodput) > 1Mbit/s }'), "syntax", "`holds = median("),
        (
            of(TOPOLOGY + " with { link left -> right { at 2s for 1s { loss = 20% } } }"),
            "syntax",
            "`every 1h from 3s for 500ms",
        ),
        (of(more="sweep { x = 1ms .. 9ms step 1ms }"), "syntax", "`(1..5) * 10ms`"),
        (of("dumbbell { rate = 1Mbit/s }"), "syntax", "`dumbbell(rate: 10Mbit/s)`"),
        (of(more="sweep { x = {1, 2} }"), "syntax", "`[a, b]`"),
        (of(more="sweep { n in 1..4 }"), "syntax", "`sweep { n = 1..4 }`"),
        (of(more="repeat = 10..20..2"), "syntax", "a range has two ends"),
        (of(more="flow b from x to y { cca = cubic }"), "syntax", "{ from = server  to = client"),
        ("topology { node a, b  link a - b { rate = 1Mbit/s } }", "syntax", "`a -- b`"),
        ("topology { node a, b  link a <-> b { rate = 1Mbit/s } }", "syntax", "one way `a -> b`"),
        ("topology { node a, b  link a -- b (rate: 1Mbit/s) }", "syntax", "{ rate = 1Mbit/s }"),
        (of(more="metric gap = goodput[a]"), "unknown-metric", "write `goodput(a)`"),
        (of(more="metric gap = a.goodput"), "unknown-metric", "write `goodput(a)`"),
        (of(more='claim "c" { holds = p95(rtt(a)) < 1s }'), "unknown-statistic", "`percentile("),
        (of(more='claim "c" { holds = goodput > 1Mbit/s }'), "wrong-type", "`median(goodput)`"),
        (of(more="flow: b { cca: cubic }"), "syntax", "delete this for example `flow a {"),
        (of(more="sweep: { n: [1, 2] }"), "syntax", "`sweep { n = [1, 2] }`"),
        (of(more="flow b when n = 1 { cca = cubic }"), "syntax", "`==` instead of this"),
        (of(more="flow b if n == 1 { cca = cubic }"), "syntax", "begins with `when`"),
        (of(more="flow b[i] in 1..3 { cca = cubic }"), "syntax", "begins with `for`"),
        (of(more="let x = [i * 1ms for i in 1..3]"), "syntax", "`(1..3) * 10ms`"),
        (of(more="sweep { n = 1:5 }"), "syntax", "written `1..4`"),
        (of(more="sweep { n = 1...5 }"), "syntax", "written `1..4`"),
        (of(more="let x = 2 ** 5"), "syntax", "`n * n`"),
        (of(more="sweep { n = range(1, 5) }"), "wrong-type", "`(1..5) * 10ms`"),
        (of(more="sweep { n = (1, 5) }"), "wrong-type", "write `[1, 5]` for several values"),
        (
            of(more='claim "c" { holds = 1Mbit/s < median(goodput(a)) <= 5Mbit/s }'),
            "syntax",
            "`median(goodput(a)) in 1Mbit/s..5Mbit/s`",
        ),
        (
            of(more='claim "c" { holds = median(goodput(a)) in [1Mbit/s, 5Mbit/s] }'),
            "claim-form",
            "write `in 1Mbit/s..5Mbit/s`",
        ),
        (of(workload="file(10Mb)"), "unknown-unit", "sizes are in bytes: `1250kB`"),
        (of("bottleneck(rate: 1Mbit/s, rtt: 1min30s)"), "unknown-unit", "`1min + 30s`"),
        (of(more="rates = [1Mbit/s, 2Mbit/s]"), "unknown-key", "`let rates = ...`"),
        (of(more='name = "a test"'), "unknown-key", "`title`"),
    ],
)
def test_the_help_shows_the_right_line(experiment: str, code: str, line: str) -> None:
    found = helps(experiment)
    assert found and {c for c, _ in found} == {code}
    assert line in found[0][1]


def test_flows_of_a_dumbbell_have_hosts_of_their_own() -> None:
    text = of(
        "dumbbell(rate: 1Mbit/s, rtt: 50ms)",
        more=f"flow up {{ from = client  to = server  cca = bbr  ecn = accurate  workload = {WORKLOAD} }}",
    )
    cell = only_cell_of(f"fexp 1\nexperiment e {{\n{text}\n}}\n")
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
    cell = only_cell_of(f"fexp 1\nexperiment e {{\n{text}\n}}\n")
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
    cells = list(compilation_of(f"fexp 1\nexperiment e {{\n{text}\n}}\n").cells())
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


def test_a_slash_further_up_is_no_comment() -> None:
    """What is looked at before a token begins anywhere, also with the slash of a unit."""
    flow = "flow b[i] where 1 > 0 { cca = cubic }"
    read = of(more=flow).partition(" 1 > 0")[0].partition("/s")[2]
    padding = "x" * (REACH - len(f"/s{read}# \n"))
    (found,) = helps(of(more=f"# {padding}\n{flow}"))
    assert "begins with `when`" in found[1]


def test_a_text_for_a_number_is_not_said_to_need_no_quotes() -> None:
    ((code, said),) = helps(of(more='seed = "abc"'))
    assert code == "wrong-dimension" and "quotes" not in said


@pytest.mark.parametrize(
    ("value", "note"),
    [
        ("fct.median", "did you mean `p50`?"),
        ("fct.avg", "did you mean `mean`?"),
        ("retransmits", "did you mean `retransmissions`?"),
        ("drop_rate", "did you mean `loss_rate`?"),
        ("ttfb", "did you mean `ttr`?"),
    ],
)
def test_metrics_of_other_tools_are_known_by_their_names(value: str, note: str) -> None:
    text = of().replace("[goodput]", f"[{value}]")
    _, found = load(Source("file.fexp", f"fexp 1\nexperiment e {{\n{text}\n}}\n"))
    assert [d.note for d in found] == [note]


def test_a_decimal_comma_is_taken_for_one() -> None:
    """The rest of the number is taken for the next argument, which is another error."""
    first, _ = helps(of("bottleneck(rate: 1Mbit/s, rtt: 40,5ms)"))
    assert first[0] == "missing-unit" and first[1].endswith("has a point: `40.5ms`")


def test_arithmetic_of_metrics_is_a_metric_of_its_own() -> None:
    text = of().replace("[goodput]", "[goodput(a) / rtt.p95(a)]")
    ((code, said),) = helps(text)
    assert (code, said) == (
        "wrong-type",
        " write `metric NAME = goodput(a) / rtt.p95(a)`, and NAME here",
    )


def test_a_slip_in_a_ping_is_told_once() -> None:
    """Neither that it needs `every`, which is there under another name, nor a CCA."""
    assert [c for c, _ in helps(of(more="flow p { workload = ping(interval: 1s) }"))] == [
        "unknown-argument"
    ]


def test_a_spaced_unit_leaves_the_next_statements_alone() -> None:
    text = of(more="duration = 10 min\nwarmup = 25 s\nrepeat = 5").replace("[goodput]", "[gooput]")
    assert [c for c, _ in helps(text)] == ["spaced-unit", "spaced-unit", "unknown-metric"]


@pytest.mark.parametrize(
    "text", ["# a test\nfexp: 1\nexperiment: e\n", '{"fexp": 1, "experiment": {}}', "name: e\n"]
)
def test_other_formats_are_told_in_one_sentence(text: str) -> None:
    _, found = load(Source("file.fexp", text))
    assert [(d.code, d.message) for d in found] == [
        ("syntax", "this is another format, such as YAML or JSON")
    ]
