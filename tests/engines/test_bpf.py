"""Custom CCAs: loaded in the guest, refused by its verifier, and kept off the host's
kernel.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from gentle import gentle
from specs import compile_spec

from fairc.compiler import Cell
from fairc.dsl.core.diagnostics import CompileError
from fairc.runtime.engines import host
from fairc.runtime.engines.base import Engine
from fairc.runtime.engines.vm import VmEngine

ENGINE = VmEngine
ROOT = Path(__file__).parents[2]
REFUSED = ROOT / "tests" / "engines" / "bpf" / "refused.bpf.o"

SPEC = """fexp 1
experiment own {{
  topology = bottleneck(rate: 1Mbit/s, rtt: 20ms, queue: {queue})
  flow own {{ cca = {cca}  workload = file(100kB) }}
  measure  = [goodput]
}}
"""


def cells(folder: Path, cca: str, *objects: Path, queue: str = "fifo(20pkt)") -> list[Cell]:
    """Compile a cell whose flow has this CCA; the objects lie beside its file."""
    for path in objects:
        shutil.copy(path, folder)
    file = folder / "own.fexp"
    file.write_text(SPEC.format(cca=cca, queue=queue))
    return list(compile_spec(file).cells())


def codes(folder: Path, cca: str, *objects: Path) -> set[str]:
    with pytest.raises(CompileError) as error:
        cells(folder, cca, *objects)
    return {diagnostic.code for diagnostic in error.value.diagnostics}


def test_the_object_is_part_of_the_cell(tmp_path: Path) -> None:
    (one,) = cells(tmp_path, 'bpf("gentle.bpf.o")', gentle())
    assert one.flows[0].cca == "gentle"
    changed = bytearray(gentle().read_bytes())
    changed[-1] ^= 1
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "gentle.bpf.o"
    other.write_bytes(changed)
    (two,) = cells(tmp_path, 'bpf("gentle.bpf.o")', other)
    assert one.id != two.id and one.configuration == two.configuration


def test_objects_that_cannot_be_ones(tmp_path: Path) -> None:
    (tmp_path / "text.bpf.o").write_text("text")
    (tmp_path / "host.bpf.o").write_bytes(Path("/bin/true").read_bytes()[:4096])
    (tmp_path / "large.bpf.o").write_bytes(bytes(300_000))
    assert codes(tmp_path, 'bpf("text.bpf.o")') == {"bad-object"}
    assert codes(tmp_path, 'bpf("host.bpf.o")') == {"bad-object"}
    assert codes(tmp_path, 'bpf("large.bpf.o")') == {"too-large"}
    assert codes(tmp_path, 'bpf("missing.bpf.o")') == {"unreadable"}
    assert codes(tmp_path, 'bpf("gentle.bpf.o", name: "reno")', gentle()) == {"bad-object"}
    assert codes(tmp_path, 'bpf("gentle.bpf.o", name: "Much-too-long-a-name")') == {"bad-object"}


def test_objects_outside_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.bpf.o").symlink_to(gentle())
    for path in ("../gentle.bpf.o", str(gentle()), "link.bpf.o", "a\\\\b"):
        assert codes(folder, f'bpf("{path}")') == {"file-path"}


def test_two_objects_of_one_name_cannot_share_a_kernel(tmp_path: Path) -> None:
    shutil.copy(gentle(), tmp_path / "a.bpf.o")
    (tmp_path / "b.bpf.o").write_bytes(gentle().read_bytes() + b"\0")
    both = 'bpf("a.bpf.o", name: "x")  workload = file(1kB) }\n'
    both += '  flow more { cca = bpf("b.bpf.o", name: "x")'
    assert codes(tmp_path, both) == {"conflicting-parameters"}


def test_a_host_is_not_asked_to_load_it(tmp_path: Path) -> None:
    (cell,) = cells(tmp_path, 'bpf("gentle.bpf.o")', gentle())
    missing = [what for what, there in host.needs(cell) if not there]
    assert any("the BPF program gentle" in what for what in missing)
    assert not any("tcp_gentle" in what for what in missing)


def test_the_guest_runs_it(engine: Engine, tmp_path: Path) -> None:
    (cell,) = cells(tmp_path, 'bpf("gentle.bpf.o")', gentle())
    (tmp_path / "work").mkdir()
    raw = engine.run(cell, tmp_path / "work")
    assert raw.error == ""
    said = (raw.artefacts / "own.server.ndjson").read_text().splitlines()
    assert json.loads(said[0])["cca"] == "gentle"


def test_it_goes_with_a_queue_that_debian_leaves_out(engine: Engine, tmp_path: Path) -> None:
    (cell,) = cells(tmp_path, 'bpf("gentle.bpf.o")', gentle(), queue="dualpi2(20pkt)")
    (tmp_path / "work").mkdir()
    raw = engine.run(cell, tmp_path / "work")
    assert raw.error == ""
    queues = json.loads((raw.artefacts / "qdisc-after.json").read_text())
    assert any(each["kind"] == "dualpi2" for node in queues.values() for each in node)


def test_what_the_verifier_says_is_shown(engine: Engine, tmp_path: Path) -> None:
    (cell,) = cells(tmp_path, 'bpf("refused.bpf.o")', REFUSED)
    (tmp_path / "work").mkdir()
    raw = engine.run(cell, tmp_path / "work")
    assert "the kernel refuses the BPF CCA refused" in raw.error
    assert "invalid mem access 'scalar'" in raw.error


def test_another_name_than_the_objects(engine: Engine, tmp_path: Path) -> None:
    (cell,) = cells(tmp_path, 'bpf("gentle.bpf.o", name: "mild")', gentle())
    (tmp_path / "work").mkdir()
    raw = engine.run(cell, tmp_path / "work")
    assert "does not register a CCA called mild" in raw.error and "gentle" in raw.error


def test_the_object_is_that_of_its_source(tmp_path: Path) -> None:
    if shutil.which("clang") is None:
        pytest.skip("clang is missing: apt-get install clang libbpf-dev")
    code = REFUSED.with_suffix(".c")
    made = tmp_path / "made.o"
    command = ["clang", "-target", "bpf", "-O2", "-g", "-I/usr/include/x86_64-linux-gnu"]
    subprocess.run([*command, "-c", str(code), "-o", str(made)], check=True)
    sections = [_program(path, tmp_path) for path in (made, REFUSED)]
    assert sections[0] == sections[1]


def _program(path: Path, folder: Path) -> bytes:
    """Return the instructions of an object's first program."""
    out = folder / "section"
    command = ["llvm-objcopy", f"--dump-section=struct_ops/ssthresh={out}", str(path)]
    if shutil.which("llvm-objcopy") is None:
        pytest.skip("llvm-objcopy is missing: apt-get install llvm")
    subprocess.run([*command, str(folder / "copy")], check=True)
    return out.read_bytes()
