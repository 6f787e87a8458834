"""Spec files: mutations, sentences of the grammar, bytes; lines with other words; and bombs, which
grow.
"""

from __future__ import annotations

import json
import random
import re
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from fairc.compiler import compile
from fairc.compiler.plan import cell_json
from fairc.dsl import (
    CompileError,
    Diagnostics,
    Source,
    load,
    read,
    render_concise,
    render_full,
    render_json,
)
from fairc.dsl.core.render import LIMIT
from fairc.dsl.text.layout import layout
from fairc.dsl.text.parser import grammar
from torture.fault import Problem, Try, fault, stage

if TYPE_CHECKING:
    from fairc.dsl.experiment import Experiment

ROOT = Path(__file__).parents[4]
LIMIT_S = 5.0
# A bomb may take longer than a file that a person has written, but not for ever.
BOMB_S = 15.0
HEAD = re.compile(r"(error|warning)\[[a-z0-9-]+\]: ")
SHORT = """fexp 1
topology t(x = 1ms) { node a  router r  node b
  link a -- r { rate = 2Mbit/s  delay = x  queue = fifo(max(20pkt, 1bdp + 1kB)) }
  link r -- b { rate = 20Mbit/s  loss = 1% } }
let y = [1ms, 2ms]
experiment e {
  topology = net
  let net = t(x: half) with { link a -> r { loss = 1%  at 2s { rate = 1Mbit/s } } }
  let half = z / 2
  sweep { z = y  n = [1, 2, 4] }
  exclude z == 1ms and n > 2 and 1bdp < 9pkt
  flow f { from = a  to = b  cca = cubic  workload = file(100kB) }
  flow g { from = b  to = a  over = quic  cca = cubic(connections: n)  workload = bulk  start = uniform(0s, 1s) }
  duration = 10s
  repeat = 3
  measure = [goodput, fairness, rtt]
  report { boxplot(goodput, by: z)  cdf(rtt) }
}
"""

MANY = """fexp 1
let trips = [10ms, 50ms]
service film { cca = reno  over = quic  workload = video(bitrate: 1Mbit/s, length: 3s) }
service fetch { cca = cubic  workload = file(50kB) }
topology row(n, gone) {
  node server, client
  node c[i] for i in 1..n
  router r[i] for i in 1..n + 1
  link server -- r[1], r[n + 1] -- client { rate = 20Mbit/s }
  link r[i] -- r[i + 1] for i in 1..n { rate = 2Mbit/s  delay = 5ms  queue = fifo(0.5bdp + 3pkt) }
  link c[i] -- r[i + 1] for i in 1..n when i < 3 { rate = 20Mbit/s }
  link c[i] -- r[1] for i in 1..n when i > 2 { rate = 20Mbit/s }
  pep p when gone == off { terminal = r[2]  gateway = r[1]  mode = none }
}
template base {
  sweep { n = [1, 2]  gone = [off, on]  (first, second) = pairs(film, fetch) }
  let path = row(n, gone) with {
    link r[1] -> r[2] {
      at 1s over 500ms { rate = 1Mbit/s }
      every 2s from 1s for 100ms { loss = 20%  delay = uniform(5ms, 9ms) }
      down every 4s from 3s for 50ms
    }
    pep p when gone == off { mode = split(window: 20kB) }
  }
  topology = path
  flow a = first { start = 500ms }
  flow f[i] for i in 1..n { to = c[i]  cca = cubic  start = (i - 1) * 100ms  workload = bulk }
  flow d[trip] for trip in trips when gone == on and trip > 10ms { cca = bbr  rtt = trip  workload = bulk }
  flow ping { workload = ping(every: 50ms) }
  duration = 10s
  repeat = 12
  metric late = goodput(f[1], from: 5s, to: 9s)
  metric power = max(late, 1kbit/s) / sqrt(rtt.p95(ping) * rtt.p50(ping, from: n * 1s))
  measure = [goodput, late, power, rtt(ping), share(f), convergence_time(f, from: 2s)]
  claim "less with more" { for = 60%  holds = decreasing(median(goodput(f[1])), over: n) }
  report { line(power, x: n, by: [first, second, gone])  cdf(rtt(ping, from: 2s), where: n == 1 and flow == ping) }
}
experiment plain extends base { title = "As it is" }
experiment paired extends base {
  flow b = second { start = 0s }
  let gain = median(power, where: gone == on) / median(power, where: gone == off) - 1
  report { heatmap(gain, x: n, y: second, facet: first) }
}
"""
"""Statements with indexes, loops, conditions, services, templates, changes, metrics, trends."""

