"""The index of a compiled plan, `index.md` and `index.json`: its configurations, the files emitted
for them, and the commands that run these.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairc.compiler.plan import Cell, Plan

INDEX, PAGE = "index.json", "index.md"


@dataclass(frozen=True, slots=True)
class Emitted:
    """What a target writes for a cell, as texts with the fields {name}, {repetition} and {id}.

    file: its path in the folder. command: what runs it there; {file} stands for the file. later: is
    added to the command of a repetition other than the first.
    """

    file: str
    command: str
    later: str = ""

    def of(self, name: str, repetition: int, cell: str) -> dict[str, str]:
        """Return file and command of a cell: its configuration's name, repetition and id."""
        fields: Mapping[str, object] = {"name": name, "repetition": repetition, "id": cell}
        file = self.file.format_map(fields)
        command = self.command + (self.later if repetition > 1 else "")
        return {
            "file": file,
            "command": command.format_map({**fields, "file": shlex.quote(file)}),
        }


@dataclass(slots=True)
class _Configuration:
    """A configuration: its name, its swept values, and the ids of its cells by repetition."""

    name: str
    bindings: dict[str, str]
    baseline: bool
    cells: dict[int, str] = field(default_factory=dict)


class Index:
    """Collects the cells of a plan, then writes the index. targets: what each of them writes."""

    def __init__(self, targets: Mapping[str, Emitted]) -> None:
        self._targets = targets
        self._found: dict[str, _Configuration] = {}

    def add(self, cell: Cell, name: str) -> None:
        """Take a cell; name: of its configuration."""
        found = self._found.get(cell.configuration)
        if found is None:
            found = _Configuration(name, dict(cell.bindings), cell.baseline)
            self._found[cell.configuration] = found
        found.cells[cell.repetition] = cell.id

    @property
    def commands(self) -> tuple[str, ...]:
        """What runs the first cell in the plan's folder, for each target that writes one."""
        if not self._found:
            return ()
        first = next(iter(self._found.values()))
        repetition, cell = next(iter(first.cells.items()))
        return tuple(e.of(first.name, repetition, cell)["command"] for e in self._targets.values())

    def write(self, directory: Path, plan: Plan) -> None:
        """Write the index into the plan's folder."""
        data = {
            "experiment": plan.experiment,
            "configurations": [
                self._told(identity, each) for identity, each in self._found.items()
            ],
        }
        text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
        (directory / INDEX).write_text(text, encoding="utf-8")
        (directory / PAGE).write_text("\n".join(self._page(plan)) + "\n", encoding="utf-8")

    def _told(self, identity: str, found: _Configuration) -> dict[str, Any]:
        told: dict[str, Any] = {
            "name": found.name,
            "configuration": identity,
            "bindings": found.bindings,
        }
        if found.baseline:
            told["baseline"] = True
        told["cells"] = [
            {
                "repetition": repetition,
                "id": cell,
                **{
                    target: emitted.of(found.name, repetition, cell)
                    for target, emitted in self._targets.items()
                },
            }
            for repetition, cell in found.cells.items()
        ]
        return told

    def _page(self, plan: Plan) -> list[str]:
        lines = [f"# {plan.experiment}", ""]
        most = max((len(each.cells) for each in self._found.values()), default=0)
        repetitions = f"{_counted(most, 'repetition')} of each at most"
        lines.append(
            f"{_counted(len(self._found), 'configuration')}, {_counted(plan.cells, 'cell')},"
            f" {repetitions}. `{INDEX}` says the same for programs."
        )
        lines.append("")
        if not self._targets or not self._found:
            return lines
        lines += ["In this folder, as root where a command says `sudo`:", ""]
        lines += [f"    {command}" for command in self.commands]
        swept = _union(each.bindings for each in self._found.values())
        head = [*swept, "repetitions", *self._targets]
        lines += ["", _row(head), _row(["---"] * len(head))]
        for each in self._found.values():
            repetition, cell = next(iter(each.cells.items()))
            values = [each.bindings.get(name, "") for name in swept]
            files = [e.of(each.name, repetition, cell)["file"] for e in self._targets.values()]
            links = [f"[{file}]({file.replace('%', '%25')})" for file in files]
            lines.append(_row([*values, _numbers(list(each.cells)), *links]))
        return lines


def _union(several: Any) -> list[str]:
    return list(dict.fromkeys(name for each in several for name in each))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _numbers(repetitions: list[int]) -> str:
    first, last = repetitions[0], repetitions[-1]
    if repetitions == list(range(first, last + 1)):
        return str(first) if first == last else f"{first} to {last}"
    return ", ".join(map(str, repetitions))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)
