"""Kernel modules as CCAs: compiled in a machine of their kernel, loaded in a cell's, and what a bad
one does to its cell and to no other.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from kernel_modules import AIMD, AVOID, LoadingEngine, cell_of, packets, run, with_

from fairc.compiler.plan import cell_json, parse_cell
from fairc.dsl.core.diagnostics import CompileError, Diagnostic
from fairc.runtime import validity
from fairc.runtime.engines import host
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.host import bounds
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.measurement import load
from fairc.runtime.uml import confinement

ENGINE = LoadingEngine


def test_a_module_does_what_the_built_in_does(engine: UmlEngine, tmp_path: Path) -> None:
    """With its defaults the example is Reno: every packet passes at the same nanosecond. (Only
    what the kernel draws differs, such as initial sequence numbers: a module's load draws, too.)
    """
    module = cell_of(tmp_path, 'module("tcp_aimd.c")')
    reno = replace(module, flows=(replace(module.flows[0], cca="reno", cca_module=None),))
    folders = []
    for name, cell in (("module", module), ("reno", reno)):
        (tmp_path / name).mkdir()
        raw = run(engine, cell, tmp_path / name)
        assert raw.error == ""
        assert validity.judge(load(cell, raw.artefacts))[0] == "valid"
        folders.append(raw.artefacts)
    one, other = ({p.name: packets(p) for p in f.glob("*.pcap")} for f in folders)
    assert len(one) == 3 and one == other and all(len(each) > 1000 for each in one.values())


def test_variants_compete_under_names_of_their_own(engine: UmlEngine, tmp_path: Path) -> None:
    ccas = ('module("tcp_aimd.c")', 'module("tcp_aimd.c", gain: 4)', 'module("tcp_aimd.c")', "reno")
    cell = cell_of(tmp_path, *ccas)
    assert [flow.cca for flow in cell.flows] == ["aimd", "aimd_2", "aimd", "reno"]
    raw = run(engine, cell, tmp_path)
    assert raw.error == ""
    said = [(raw.artefacts / f"f{n}.server.ndjson").read_text().splitlines()[0] for n in range(4)]
    assert [json.loads(line)["cca"] for line in said] == ["aimd", "aimd_2", "aimd", "reno"]
    measured = load(cell, raw.artefacts)
    assert validity.judge(measured)[0] == "valid"
    assert {"module aimd", "module aimd_2", "module compiler"} <= set(engine.versions)


def test_the_source_is_part_of_the_cell_and_of_its_identity(
    engine: UmlEngine, tmp_path: Path
) -> None:
    one = cell_of(tmp_path, 'module("tcp_aimd.c")')
    other = cell_of(tmp_path, 'module("tcp_aimd.c")', source=with_("1000", "999"))
    assert one.id != other.id and one.configuration == other.configuration
    assert parse_cell(cell_json(one)) == one
    assert engine.identity_for(one) != engine.identity_for(other)
    same = cell_of(tmp_path, 'module("tcp_aimd.c")', source=AIMD.read_text() + "/* more */\n")
    assert engine.identity_for(one) == engine.identity_for(same)  # the same machine code


def test_a_name_that_the_kernel_has_gets_a_number(engine: UmlEngine, tmp_path: Path) -> None:
    source = with_('.name = "aimd"', '.name = "cubic"')
    cell = cell_of(tmp_path, 'module("tcp_aimd.c", name: "cubic")', "cubic", source=source)
    assert [flow.cca for flow in cell.flows] == ["cubic_1", "cubic"]
    assert run(engine, cell, tmp_path).error == ""


@pytest.mark.parametrize(
    ("old", "new", "error", "console"),
    [
        (AVOID, f"\tBUG();\n{AVOID}", "crashed", "Kernel panic"),
        (AVOID, f"\t*(volatile int *)8 = 1;\n{AVOID}", "crashed", "Kernel panic"),
        (AVOID, f"\tmsleep(1);\n{AVOID}", "crashed", "scheduling while atomic"),
        ('.name = "aimd"', '.name = "other"', "does not register the CCA aimd", ""),
        ("unsigned int gain = 1", "unsigned int gain = 0", "Invalid argument", ""),
    ],
    ids=["a bug", "a wild pointer", "sleeps in atomic context", "another name", "refuses"],
)
def test_a_bad_module_fails_its_cell(
    engine: UmlEngine, tmp_path: Path, old: str, new: str, error: str, console: str
) -> None:
    source = with_(old, new).replace("<net/tcp.h>", "<net/tcp.h>\n#include <linux/delay.h>")
    raw = run(engine, cell_of(tmp_path, 'module("tcp_aimd.c")', source=source), tmp_path)
    assert error in raw.error
    assert console in raw.console


def test_one_that_loops_for_ever_is_stopped(
    engine: UmlEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "STANDSTILL_CPU_S", 3.0)
    source = with_(AVOID, f"\tfor (;;)\n\t\tbarrier();\n{AVOID}")
    raw = run(engine, cell_of(tmp_path, 'module("tcp_aimd.c")', source=source), tmp_path)
    assert "its clock stopped" in raw.error


def faults(engine: UmlEngine, folder: Path, source: str) -> tuple[Diagnostic, ...]:
    cell = cell_of(folder, 'module("tcp_aimd.c")', source=source)
    with pytest.raises(CompileError) as error:
        engine.identity_for(cell)
    return tuple(error.value.diagnostics)


def test_what_the_compiler_says_is_at_its_place(engine: UmlEngine, tmp_path: Path) -> None:
    (found,) = faults(engine, tmp_path, with_("tcp_slow_start(", "tcp_slow_strat("))
    assert found.code == "bad-module"
    assert "implicit declaration of function 'tcp_slow_strat'" in found.message.replace(
        "\u2018", "'"
    )
    assert found.span is not None and found.span.text == "tcp_slow_strat"
    assert str(found.span) == "tcp_aimd.c:30"


def test_a_symbol_that_is_not_exported_and_another_licence(
    engine: UmlEngine, tmp_path: Path
) -> None:
    source = with_("acked = tcp_slow_start(tp, acked);", "tcp_v4_rcv(NULL);")
    (found,) = faults(engine, tmp_path, source)
    assert found.message == "the kernel exports no symbol `tcp_v4_rcv`"
    assert found.span is not None and found.span.text == "tcp_v4_rcv"
    closed = with_('MODULE_LICENSE("GPL")', 'MODULE_LICENSE("Mine")')
    (found,) = faults(engine, tmp_path, closed)
    assert "not under the GPL" in found.message
    unsaid = faults(engine, tmp_path, with_('MODULE_LICENSE("GPL");', ""))
    assert any("licence" in each.message for each in unsaid)


def test_without_leave_or_confinement_nothing_is_compiled(
    engine: UmlEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = cell_of(tmp_path, 'module("tcp_aimd.c")')
    monkeypatch.setattr(confinement, "missing", lambda: "no namespaces")
    with pytest.raises(EngineUnavailable, match="would not be confined on this machine"):
        engine.identity_for(cell)
    monkeypatch.setattr(engine, "allow_modules", False)
    with pytest.raises(EngineUnavailable, match="is code that runs in the kernel"):
        engine.run(cell, tmp_path)


def test_a_host_is_not_asked_to_load_it(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, 'module("tcp_aimd.c")')
    missing = [what for what, there in host.needs(cell) if not there]
    assert any("the kernel module aimd" in what for what in missing)
