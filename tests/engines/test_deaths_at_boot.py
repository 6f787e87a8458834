"""A machine that dies before its cell begins is started once more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from specs import only_cell_of

from fairc.runtime.engines import guest_job
from fairc.runtime.engines.base import Engine
from fairc.runtime.uml import machine

SPEC = """fexp 1
experiment short {
  topology = bottleneck(rate: 10Mbit/s, rtt: 10ms)
  flow f { cca = cubic  workload = file(20kB) }
  measure = [fct]
}
"""


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_machine_that_dies_at_boot(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deaths: int
) -> None:
    """Its initramfs is broken, so the kernel finds no first program, and panics."""
    started: list[Path] = []

    class Dying(machine.Machine):
        def __init__(self, kernel: Any, image: Path, folder: Path, *others: Any) -> None:
            started.append(folder)
            if len(started) <= deaths:
                (folder / machine.INITRD).write_bytes(b"no archive")
            super().__init__(kernel, image, folder, *others)

    monkeypatch.setattr(machine, "Machine", Dying)
    result = engine.run(only_cell_of(SPEC), tmp_path)
    assert len(started) == 2
    if deaths == 1:
        assert result.error == ""
        return
    assert result.error.startswith(
        f"{guest_job.CRASHED} twice, before the cell began; the last line"
    )
    last = " ".join(result.console.strip().splitlines()[-1].split())
    assert last and last in result.error
