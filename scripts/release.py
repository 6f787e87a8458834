"""Make a release: check, write version and date, commit, tag, build (`make release VERSION=X.Y.Z`).

Run in `scripts/` as `python -m release VERSION FOLDER`. Nothing leaves the machine: what a person
does then is printed. If building fails, commit and tag are taken back.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r'^__version__ = "([0-9.]+)"$', re.MULTILINE)
ADDRESS = re.compile(r"^ADDRESS: str \| None = None$", re.MULTILINE)
UNRELEASED = "## Unreleased\n"
CITED = re.compile(r"^version: .*(?:\ndate-released: .*)?$", re.MULTILINE)


def main() -> None:
    """Make a release of the tree that this file lies in."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("version", metavar="VERSION")
    parser.add_argument("out", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    out = str(arguments.out.absolute())

    def build() -> None:
        dist = [sys.executable, "-m", "dist", out]
        subprocess.run(dist, cwd=ROOT / "scripts", check=True)

    today = datetime.datetime.now(datetime.UTC).date()
    print(release(ROOT, arguments.version, today, build))


def release(root: Path, version: str, today: datetime.date, build: Callable[[], None]) -> str:
    """Commit and tag a version, and build it; return what remains to be done.

    Args:
        root: a clone without changes.
        version: X.Y.Z, above that of the last tag.
        build: writes the release's files from the commit; raises CalledProcessError.

    Raises:
        SystemExit: what has to be done first; nothing has changed.
    """
    wrong = problems(root, version)
    if wrong:
        sys.exit("\n".join(f"error: {line}" for line in wrong))
    before = _git(root, "rev-parse", "HEAD")
    write_version(root, version, today)
    _git(root, "commit", "--quiet", "--all", "--message", f"Release {version}")
    _git(root, "tag", "--annotate", f"v{version}", "--message", f"fairc {version}")
    try:
        build()
    except (subprocess.CalledProcessError, KeyboardInterrupt):
        _git(root, "tag", "--delete", f"v{version}")
        _git(root, "reset", "--quiet", "--hard", before)  # the tree had no changes
        sys.exit(f"error: the release was not built; the commit and the tag v{version} are gone")
    return remaining(root, version)


def problems(root: Path, version: str) -> list[str]:
    """Return what keeps a version from being released, a line each."""
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", version):
        return [f"`{version}` is no version: write X.Y.Z, as in 0.1.0"]
    wrong = []
    if _git(root, "status", "--porcelain"):
        wrong.append("the tree has changes: commit them")
    if (branch := _git(root, "rev-parse", "--abbrev-ref", "HEAD")) != "main":
        wrong.append(f"this is the branch {branch}: releases are made from main")
    tags = _git(root, "tag", "--list", "v*").split()
    released = [tuple(map(int, tag[1:].split("."))) for tag in tags if re.match(r"v[\d.]+$", tag)]
    if released and tuple(map(int, version.split("."))) <= max(released):
        last = ".".join(map(str, max(released)))
        wrong.append(f"{version} is not above {last}, the last release")
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    changes = re.split(r"^## ", text.partition(UNRELEASED)[2], maxsplit=1, flags=re.MULTILINE)[0]
    if not changes.strip():
        wrong.append('CHANGELOG.md has nothing under "Unreleased"')
    return wrong


def write_version(root: Path, version: str, today: datetime.date) -> None:
    """Write version and date where they stand: the package, the citation, the changelog."""
    places = {
        "fairc/__init__.py": (VERSION, f'__version__ = "{version}"'),
        "CITATION.cff": (CITED, f"version: {version}\ndate-released: {today}"),
        "CHANGELOG.md": (
            re.compile(re.escape(UNRELEASED)),
            f"{UNRELEASED}\n## {version} - {today}\n",
        ),
    }
    texts = {}
    for name, (pattern, written) in places.items():
        texts[name], count = pattern.subn(written, (root / name).read_text("utf-8"), count=1)
        if not count:
            sys.exit(f"error: {name} has no version to replace")
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")


def remaining(root: Path, version: str) -> str:
    """Return what a person does after the files have been built."""
    steps = [
        f"git push origin main v{version}   # the workflow `release` tests and publishes it",
        "approve the job `publish`: it asks for the environments `pypi` and `github-pages`",
        "Zenodo: switch the repository on once; it then reads CITATION.cff at each release",
    ]
    if ADDRESS.search((root / "fairc/__init__.py").read_text(encoding="utf-8")):
        steps.insert(0, "decide the project's address: `ADDRESS` in fairc/__init__.py, then again")
    return "\n".join(
        [f"v{version} is built. What remains:", *(f"{n}. {s}" for n, s in enumerate(steps, 1))]
    )


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
