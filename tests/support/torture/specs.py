"""Spec files: mutations, sentences of the grammar, bytes; short specs, which are quick; and bombs,
which grow.
"""

from __future__ import annotations

import random
import re
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import fuzzing

from fairc.dsl import CompileError, Source, load, render_full

from .strategy import Outcome, Strategy, dice

# A bomb may take longer than a file that a person has written, but not for ever.
BOMB_S = 15.0
SHORT = """fexp 1
topology t(x = 1ms) { node a  router r  node b
  link a -- r { rate = 2Mbit/s  delay = x  queue = fifo(20pkt) }
  link r -- b { rate = 20Mbit/s  loss = 1% } }
let y = [1ms, 2ms]
experiment e {
  topology = t(x: z)
  sweep { z = y  n = [1, 2, 4] }
  exclude z == 1ms and n > 2
  flow f { from = a  to = b  cca = cubic  workload = file(100kB) }
  flow g { from = b  to = a  over = quic  cca = cubic(connections: n)  workload = bulk  start = uniform(0s, 1s) }
  duration = 10s
  repeat = 3
  measure = [goodput, fairness, rtt]
  report { boxplot(goodput, by: z)  cdf(rtt) }
}
"""


def fuzz(seed: int, number: int, folder: Path) -> Outcome:
    """Try an input of `make fuzz`."""
    _, ending, problem = fuzzing.one((seed, number))
    kind = fuzzing.KINDS[number % len(fuzzing.KINDS)]
    return Outcome(f"{kind}: {ending}", problem and _short(problem))


def short(seed: int, number: int, folder: Path) -> Outcome:
    """Try a short spec with changes in a few places: many of them, since they parse soon."""
    rng = dice(seed, number, "specs.short")
    text = SHORT
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        start = rng.randrange(len(text) + 1)
        length = rng.choice([0, 1, 2, 5, 20])
        part = text[start : start + length]
        match rng.randrange(4):
            case 0:
                text = fuzzing.swapped(rng, text)
            case 1:
                text = text[:start] + rng.choice(fuzzing.PIECES) + text[start + length :]
            case 2:
                text = text[:start] + part * rng.choice([0, 2, 20]) + text[start + length :]
            case _:
                kind = rng.choice([*fuzzing.SAMPLES.values()])
                text = text[:start] + f" {rng.choice(kind)} " + text[start + length :]
    survive = fuzzing.survive if rng.random() < 0.1 else check
    return outcome(Source("file.fexp", text), fuzzing.LIMIT_S, survive)


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
    lines = (line.partition("#")[0] for text in fuzzing.specs() for line in text.splitlines())
    found = [WORD.findall(line) for line in lines]
    return tuple(x for x in found if x), tuple(word for line in found for word in line)


def lines(seed: int, number: int, folder: Path) -> Outcome:
    """Try a very short spec with a line or two of the examples, in which some words are others."""
    rng = dice(seed, number, "specs.lines")
    text = FEW
    for place in rng.sample(PLACES, rng.choice([1, 1, 2])):
        text = text.replace(place, _line(rng), 1)
    for place in PLACES:
        text = text.replace(place, "", 1)
    return outcome(Source("file.fexp", text), fuzzing.LIMIT_S, check)


# A line alone takes a quarter of the time of one in `FEW`: 0.6 ms of processor time.
FRAMES = ("{}", "{}", "let a = {}", "topology t() {{ {} }}", "experiment e {{ {} }}")


def words(seed: int, number: int, folder: Path) -> Outcome:
    """Try a line of the examples, in which some words are others, and hardly anything around it."""
    rng = dice(seed, number, "specs.words")
    text = "fexp 1\n" + rng.choice(FRAMES).format(_line(rng))
    return outcome(Source("file.fexp", text), fuzzing.LIMIT_S, check)


