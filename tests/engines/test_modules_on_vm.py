"""Kernel modules as CCAs on the emulated machine: compiled for Debian's kernel in a machine of uml,
beside a CCA in BPF, and what a bad one does to its cell and to no other.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_modules import AVOID, cell_of, run, with_

from fairc.compiler.engine_choice import of_cell
from fairc.dsl.core.diagnostics import CompileError
from fairc.runtime import validity
from fairc.runtime.engines import guest_job
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.host import bounds
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.measurement import load
from fairc.runtime.uml import confinement, modules

GENTLE = Path(__file__).parents[2] / "examples" / "bpf" / "gentle.bpf.o"
MODULE = 'module("tcp_aimd.c")'


@pytest.fixture(scope="module")
def engine() -> Iterator[VmEngine]:
    """Return a prepared engine that may load modules."""
    made = VmEngine()
    made.allow_modules = True
    made.prepare()
    yield made
    made.close()


def test_modules_run_beside_a_cca_in_bpf(engine: VmEngine, tmp_path: Path) -> None:
    shutil.copy(GENTLE, tmp_path)
    ccas = (MODULE, 'module("tcp_aimd.c", gain: 4)', 'bpf("gentle.bpf.o")', "reno")
    cell = cell_of(tmp_path, *ccas)
    assert {each.feature.word for each in of_cell(cell)} >= {"module", "bpf"}
    raw = run(engine, cell, tmp_path)
    assert raw.error == ""
    said = [(raw.artefacts / f"f{n}.server.ndjson").read_text().splitlines()[0] for n in range(4)]
    assert [json.loads(line)["cca"] for line in said] == ["aimd", "aimd_2", "gentle", "reno"]
    verdict, reasons = validity.judge(load(cell, raw.artefacts))
    assert verdict == "valid", reasons
    assert {"module aimd", "module aimd_2", "module compiler"} <= set(engine.versions)


def test_it_does_what_the_built_in_does(engine: VmEngine, tmp_path: Path) -> None:
    """With its defaults the example is Reno; only what computing takes differs a little."""
    sent = []
    for name, cca in (("module", MODULE), ("built-in", "reno")):
        (tmp_path / name).mkdir()
        cell = cell_of(tmp_path / name, cca)
        raw = run(engine, cell, tmp_path / name)
        assert raw.error == ""
        measured = load(cell, raw.artefacts)
        assert validity.judge(measured)[0] == "valid"
        queue = measured.queues[0]
        sent.append((len(queue.left), int(queue.through.lost.sum())))
    (one, one_lost), (other, other_lost) = sent
    assert one > 2000 and one_lost > 5
    assert abs(one - other) < 0.01 * other
    assert abs(one_lost - other_lost) <= 2


def test_the_machine_code_is_part_of_the_identity(engine: VmEngine, tmp_path: Path) -> None:
    one, other = (
        engine.identity_for(cell_of(tmp_path, MODULE, source=source))
        for source in (None, with_("1000", "999"))
    )
    assert len({one, other, engine.identity_for(cell_of(tmp_path, "reno"))}) == 3


@pytest.mark.parametrize(
    ("new", "console"),
    [
        (f"\tBUG();\n{AVOID}", "Kernel panic"),
        (f"\t*(volatile int *)8 = 1;\n{AVOID}", "Kernel panic"),
        (f"\tmsleep(1);\n{AVOID}", "scheduling while atomic"),
    ],
    ids=["a bug", "a wild pointer", "sleeps in atomic context"],
)
def test_a_bad_module_fails_its_cell_and_no_other(
    engine: VmEngine, tmp_path: Path, new: str, console: str
) -> None:
    source = with_(AVOID, new).replace("<net/tcp.h>", "<net/tcp.h>\n#include <linux/delay.h>")
    raw = run(engine, cell_of(tmp_path, MODULE, source=source), tmp_path)
    assert "crashed" in raw.error
    assert console in raw.console
    (tmp_path / "next").mkdir()
    assert run(engine, cell_of(tmp_path / "next", MODULE), tmp_path / "next").error == ""


def test_one_that_loops_for_ever_is_stopped(
    engine: VmEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its loop takes virtual time, and the machine's ends soon after the cell should have."""
    limits = bounds.Limits(virtual_s=guest_job.EPOCH_S + 0.5, cpu_s=600.0)
    monkeypatch.setattr(guest_job, "limits", lambda *_, **__: limits)
    source = with_(AVOID, f"\tfor (;;)\n\t\tbarrier();\n{AVOID}")
    raw = run(engine, cell_of(tmp_path, MODULE, source=source), tmp_path)
    assert "still running at its virtual deadline" in raw.error


def test_compiler_errors_are_at_their_place(engine: VmEngine, tmp_path: Path) -> None:
    source = with_("tcp_slow_start(", "tcp_slow_strat(")
    with pytest.raises(CompileError) as error:
        engine.identity_for(cell_of(tmp_path, MODULE, source=source))
    (found,) = error.value.diagnostics
    assert found.code == "bad-module" and str(found.span) == "tcp_aimd.c:30"
    with pytest.raises(CompileError) as error:
        engine.identity_for(cell_of(tmp_path, MODULE, source=with_('"GPL"', '"Mine"')))
    (found,) = error.value.diagnostics
    assert "not under the GPL" in found.message


def test_leave_is_needed_and_namespaces_are_not(
    engine: VmEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = cell_of(tmp_path, MODULE)
    monkeypatch.setattr(confinement, "missing", lambda: "no namespaces")
    assert engine.identity_for(cell)
    with pytest.raises(EngineUnavailable) as error:
        modules.require_confined(cell.modules)
    assert "--engine vm" in error.value.remedy
    monkeypatch.setattr(engine, "allow_modules", False)
    with pytest.raises(EngineUnavailable, match="is code that runs in the kernel"):
        engine.run(cell, tmp_path)
