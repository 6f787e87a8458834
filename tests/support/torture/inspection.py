"""Whether a run folder is whole, what its results are, and what a folder holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairc.runtime.measurement.results import CellResult

from .fault import Problem, require

ENDS = {".html": b"</html>", ".svg": b"</svg>", ".pdf": b"%%EOF", ".parquet": b"PAR1"}


def hashes(run: Path) -> dict[str, str]:
    """Return cell -> hash of its raw artefacts, of every cell that is stored and succeeded."""
    found = {}
    for path in sorted(run.glob("cells/*/result.json")):
        result = CellResult.model_validate_json(path.read_bytes())
        if result.status == "ok":
            found[result.cell] = result.result_sha256
    return found


def require_whole(run: Path) -> None:
    """Raise Problem where something in a run folder is neither whole nor absent, outside of what is
    known as unfinished.
    """
    for path in sorted(run.glob("cells/*")):
        try:
            result = CellResult.model_validate_json((path / "result.json").read_bytes())
        except (OSError, ValueError) as error:
            raise Problem(f"a cell has no whole result.json: {type(error).__name__}") from None
        wanted = {"raw.tar.zst", *(f"{name}.parquet" for name in result.series or ())}
        there = {each.name for each in path.iterdir() if each.stat().st_size}
        require(wanted <= there, f"a cell lacks {', '.join(sorted(wanted - there))}")
    for name in ("plan.json", "lock.json"):
        try:
            json.loads((run / name).read_bytes())
        except FileNotFoundError:
            continue
        except ValueError:
            raise Problem(f"{name} is half-written") from None
    for path in [run / "report.html", *run.glob("figures/*"), *run.glob("tables/*.parquet")]:
        end = ENDS.get(path.suffix, b"")
        whole = not path.is_file() or path.read_bytes()[-64:].rstrip().endswith(end)
        require(whole, f"{path.relative_to(run)} is half-written")


def files(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, sorted."""
    return (p for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink())


def listing(folder: Path, *without: Path) -> dict[str, str]:
    """Return path -> kind, size and content's hash, of everything below a folder but below some."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if any(path == each or each in path.parents for each in without):
            continue
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link {path.readlink()}"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = f"{path.stat().st_mode:o}"
    return found


@contextmanager
def untouched(folder: Path, *without: Path) -> Iterator[None]:
    """Raise Problem where a block changes what is below a folder, but below some."""
    before = listing(folder, *without)
    yield
    after = listing(folder, *without)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            how = (
                "appeared" if name not in before else "has gone" if name not in after else "changed"
            )
            raise Problem(f"outside of the run: {name[:80]!r} {how}")