def _line(rng: random.Random) -> str:
    known, words = statements()
    line = [*rng.choice(known)]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        at = rng.randrange(len(line) + 1)
        new = [rng.choice(words if rng.random() < 0.9 else fuzzing.PIECES)]
        line[at : at + rng.choice([0, 1, 1, 1, 2])] = new if rng.random() < 0.9 else []
    return " ".join(line)


def check(text: Source) -> str:
    """Do with a text what `check` does, which is the quickest; return how it ended."""
    experiment, found = load(text)
    assert (experiment is None) == bool(found.errors), "errors, or an experiment"
    render_full(found)
    return "is wrong" if experiment is None else "runs"


def outcome(
    source: Source, limit_s: float, survive: Callable[[Source], str] = fuzzing.survive
) -> Outcome:
    """Check, lay out and compile a text within so much processor time."""
    try:
        with fuzzing.at_most(limit_s):
            return Outcome(survive(source))
    except CompileError:
        return Outcome("is no text")
    except fuzzing.Hang:
        return Outcome("hangs", f"takes more than {limit_s:g} s of processor time")
    except Exception:  # noqa: BLE001  whatever it is, it is what is looked for
        return Outcome("traceback", _short(traceback.format_exc()))


def _short(problem: str) -> str:
    """Return the end of a traceback: where it was raised, and what."""
    lines = [line.strip() for line in problem.strip().splitlines()]
    places = [line for line in lines if line.startswith("File ")]
    return f"{lines[-1]} ({places[-1] if places else 'nowhere'})"


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


def _users(n: int) -> str:
    return _inside("\n".join(f"  flow f{i} {{ cca = cubic  workload = bulk }}" for i in range(n)))


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
        "steps": lambda n: _inside(f"  sweep {{ x = linspace(1ms, 2ms, {n}) }}"),
    }
)


def bomb(seed: int, number: int, folder: Path) -> Outcome:
    """Try a spec that has very many of something."""
    name = [*BOMBS][number % len(BOMBS)]
    rng = dice(seed, number, "specs.bomb")
    n = round(10 ** random.Random(rng.random()).uniform(1.0, 4.3))
    source = Source("bomb.fexp", BOMBS[name](n))
    found = outcome(source, BOMB_S, check)
    if not found.problem:  # what else: the layout, the layout of the layout, the plan
        found = outcome(source, 3 * BOMB_S)
    return Outcome(found.ending, found.problem and f"{name}, {n} of them: {found.problem}")


STRATEGIES = (
    Strategy(
        "specs.fuzz",
        "feeds `check`, `fmt` and `plan` with mutated examples and presets, sentences of the"
        " grammar, or bytes: they end in"
        " diagnostics or a plan within 5 s of CPU time",
        fuzz,
        weight=2,
        short=8_000,
        wanted=500_000,
    ),
    Strategy(
        "specs.short",
        "the same with a short spec and a few changes",
        short,
        weight=2,
        short=8_000,
        wanted=500_000,
        here=True,
    ),
    Strategy(
        "specs.lines",
        (
            "adds a line or two of the examples, with some words replaced, to a very short spec:"
            " `check` ends within 5 s"
        ),
        lines,
        weight=2,
        short=4_000,
        wanted=500_000,
        here=True,
    ),
    Strategy(
        "specs.words",
        "checks a line of the examples, with some words replaced, alone, as a value, in a"
        " topology or in an experiment: `check`"
        " ends within 5 s (exercises parser, recovery and messages in a quarter of the time)",
        words,
        weight=2,
        short=4_000,
        wanted=500_000,
        here=True,
    ),
    Strategy(
        "specs.bombs",
        f"writes 10 to 20,000 lets, terms, digits, nodes, axes, ... ({len(BOMBS)} kinds) into"
        f" a spec: `check` ends within"
        f" {BOMB_S:g} s, `check`, `fmt` (twice) and `plan` together within {3 * BOMB_S:g} s",
        bomb,
        short=0,
        wanted=10_000,
    ),
)
