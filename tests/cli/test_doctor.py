"""`fairc doctor`: a line for everything that an engine needs; 3 when no engine can run."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import completed

from fairc.dsl.core.cache import cache_directory
from fairc.runtime.engines import doctor, host
from fairc.runtime.engines.doctor import Finding
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.uml import kernel
from fairc.runtime.vm import image, recipe, snapshot

Fairc = Callable[..., Any]  # conftest.py


def test_no_engine_can_run(fairc: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Finding("QEMU", False, "", "apt-get install qemu")
    monkeypatch.setattr(doctor, "EXAMINATIONS", {"vm": lambda: iter([missing])})
    called = fairc("doctor").require(3)
    assert "vm: not ready" in called.out
    assert "to do: apt-get install qemu" in called.out


def test_one_engine_is_enough(fairc: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    missing, optional = Finding("root", False, remedy="sudo"), Finding("bbr", False, needed=False)
    examinations = {"vm": lambda: iter([optional]), "mininet": lambda: iter([missing])}
    monkeypatch.setattr(doctor, "EXAMINATIONS", examinations)
    called = fairc("doctor").require(0)
    assert "vm: ready" in called.out
    assert "mininet: not ready" in called.out


def test_this_machine_can_be_examined() -> None:
    names = [examined.name for examined in doctor.examine()]
    assert names == ["uml", "vm", "mininet", "docker"]
    assert all(examined.findings for examined in doctor.examine())


def test_without_apt_no_command_of_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    remedy = "install what Debian calls {} with this system's package manager"
    assert doctor.program("tc", "iproute2").remedy == remedy.format("iproute2")
    with pytest.raises(EngineUnavailable) as refused:
        kernel.require_mmdebstrap()
    assert refused.value.remedy.startswith(remedy.format("mmdebstrap") + "; or `fairc image load")


def test_an_ordinary_cell_needs_no_aqm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "is_root", lambda: True)
    monkeypatch.setattr(host, "has_qdisc", lambda kind: kind in doctor.ORDINARY_QDISCS)
    kernel = {f.what: f for f in doctor.mininet() if "sch_" in f.what}
    assert [name for name, f in kernel.items() if f.needed and not f.well] == []
    assert not kernel["kernel: sch_cake (cake)"].well


def test_what_is_stored_is_read_in_full_on_demand(
    fairc: Fairc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image, a kernel and a snapshot, each damaged where only reading it shows."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(doctor, "EXAMINATIONS", {"vm": lambda: iter([Finding("all", True)])})
    parts = [image.folder(recipe.PLAIN), kernel.folder()]
    for place in parts:
        place.mkdir(parents=True)
        (place / "kernel").write_bytes(b"kernel")
        (place / "config").write_bytes(b"config")
        manifest = {"recipe": "0" * 16, "digest": image.digest(place), "kernel": "7"}
        manifest["sha256"] = hashlib.sha256(b"kernel").hexdigest()
        (place / "manifest.json").write_text(json.dumps(manifest))
    taken = cache_directory() / "snapshots/0123"
    taken.mkdir(parents=True)
    (taken / "memory").write_bytes(b"memory")
    (taken / "state").write_bytes(b"state")
    (taken / snapshot.DIGEST).write_text(snapshot.digest(taken))
    called = fairc("doctor", "--verify")
    assert called.status == 0 and "damaged" not in called.out
    assert all(str(place) in called.out for place in (*parts, taken))
    for path in (*(place / "config" for place in parts), taken / "memory"):
        content = path.read_bytes()
        path.write_bytes(b"?" * len(content))
        called = fairc("doctor", "--verify")
        assert called.status == 3 and called.out.count("damaged  ") == 1
        path.write_bytes(content)
    assert fairc("doctor", "--verify").status == 0


def test_nothing_is_imported_from_the_working_directory(tmp_path: Path) -> None:
    """Somebody else's study may hold a file of any name; the probes of engines start Pythons."""
    canary = f"open({str(tmp_path / 'canary')!r}, 'w').close()\nVERSION = '9'\n"
    for name in ("mininet", "fairc", "docker", "json", "select", "readline"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(canary)
        (tmp_path / name / "net.py").write_text(canary)
    code = "import sys; sys.argv[0] = 'fairc'; from fairc.start import main; main()"
    done = completed([sys.executable, "-P", "-c", code, "doctor"], cwd=tmp_path, timeout=300)
    assert done.returncode in (0, 3), done.stderr
    assert all(name in done.stdout for name in ("uml", "vm", "mininet", "docker")), done.stderr
    assert not (tmp_path / "canary").exists()
