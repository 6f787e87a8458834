"""Mutants: `python mutants.py -- COMMAND` changes one place of the program, runs a command, and
lists the changes that it does not notice.

The places are drawn from a seed, Python and Rust in proportion to their lines. A mutant is killed
when the command fails or takes longer than `--most`. With `--near`, the tests that concern its file
are run first (`concerning.py`; of Rust, the endpoints' own), and the command only if they let it
live; without a command, such a mutant is a survivor of the tests that concern it. The files are changed where they are, one at a
time, and restored; so files that are to be changed must have no changes of their own.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from concerning import concerning

ROOT = Path(__file__).parents[2]
PYTHON = ("cell", "dsl", "mechanisms", "words", "compiler", "runtime", "fairc/cli")
RUST = ("endpoints/src",)
LOGS = ROOT / ".cache" / "mutants"

COMPARISONS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "is": "is not",
    "is not": "is",
    "in": "not in",
    "not in": "in",
}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*"}
BOOLEAN = {"and": "or", "or": "and"}


@dataclass(frozen=True)
class Mutant:
    """A change of a file: what is between two places, in bytes, becomes another text."""

    path: Path
    start: int
    end: int
    new: str

    def shown(self) -> str:
        """Return the place and both texts."""
        content = self.path.read_bytes()
        line = content.count(b"\n", 0, self.start) + 1
        old = content[self.start : self.end].decode()
        return f"{self.path.relative_to(ROOT)}:{line}: {old!r} -> {self.new!r}"

    def applied(self) -> bytes:
        """Return the changed content."""
        content = self.path.read_bytes()
        return content[: self.start] + self.new.encode() + content[self.end :]


# ---- Python ------------------------------------------------------------------------------------


def of_python(path: Path) -> list[Mutant]:
    """Return all mutants of a Python file."""
    content = path.read_bytes()
    begins = [0]
    for line in content.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))

    def start(node: ast.expr) -> int:
        return begins[node.lineno - 1] + node.col_offset

    def end(node: ast.expr) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return begins[node.end_lineno - 1] + node.end_col_offset

    def between(left: ast.expr, right: ast.expr, known: dict[str, str]) -> Iterator[Mutant]:
        gap = content[end(left) : start(right)].decode()
        words = sorted(known, key=len, reverse=True)
        pattern = "|".join(rf"\b{w}\b" if w[0].isalpha() else re.escape(w) for w in words)
        if "#" not in gap and (found := re.search(pattern.replace(" ", r"\s+"), gap)):
            at = end(left) + len(gap[: found.start()].encode())
            old = " ".join(found[0].split())
            yield Mutant(path, at, at + len(found[0].encode()), known[old])

    found: list[Mutant] = []
    for node in _code(ast.parse(content)):
        match node:
            case ast.Compare():
                for left, right in pairwise((node.left, *node.comparators)):
                    found += between(left, right, COMPARISONS)
            case ast.BinOp():
                found += between(node.left, node.right, ARITHMETIC)
            case ast.BoolOp():
                for left, right in pairwise(node.values):
                    found += between(left, right, BOOLEAN)
            case ast.UnaryOp(op=ast.Not()):
                found.append(Mutant(path, start(node), start(node.operand), ""))
            case ast.Constant(value=bool() as truth):
                found.append(Mutant(path, start(node), end(node), str(not truth)))
            case ast.Constant(value=int() | float() as amount):
                found.append(Mutant(path, start(node), end(node), repr(amount + 1)))
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                found.append(Mutant(path, start(value), end(value), "None"))
    return found


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those of annotations, decorators and texts with values in them."""
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params", "decorator_list"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield child
                yield from _code(child)


# ---- Rust --------------------------------------------------------------------------------------

_IGNORED = r'//[^\n]*|/\*.*?\*/|r#"(?:.|\n)*?"#|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|#!?\[[^\]]*\]'
_TOKEN = re.compile(
    rf"(?P<ignored>{_IGNORED})"
    r"|(?<= )(?P<operator><=|>=|==|!=|&&|\|\||[-+*/<>])(?= )"
    r"|\b(?P<boolean>true|false)\b"
    r"|(?<![\w.])(?P<number>\d[\d_]*)(?![\w.])",
    re.DOTALL,
)
_OPERATORS = COMPARISONS | {"+": "-", "-": "+", "*": "/", "/": "*", "&&": "||", "||": "&&"}
_TYPES = re.compile(r"^\s*(use|impl|where|type|trait|pub trait)\b|\bdyn\b|: impl\b|<.*: .*\+")


