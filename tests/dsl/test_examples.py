"""Every example has a page, which says whether it runs; the commands on the pages are right."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from gentle import gentle

from fairc.cli.commands import fairc
from fairc.dsl import condition, load, load_all, read

ROOT = Path(__file__).parent.parent.parent
PAGES = ROOT / "docs/learn/examples"
EXAMPLES = sorted((ROOT / "examples").glob("*.fexp"))
STUDIES = sorted((ROOT / "examples/studies").glob("*.fexp"))


def page_of(file: Path) -> str:
    """Return the page that the index names for an example; variants of one experiment share
    theirs.
    """
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    page: str
    (page,) = re.findall(rf"^\| \[{file.stem}\]\(([\w-]+\.md)", index, re.MULTILINE)
    return (PAGES / page).read_text(encoding="utf-8")


def runs(command: str, name: str | None = None) -> None:
    """Assert that the command line takes `fairc run FILE ...` or `fairc check FILE ...` and finds
    no error in the file.
    """
    _, verb, *words = shlex.split(command)
    given = fairc.commands[verb].make_context(verb, words).params
    target = given["target"] if verb == "run" else given["files"][0]
    experiments, found = load_all(
        read(ROOT / str(target).partition(":")[0]), given["settings"], name
    )
    assert [d.message for d in found.errors] == []
    assert experiments
    if where := given.get("where"):
        condition(where).check([axis.name for each in experiments for axis in each.axes])


def test_every_example_has_a_page() -> None:
    for file in EXAMPLES:
        assert f"(../../../examples/{file.name})" in page_of(file)
    assert {page.stem for page in PAGES.glob("*.md")} - {"README"} <= {
        file.stem for file in EXAMPLES
    }


def test_the_index_has_every_page() -> None:
    rows = re.findall(
        r"^\| \[([\w-]+)\]\([\w-]+\.md[#\w-]*\) \|", (PAGES / "README.md").read_text(), re.MULTILINE
    )
    assert sorted(rows) == sorted(file.stem for file in EXAMPLES)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_example_runs_as_it_is(file: Path) -> None:
    assert [d.message for d in load(read(file))[1] if d.code == "not-yet"] == []


@pytest.mark.parametrize(
    "file",
    # Its object is compiled by clang, which `make setup` does not install.
    [pytest.param(f, marks=[pytest.mark.full] * (f.stem == "own-cca")) for f in EXAMPLES],
    ids=lambda file: file.stem,
)
def test_the_commands_of_a_page(file: Path) -> None:
    commands = re.findall(
        rf"(?:^|`)(fairc (?:run|check) examples/{file.name}[^\n`]*)", page_of(file), re.MULTILINE
    )
    assert commands
    if ".bpf.o" in file.read_text(encoding="utf-8"):
        gentle()
    for command in commands:
        runs(command)


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_a_study_has_a_page_with_its_command(file: Path) -> None:
    page = (ROOT / f"docs/learn/studies/{file.stem}.md").read_text(encoding="utf-8")
    index = (ROOT / "docs/learn/studies/README.md").read_text(encoding="utf-8")
    assert f"(../../../examples/studies/{file.name})" in page
    assert f"| [{file.stem}]({file.stem}.md) |" in index
    (command,) = re.findall(r"^fairc run examples/studies/.+$", page, re.MULTILINE)
    path, _, name = shlex.split(command)[2].partition(":")
    assert path == f"examples/studies/{file.name}"
    runs(command, name or None)
