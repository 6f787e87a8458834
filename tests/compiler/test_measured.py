"""Metrics that nothing in the file has a value of are warned about, and no others."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from specs import compilation_of
from tables import rows

from fairc.dsl import CompileError

TEXT = """fexp 1
experiment e {{
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)
  {flows}
  duration = 10s
  measure = [{measure}]
}}
"""
BULK = "flow a { cca = cubic  workload = bulk }\n"
FILE = "flow b { cca = cubic  workload = file(1MB) }\n"
SWEPT = "sweep { what = [bulk, file(1MB)] }\nflow a { cca = cubic  workload = what }"
TWO = "flow f[i] for i in 1..2 { cca = cubic  workload = bulk }\n"
UDP = "flow u { over = udp  rate = 100kbit/s  workload = bulk }"


def warned(flows: str, measure: str) -> list[tuple[str, str]]:
    """Return the place and the message of each such warning."""
    compilation = compilation_of(TEXT.format(flows=flows, measure=measure))
    assert list(compilation.cells())
    return [
        (d.span.text, d.message)
        for d in compilation.diagnostics
        if d.code == "nothing-to-measure" and d.span
    ]


FLOWS = {
    "bulk": BULK,
    "file": FILE,
    "two": TWO,
    "udp": UDP,
    "swept": SWEPT,
    "bbr": BULK.replace("cubic", "bbr"),
    "ecn": BULK.replace("cca =", "ecn = on  cca ="),
}
WARNED = """
bulk      | goodput, qoe              | qoe      | no flow plays a video, so `qoe` has no values
bulk      | fairness                  | fairness | no flow competes with another flow, so `fairness` has no values
bulk      | fct                       | fct      | no flow moves a file or answers requests, so `fct` has no values
bulk file | fct, fairness, cwnd       |          |
bulk      | marks                     | marks    | no flow asks for ECN, so `marks` has no values
ecn       | marks                     |          |
bbr       | state                     | state    | no flow has a CCA over QUIC, or `bbr` on your own kernel, so `state` has no values
bulk file | share(a)                  |          |
bulk two  | convergence_time(a)       | convergence_time(a) | no flow among `a` competes with another one of them, so `convergence_time` has no values
bulk      | share(a)                  | share(a) | no flow competes with another flow, so `share` is 1
bulk file | fct(a)                    | fct(a)   | no flow among `a` moves a file or answers requests, so `fct` has no values
swept     | fct                       |          |
bulk      | datagrams                 | datagrams | no flow runs over UDP, so `datagrams` has no values
udp       | datagrams, throughput     |          |
bulk      | goodput.group, goodput.subflow | goodput.group | `goodput.group` and `goodput.subflow` have no value in any configuration
bulk two  | goodput(a), goodput.group |          |
bulk two  | fairness.F                | fairness.F | `fairness.F` has no value in any configuration
bulk two  | fairness, fairness.jain_slots |      |
two       | fairness.F                |          |
two       | policing.level            | policing.level | `policing.level` has no value in any configuration
"""


@pytest.mark.parametrize(("flows", "measure", "place", "message"), rows(WARNED))
def test_nothing_to_measure(flows: str, measure: str, place: str, message: str) -> None:
    said = warned("".join(FLOWS[name] for name in flows.split()), measure)
    assert said == ([(place, message)] if place else [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("after: 5s", []),
        ("after: 9.5s", ["no flow lasts long enough after the change"]),
        ("after: 3s, every: 8s", ["no flow lasts long enough after the change"]),
        ("after: 2s, every: 0.5s", ["the time between changes is shorter than a slot"]),
    ],
)
def test_recovery_from_changes_that_nothing_shows(options: str, said: list[str]) -> None:
    compilation = compilation_of(TEXT.format(flows=BULK, measure=f"recovery_time({options})"))
    with pytest.raises(CompileError) if said else nullcontext():
        list(compilation.cells())
    assert [d.message for d in compilation.diagnostics.errors] == said


OWN_LINK = """fexp 1
experiment e {{
  topology {{
    node server, client
    router r
    link server -- r, r -- client {{ rate = 1Mbit/s }}
  }}
  {flows}
  duration = 10s
  measure = [{measure}]
}}
"""


@pytest.mark.parametrize(
    ("flows", "measure", "lacking"),
    [
        (BULK, "rtt.p95, goodput", ["rtt.p95"]),
        (BULK, "rtt.base, loss_rate.random", []),
        (BULK, "queue_delay", ["queue_delay"]),
        (BULK, "loss_rate", ["loss_rate"]),
        (BULK, "acks, bursts", ["acks", "bursts"]),
        ("flow p { workload = ping(every: 50ms) }", "rtt.min", []),
        ("flow p { workload = ping(every: 50ms) }\n" + BULK, "rtt.min", []),
        ("flow p { workload = ping(every: 50ms) }\n" + BULK, "rtt.min(a)", ["rtt.min(a)"]),
    ],
)
def test_what_no_capture_shows_where_the_senders_own_link_is_the_slowest(
    flows: str, measure: str, lacking: list[str]
) -> None:
    compilation = compilation_of(OWN_LINK.format(flows=flows, measure=measure))
    (cell,) = compilation.cells()
    found = [d for d in compilation.diagnostics if d.code == "nothing-to-measure"]
    assert [d.span.text for d in found if d.span] == lacking
    assert all("sender itself" in d.notes[0] for d in found)
    echoes = [c for c in cell.captures if c.point == "echo"]
    assert [(c.node, c.direction, c.form) for c in echoes] == (
        [("server", "in", "pcap")] if "ping" in flows else []
    )


@pytest.mark.parametrize(
    ("topology", "measure", "help"),
    [
        (
            "access(rate: 1Mbit/s, policer: token_bucket(rate: 500kbit/s, burst: 20kB))",
            "policing.level",
            (
                "leave it out, give it other flows, or ask for `policing.loss`, `policing.drops`,"
                " `policing.small_window`"
            ),
        ),
        (
            "access(rate: 1Mbit/s)",
            "policing.level",
            "leave it out, give it other flows, or ask for",
        ),
        ("bottleneck(rate: 1Mbit/s)", "goodput.user", "leave it out, or give it other flows"),
    ],
)
def test_the_values_that_a_metric_does_have_are_named(
    topology: str, measure: str, help: str
) -> None:
    text = TEXT.format(flows=BULK, measure=measure)
    text = text.replace("bottleneck(rate: 1Mbit/s, rtt: 50ms)", topology)
    compilation = compilation_of(text)
    list(compilation.cells())
    (found,) = (d for d in compilation.diagnostics if d.code == "nothing-to-measure")
    assert found.help is not None
    assert found.help.startswith(help)


POLICED = """fexp 1
experiment e {{
  topology {{
    node server, client
    router left, right
    link server -- left, right -- client {{ rate = 100Mbit/s }}
    link left -> right {{
      rate = 5Mbit/s  delay = 10ms
      policer = token_bucket(rate: 2Mbit/s, burst: 20kB)
    }}
    link right -> left {{ rate = 5Mbit/s  delay = 10ms }}
  }}
  flow a {{ cca = cubic  workload = bulk }}
  duration = 10s
  measure = [{measure}]
}}
"""


@pytest.mark.parametrize(
    ("measure", "lacking"),
    [
        ("policing", ""),
        ("policing.loss, policing.drops, policing.small_window", ""),
        ("policing.level, policing.loss", "`policing.level`"),
        ("policing.tokens, policing.empty", "`policing.tokens` and `policing.empty`"),
    ],
)
def test_what_a_token_bucket_has_of_policing(measure: str, lacking: str) -> None:
    """It polices bytes: a share of packets is dropped, and none takes a token for congestion."""
    compilation = compilation_of(POLICED.format(measure=measure))
    list(compilation.cells())
    found = [d for d in compilation.diagnostics if d.code == "nothing-to-measure"]
    verb = "have" if " and " in lacking else "has"
    said = [f"{lacking} {verb} no value in any configuration"] if lacking else []
    assert [d.message for d in found] == said
    for diagnostic in found:
        (note,) = diagnostic.notes
        assert note.startswith("a token bucket polices bytes: no packet takes a token")
        assert note.endswith("`policing.loss` and `policing.drops` have values")


LOT = """fexp 1
experiment lot {{
  topology = chain(hops: 2)
  flow long {{ cca = cubic  workload = bulk }}
  flow cross[i] for i in 1..2 {{ from = s[i]  to = c[i]  cca = cubic  workload = bulk }}
  duration = 5s
  measure = [{measure}]
}}
"""


@pytest.mark.parametrize(
    ("measure", "why"),
    [
        ("fmp", "`cross[2]` and `cross[1]` have no slowest link in common"),
        ("fmp.jain", ""),
        ("fmp(long, cross[1])", ""),
        ("fairness.F", "it is defined for two sessions, not 3"),
        ("fairness", ""),
        (
            "fairness(cross)",
            "`cross[2]` and `cross[1]` have no slowest link in common",
        ),
        ("jain(cross)", "`cross[2]` and `cross[1]` have no slowest link in common"),
        ("convergence_time", ""),
    ],
)
def test_sessions_that_share_no_bottleneck(measure: str, why: str) -> None:
    compilation = compilation_of(LOT.format(measure=measure))
    list(compilation.cells())
    found = [d for d in compilation.diagnostics if d.code == "nothing-to-measure"]
    assert [d.notes for d in found] == ([(why,)] if why else [])