PIECES = [
    *("{", "}", "(", ")", "[", "]", ",", "=", ":", "..", "-", "--", "->", '"', "#", "%", "\\", ";"),
    *("sweep", "flow", "users", "not", "per", "ms", "bdp", "$(reboot)", "`ls`", "let a = a"),
    *("1e400", "for i in 1..3", "when n > 1", "f[i]", "extends e"),
    *("with { link a -> r { loss = 1% } }", "every 1s"),
    *("0", "1e9", "-1", "99999999999", "1..100000", "* 1..9", "[[[[", "))))", "/etc/passwd"),
    *("../../x",),
    *("\0", "\t", "\r", "\n", "\u00a0", "\u201c", "\u202e", "\u200b", "\u0430", "\U0001f600"),
]

SAMPLES = {
    "NAME": [
        "a",
        "b",
        "rate",
        "delay",
        "cubic",
        "fifo",
        "server",
        "client",
        "measure",
        "goodput",
        "sample",
        "order",
        "start",
    ],
    "CALL": [
        "f(",
        "fifo(",
        "bottleneck(",
        "access(",
        "uniform(",
        "min(",
        "logspace(",
        "sqrt(",
        "peak(",
        "pairs(",
        "file(",
        "t(",
        "4g(",
    ],
    "QUANTITY": [
        "1",
        "0",
        "5",
        "1ms",
        "2bdp",
        "10%",
        "1Mbit/s",
        "10MB",
        "3pkt",
        "1e3",
        "1.5s",
        "4g",
        "7x",
        "1e99",
        "1h",
    ],
    "STRING": ['"a"', '"x.fexp"', '"\\"q\\""', '""'],
    "ARROW": ["--", "->", "<-"],
    "COMPARE": ["==", "!=", "<", "<=", ">", ">="],
}


@cache
def specs() -> list[str]:
    """Return the texts that are mutated."""
    files = [
        *sorted((ROOT / "examples").glob("**/*.fexp")),
        *sorted(ROOT.glob("words/presets/*.fexp")),
    ]
    return [SHORT, MANY, MANY, *(file.read_text(encoding="utf-8") for file in files)]


def mutation(rng: random.Random) -> str:
    """Return a spec that is broken in a few places."""
    text = rng.choice(specs())
    if rng.random() < 0.5:
        return swapped(rng, text)
    for _ in range(rng.choice([1, 1, 2, 3, 6, 20])):
        start = rng.randrange(len(text) + 1)
        length = rng.choice([0, 1, 1, 2, 5, 20, 100])
        part, rest = text[start : start + length], text[start + length :]
        match rng.randrange(5):
            case 0:
                text = text[:start] + rest
            case 1:
                text = text[:start] + rng.choice(PIECES) + rest
            case 2:
                text = text[:start] + part * rng.choice([2, 3, 50]) + rest
            case 3:
                other = rng.randrange(len(text) + 1)
                text = text[:other] + part + text[other:]
            case _:
                donor = rng.choice(specs())
                at = rng.randrange(len(donor))
                text = text[:start] + donor[at : at + 4 * length] + rest
    return text[:100_000]


def swapped(rng: random.Random, text: str) -> str:
    """Return a text that still parses, most of the time, with other words or numbers in places."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        kind = rng.choice([r"\b[a-z_]\w*\b(?!\()", r"\b[a-z_]\w*\(", r"\b\d[\w.]*%?(?:/s\b)?"])
        places = list(re.finditer(kind, text))
        donors = [m[0] for m in re.finditer(kind, rng.choice(specs()))]
        if places and donors:
            place = rng.choice(places)
            text = text[: place.start()] + rng.choice(donors) + text[place.end() :]
    return text


@cache
def rules() -> dict[str, list[tuple[str, ...]]]:
    """Return the grammar: what each rule may become."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for rule in grammar().rules:
        found.setdefault(str(rule.origin.name), []).append(tuple(s.name for s in rule.expansion))
    return found


