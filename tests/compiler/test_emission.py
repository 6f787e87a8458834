"""Folders of compiled experiments: byte-identical, complete, never over other files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from specs import compile_spec

from fairc.compiler import Cell, Compilation, Plan, binary, compile, emit
from fairc.compiler.plan import parse_cell
from fairc.compiler.targets import EndpointsMissing, mininet, runner
from fairc.dsl.core.diagnostics import CompileError

SPEC = "spec/made-by-hand.fexp"
WITHOUT_PROGRAMS = {"plan.json", "cells.jsonl", "files.json", "index.md", "index.json", SPEC}


@pytest.fixture(autouse=True)
def endpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that stands for the endpoints: emission only copies it."""
    program = tmp_path / "build" / "some-endpoints"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("FAIRC_ENDPOINTS", str(program))
    return program


@pytest.fixture
def compilation(make: SimpleNamespace) -> Compilation:
    return compile(make.experiment(make.quickstart(loss=0.01), repeat=2))


def contents(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_the_folder(compilation: Compilation, tmp_path: Path) -> None:
    emit(compilation, tmp_path / "deep" / "out", ["mininet", "json"])
    out = tmp_path / "deep" / "out"
    assert Plan.model_validate_json((out / "plan.json").read_text()) == compilation.plan
    lines = (out / "cells.jsonl").read_text().splitlines()
    cells = [parse_cell(line) for line in lines]
    assert cells == list(compilation.cells())
    scripts = {"cells/made.py"}  # of both repetitions
    assert set(contents(out)) == scripts | {
        *WITHOUT_PROGRAMS,
        "cells/fairc-endpoints",
        *(f"cells/{name}" for name in runner.files()),
    }
    assert all(os.access(out / name, os.X_OK) for name in (*scripts, "cells/fairc-endpoints"))


def test_the_folder_of_the_target_containers(compilation: Compilation, tmp_path: Path) -> None:
    emit(compilation, tmp_path / "out", ["containers", "mininet"])
    cells = tmp_path / "out/cells"
    assert {path.name for path in (cells / "image").iterdir()} == {
        *("Dockerfile", "cell", "fairc-endpoints")
    }
    assert len((cells / "README.md").read_text().splitlines()) <= 14
    for cell in compilation.cells():
        folder = cells / f"made_repetition={cell.repetition}"
        assert (folder / "compose.yaml").is_file()
        results = folder / "results"
        assert [path.name for path in results.iterdir()] == ["experiment.py"]
        assert results.stat().st_mode & 0o777 == 0o777, "root in a container is not its owner"


def test_json_alone_needs_no_endpoints(
    compilation: Compilation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRC_ENDPOINTS", "/nowhere")
    emit(compilation, tmp_path / "out", ["json"])
    assert set(contents(tmp_path / "out")) == WITHOUT_PROGRAMS


def test_twice_gives_the_same_bytes(make: SimpleNamespace, tmp_path: Path) -> None:
    for name in ("one", "two", "two"):  # the last one replaces an earlier plan
        made = make.experiment(make.quickstart(), make.quickstart(loss=0.01), repeat=2)
        emit(compile(made), tmp_path / name, ["mininet", "containers"])
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_an_interrupted_compilation_leaves_the_old_state(
    make: SimpleNamespace, compilation: Compilation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emit(compilation, tmp_path / "out")
    before = contents(tmp_path / "out")
    other = compile(make.experiment(make.quickstart(), repeat=3))
    cells = other.cells

    def interrupted() -> Iterator[Cell]:
        yield next(cells())
        raise KeyboardInterrupt

    monkeypatch.setattr(other, "cells", interrupted)
    with pytest.raises(KeyboardInterrupt):
        emit(other, tmp_path / "out")
    assert contents(tmp_path / "out") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["build", "out"]


def test_errors_leave_nothing(make: SimpleNamespace, tmp_path: Path) -> None:
    bad = make.experiment(make.quickstart(queue=make.size(100, "B")))
    with pytest.raises(CompileError):
        emit(compile(bad), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["build"]


def test_results_of_cells_survive_a_new_plan(
    make: SimpleNamespace, compilation: Compilation, tmp_path: Path
) -> None:
    """They are found by what they are of (runtime/run/cluster.py)."""
    emit(compilation, tmp_path / "out", ["slurm"])
    (tmp_path / "out/results/0123").mkdir(parents=True)
    (tmp_path / "out/results/0123/result.json").write_text("{}")
    emit(compile(make.experiment(make.quickstart(), repeat=3)), tmp_path / "out", ["json"])
    assert set(contents(tmp_path / "out")) == {
        *WITHOUT_PROGRAMS,
        "results/0123/result.json",
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["build", "out"]


def test_other_files_are_never_replaced(compilation: Compilation, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.tex").write_text("precious")
    with pytest.raises(FileExistsError, match="is not a compiled plan"):
        emit(compilation, home)
    assert contents(home) == {"thesis.tex": b"precious"}
    with pytest.raises(FileExistsError):
        emit(compilation, home / "thesis.tex")


def test_an_empty_folder_may_be_there(compilation: Compilation, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    emit(compilation, tmp_path / "out", ["json"])
    assert (tmp_path / "out" / "plan.json").exists()


def test_unknown_targets_are_refused(compilation: Compilation, tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        emit(compilation, tmp_path / "out", ["mininet", "minnet"])
    (unknown,) = caught.value.diagnostics
    assert "did you mean `mininet`" in unknown.message
    assert not (tmp_path / "out").exists()


def test_missing_endpoints_are_named(
    compilation: Compilation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRC_ENDPOINTS", str(tmp_path / "nothing"))
    with pytest.raises(EndpointsMissing, match="FAIRC_ENDPOINTS names"):
        emit(compilation, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_endpoints_are_found_in_the_checkout_then_on_path(
    endpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAIRC_ENDPOINTS")
    monkeypatch.setenv("PATH", str(endpoints.parent))
    endpoints.rename(endpoints.parent / "fairc-endpoints")
    monkeypatch.setattr(binary, "ROOT", tmp_path)
    assert binary.find_endpoints() == endpoints.parent / "fairc-endpoints"
    built = tmp_path / binary.BUILT
    built.parent.mkdir(parents=True)
    built.write_text("#!/bin/sh\n")
    built.chmod(0o755)
    assert binary.find_endpoints() == built
    built.unlink()
    (endpoints.parent / "fairc-endpoints").unlink()
    with pytest.raises(EndpointsMissing, match="make setup"):
        binary.find_endpoints()


def test_endpoints_that_are_not_what_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, record = tmp_path / "fairc-endpoints", tmp_path / "fairc-endpoints.sha256"
    program.write_bytes(b"program")
    program.chmod(0o755)
    monkeypatch.setenv(binary.VARIABLE, str(program))
    assert binary.find_endpoints() == program  # nothing is recorded
    record.write_text(hashlib.sha256(b"program").hexdigest() + "\n")
    assert binary.find_endpoints() == program
    program.write_bytes(b"progran")
    with pytest.raises(binary.EndpointsMissing, match="is damaged"):
        binary.find_endpoints()
    stamp = tmp_path / ".fingerprint/fairc-endpoints-1/invoked.timestamp"
    stamp.parent.mkdir(parents=True)
    stamp.write_text("")
    later = record.stat().st_mtime + 10
    os.utime(stamp, (later, later))  # cargo has built another one since
    assert binary.find_endpoints() == program


def test_a_plan_keeps_every_file_that_it_comes_from(tmp_path: Path) -> None:
    spec = tmp_path / "my"
    (spec / "nets/traces").mkdir(parents=True)
    (spec / "main.fexp").write_text(
        'fexp 1\nimport "nets/dsl.fexp"\nexperiment e {\n  topology = line\n'
        "  flow a { from = s  to = c  cca = cubic  workload = file(1MB) }\n  measure ="
        " [goodput]\n}\n"
    )
    (spec / "nets/dsl.fexp").write_text(
        "fexp 1\ntopology line {\n  node s, c\n  router r\n  link s -- r\n"
        '  link r -- c { rate = trace("traces/down.trace")  delay = 10ms }\n}\n'
    )
    (spec / "nets/traces/down.trace").write_text("".join(f"{ms}\n" for ms in range(1, 2001)))
    emit(compile_spec(spec / "main.fexp"), tmp_path / "plan", ["json"])
    kept = tmp_path / "plan" / "spec"
    paths = {path.relative_to(kept) for path in kept.rglob("*") if path.is_file()}
    assert paths == {path.relative_to(spec) for path in spec.rglob("*") if path.is_file()}
    assert all((kept / path).read_bytes() == (spec / path).read_bytes() for path in paths)
    again, first = (compile_spec(folder / "main.fexp") for folder in (kept, spec))
    assert [*again.cells()] == [*first.cells()]


def test_what_in_a_plan_is_not_as_it_was_written(compilation: Compilation, tmp_path: Path) -> None:
    """Programs, and what they run: edited, of another version, or gone."""
    out, cells = tmp_path / "out", list(compilation.cells())
    emit(compilation, out, ["mininet"])
    found, changed = mininet.programs(out, cells)
    made = "made.py", (out / "cells/made.py").read_bytes()
    assert changed == [] and found == {cell.id: made for cell in cells}
    (out / "cells/made.py").write_text("print('mine')")
    (out / "cells/cell/clock.py").unlink()
    (out / "cells/fairc-endpoints").write_text("#!/bin/false")
    _, changed = mininet.programs(out, cells)
    assert changed == [
        out / "cells" / name for name in ("cell/clock.py", "fairc-endpoints", "made.py")
    ]
    emit(compilation, tmp_path / "json", ["json"])
    assert mininet.programs(tmp_path / "json", cells) == ({}, [])
