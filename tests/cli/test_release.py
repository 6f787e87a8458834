"""`make release`: version, date, commit and tag in one step, or nothing of it."""

from __future__ import annotations

import datetime
import importlib
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from waiting import completed

ROOT = Path(__file__).resolve().parents[2]
TODAY = datetime.date(2026, 12, 1)


def git(root: Path, *arguments: str) -> str:
    """Return what git prints."""
    done = completed(["git", *arguments], cwd=root, check=True)
    return done.stdout.strip()


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program that makes a release."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("release")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the files that name a version, on main."""
    for name in ("NAME", "EMAIL"):
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", "a@example.com")
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", "a@example.com")
    root = tmp_path / "clone"
    (root / "fairc").mkdir(parents=True)
    for name in ("fairc/__init__.py", "CITATION.cff", "CHANGELOG.md"):
        (root / name).write_bytes((ROOT / name).read_bytes())
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "all")
    return root


def test_a_release_is_one_commit_with_a_tag(make: ModuleType, clone: Path) -> None:
    built: list[str] = []
    told = make.release(
        clone, "0.2.0", TODAY, lambda: built.append(git(clone, "describe", "--exact-match"))
    )
    assert built == ["v0.2.0"], "built from the tagged commit"
    assert git(clone, "status", "--porcelain") == ""
    assert '__version__ = "0.2.0"' in (clone / "fairc/__init__.py").read_text()
    assert "version: 0.2.0\ndate-released: 2026-12-01\n" in (clone / "CITATION.cff").read_text()
    changelog = (clone / "CHANGELOG.md").read_text()
    assert "## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n###" in changelog
    assert "git push origin main v0.2.0" in told
    with pytest.raises(SystemExit, match='nothing under "Unreleased"'):
        make.release(clone, "0.3.0", TODAY, lambda: None)


def test_a_release_that_is_not_built_leaves_nothing(make: ModuleType, clone: Path) -> None:
    before = git(clone, "rev-parse", "HEAD")

    def fail() -> None:
        raise subprocess.CalledProcessError(1, "dist")

    with pytest.raises(SystemExit, match="was not built"):
        make.release(clone, "0.2.0", TODAY, fail)
    assert git(clone, "rev-parse", "HEAD") == before
    assert git(clone, "tag") == ""
    assert git(clone, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("version", "change", "message"),
    [
        ("1.0", None, "`1.0` is no version: write X.Y.Z"),
        ("1.0.0-rc1", None, "is no version"),
        ("0.2.0", "tree", "the tree has changes"),
        ("0.2.0", "branch", "this is the branch other"),
        ("0.2.0", "tag", "0.2.0 is not above 0.10.0, the last release"),
    ],
)
def test_what_keeps_a_version_from_being_released_is_said(
    make: ModuleType, clone: Path, version: str, change: str | None, message: str
) -> None:
    if change == "tree":
        (clone / "fairc/new.py").write_text("")
    elif change == "branch":
        git(clone, "switch", "--quiet", "--create", "other")
    elif change == "tag":
        git(clone, "tag", "v0.9.0")
        git(clone, "tag", "v0.10.0")
    before = git(clone, "rev-parse", "HEAD")
    with pytest.raises(SystemExit, match=message):
        make.release(clone, version, TODAY, lambda: None)
    assert git(clone, "rev-parse", "HEAD") == before
