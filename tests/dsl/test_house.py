"""The shape of the code itself: no circles among the endpoints' modules, no twins of a flow."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from graphlib import TopologicalSorter
from pathlib import Path

from fairc.dsl.model import Flow

ROOT = Path(__file__).parents[2]


def modules() -> dict[str, str]:
    """The endpoints' modules by their path, `a::b`, each with its code without tests."""
    source = ROOT / "endpoints" / "src"
    return {
        str(path.relative_to(source).with_suffix("")).replace("/", "::").removesuffix("::mod"): (
            path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests")[0]
        )
        for path in source.rglob("*.rs")
    }


def test_the_endpoints_modules_import_each_other_in_one_direction() -> None:
    """A module and those inside it count as one where they name each other by `super` only."""
    every = modules()
    graph: dict[str, set[str]] = {name: set() for name in every}
    for name, text in every.items():
        braces = re.sub(r"crate::\{([^}]*)\}", lambda m: _spelled_out(m[1]), text)
        for path in re.findall(r"\bcrate::(\w+(?:::\w+)*)", braces):
            parts = path.split("::")
            longest = next(
                (p for n in range(len(parts), 0, -1) if (p := "::".join(parts[:n])) in every), None
            )
            if longest not in (None, name):
                graph[name].add(str(longest))
    assert sum(map(len, graph.values())) > 200
    TopologicalSorter(graph).prepare()  # CycleError names the circle


def _spelled_out(names: str) -> str:
    return " ".join(f"crate::{name.strip()}" for name in names.split(",") if name.strip())


def test_no_other_class_repeats_the_fields_of_a_flow() -> None:
    """A flow is written, checked and planned: what else is about it holds it, or is part of it."""
    own, found = {each.name for each in fields(Flow)}, list[str]()
    for package in ("cell", "compiler", "dsl", "mechanisms", "runtime", "words"):
        for path in ROOT.glob(f"{package}/**/*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                body = node.body if isinstance(node, ast.ClassDef) else []
                names = {
                    ast.unparse(each.target) for each in body if isinstance(each, ast.AnnAssign)
                }
                if isinstance(node, ast.ClassDef) and len(names & own) >= 5:
                    found.append(f"{path.relative_to(ROOT)}: {node.name}")
    checked = [f"dsl/model/flows.py: {name}" for name in ("Flow", "Stack", "Trip")]
    assert sorted(found) == ["cell/model.py: Flow", *checked]


def test_the_docstring_of_a_package_lists_its_modules() -> None:
    """But where modules are words of the language, which have a list of their own."""
    words = {"runtime/metrics", "runtime/report/figures"}
    missing = []
    for package in ("compiler", "dsl", "runtime", "fairc/cli", "fairc/lsp"):
        for path in (ROOT / package).rglob("__init__.py"):
            folder = path.parent
            if str(folder.relative_to(ROOT)) in words:
                continue
            said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            inside = {file.stem for file in folder.glob("*.py")} - {"__init__"}
            inside |= {each.parent.name for each in folder.glob("*/__init__.py")}
            lacking = inside - set(re.findall(r"\w+", said))
            missing += [f"{folder.relative_to(ROOT)}: {name}" for name in sorted(lacking)]
    assert missing == []


def test_no_object_file_names_the_folder_in_which_it_was_compiled() -> None:
    """`clang -fdebug-compilation-dir=.` leaves it out."""
    found = [*ROOT.glob("examples/**/*.o"), *ROOT.glob("tests/**/*.o")]
    objects = [path for path in found if "target" not in path.parts]  # of examples in Rust
    assert objects
    for path in objects:
        assert re.findall(rb"\0(/[\w./-]+\.c)\0", path.read_bytes()) == [], path


def test_prose_wraps_at_100_columns() -> None:
    """Except tables, blocks of code, pictures, and what has no blank to wrap at."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("runtime/**/*.md")]
    assert len(pages) > 90
    wide = []
    for page in pages:
        is_code = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
            is_code ^= line.lstrip().startswith("```")
            if is_code or len(line) <= 100 or line.startswith("    "):
                continue
            whole = re.sub(r"`[^`]*`|\]\([^)]*\)", lambda found: "x" * len(found[0]), line.lstrip())
            wraps = " " in whole[2:100]  # behind the mark of a list; code and links are not broken
            if wraps and not line.lstrip().startswith(("|", "![", "[!", "```")):
                wide.append(f"{page.relative_to(ROOT)}:{number}")
    assert wide == []


def test_rows_of_a_table_have_the_cells_of_its_head() -> None:
    """A `|` in a cell ends it, also in code; the rest of the row is then lost."""
    odd = []
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        is_code, head = False, 0
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
            is_code ^= line.lstrip().startswith("```")
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.lstrip().startswith("|") else 0
            if is_code or not cells:
                head = 0
            elif cells != (head := head or cells):
                odd.append(f"{page.relative_to(ROOT)}:{number}")
    assert odd == []
