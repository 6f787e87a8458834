"""Every page in tests/diagnostics: a block of `.fexp`, then the diagnostics that it gets.

They are those of `fairc check`. Where it takes another command, the page shows a call
(`$ fairc ...`) and what it prints on standard error; where it takes a plug-in, the entry points of
its package (`ini`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import codes
import pytest

from fairc.cli.check import compiled
from fairc.dsl import Source, load, render_full

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "diagnostics"
FILES = sorted(FOLDER.glob("*.md"))
BLOCK = re.compile(
    r"```fexp\n(?P<text>.*?)```\n"
    r"(?:\n```ini\n(?P<plugins>.*?)```\n)?"
    r"\n```(?:diagnostic|console\n\$ fairc (?P<call>[^\n]*))\n(?P<expected>.*?)```\n",
    re.DOTALL,
)


def rendered(text: str) -> str:
    return render_full(compiled(*load(Source("file.fexp", text))))


def called(call: str, text: str, plugins: str | None, folder: Path) -> str:
    """Return what `fairc CALL` prints on standard error, in a folder with `file.fexp`."""
    (folder / "file.fexp").write_text(text, encoding="utf-8")
    for named in ("tests/diagnostics", "examples/bpf"):
        copytree(ROOT / named, folder / named)
    if plugins is not None:
        package = folder / "packages" / "fairc_broken-1.0.dist-info"
        package.mkdir(parents=True)
        (package / "entry_points.txt").write_text(plugins, encoding="utf-8")
        (package / "METADATA").write_text("Metadata-Version: 2.1\nName: fairc-broken\n")
    variables = {**os.environ, "PYTHONPATH": str(folder / "packages"), "COLUMNS": "100"}
    variables.pop("FAIRC_ENGINE", None)
    command = [sys.executable, "-m", "fairc", *call.split()]
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False
    ).stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_diagnostic(file: Path, update: bool, tmp_path: Path) -> None:
    page = file.read_text(encoding="utf-8")
    matches = list(BLOCK.finditer(page))
    assert page.count("```fexp") == len(matches) > 0, "a spec goes with its diagnostics"
    for number, match in enumerate(matches):
        folder = tmp_path / str(number)
        folder.mkdir()
        if match["call"] is not None:
            got = called(match["call"], match["text"], match["plugins"], folder)
        else:
            got = rendered(match["text"])
        if update:
            block = match[0].removesuffix(f"{match['expected']}```\n") + f"{got}```\n"
            page = page.replace(match[0], block)
        else:
            assert got == match["expected"]
    if update:
        file.write_text(page, encoding="utf-8")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_page_is_about_its_code(file: Path) -> None:
    found = re.findall(
        r"^(?:error|warning)\[(.*?)\]", file.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert file.stem in found


UNREACHABLE = {"unknown-engine"}
"""Reported by no command: `--engine` is checked before a file is read."""


def test_every_code_has_a_page() -> None:
    known = codes.of_rooms(ROOT)
    assert len(known) > 170
    pages = {file.stem for file in FILES}
    assert {code: known[code] for code in set(known) - pages - UNREACHABLE} == {}


def test_every_page_has_a_code() -> None:
    assert {file.stem for file in FILES} <= set(codes.of_rooms(ROOT))
