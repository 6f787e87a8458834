"""`make fuzz`: broken files of three kinds; each must end in diagnostics, without a traceback,
soon.

    python tests/support/fuzzing.py [--inputs N] [--seed N] [--jobs N]

Kinds: mutations of the specs, sentences of the grammar, random bytes. Input number i of a seed is
always the same; a failure prints its number and its text.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import re
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from fairc.compiler import compile
from fairc.dsl import CompileError, Source, load, read, render_concise, render_full, render_json
from fairc.dsl.text.layout import layout
from fairc.dsl.text.parser import grammar

ROOT = Path(__file__).parent.parent.parent
LIMIT_S = 5
KINDS = ("mutation", "grammar", "bytes")

PIECES = [
    *("{", "}", "(", ")", "[", "]", ",", "=", ":", "..", "-", "--", "->", '"', "#", "%", "\\", ";"),
    *(
        "sweep",
        "flow",
        "users",
        "not",
        "per",
        "ms",
        "bdp",
        "$(reboot)",
        "`ls`",
        "let a = a",
        "1e400",
    ),
    *(
        "0",
        "1e9",
        "-1",
        "99999999999",
        "1..100000",
        "* 1..9",
        "[[[[",
        "))))",
        "/etc/passwd",
        "../../x",
    ),
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
        *sorted((ROOT / "examples").glob("*.fexp")),
        *sorted(ROOT.glob("words/presets/*.fexp")),
    ]
    return [file.read_text(encoding="utf-8") for file in files]


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
        terminal.name: terminal.pattern.value.removesuffix("\\b")
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


def source(seed: int, number: int) -> Source:
    """Return input `number` of a seed. Raises CompileError if its bytes are no text."""
    rng = random.Random(f"{seed}/{number}")
    match KINDS[number % len(KINDS)]:
        case "mutation":
            return Source("file.fexp", mutation(rng))
        case "grammar":
            return Source("file.fexp", sentence(rng))
        case _:
            with tempfile.NamedTemporaryFile(suffix=".fexp") as file:
                file.write(rubbish(rng))
                file.flush()
                return read(file.name)


def survive(text: Source) -> str:
    """Do with a text what `check`, `fmt` and `plan` do; return how it ended."""
    experiment, found = load(text)
    assert (experiment is None) == bool(found.errors), "errors, or an experiment"
    for render in (render_full, render_concise, render_json):
        render(found)
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
            cell.model_dump_json()
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


def one(job: tuple[int, int]) -> tuple[int, str, str]:
    """Try one input; return its number, how it ended, and what is wrong."""
    seed, number = job
    try:
        with at_most(LIMIT_S):
            return number, survive(source(seed, number)), ""
    except CompileError:
        return number, "is no text", ""
    except Hang:
        return number, "HANGS", f"more than {LIMIT_S} s"
    except Exception:  # noqa: BLE001  whatever it is, it is what is looked for
        return number, "TRACEBACK", traceback.format_exc()


def main() -> int:
    """Try all inputs, say how they ended, and show those that failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=21_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    jobs = ((given.seed, number) for number in range(given.inputs))
    counts: Counter[tuple[str, str]] = Counter()
    failed = []
    with multiprocessing.Pool(given.jobs) as pool:
        for number, ending, problem in pool.imap_unordered(one, jobs, chunksize=50):
            counts[KINDS[number % len(KINDS)], ending] += 1
            if problem:
                failed.append(number)
                print(f"input {number} of seed {given.seed}: {ending}\n{problem}", flush=True)
    for (kind, ending), count in sorted(counts.items()):
        print(f"{kind:<10}{ending:<16}{count:>7}")
    print(f"{given.inputs} inputs, seed {given.seed}: {len(failed)} tracebacks or hangs")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
