"""Names of configurations, by their swept values: `loss=1%_pep=split_cca=cubic`.

They are parts of paths and words of a shell: ASCII letters, digits and a few signs, nothing to
quote. What else a value has becomes a dash: `queue=fifo(1bdp)` is `queue=fifo-1bdp`.
"""

from __future__ import annotations

import re
import sys

from fairc.compiler.plan import Cell

MOST = 120
"""Characters of a name; a file's has 255 bytes, and an ending."""
_OTHERS = re.compile(r"[^A-Za-z0-9_.,+%@]+")
_MODULES = sys.stdlib_module_names | {"cell", "mininet"}
"""A program named like one of these would be imported in its place."""


class Names:
    """Names of the configurations of one experiment, each another, also where a file system does
    not tell capitals apart.

    Equal cells in equal order get equal names.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()

    def __call__(self, cell: Cell) -> str:
        """Return the name of a cell's configuration: the same for all its repetitions."""
        name = self._names.get(cell.configuration)
        if name is None:
            name = self._names[cell.configuration] = self._new(cell)
            self._taken.add(name.lower())
        return name

    def _new(self, cell: Cell) -> str:
        name = readable(cell)
        if len(name) > MOST or name.lower() in self._taken:
            name = f"{name[: MOST - 17]}_{cell.configuration}"
        return name


def readable(cell: Cell) -> str:
    """Return the swept values of a cell as one word, else its experiment's name.

    Several configurations may have the same. A baseline has also the flows that are in it.
    """
    parts = [f"{_word(name)}={_word(value)}" for name, value in cell.bindings.items()]
    name = "_".join(parts) or _word(cell.experiment)
    if cell.baseline:
        name += "_alone=" + "+".join(_word(flow.declared or flow.name) for flow in cell.flows)
    return f"{name}-experiment" if name in _MODULES else name


def _word(text: str) -> str:
    return _OTHERS.sub("-", text).strip("-") or "-"
