"""What the project says of itself: where it is, and how it is installed."""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import yaml

import fairc
from fairc.cli.failures import LIBRARIES
from fairc.runtime.pack import crate
from fairc.runtime.store.folder import Store

ROOT = Path(__file__).parents[2]
FOLDERS = (
    *(".ci", ".github", "cell", "compiler", "docs", "dsl", "endpoints/src", "examples", "fairc"),
    *("plugins", "runtime", "scripts", "tests", "words"),
)
FROM_AN_INDEX = re.compile(
    r"\b(?:pipx?|uv pip|uv tool) (?:install|run|upgrade)\b[^`\n]*?[\s'\"]"
    r"fairc(?:[-_][a-z]+)?(?:\[\w+\])?(?=[\s'\"`).,;]|$)"
    r"|\buvx (?:--from )?fairc\b|pypi\.org/project/fairc",
    re.MULTILINE,
)


def texts() -> Iterator[tuple[str, str]]:
    """Every file of the project that is text, by its path."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    for path in (*(one for one in ROOT.iterdir() if one.name != ".git"), *paths):
        if (
            path.is_file()
            and "__pycache__" not in path.parts
            and path.suffix not in (".zip", ".png")
        ):
            try:
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def test_nothing_promises_a_package_of_an_index() -> None:
    """There is no release: whoever took the name there would run their program on a reader's
    machine.
    """
    for text in ("pip install fairc", "pip install 'fairc[x]'", "uv tool install fairc-machine"):
        assert FROM_AN_INDEX.search(text), text
    for text in ("pip install fairc-*.whl fairc_machine-*.whl", "pip install ./plugins/fake"):
        assert not FROM_AN_INDEX.search(text), text
    this = str(Path(__file__).relative_to(ROOT))
    found = {path: hit[0] for path, text in texts() if (hit := FROM_AN_INDEX.search(text))}
    assert found.keys() == {this}


def test_what_a_missing_library_takes_is_in_an_extra() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    assert setup["options.extras_require"]["containers"].split() == [*LIBRARIES.values()]


def test_the_address_is_that_of_one_place() -> None:
    """setup.cfg and CITATION.cff cannot read `ADDRESS`, so they are compared with it."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert setup["metadata"].get("url") == cited.get("repository-code") == fairc.ADDRESS
    assert cited["version"] == fairc.__version__


@pytest.mark.parametrize("address", [None, "https://example.org/fairc"])
def test_a_pack_names_the_address_if_there_is_one(
    address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crate, "ADDRESS", address)
    plan = SimpleNamespace(
        title="", experiment="e", configurations=1, cells=1, file="e.fexp", engine="uml"
    )
    store = cast(Store, SimpleNamespace(plan=plan, lock={}))
    graph = json.loads(crate.metadata({"": store}, ()))["@graph"]
    (program,) = (entity for entity in graph if entity["@type"] == "SoftwareApplication")
    (run,) = (entity for entity in graph if entity["@type"] == "CreateAction")
    assert program.get("url") == address
    assert run["instrument"] == {"@id": program["@id"]} == {"@id": address or "#fairc"}