@cache
def literals() -> dict[str, str]:
    """Return the terminals that are always the same text."""
    return {
        terminal.name: terminal.pattern.value.partition("\\b")[0]  # what keywords look ahead to
        for terminal in grammar().terminals
        if terminal.name not in SAMPLES
    }


def sentence(rng: random.Random) -> str:
    """Return a text that the grammar derives, whatever it means."""
    words: list[str] = []
    todo = ["start"]
    while todo:
        symbol = todo.pop()
        if symbol in rules():
            options = rules()[symbol]
            long = len(words) + len(todo) > 150
            chosen = min(options, key=len) if long and rng.random() < 0.9 else rng.choice(options)
            todo.extend(reversed(chosen))
        elif symbol in SAMPLES:
            words.append(rng.choice(SAMPLES[symbol]))
        elif symbol in literals():
            words.append(literals()[symbol])
        if len(words) > 2000:
            break
    text = ""
    for word in words:
        text += word if text.endswith("(") else rng.choice([" ", " ", "\n"]) + word
    return text if rng.random() < 0.2 else f"fexp 1\n{text.replace('fexp 1', '')}"


def rubbish(rng: random.Random) -> bytes:
    """Return random bytes, some of them between the words of a spec."""
    noise = rng.randbytes(rng.choice([1, 10, 100, 1000]))
    if rng.random() < 0.5:
        return noise
    text = rng.choice(specs()).encode()
    at = rng.randrange(len(text))
    return text[:at] + noise[:20] + text[at:]


# ---- What is done with a text ------------------------------------------------------------------


def check(text: Source) -> tuple[Experiment | None, Diagnostics]:
    """Do with a text what `check` does; return the experiment and what is wrong with it."""
    experiment, found = load(text)
    assert (experiment is None) == bool(found.errors), "errors, or an experiment"
    full, concise = render_full(found), render_concise(found)
    # Nothing of a file can reach a terminal but as text; a line of the file stays one line.
    assert (full + concise).replace("\n", "").isprintable()
    assert concise.count("\n") == len(found)
    shown = [f"{each.severity.value}[{each.code}]: " for each in found][:LIMIT]
    assert [line.split(" ")[0] + " " for line in full.splitlines() if HEAD.match(line)] == shown
    assert [each["code"] for each in json.loads(render_json(found))] == [d.code for d in found]
    # What is missing at the end of a file is shown one behind it.
    spans = [d.span for d in found if d.span is not None and d.span.source is text]
    assert all(0 <= s.start <= len(text.text) and s.end <= len(text.text) + 1 for s in spans)
    return experiment, found


def survive(text: Source) -> str:
    """Do with a text what `check`, `fmt` and `plan` do; return how it ended."""
    experiment, _ = check(text)
    try:
        once = layout(text)
    except CompileError:
        return "does not parse"
    assert layout(Source(text.name, once)) == once, "the layout of a layout is the same"
    if experiment is None:
        return "is wrong"
    try:
        experiment.count()
        for cell, _ in compile(experiment).representatives(3):
            cell_json(cell)
    except CompileError:
        return "cannot run"
    return "runs"


class Hang(BaseException):
    """An input took too long."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise Hang after so much processor time."""

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def survive_within(text: Source, limit_s: float) -> str:
    """Check, lay out and compile a text within so much processor time; return how it ended.

    Raises Problem.
    """
    return _within(limit_s, lambda: survive(text))


def _within(limit_s: float, action: Callable[[], str]) -> str:
    try:
        with at_most(limit_s):
            return action()
    except CompileError:
        return "is no text"
    except Hang:
        raise Problem(f"takes more than {limit_s:g} s of processor time") from None
    except Exception:  # noqa: BLE001  whatever it is, it is what is looked for
        lines = [line.strip() for line in traceback.format_exc().strip().splitlines()]
        places = [line for line in lines if line.startswith("File ")]
        raise Problem(f"{lines[-1]} ({places[-1] if places else 'nowhere'})") from None


