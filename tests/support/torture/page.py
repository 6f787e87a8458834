"""docs/reliability.md, from the record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from .record import Record, kind_of, total
from .strategy import Strategy

HEAD = """# Reliability

This page is written by `make torture` from its record, `tests/torture/record.jsonl`: {tries} tries, {different} of them different, of {kinds} kinds of fault
between {first} and {last}, in {hours:.1f} hours. What may be given to fairc by whom, and what keeps it
in, is in [threat-model.md](threat-model.md).

    make torture                        # half an hour; continues where the last one stopped
    make torture MINUTES=20             # as long as there is time; Ctrl-C keeps what has been tried
    make torture ONLY=kills,damage SEED=7  # kinds whose name begins so; another seed for all random choices
    make torture ONLY=kills.uml NUMBER=12   # one try, which is not recorded

The same seed and number with several versions are several tries, but one different try.

A try is a function of its kind, the seed and its number: the same three give the same fault, at the same moment apart from the host's scheduling.
Problems of earlier campaigns are tried again first. `make test` runs a sample of each kind, about two minutes in all.
Without root, namespaces, modules or dockerd, the kinds that need them are left out, which the output says.
"""


def render(record: Record, strategies: Iterable[Strategy]) -> str:
    """Return the page."""
    known = list(strategies)
    lines = [line for line in record.lines if "to" in line]
    text = HEAD.format(
        tries=f"{sum(record.count(each.name) for each in known):,}",
        different=f"{sum(record.different(each.name) for each in known):,}",
        kinds=sum(record.count(each.name) > 0 for each in known),
        first=min((line["date"] for line in lines), default="never"),
        last=max((line["date"] for line in lines), default="never"),
        hours=sum(line["seconds"] for line in lines) / 3600,
    )
    parts = (text, *_table(record, known), *_problems(record, known), *_endings(record, known))
    return "\n".join(parts) + "\n"


def _table(record: Record, known: list[Strategy]) -> Iterator[str]:
    """Yield what has been tried, and how often."""
    yield "## What was tried\n"
    yield "| kind | what is done, and what has to come of it | tries | different | wanted | with a problem | seeds | between | versions |"
    yield "|---|---|---:|---:|---:|---:|---|---|---|"
    for each in known:
        lines = list(record.tries(each.name))
        problems = sum(found["tries"] for line in lines for found in line["problems"])
        dates = sorted({line["date"] for line in lines})
        between = " and ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "not yet"
        seeds = ", ".join(str(seed) for seed in sorted({line["seed"] for line in lines}))
        versions = len({line["version"] for line in lines})
        yield (
            f"| `{each.name}` | {each.summary} | {record.count(each.name):,} | {record.different(each.name):,} | {each.wanted:,} | {problems:,} | {seeds}"
            f" | {between} | {versions} |"
        )
    yield ""


def _problems(record: Record, known: list[Strategy]) -> Iterator[str]:
    """Yield what was found: each once, with what became of it when it was tried again."""
    yield "## What was found\n"
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for line in record.lines:
        for problem in line.get("problems", ()):
            key = (line["strategy"], kind_of(problem["what"]))
            entry = found.setdefault(key, {"tries": 0, "line": line, "problem": problem})
            entry["tries"] += problem["tries"]
            entry["last"] = line
    names = {each.name for each in known}
    if not found:
        yield "Nothing yet.\n"
        return
    yield "| kind | first try | version, date | tries | what was found | when it was tried again |"
    yield "|---|---|---|---:|---|---|"
    for (name, _), entry in sorted(found.items()):
        if name in names:
            line, problem = entry["line"], entry["problem"]
            yield (
                f"| `{name}` | {problem['number']} of seed {line['seed']} | {line['version']}, {line['date']} |"
                f" {entry['tries']} | {_cell(problem['what'])} | {_again(record, line, problem)} |"
            )
    yield ""


def _again(record: Record, line: dict[str, Any], problem: dict[str, Any]) -> str:
    """Say how the last try of a problem ended."""
    key = (line["strategy"], line["seed"], problem["number"])
    tries = [
        each for each in record.lines if (each["strategy"], each["seed"], each.get("again")) == key
    ]
    if not tries:
        return "not yet"
    last = tries[-1]
    how = "still there" if last["problem"] else f"no problem ({_cell(_ending(last['ending']))})"
    return f"{last['date']}, {last['version']}: {how}"


def _endings(record: Record, known: list[Strategy]) -> Iterator[str]:
    """Yield how the tries of each kind ended."""
    yield "## How the tries ended\n"
    for each in known:
        counts = total(
            {_ending(ending): count}
            for line in record.tries(each.name)
            for ending, count in line["endings"].items()
        )
        if counts:
            yield f"- `{each.name}`: " + "; ".join(
                f"{_cell(ending)}: {count:,}" for ending, count in sorted(counts.items())
            )


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
