"""The size of the code, and what is long in it: `make count`.

Only files that git tracks count, as they are in the working tree.

    Python    *.py outside folders called tests
    Rust      *.rs in endpoints/src
    tests     *.py and *.md in tests, but for tests/golden
"""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_LINES = 60


def tracked() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each tracked file that counts."""
    patterns = ("*.py", "*.rs", "*.md")
    listed = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            yield name, (ROOT / name).read_text(encoding="utf-8")


def count(files: Mapping[str, str]) -> Counter[str]:
    """Return the lines of each kind; files: path -> text."""
    total: Counter[str] = Counter()
    for name, text in files.items():
        path = Path(name)
        if name.startswith("tests/"):
            if path.suffix in (".py", ".md") and not name.startswith("tests/golden/"):
                total["tests"] += text.count("\n")
        elif name.startswith("endpoints/src/") and path.suffix == ".rs":
            total["Rust"] += text.count("\n")
        elif path.suffix == ".py" and "tests" not in path.parts:
            total["Python"] += text.count("\n")
    return total


def long_functions(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield the line, name and number of lines of each function above `MOST_LINES`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_LINES:
                yield node.lineno, node.name, lines


def show_long(files: Mapping[str, str]) -> None:
    """Print the files above 600 lines and the Python functions above 60: places to look at."""
    rows = []
    for name, text in files.items():
        if Path(name).suffix in (".py", ".rs") and (lines := text.count("\n")) > 600:
            rows.append((lines, name))
        if name.endswith(".py"):
            rows += [(n, f"{name}:{at} {what}") for at, what, n in long_functions(text)]
    print(f"files above 600 lines, functions above {MOST_LINES}:")
    for lines, place in sorted(rows, reverse=True):
        print(f"{lines:>6}  {place}")


def main() -> None:
    """Print the figures."""
    files = dict(tracked())
    for name, lines in count(files).items():
        print(f"{name:8}{lines:>9,}")
    show_long(files)


if __name__ == "__main__":
    main()
