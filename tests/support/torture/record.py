"""What has been tried: a file of JSON lines in the repository, to which every campaign adds.

A line describes consecutive tries of one strategy with one seed, made on one day with one version:
`{"date", "version", "strategy", "seed", "from", "to", "seconds", "endings": {ending: tries}, "problems":
[{"number", "tries", "what"}]}`; `from` counts, `to` does not. Or it records what became of a problem when it was tried
again: `{"date", "version", "strategy", "seed", "again": number, "ending", "problem"}`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LONGEST = 400
KEY = ("date", "version", "strategy", "seed")


def kind_of(problem: str) -> str:
    """Return a problem without its numbers, hashes and paths: equal for the same bug."""
    text = re.sub(r"/[^\s'\"`]+", "PATH", problem[:LONGEST])
    return re.sub(r"\b[0-9a-f]{8,}\b|\d+", "N", text)


_FOLDER = re.compile(r"(?<![\w.:/])/(?!(?:dev|etc|proc|sys|usr)/)(?:[^\s'\"`/:()\[\]\\]+/)+")


def published(problem: str) -> str:
    """Return a problem as the record keeps it: without the folders of the machine on which it was
    found.

    >>> published("cannot open /home/me/x/.venv/lib/_a.so (/proc/self/mem)")
    'cannot open .../_a.so (/proc/self/mem)'
    """
    return _FOLDER.sub(".../", problem)[:LONGEST]


@dataclass
class Slice:
    """Consecutive tries; problems: kind -> [number of the first, how many, what]."""

    start: int
    end: int
    seconds: float = 0.0
    endings: Counter[str] = field(default_factory=Counter)
    problems: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, number: int, ending: str, problem: str) -> None:
        """Count a try."""
        self.end = number + 1
        self.endings[ending] += 1
        if problem:
            found = self.problems.setdefault(kind_of(problem), [number, 0, published(problem)])
            found[1] += 1


class Record:
    """The file at a path; none yet is an empty record.

    Raises ValueError for a line that is none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]  # a killed campaign may have left a part of a line
        self.lines: list[dict[str, Any]] = [json.loads(line) for line in whole.splitlines()]

    def next(self, strategy: str, seed: int) -> int:
        """Return the number of the next try."""
        return max((line["to"] for line in self.tries(strategy) if line["seed"] == seed), default=0)

    def tries(self, strategy: str) -> Iterator[dict[str, Any]]:
        """Yield the lines that describe tries of a strategy."""
        return (line for line in self.lines if line["strategy"] == strategy and "to" in line)

    def count(self, strategy: str) -> int:
        """Return how many tries there have been."""
        return sum(line["to"] - line["from"] for line in self.tries(strategy))

    def different(self, strategy: str) -> int:
        """Return how many of them had a seed and a number of their own: the others are tries
        again.
        """
        spans: dict[int, set[int]] = {}
        for line in self.tries(strategy):
            spans.setdefault(line["seed"], set()).update(range(line["from"], line["to"]))
        return sum(map(len, spans.values()))

    def add(self, date: str, version: str, strategy: str, seed: int, tried: Slice) -> None:
        """Add tries."""
        line = dict(zip(KEY, (date, version, strategy, seed), strict=True)) | {
            "from": tried.start,
            "to": tried.end,
            "seconds": round(tried.seconds, 1),
            "endings": dict(sorted(tried.endings.items())),
            "problems": [
                {"number": number, "tries": tries, "what": what}
                for number, tries, what in tried.problems.values()
            ],
        }
        self._append(line)

    def again(
        self, date: str, version: str, strategy: str, seed: int, number: int, ending: str, what: str
    ) -> None:
        """Add what became of a problem."""
        line = dict(zip(KEY, (date, version, strategy, seed), strict=True))
        self._append({**line, "again": number, "ending": ending, "problem": published(what)})

    def _append(self, line: dict[str, Any]) -> None:
        self.lines.append(line)
        text = "".join(dumped(each) for each in self.lines)
        part = self.path.with_name(f".{self.path.name}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(self.path)

    def compact(self) -> None:
        """Make one line of slices that follow one another, on the same day with the same
        version.
        """
        made: list[dict[str, Any]] = []
        last: dict[tuple[Any, ...], dict[str, Any]] = {}
        for line in self.lines:
            key = tuple(line[name] for name in KEY)
            before = last.get(key)
            if "to" in line and before is not None and before["to"] == line["from"]:
                _join(before, line)
                continue
            made.append(line)
            if "to" in line:
                last[key] = line
        self.lines = made

    def open(self) -> Iterator[tuple[str, int, int, str]]:
        """Yield (strategy, seed, number, what) of problems that the last try again did not end."""
        ended: set[tuple[str, int, int]] = set()
        for line in self.lines:
            if "again" in line:
                key = (line["strategy"], line["seed"], line["again"])
                (ended.discard if line["problem"] else ended.add)(key)
        seen = set()
        for line in self.lines:
            for found in line.get("problems", ()):
                kind = (line["strategy"], kind_of(found["what"]))
                key = (line["strategy"], line["seed"], found["number"])
                if key not in ended and kind not in seen:
                    seen.add(kind)
                    yield *key, found["what"]


def dumped(line: dict[str, Any]) -> str:
    """Return a line of the file."""
    return json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n"


def _join(before: dict[str, Any], line: dict[str, Any]) -> None:
    before["to"] = line["to"]
    before["seconds"] = round(before["seconds"] + line["seconds"], 1)
    endings = Counter(before["endings"]) + Counter(line["endings"])
    before["endings"] = dict(sorted(endings.items()))
    known = {kind_of(found["what"]): found for found in before["problems"]}
    for found in line["problems"]:
        if there := known.get(kind_of(found["what"])):
            there["tries"] += found["tries"]
        else:
            before["problems"].append(found)


def total(counts: Iterable[dict[str, int]]) -> Counter[str]:
    """Add up endings."""
    found: Counter[str] = Counter()
    for count in counts:
        found.update(count)
    return found
