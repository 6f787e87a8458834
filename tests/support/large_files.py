"""Large legal files, one construct at a time: `LARGE[name](n)` is a file with n of what its name
says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

TOPOLOGY = "  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms)\n"
FLOW = "  flow a { cca = cubic  workload = bulk }\n"
USED = "  flow a { cca = cubic  workload = bulk  start = x * 1ms }\n"
TAIL = "  duration = 10s\n  measure = [goodput]\n"
OWN = (
    "  topology {\n    node a, b\n    router r\n    link a -- r { rate = 1Gbit/s }\n"
    "    link r -- b { rate = 10Mbit/s  delay = 1ms }\n"
)


def lines(form: str, numbers: Iterable[int]) -> str:
    """Write a line for each number."""
    return "".join(form.replace("#", str(n)) + "\n" for n in numbers)


def listed(form: str, numbers: Iterable[int]) -> str:
    """Write a list with an item for each number."""
    return "[" + ", ".join(form.replace("#", str(n)) for n in numbers) + "]"


def whole(*parts: str, before: str = "") -> str:
    """Write a file with one experiment of these statements."""
    return f"fexp 1\n{before}experiment e {{\n{''.join(parts)}}}\n"


def plain(*parts: str, before: str = "") -> str:
    """Write an experiment with one flow over one bottleneck, and these statements."""
    return whole(TOPOLOGY, FLOW, TAIL, *parts, before=before)


def _swept(values: str) -> str:
    return whole(TOPOLOGY, f"  sweep {{ x = {values} }}\n", USED, TAIL)


def _chain(n: int) -> str:
    nodes = "".join(f"    router r{k}\n" for k in range(n))
    links = "".join(f"    link r{k} -- r{k + 1} {{ delay = 1ms }}\n" for k in range(n - 1))
    ends = f"    node a, b\n    link a -- r0\n    link r{n - 1} -- b {{ rate = 10Mbit/s }}\n"
    flow = "  flow f { from = a  to = b  cca = cubic  workload = bulk }\n"
    return whole("  topology {\n", nodes, ends, links, "  }\n", flow, TAIL)


def _mesh(n: int) -> str:
    """Write a topology with n links among as few routers as possible."""
    size = 2
    while size * (size - 1) // 2 < n:
        size += 1
    pairs = [(i, k) for i in range(size) for k in range(i)][:n]
    nodes = f"    router {', '.join(f'r{k}' for k in range(size))}\n"
    links = "".join(f"    link r{i} -- r{k} {{ rate = 1Mbit/s }}\n" for i, k in pairs)
    ends = "    node a, b\n    link a -- r0\n    link r1 -- b\n"
    flow = "  flow f { from = a  to = b  cca = cubic  workload = bulk }\n"
    return whole("  topology {\n", nodes, ends, links, "  }\n", flow, TAIL)


def _star(n: int) -> str:
    """Write n pairs of hosts around one bottleneck, with a flow each."""
    nodes = f"    node {', '.join(f's{k}, c{k}' for k in range(n))}\n    router l, r\n"
    links = lines("    link s# -- l", range(n)) + lines("    link r -- c#", range(n))
    middle = "    link l -- r { rate = 10Mbit/s  delay = 10ms }\n  }\n"
    flows = lines("  flow f# { from = s#  to = c#  cca = cubic  workload = bulk }", range(n))
    return whole("  topology {\n", nodes, links, middle, flows, TAIL)


def _peps(n: int) -> str:
    """Write a chain of routers with a pair of proxies around every second link."""
    routers = ", ".join(f"r{k}" for k in range(2 * n))
    links = "".join(f"    link r{k} -- r{k + 1} {{ rate = 10Mbit/s }}\n" for k in range(2 * n - 1))
    ends = f"    node a, b\n    link a -- r0\n    link r{2 * n - 1} -- b {{ delay = 1ms }}\n"
    devices = "".join(
        f"    pep p{k} {{ terminal = r{2 * k + 1}  gateway = r{2 * k} }}\n" for k in range(n)
    )
    flow = "  flow f { from = a  to = b  cca = cubic  workload = bulk }\n"
    return whole(
        f"  topology {{\n    router {routers}\n", links, ends, devices, "  }\n", flow, TAIL
    )


LARGE: dict[str, Callable[[int], str]] = {
    "comments": lambda n: plain(before="# a line of words\n" * n),
    "blank lines": lambda n: plain(before="\n" * n),
    "lets": lambda n: plain(before=lines("let x# = #ms", range(n))),
    "lets of one let": lambda n: plain(
        before="let y = 1ms\n" + lines("let x# = y + #ms", range(n))
    ),
    "topologies": lambda n: plain(
        before=lines("topology t#(x) { node a  router b  link a -- b { rate = x } }", range(n))
    ),
    "topologies with defaults": lambda n: plain(
        before=lines(
            "topology t#(x = 1Mbit/s) { node a  router b  link a -- b { rate = x } }", range(n)
        )
    ),
    "parameters": lambda n: plain(
        before=(
            f"topology t({', '.join(f'x{k} = {k}ms' for k in range(n))}) {{ node a  router b  link"
            f" a -- b }}\n"
        )
    ),
    "flows": lambda n: whole(
        TOPOLOGY, lines("  flow f# { cca = cubic  workload = bulk }", range(n)), TAIL
    ),
    "files": lambda n: whole(
        TOPOLOGY,
        lines("  flow f# { cca = cubic  workload = file(1MB) }", range(n)),
        "  measure = [goodput, fct]\n",
    ),
    "flows over UDP": lambda n: whole(
        TOPOLOGY, lines("  flow f# { over = udp  rate = 1kbit/s  workload = bulk }", range(n)), TAIL
    ),
    "page loads": lambda n: whole(
        TOPOLOGY,
        lines("  flow f# { cca = cubic  workload = load(page(10kB)) }", range(n)),
        "  measure = [plt]\n",
    ),
    "users": lambda n: whole(
        "  topology = access(rate: 10Mbit/s, rtt: 20ms)\n",
        lines("  users u# { count = 1 }", range(n)),
        "  flow f { users = u0  cca = cubic  workload = bulk }\n",
        TAIL,
    ),
    "files of users behind a token bucket": lambda n: whole(
        "  topology = access(rate: 10Mbit/s, rtt: 20ms, policer: token_bucket(1Mbit/s, 1MB))\n",
        lines("  users u# { count = 1 }", range(n)),
        lines("  flow f# { users = u#  cca = cubic  workload = file(1MB) }", range(n)),
        "  measure = [goodput, fct]\n",
    ),
    "flows of a dumbbell": lambda n: whole(
        "  topology = dumbbell(rate: 10Mbit/s, rtt: 20ms)\n",
        lines("  flow f# { cca = cubic  workload = bulk }", range(n)),
        TAIL,
    ),
    "flows of users": lambda n: whole(
        "  topology = access(rate: 10Mbit/s, rtt: 20ms)\n  users u { count = 2 }\n",
        lines("  flow f# { users = u  cca = cubic  workload = bulk }", range(n)),
        TAIL,
    ),
    "routers in a chain": _chain,
    "links": _mesh,
    "flows around a bottleneck": _star,
    "proxies": _peps,
    "changes": lambda n: whole(
        OWN.replace("delay = 1ms }\n", "delay = 1ms\n"),
        lines("      at #ms { rate = 5Mbit/s }", range(1, n + 1)),
        "    }\n  }\n  flow f { from = a  to = b  cca = cubic  workload = bulk }\n",
        TAIL,
    ),
    "outages": lambda n: whole(
        OWN.replace("delay = 1ms }\n", "delay = 1ms\n"),
        "".join(f"      down from {10 * k}ms to {10 * k + 5}ms\n" for k in range(1, n + 1)),
        "    }\n  }\n  flow f { from = a  to = b  cca = cubic  workload = bulk }\n",
        TAIL,
    ),
    "values of an axis": lambda n: _swept(listed("#", range(1, n + 1))),
    "a range": lambda n: _swept(f"1..{n}"),
    "tuples of an axis": lambda n: whole(
        TOPOLOGY,
        f"  sweep {{ (x, y) = {listed('(#, #us)', range(1, n + 1))} }}\n",
        "  flow a { cca = cubic  workload = bulk  start = x * 1us + y }\n",
        TAIL,
    ),
    "repeated values": lambda n: _swept(listed("1", range(n))),
    "a grid": lambda n: whole(
        "  topology = bottleneck(rate: r, rtt: t)\n",
        f"  sweep {{ r = {listed('#kbit/s', range(100, 100 + n))}"
        f"  t = {listed('#ms', range(1, n + 1))} }}\n",
        FLOW,
        TAIL,
    ),
    "dependent lists": lambda n: whole(
        TOPOLOGY, f"  sweep {{ y = 1..{n}  x = [y, y + 1, y + 2] }}\n", USED, TAIL
    ),
    "excludes": lambda n: whole(
        TOPOLOGY,
        f"  sweep {{ x = 1..{n + 1} }}\n",
        lines("  exclude x == #", range(1, n + 1)),
        USED,
        TAIL,
    ),
    "excludes of repetitions": lambda n: whole(
        TOPOLOGY,
        f"  sweep {{ x = 1..2 }}\n  repeat = {n + 1}\n",
        lines("  exclude repetition == #", range(1, n + 1)),
        USED,
        TAIL,
    ),
    "conditions": lambda n: whole(
        TOPOLOGY,
        f"  sweep {{ x = 1..10 }}\n  exclude {' or '.join(f'x == {k}' for k in range(2, n + 2))}\n",
        USED,
        TAIL,
    ),
    "sum": lambda n: _swept(f"[{' + '.join(['1'] * n)}]"),
    "sums of lists": lambda n: _swept(f"[1, 2]{' + 1' * n}"),
    "sessions of a metric": lambda n: whole(
        TOPOLOGY,
        lines("  flow f# { cca = cubic  workload = bulk }", range(n)),
        f"  duration = 10s\n  measure = [fairness({', '.join(f'f{k}' for k in range(n))})]\n",
    ),
    "figures": lambda n: plain("  report {\n", "    cdf(goodput)\n" * n, "  }\n"),
    "figures of a sweep": lambda n: whole(
        TOPOLOGY,
        "  sweep { x = 1..10 }\n",
        USED,
        TAIL,
        "  report {\n",
        lines("    cdf(goodput, where: x > 3)", range(n)),
        "  }\n",
    ),
    "claims": lambda n: plain(
        "  repeat = 8\n",
        lines('  claim "c#" { holds = median(goodput) > #bit/s }', range(1, n + 1)),
    ),
    "claims of a sweep": lambda n: whole(
        TOPOLOGY,
        "  sweep { x = 1..10 }\n  repeat = 8\n",
        USED,
        TAIL,
        lines('  claim "c#" { where = x == 3  holds = median(goodput) > #bit/s }', range(1, n + 1)),
    ),
    "hosts": lambda n: plain("  hosts { sack = off }\n" + "  hosts { }\n" * n),
    "sweeps": lambda n: plain("  sweep { }\n" * n),
    "deviations": lambda n: plain(
        '  source = "x"\n',
        f"  deviates = [{', '.join(chr(34) + str(k) + chr(34) for k in range(n))}]\n",
    ),
    "digits": lambda n: plain(f"  seed = {'1' * n}\n"),
    "nothing but experiments": lambda n: "fexp 1\n" + lines("experiment e# { }", range(n)),
    "flows of one name": lambda n: whole(
        TOPOLOGY, "  flow f { cca = cubic  workload = bulk }\n" * n, TAIL
    ),
    "unknown keys": lambda n: plain(lines("  key# = 1", range(1000, 1000 + n))),
    "unknown CCAs": lambda n: whole(
        TOPOLOGY, lines("  flow f# { cca = cca#  workload = bulk }", range(1000, 1000 + n)), TAIL
    ),
    "unknown names": lambda n: plain(lines("  exclude x# == 1", range(1000, 1000 + n))),
    "values of unknown names": lambda n: plain(
        before=lines("let x# = y# + 1", range(1000, 1000 + n))
    ),
    "unknown flows": lambda n: plain(
        "  repeat = 8\n",
        lines('  claim "c#" { holds = median(goodput, flow: f#) > #bit/s }', range(1, n + 1)),
    ),
    "ends that are not there": lambda n: whole(
        TOPOLOGY, lines("  flow f# { from = n#  cca = cubic  workload = bulk }", range(n)), TAIL
    ),
    "users that are not there": lambda n: whole(
        TOPOLOGY, lines("  flow f# { users = u#  cca = cubic  workload = bulk }", range(n)), TAIL
    ),
    "starts after the end": lambda n: whole(
        TOPOLOGY, lines("  flow f# { cca = cubic  workload = bulk  start = 20s }", range(n)), TAIL
    ),
    "conflicts": lambda n: whole(
        TOPOLOGY,
        lines("  flow f# { cca = hybla(rtt0: #ms)  workload = bulk }", range(100, 100 + n)),
        TAIL,
    ),
    "syntax errors": lambda n: whole(
        TOPOLOGY, lines("  flow f# { cca = = cubic  workload = bulk }", range(n)), TAIL
    ),
    "brackets that open": lambda n: whole(TOPOLOGY, FLOW, TAIL, "  x = " + "[" * n + "\n"),
    "braces that open": lambda n: whole(TOPOLOGY, FLOW, TAIL, "  hosts " + "{" * n + "\n"),
    "colons": lambda n: plain(lines("  title: #", range(n))),
    "semicolons": lambda n: plain(lines("  x = #;", range(n))),
    "one line": lambda n: whole(
        TOPOLOGY.strip(),
        "".join(f" flow f{k} {{ cca = cubic  workload = bulk }}" for k in range(n)),
        TAIL,
    ),
    "aligned tables": lambda n: whole(
        TOPOLOGY,
        f"  sweep {{ (x, y) = [\n{lines('    (#,      #us),', range(1, n + 1))}  ] }}\n",
        "  flow a { cca = cubic  workload = bulk  start = x * 1us + y }\n",
        TAIL,
    ),
    "comments in a list": lambda n: _swept("[1,\n" + "    # a comment\n" * n + "  2]"),
    "one long line": lambda n: _swept(listed("#", range(1, n + 1))).replace("\n", " "),
}