def _checked(text: Source) -> str:
    return "is right" if check(text)[0] else "is wrong"


@fault("specs.fuzz", weight=2, short=1_200, wanted=500_000)
def fuzz(one: Try) -> str:
    """Feed `check`, `fmt` and `plan` with mutated examples and presets, sentences of the grammar,
    or bytes: they end in diagnostics or a plan within 5 s of CPU time.
    """
    kind = ("mutation", "grammar", "bytes")[one.number % 3]

    def action() -> str:
        if kind != "bytes":
            make = mutation if kind == "mutation" else sentence
            return survive(Source("file.fexp", make(one.rng)))
        path = one.folder / "file.fexp"
        path.write_bytes(rubbish(one.rng))
        return survive(read(path))

    with stage(kind):
        return f"{kind}: {_within(LIMIT_S, action)}"


FEW = """fexp 1
TOP
topology t() { node a  node b  link a -- b { rate = 1Mbit/s } NETWORK }
experiment e {
  topology = t()
  flow f { from = a  to = b  cca = cubic  workload = file(10kB) FLOW }
  measure = [goodput]
  EXPERIMENT
}
"""
PLACES = ("TOP", "NETWORK", "FLOW", "EXPERIMENT", "EXPERIMENT", "EXPERIMENT")
WORD = re.compile(r'"[^"]*"|[\w.]+%?(?:/s)?|->|--|\.\.|[<>=!]=|\S')


@cache
def statements() -> tuple[tuple[list[str], ...], tuple[str, ...]]:
    """Return the lines of the examples and presets as words, and all their words."""
    lines = (line.partition("#")[0] for text in specs() for line in text.splitlines())
    found = [WORD.findall(line) for line in lines]
    return tuple(x for x in found if x), tuple(word for line in found for word in line)


# A line alone takes a quarter of the time of one in `FEW`: 0.6 ms of processor time.
FRAMES = ("{}", "{}", "let a = {}", "topology t() {{ {} }}", "experiment e {{ {} }}")


@fault("specs.lines", weight=2, short=3_000, wanted=500_000, here=True)
def lines(one: Try) -> str:
    """Check a line or two of the examples, with some words replaced, in a very short spec, or one
    alone, as a value, in a topology or in an experiment: `check` ends within 5 s.
    """
    rng = one.rng
    if rng.random() < 0.5:
        text = "fexp 1\n" + rng.choice(FRAMES).format(_line(rng))
    else:
        text = FEW
        for place in rng.sample(PLACES, rng.choice([1, 1, 2])):
            text = text.replace(place, _line(rng), 1)
        for place in PLACES:
            text = text.replace(place, "", 1)
    return _within(LIMIT_S, lambda: _checked(Source("file.fexp", text)))


def _line(rng: random.Random) -> str:
    known, words = statements()
    line = [*rng.choice(known)]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        at = rng.randrange(len(line) + 1)
        new = [rng.choice(words if rng.random() < 0.9 else PIECES)]
        line[at : at + rng.choice([0, 1, 1, 1, 2])] = new if rng.random() < 0.9 else []
    return " ".join(line)


# ---- Bombs: n, and what fills a spec with it --------------------------------------------------


def _inside(text: str) -> str:
    return (
        "fexp 1\nexperiment e {\n  topology = bottleneck(rate: 1Mbit/s)\n  measure = [goodput]\n"
        f"  flow a {{ cca = cubic  workload = file(1MB) }}\n{text}\n}}\n"
    )


def _lets(n: int) -> str:
    return "\n".join(f"let a{i} = a{i + 1}" for i in range(n)) + f"\nlet a{n} = 1s\n"


def _doubling(n: int) -> str:
    n = min(n, 60)
    return "\n".join(f"let a{i} = [a{i + 1}, a{i + 1}]" for i in range(n)) + f"\nlet a{n} = 1s\n"


