"""A word of the language is compared with in its own file alone: elsewhere its entry is asked what
it is.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from trees import tree_of

from fairc.mechanisms.queues.registry import QUEUES
from fairc.mechanisms.workloads.registry import WORKLOADS
from fairc.runtime.engines import ENGINES
from fairc.words.ccas import QUIC_CCAS, TCP_CCAS
from fairc.words.figures import FIGURES
from fairc.words.losses import LOSSES
from fairc.words.metrics import METRICS

ROOT = Path(__file__).parents[2]
FORMATS = {"json", "packets"}
"""Words that are formats of files, or how media are carried, too."""
PACKAGES = ("cell", "words", "mechanisms", "dsl", "compiler", "runtime", "fairc/cli", "plugins")

WORDS = frozenset(
    entry.name
    for registry in (QUEUES, WORKLOADS, TCP_CCAS, QUIC_CCAS, LOSSES, METRICS, FIGURES, ENGINES)
    for entry in registry
    if entry.name not in FORMATS
)


def test_words_are_compared_with_in_their_own_file() -> None:
    found = defaultdict(set)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for word in compared(tree_of(path)):
                if word not in (path.stem, path.parent.name):
                    found[str(path.relative_to(ROOT))].add(word)
    assert not found, "elsewhere, ask the word's entry"


def test_a_comparison_is_found() -> None:
    source = """
if queue.kind == "codel" or kind in ("red", other):
    pass
match kind:
    case "pie" | "sfq":
        made = {"fq": 1}
"""
    assert set(compared(ast.parse(source))) == {"codel", "red", "pie", "sfq"}


def compared(tree: ast.AST) -> Iterator[str]:
    """Yield the words that a program compares something with: `==`, `in`, `case`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                yield from literals(side)
        elif isinstance(node, ast.MatchValue):
            yield from literals(node.value)


def literals(node: ast.expr) -> Iterator[str]:
    """Yield the words in a literal, or in a tuple, list or set of literals."""
    if isinstance(node, ast.Constant) and node.value in WORDS:
        yield str(node.value)
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for part in node.elts:
            yield from literals(part)
