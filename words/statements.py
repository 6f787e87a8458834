"""The statements and functions of the language, which are in no registry, for `fairc show`."""

from __future__ import annotations

from typing import NamedTuple

from fairc.mechanisms.devices.registry import DEVICES, PROXIES


class Statement(NamedTuple):
    """A statement or function: what it is for, how it is written. where: in which block it
    stands.
    """

    name: str
    summary: str
    where: str
    example: str


STATEMENTS: tuple[Statement, ...] = (
    Statement("fexp", "The version of the language", "the first line", "fexp 1"),
    Statement(
        "import",
        "Imports the `let`s and topologies of another file",
        "a file",
        'import "networks.fexp"',
    ),
    Statement("let", "Names a value", "a file", "let slow = 1Mbit/s"),
    Statement(
        "experiment",
        "What is run and measured; `experiment NAME extends BASE` has what BASE has as well",
        "a file",
        "experiment NAME {\n  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)\n"
        "  flow a { cca = cubic  workload = file(10MB) }\n  measure = [goodput]\n}",
    ),
    Statement(
        "template",
        "A base of experiments, which is not run itself",
        "a file",
        "template base { topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)  measure = [goodput] }\n"
        "experiment one extends base { flow a { cca = cubic  workload = file(10MB) } }",
    ),
    Statement(
        "topology",
        "A network: with a name in a file, without one in an experiment",
        "a file or `experiment`",
        "topology NAME(rate = 1Mbit/s) {\n  node s, c\n  router r\n"
        "  link s -- r { rate = 100Mbit/s }\n  link r -> c { rate = rate  delay = 25ms }\n"
        "  link c -> r { rate = rate  delay = 25ms }\n}",
    ),
    Statement("node", "A host: flows start and end here", "`topology`", "node server, client"),
    Statement("router", "Forwards packets", "`topology`", "router left, right"),
    Statement(
        "link",
        "Connects two nodes, both ways (`--`) or one (`->`)",
        "`topology`",
        "link left -> right { rate = 1Mbit/s  delay = 25ms  queue = fifo(2bdp)  loss = 1% }",
    ),
    Statement("at", "Changes a link at a given time", "`link`", "at 10s { rate = 2Mbit/s }"),
    Statement(
        "every",
        "Changes a link again and again",
        "`link`",
        "every 15s from 12s for 100ms { loss = 20% }",
    ),
    Statement("down", "Takes a link down for some time", "`link`", "down from 10s to 12s"),
    Statement(
        "sweep",
        "Runs the experiment with every combination of some values",
        "`experiment`",
        "sweep {\n  cca           = [cubic, bbr]\n  (rate, depth) = [(1Mbit/s, 1bdp),"
        " (10Mbit/s, 2bdp)]\n}",
    ),
    Statement(
        "exclude",
        "Leaves out the cells for which a condition holds",
        "`experiment`",
        "exclude cca == bbr and repetition > 2",
    ),
    Statement(
        "precision",
        "Ends a range of repetitions when values are precise enough, or all claims decided",
        "`experiment`",
        (
            "repeat = 8..30\nprecision {\n  goodput    = 5%\n  fairness.F = 0.02\n  claims     ="
            " decided\n}"
        ),
    ),
    Statement(
        "flow",
        "One session: its CCA, its ends, its workload",
        "`experiment`",
        "flow NAME { cca = cubic  workload = file(10MB) }\n"
        "flow f[i] for i in 1..3 { cca = cubic  start = i * 1s  workload = bulk }\n"
        "flow rival when loss == 0% { cca = bbr  workload = bulk }",
    ),
    Statement(
        "service",
        "What several flows are, as in `flow a = film { start = 5s }`; its name can be swept",
        "a file or `experiment`",
        "service film { cca = cubic  over = quic  workload = bulk }",
    ),
    Statement(
        "metric",
        "A custom metric, calculated from others",
        "`experiment`",
        "metric power = goodput(load) / rtt.p95(probe)",
    ),
    Statement(
        "users",
        "A group of hosts, each with the flows that run on it",
        "`experiment`",
        "users heavy { count = 5 }\nflow h { users = heavy  cca = cubic  workload = bulk }",
    ),
    Statement("hosts", "Settings for every host", "`experiment`", "hosts { ecn = on }"),
    Statement(
        "report",
        "The figures of the report",
        "`experiment`",
        "report {\n  line(goodput, x: rate, by: cca)\n  table(queue_delay.p95, by: cca)\n}",
    ),
    Statement(
        "claim",
        "What the results are to show; the run decides it",
        "`experiment`",
        'claim "bbr takes more than its share" {\n  where = loss == 0%\n  for   = each\n'
        "  holds = median(fairness.F) > 0.2\n}",
    ),
    *(Statement(each.noun, each.summary, "`topology`", each.example) for each in PROXIES),
    Statement(
        "tunnel",
        "Carries what passes two routers in larger packets",
        "`topology`",
        "tunnel NAME { from = left  to = right  header = 60B  ecn = copy }",
    ),
    *(Statement(each.noun, each.summary, "`topology`", each.example) for each in DEVICES),
    Statement(
        "extends",
        "Inherits everything from another experiment or a template",
        "a file",
        "experiment two extends one { repeat = 10 }",
    ),
    Statement(
        "with",
        "Changes links, proxies and policers of a topology, key by key",
        "`experiment`",
        "topology = geo(pep: split) with { pep satellite { mode = split(window: 1MB) } }",
    ),
    Statement(
        "for",
        "Repeats a flow (or, in `topology`, a node or a link) for each value of an index",
        "`experiment`",
        "flow f[i] for i in 1..3 { cca = cubic  start = i * 1s  workload = bulk }",
    ),
    Statement(
        "when",
        "Has a flow only in the configurations for which a condition holds",
        "`experiment`",
        "flow rival when loss == 0% { cca = bbr  workload = bulk }",
    ),
)

FUNCTIONS: tuple[Statement, ...] = (
    Statement(
        "max", "The largest of several values", "an expression", "let size = max(1bdp, 10kB)"
    ),
    Statement(
        "min", "The smallest of several values", "an expression", "let size = min(1bdp, 100pkt)"
    ),
    Statement("sqrt", "The square root of a number", "an expression", "let share = sqrt(2)"),
    Statement(
        "peak",
        "The highest rate of a recording",
        "an expression",
        'let top = peak(trace("dish.csv"))',
    ),
    Statement(
        "logspace",
        "Logarithmically spaced values: first, last, how many",
        "an expression",
        "let latencies = logspace(1ms, 300ms, 10)",
    ),
    Statement(
        "pairs",
        "All unordered pairs of some values, each value also with itself, for two names at once",
        "`sweep`",
        "let both = pairs(cubic, bbr, reno)",
    ),
    Statement(
        "rows",
        "The rows of a file, a tuple each; its header names the units of its columns",
        "a loop over names or tuples, `sweep`",
        'let flows = rows("flows.csv")',
    ),
)
"""The functions that compute values (dsl/expressions/functions.py), written likewise."""