def _nodes(n: int) -> str:
    links = "\n".join(f"link n{i} -- n{i + 1} {{ rate = 1Mbit/s }}" for i in range(n))
    nodes = "\n".join(f"node n{i}" for i in range(n + 1))
    return f"fexp 1\ntopology t() {{\n{nodes}\n{links}\n}}\n" + _inside("").removeprefix("fexp 1\n")


def _extends(n: int) -> str:
    """Return experiments each of which extends the one before it."""
    base = _inside("")
    return base + "".join(
        f"experiment e{i} extends e{i - 1 if i > 1 else ''} {{ repeat = {i} }}\n"
        for i in range(1, n + 1)
    )


def _with(changes: str) -> str:
    return _inside("").replace("(rate: 1Mbit/s)", f"(rate: 1Mbit/s) with {{ {changes} }}")


def _users(n: int) -> str:
    return _inside("\n".join(f"  flow f{i} {{ cca = cubic  workload = bulk }}" for i in range(n)))


def _over_values(n: int, line: str) -> str:
    """Return a tenth as many lines, `{i}` being their numbers, as a swept name has values."""
    values = ", ".join(map(str, range(max(2, n))))
    lines = (line.format(i=i) for i in range(1, max(2, n // 10)))
    return _inside(f"  sweep {{ x = [{values}] }}\n" + "\n".join(lines))


BOMBS: Mapping[str, Callable[[int], str]] = MappingProxyType(
    {
        "chained lets": lambda n: (
            "fexp 1\n" + _lets(n) + _inside("  duration = a0").removeprefix("fexp 1\n")
        ),
        "doubling lists": lambda n: (
            "fexp 1\n" + _doubling(n) + _inside("  sweep { x = a0 }").removeprefix("fexp 1\n")
        ),
        "or terms": lambda n: _inside(
            "  sweep { x = [1, 2] }\n  exclude " + " or ".join(["x == 1"] * n)
        ),
        "and terms": lambda n: _inside(
            "  sweep { x = [1, 2] }\n  exclude " + " and ".join(["x == 1"] * n)
        ),
        "sums": lambda n: _inside("  duration = 1s" + " + 1ms" * n),
        "parentheses": lambda n: _inside("  duration = " + "(" * n + "1s" + ")" * n),
        "brackets": lambda n: _inside("  sweep { x = " + "[" * n + "1" + "]" * n + " }"),
        "minus signs": lambda n: _inside("  duration = " + "-" * n + "1s"),
        "nots": lambda n: _inside("  sweep { x = [1, 2] }\n  exclude " + "not " * n + "x == 1"),
        "calls": lambda n: _inside("  duration = " + "min(" * n + "1s" + ")" * n),
        "digits": lambda n: _inside("  duration = " + "1" * n + "s"),
        "decimals": lambda n: _inside("  duration = 1." + "0" * n + "1s"),
        "long text": lambda n: _inside('  title = "' + "x" * n + '"'),
        "long name": lambda n: _inside("  sweep { " + "x" * n + " = [1] }"),
        "values": lambda n: _inside("  sweep { x = [" + ", ".join(map(str, range(n))) + "] }"),
        "range": lambda n: _inside(f"  sweep {{ x = 1..{n} }}"),
        "axes": lambda n: _inside("  sweep { " + "\n".join(f"x{i} = [1]" for i in range(n)) + " }"),
        "product": lambda n: _inside(
            "  sweep { " + "\n".join(f"x{i} = [1, 2]" for i in range(min(n, 90))) + " }"
        ),
        "repeats": lambda n: _inside(f"  repeat = {n}"),
        "nodes": _nodes,
        "flows": _users,
        "metrics": lambda n: _inside("  report { " + "boxplot(goodput) " * n + "}"),
        "comments": lambda n: _inside("# x\n" * n),
        "blank lines": lambda n: _inside("\n" * n),
        "braces": lambda n: _inside("  report " + "{ " * n + "}" * n),
        "experiments": lambda n: _inside("") + "experiment e { }\n" * n,
        "errors": lambda n: _inside("  nonsense = 1\n" * n),
        "strange characters": lambda n: _inside("\u200b\u202e" * n),
        "connections": lambda n: _inside(
            f"  flow m {{ cca = cubic  connections = {n}  workload = bulk }}"
        ),
        "indexed flows": lambda n: _inside(
            f"  flow f[i] for i in 1..{n} {{ cca = cubic  workload = bulk }}"
        ),
        "loops": lambda n: _inside(
            f"  flow f[{', '.join(f'i{k}' for k in range(n))}] "
            + " ".join(f"for i{k} in 1..2" for k in range(n))
            + " { cca = cubic  workload = bulk }"
        ),
        "conditions": lambda n: _inside(
            "\n".join(
                f"  flow f{i} when {i} > 1 {{ cca = cubic  workload = file(1kB) }}"
                for i in range(min(n, 300))
            )
        ),
        "indexed nodes": lambda n: _with(
            f"router x[i] for i in 1..{n}  link left -- x[i] for i in 1..{n}"
        ),
        "withs": lambda n: _inside("").replace(
            "(rate: 1Mbit/s)",
            "(rate: 1Mbit/s)" + " with { link left -> right { loss = 1% } }" * n,
        ),
        "changes": lambda n: _with(
            "link left -> right { "
            + " ".join(f"at {i + 1}ms {{ loss = 1% }}" for i in range(n))
            + " }"
        ),
        "cycles": lambda n: _with(f"link left -> right {{ every {n}ns from 1s {{ loss = 1% }} }}"),
        "services": lambda n: _inside(
            "\n".join(f"  service s{i} {{ cca = cubic  workload = bulk }}" for i in range(n))
            + f"\n  sweep {{ (x, y) = pairs({', '.join(f's{i}' for i in range(n))}) }}"
        ),
        "extends": _extends,
        "own metrics": lambda n: _inside(
            "  metric m0 = goodput(a)\n"
            + "\n".join(f"  metric m{i} = max(m{i - 1}, m0) + m0" for i in range(1, n))
            + f"\n  metric all = m{max(n - 1, 0)} / 2"
        ),
        "claims": lambda n: _inside(
            "  sweep { x = 1..3 }\n  repeat = 12\n"
            + "\n".join(
                f'  claim "c{i}" {{ holds = increasing(median(goodput), over: x) }}'
                for i in range(min(n, 300))
            )
        ),
        # Two that grow at once: what is written, and the values of a name that nothing else uses.
        "claims over values": lambda n: _over_values(
            n, '  claim "c{i}" {{ holds = mean(goodput) > {i}bit/s }}'
        ),
        "means over values": lambda n: _over_values(
            n, '  claim "c{i}" {{ for = mean  holds = mean(goodput) > {i}bit/s }}'
        ),
        "differences over values": lambda n: _over_values(
            n,
            '  claim "c{i}" {{ holds = mean(goodput, where: x == {i}) > mean(goodput, where: x =='
            " 0) }}",
        ),
        "figures over values": lambda n: _over_values(
            n, "  report {{ cdf(goodput, where: x == {i}) }}"
        ),
        "excludes over values": lambda n: _over_values(n, "  exclude x == {i}"),
        "lets over values": lambda n: _over_values(n, "  let y{i} = x + {i}"),
        "own metrics over values": lambda n: _over_values(
            n, "  metric m{i} = goodput(a) * (x + {i})"
        ),
        "steps": lambda n: _inside(f"  sweep {{ x = linspace(1ms, 2ms, {n}) }}"),
    }
)


@fault("specs.bombs", wanted=10_000)
def bomb(one: Try) -> str:
    """Write 10 to 20,000 lets, terms, digits, nodes, axes, ... into a spec: `check` ends within
    15 s, `check`, `fmt` (twice) and `plan` together within 45 s.
    """
    name = [*BOMBS][one.number % len(BOMBS)]
    n = round(10 ** one.rng.uniform(1.0, 4.3))
    one.what = f"{name}, {n} of them"
    source = Source("bomb.fexp", BOMBS[name](n))
    _within(BOMB_S, lambda: _checked(source))
    return survive_within(source, 3 * BOMB_S)
