"""What is installed: setuptools finds every package of the folders that `fairc/` links to."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[2]


def test_every_package_is_found() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert setup["options"]["packages"] == "find:"
    include = setup["options.packages.find"]["include"].split()
    folders = [path.resolve() for path in (ROOT / "fairc").iterdir() if path.is_dir()]
    packages = {
        ".".join(("fairc", *path.parent.relative_to(ROOT).parts)).replace("fairc.fairc", "fairc")
        for folder in folders
        for path in folder.rglob("__init__.py")
    }
    assert {"fairc.cli", "fairc.cell", "fairc.runtime.report.figures"} <= packages
    assert set(find_packages(str(ROOT), include=include)) == packages | {"fairc"}
