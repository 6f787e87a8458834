"""`fairc doctor`: a line for everything that an engine needs; 3 when no engine can run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairc.runtime.engines import host
from fairc.runtime.host import doctor
from fairc.runtime.host.doctor import Finding

Fairc = Callable[..., Any]  # conftest.py


def test_no_engine_can_run(fairc: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Finding("QEMU", False, "", "apt-get install qemu")
    monkeypatch.setattr(doctor, "EXAMINATIONS", {"vm": lambda: iter([missing])})
    called = fairc("doctor")
    assert called.status == 3
    assert "vm: not ready" in called.out
    assert "to do: apt-get install qemu" in called.out


def test_one_engine_is_enough(fairc: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    missing, optional = Finding("root", False, remedy="sudo"), Finding("bbr", False, needed=False)
    examinations = {"vm": lambda: iter([optional]), "mininet": lambda: iter([missing])}
    monkeypatch.setattr(doctor, "EXAMINATIONS", examinations)
    called = fairc("doctor")
    assert called.status == 0
    assert "vm: ready" in called.out
    assert "mininet: not ready" in called.out


def test_this_machine_can_be_examined() -> None:
    names = [examined.name for examined in doctor.examine()]
    assert names == ["uml", "vm", "mininet", "docker"]
    assert all(examined.findings for examined in doctor.examine())


def test_an_ordinary_cell_needs_no_aqm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "is_root", lambda: True)
    monkeypatch.setattr(host, "has_qdisc", lambda kind: kind in doctor.ORDINARY_QDISCS)
    kernel = {f.what: f for f in doctor.mininet() if "sch_" in f.what}
    assert [name for name, f in kernel.items() if f.needed and not f.well] == []
    assert not kernel["kernel: sch_cake (cake)"].well
