"""docs/trust/reliability.md, from the record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import Any

from .fault import Fault
from .record import Record, kind_of, total

HEAD = """# Reliability

`make torture` injects faults and checks what fairc does. It writes this page from its record, `tests/torture/record.jsonl`: {tries} tries,
{different} of them distinct, of {kinds} kinds of fault, between {first} and {last}, in {hours:.1f} hours. [threat-model.md](threat-model.md) says
who is trusted with what.

    make torture                        # half an hour; continues where the last campaign stopped
    make torture MINUTES=20             # another duration; Ctrl-C keeps the record of all finished tries
    make torture ONLY=kills,damage SEED=7  # kinds whose names start with these; another seed for all random choices
    make torture ONLY=ordinary TRIES=500   # a number of tries of each kind instead of a time
    make torture ONLY=kills.uml NUMBER=12   # a single try, not recorded

A try is a function of its kind, the seed and its number: the same three give the same fault, at the same moment apart from the host's scheduling.
The same seed and number with several versions count as several tries, but as one distinct try.
Each campaign first repeats the tries that revealed problems before. `make test-rest` runs a sample of each kind, about two minutes in total.
Kinds that need root, namespaces, modules or dockerd are skipped where these are missing; the output says so.
"""


def render(record: Record, faults: Iterable[Fault]) -> str:
    """Return the page."""
    known = list(faults)
    lines = [line for line in record.lines if "to" in line]
    text = HEAD.format(
        tries=f"{sum(record.count(each.name) for each in known):,}",
        different=f"{sum(record.different(each.name) for each in known):,}",
        kinds=sum(record.count(each.name) > 0 for each in known),
        first=min((line["date"] for line in lines), default="never"),
        last=max((line["date"] for line in lines), default="never"),
        hours=sum(line["seconds"] for line in lines) / 3600,
    )
    parts = (
        _wrapped(text) + "\n",
        *_table(record, known),
        *_problems(record, known),
        *_endings(record, known),
    )
    return "\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    """Return a text whose paragraphs have lines of 100 columns at most."""
    parts = text.split("\n\n")
    return "\n\n".join(
        part if part.startswith((" ", "#")) else fill(part, 100, break_on_hyphens=False)
        for part in parts
    )


def _table(record: Record, known: list[Fault]) -> Iterator[str]:
    """Yield the kinds of fault, and how often each was tried."""
    yield "## Faults\n"
    yield (
        "| kind | fault: required behaviour | tries | distinct | goal | problems | seeds | dates"
        " | versions |"
    )
    yield "|---|---|---:|---:|---:|---:|---|---|---|"
    for each in known:
        lines = list(record.tries(each.name))
        problems = sum(found["tries"] for line in lines for found in line["problems"])
        dates = sorted({line["date"] for line in lines})
        between = " and ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "not yet"
        seeds = ", ".join(str(seed) for seed in sorted({line["seed"] for line in lines}))
        versions = len({line["version"] for line in lines})
        yield (
            f"| `{each.name}` | {each.summary} | {record.count(each.name):,} |"
            f" {record.different(each.name):,} | {each.wanted:,} | {problems:,} | {seeds}"
            f" | {between} | {versions} |"
        )
    yield ""


def _problems(record: Record, known: list[Fault]) -> Iterator[str]:
    """Yield each problem once, with the result of its latest repetition."""
    yield "## Problems found\n"
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for line in record.lines:
        for problem in line.get("problems", ()):
            key = (line["strategy"], kind_of(problem["what"]))
            entry = found.setdefault(key, {"tries": 0, "line": line, "problem": problem})
            entry["tries"] += problem["tries"]
            entry["last"] = line
    names = {each.name for each in known}
    if not found:
        yield "None yet.\n"
        return
    yield "| kind | first try | version, date | tries | problem | latest repetition |"
    yield "|---|---|---|---:|---|---|"
    for (name, _), entry in sorted(found.items()):
        if name in names:
            line, problem = entry["line"], entry["problem"]
            yield (
                f"| `{name}` | {problem['number']} of seed {line['seed']} | {line['version']},"
                f" {line['date']} |"
                f" {entry['tries']} | {_cell(problem['what'])} | {_again(record, line, problem)} |"
            )
    yield ""


def _again(record: Record, line: dict[str, Any], problem: dict[str, Any]) -> str:
    """Describe how the latest repetition of a try with a problem ended."""
    key = (line["strategy"], line["seed"], problem["number"])
    tries = [
        each for each in record.lines if (each["strategy"], each["seed"], each.get("again")) == key
    ]
    if not tries:
        return "not yet"
    last = tries[-1]
    how = "still there" if last["problem"] else f"no problem ({_cell(_ending(last['ending']))})"
    return f"{last['date']}, {last['version']}: {how}"


def _endings(record: Record, known: list[Fault]) -> Iterator[str]:
    """Yield the outcomes of the tries of each kind."""
    yield "## Outcomes\n"
    for each in known:
        counts = total(
            {_ending(ending): count}
            for line in record.tries(each.name)
            for ending, count in line["endings"].items()
        )
        if counts:
            outcomes = "; ".join(f"{_cell(end)}: {n:,}" for end, n in sorted(counts.items()))
            yield fill(f"- `{each.name}`: {outcomes}", 100, subsequent_indent="  ")


def _ending(text: str) -> str:
    """Return an ending by its present name: older records have `told` for `reported`."""
    return re.sub(r"\btold\b", "reported", text)


def _cell(text: str) -> str:
    """Return a text that a table of Markdown shows as it is."""
    plain = "".join(char if char.isprintable() else "?" for char in text)
    if len(plain) > 200:
        plain = f"{plain[:200]}..."
    for char in "\\`*_<>|[]&$":
        plain = plain.replace(char, f"\\{char}")
    return plain
