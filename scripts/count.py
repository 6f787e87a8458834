"""The size of the code, now and at an earlier commit: `make count`.

Only files that git tracks count, as they are in the working tree. What was sought, and why a figure
is more: docs/build/architecture.md, "Size".

    imports in functions   statements `import` and `from ... import` in the body of a function, at
    any depth
    caches                 uses of `functools.cache` and `lru_cache`, and memos by hand:
                           `if key not in table:` that fills `table[key]`, where the table is an
                           attribute or a name of the module. Cached properties do not count: they
                           live and die with their object
    Python                 *.py outside folders called tests. Code: lines with a token that is
                           neither a comment nor a docstring
    Rust                   *.rs in endpoints/src
    tests                  *.py and *.md in tests, but for tests/golden
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The commit whose figures were 359 imports in functions and 68,940 lines.
THEN = "84e30521"
BLANK = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FIGURES = (
    "imports in functions",
    "caches",
    "Python",
    "Python, code",
    "Rust",
    "tests",
)


def tracked() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each tracked file of the working tree that counts."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(_counts, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            yield name, (ROOT / name).read_text(encoding="utf-8")


def archived(commit: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file of a commit that counts.

    Raises CalledProcessError.
    """
    packed = subprocess.run(
        ["git", "archive", "--format=tar", commit], cwd=ROOT, check=True, capture_output=True
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        for member in archive:
            if member.isfile() and _counts(member.name):
                content = archive.extractfile(member)
                assert content is not None
                yield member.name, content.read().decode()


def _counts(name: str) -> bool:
    return name.endswith((".py", ".rs", ".md"))


def count(files: Iterator[tuple[str, str]]) -> Counter[str]:
    """Return each figure of a tree; files: path and text."""
    total: Counter[str] = Counter()
    for name, text in files:
        path = Path(name)
        lines = text.count("\n")
        if name.startswith("tests/"):
            if path.suffix in (".py", ".md") and not name.startswith("tests/golden/"):
                total["tests"] += lines
        elif name.startswith("endpoints/src/") and path.suffix == ".rs":
            total["Rust"] += lines
        elif path.suffix == ".py" and "tests" not in path.parts:
            tree = ast.parse(text)
            total["Python"] += lines
            total["Python, code"] += code_lines(text, tree)
            total["imports in functions"] += imports_in_functions(tree)
            total["caches"] += caches(tree)
    return total


def imports_in_functions(tree: ast.Module) -> int:
    """Count the import statements in functions."""
    inner = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return len(inner)


def caches(tree: ast.Module) -> int:
    """Count functions that are given a cache, and memos by hand."""
    names = {
        target.id
        for node in tree.body
        for target in (
            node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        )
        if isinstance(target, ast.Name)
    }
    from_functools = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "functools"
        for alias in node.names
        if alias.name in ("cache", "lru_cache")
    }
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found += node.id in from_functools
        elif isinstance(node, ast.Attribute):
            found += ast.unparse(node) in ("functools.cache", "functools.lru_cache")
        elif isinstance(node, ast.If):
            found += _is_memo(node, names)
    return found


def _is_memo(node: ast.If, names: set[str]) -> bool:
    test = node.test
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn)):
        return False
    table = test.comparators[0]
    if not isinstance(table, ast.Attribute) and getattr(table, "id", "") not in names:
        return False
    entry = f"{ast.unparse(table)}[{ast.unparse(test.left)}]"
    targets = [t for n in ast.walk(node) if isinstance(n, ast.Assign) for t in n.targets]
    return any(ast.unparse(target) == entry for target in targets)


def code_lines(text: str, tree: ast.Module) -> int:
    """Count the lines with code: a docstring, a comment and an empty line are none."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def show(then: Mapping[str, int] | None, now: Mapping[str, int]) -> None:
    """Print both columns."""
    print(f"{'':22}{THEN:>10}{'now':>10}")
    for name in FIGURES:
        before = f"{then[name]:,}" if then else "?"
        print(f"{name:22}{before:>10}{now[name]:>10,}")


def long_functions(text: str, most: int = 60) -> Iterator[tuple[int, str, int]]:
    """Yield the line, name and number of lines of each function that has more than `most`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > most:
                yield node.lineno, node.name, lines


def show_long(files: Iterator[tuple[str, str]]) -> None:
    """Print the files above 600 lines and the Python functions above 60: places to look at."""
    rows = []
    for name, text in files:
        if Path(name).suffix in (".py", ".rs") and (lines := text.count("\n")) > 600:
            rows.append((lines, name))
        if name.endswith(".py"):
            rows += [(n, f"{name}:{at} {what}") for at, what, n in long_functions(text)]
    print("files above 600 lines, functions above 60:")
    for lines, place in sorted(rows, reverse=True):
        print(f"{lines:>6}  {place}")


def main() -> None:
    """Print the figures."""
    try:
        then = count(archived(THEN))
    except subprocess.CalledProcessError:
        print(f"commit {THEN} is not in this clone", file=sys.stderr)
        then = None
    show(then, count(tracked()))
    show_long(tracked())
    print("what was sought, and why some are more: docs/build/architecture.md")


if __name__ == "__main__":
    main()
