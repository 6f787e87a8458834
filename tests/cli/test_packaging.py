"""What is installed: setuptools takes the packages that setup.cfg lists, and no others."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("cell", "dsl", "words", "compiler", "runtime")


def test_every_package_is_listed_in_setup_cfg() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    found = {
        ".".join(("fairc", *path.parent.relative_to(ROOT).parts))
        for room in ROOMS
        for path in (ROOT / room).rglob("__init__.py")
    }
    assert set(setup["options"]["packages"].split()) == found | {"fairc", "fairc.cli"}