def of_rust(path: Path) -> list[Mutant]:
    """Return all mutants of a Rust file, without its tests."""
    text = path.read_text(encoding="utf-8")
    tests = text.find("#[cfg(test)]")
    found: list[Mutant] = []
    for token in _TOKEN.finditer(text, 0, tests if tests >= 0 else len(text)):
        line = text[text.rfind("\n", 0, token.start()) + 1 :].partition("\n")[0]
        if token["ignored"] or _TYPES.search(line):
            continue
        if token["operator"]:
            new = _OPERATORS[token[0]]
        elif token["boolean"]:
            new = "false" if token[0] == "true" else "true"
        else:
            new = str(int(token[0].replace("_", "")) + 1)
        at = len(text[: token.start()].encode())
        found.append(Mutant(path, at, at + len(token[0].encode()), new))
    return found


# ---- Drawing and running -----------------------------------------------------------------------


def drawn(seed: int, number: int) -> list[Mutant]:
    """Draw mutants: a language, a file and a place, each file in proportion to its lines."""
    generator = random.Random(seed)
    rust = {path: _lines(path) for place in RUST for path in sorted((ROOT / place).rglob("*.rs"))}
    rust = {path: n for path, n in rust.items() if path.name != "tests.rs"}
    python = {p: _lines(p) for place in PYTHON for p in sorted((ROOT / place).rglob("*.py"))}
    in_rust = round(number * sum(rust.values()) / sum([*rust.values(), *python.values()]))
    chosen: list[Mutant] = []
    for files, mutants_of, until in (
        (python, of_python, number - in_rust),
        (rust, of_rust, number),
    ):
        while len(chosen) < until:
            (path,) = generator.choices([*files], [*files.values()])
            if (places := mutants_of(path)) and (one := generator.choice(places)) not in chosen:
                chosen.append(one)
    return chosen


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def near(mutant: Mutant) -> list[str]:
    """Return the command that runs the tests which concern a mutant's file; empty: none does."""
    if mutant.path.suffix == ".rs":
        # Cargo reads endpoints/.cargo/config.toml there only; elsewhere it compiles nothing.
        return [
            "env",
            "-C",
            str(ROOT / "endpoints"),
            "cargo",
            "test",
            "--profile",
            "checks",
            "--quiet",
        ]
    files = [str(path) for path in concerning(mutant.path)]
    return [sys.executable, "-m", "pytest", "-qx", "-m", "not full", *files] if files else []


def killed(mutant: Mutant, commands: list[list[str]], log: Path, most_s: float | None) -> bool:
    """Tell whether one of some commands notices a mutant; the file is as before afterwards."""
    content = mutant.path.read_bytes()
    with log.open("wb") as output:
        try:
            mutant.path.write_bytes(mutant.applied())
            for command in commands:
                done = subprocess.run(
                    command,
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=most_s,
                    check=False,
                )
                if done.returncode:
                    return True
        except subprocess.TimeoutExpired:
            return True
        finally:
            mutant.path.write_bytes(content)
    return False


def main() -> None:
    """Run a command with each mutant."""
    parser = argparse.ArgumentParser(description="Does a command notice changes of the program?")
    parser.add_argument("--seed", type=int, default=45)
    parser.add_argument("--number", type=int, default=24, help="how many are drawn")
    parser.add_argument("--only", default="", help="of these, numbers from 1: 3,7")
    parser.add_argument("--most", type=float, help="s, after which a command is ended")
    parser.add_argument("--list", action="store_true", help="draw them, and run nothing")
    parser.add_argument("--near", action="store_true", help="first the tests that concern a file")
    parser.add_argument("command", nargs="*", help="make test, if --near is not given")
    given = parser.parse_args()
    mutants = [*enumerate(drawn(given.seed, given.number), 1)]
    if given.only:
        mutants = [(n, m) for n, m in mutants if str(n) in given.only.split(",")]
    if given.list:
        for number, mutant in mutants:
            print(f"{number:2}  {mutant.shown()}")
        return
    places = sorted({str(mutant.path) for _, mutant in mutants})
    changed = ["git", "diff", "--quiet", "HEAD", "--", *places]
    if subprocess.run(changed, cwd=ROOT, check=False).returncode:
        sys.exit("error: a file that is to be changed has changes already: commit them first")
    LOGS.mkdir(parents=True, exist_ok=True)
    survivors = 0
    for number, mutant in mutants:
        print(f"{number:2}  {mutant.shown()}", end="", flush=True)
        commands = [near(mutant)] if given.near else []
        commands.append(given.command or ([] if given.near else ["make", "test"]))
        dead = killed(mutant, [*filter(None, commands)], LOGS / f"{number}.log", given.most)
        survivors += not dead
        print(f"  {'killed' if dead else 'SURVIVES'}", flush=True)
    print(f"{len(mutants) - survivors} of {len(mutants)} killed; logs: {LOGS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
