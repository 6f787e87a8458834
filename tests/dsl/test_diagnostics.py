"""Every page in tests/diagnostics: a block of `.fexp`, then the diagnostics that it gets.

They are those of `fairc check`. Where it takes another command, the page shows a call
(`$ fairc ...`) and what it prints on standard error; where it takes a plug-in, the entry points of
its package (`ini`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, ignore_patterns

import codes
import pytest
from waiting import completed

from fairc.__main__ import main
from fairc.cli import console, interruption
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


Called = Callable[[str, str, str | None, Path], str]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    """Return what calls `fairc CALL` in a folder with `file.fexp`, and returns what it prints on
    standard error.
    """
    monkeypatch.setattr(interruption, "begin", lambda: None)  # Ctrl-C is for the tests themselves
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FAIRC_ENGINE", raising=False)

    def call(words: str, text: str, plugins: str | None, folder: Path) -> str:
        prepare(text, plugins, folder)
        if plugins is not None:  # they are looked for once in a process
            return in_a_process(words, folder)
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            patch.setattr(console, "_quiet", False)
            patch.setattr(sys, "argv", ["fairc", *words.split()])
            with pytest.raises(SystemExit):
                main()
        return capsys.readouterr().err

    return call


def prepare(text: str, plugins: str | None, folder: Path) -> None:
    """Write the files that a call finds."""
    (folder / "file.fexp").write_text(text, encoding="utf-8")
    for named in ("tests/diagnostics", "tests/engines/bpf"):
        copytree(ROOT / named, folder / named, ignore=ignore_patterns("*.md"))
    if plugins is not None:
        package = folder / "packages" / "fairc_broken-1.0.dist-info"
        package.mkdir(parents=True)
        (package / "entry_points.txt").write_text(plugins, encoding="utf-8")
        (package / "METADATA").write_text("Metadata-Version: 2.1\nName: fairc-broken\n")


def in_a_process(words: str, folder: Path) -> str:
    """Return what a process of its own prints on standard error."""
    variables = {**os.environ, "PYTHONPATH": str(folder / "packages")}
    command = [sys.executable, "-m", "fairc", *words.split()]
    return completed(command, cwd=folder, env=variables).stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_diagnostic(file: Path, update: bool, tmp_path: Path, called: Called) -> None:
    page = file.read_text(encoding="utf-8")
    assert page.startswith(f"# {file.stem}\n\n")
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
    assert file.stem in re.findall(r"^(?:error|warning)\[(.*?)\]", page, re.MULTILINE)


UNREACHABLE = {"unknown-engine"}
"""Reported by no command: `--engine` is checked before a file is read."""


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    known = codes.of_packages(ROOT)
    assert len(known) > 170
    assert {file.stem for file in FILES} <= set(known)
    pages = {file.stem for file in FILES}
    assert {code: known[code] for code in set(known) - pages - UNREACHABLE} == {}
