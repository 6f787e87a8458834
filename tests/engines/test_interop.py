"""Images that follow the contract of quic-interop-runner, on `uml`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from kept_cells import run_alone
from madeimages import docker, layer
from twice import cells_of, equal_artefacts

from fairc import dsl
from fairc.compiler import Cell
from fairc.compiler.engine_choice import choose, of_cell
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import load
from fairc.runtime.validity import judge
from fairc.runtime.vm import image, recipe

EXAMPLE = Path(__file__).parents[2] / "examples" / "interop"
TOOLS = ("cat", "ls", "sh", "sleep")
UDP = Path(__file__).parent / "interop" / "udp.c"
SPEC = """fexp 1
experiment x {{
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  flow other {{ over = quic(image: "quic.tar")  {cca}  start = 0s  workload = file({size}) }}
  deadline = 20s
  measure  = [goodput, fct]
}}
"""
SAYS = 'ls /certs; echo "$TESTCASE $REQUESTS $FAIRC_CCA $PWD"; '
SERVES = "[ $ROLE = client ] || exec /udp < /www/file; sleep 1; "
FETCHES = "/udp $FAIRC_SERVER > /downloads/file"


pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="its program is in C")


def made(place: Path, script: str, cca: str = "", size: str = "1kB") -> Cell:
    """Return a cell whose image has a script as its entry point."""
    busybox = image.require(recipe.UML).busybox.read_bytes()
    entries = [("bin/busybox", busybox), *((f"bin/{tool}", "busybox") for tool in TOOLS)]
    entries.append(("run_endpoint.sh", f"#!/bin/sh\n{script}\n".encode()))
    command = ["gcc", "-O2", "-static", "-o", str(place / "udp"), str(UDP)]
    subprocess.run(command, check=True)
    entries.append(("thousand", bytes(1000)))
    entries.append(("udp", (place / "udp").read_bytes()))
    config = {"Env": ["PATH=/bin", "FAIRC_CCAS=reno cubic"], "WorkingDir": "/certs"}
    docker(place / "quic.tar", [layer(entries)], config=config)
    (place / "x.fexp").write_text(SPEC.format(cca=cca and f"cca = {cca}", size=size))
    (cell,) = cells_of(place / "x.fexp")
    return cell


def why(cell: Cell, place: Path) -> str:
    """Return why a cell is invalid."""
    engine = UmlEngine()
    engine.allow_programs, engine.program_files = True, place
    (place / "run").mkdir()
    raw = run_alone(engine, cell, place / "run")
    verdict, reasons = judge(load(cell, raw.artefacts))
    assert verdict == "invalid"
    return " ".join(reasons)


def test_an_image_moves_a_file_twice_with_equal_bytes(tmp_path: Path) -> None:
    cell = made(tmp_path, SAYS + SERVES + FETCHES, "cubic")
    assert choose(of_cell(cell)).engine == "uml"
    kept = equal_artefacts(cell, tmp_path, tmp_path)
    said = kept["other.client.stdout"].decode().split("\n")
    assert said == [
        *("ca.pem", "cert.pem", "priv.key"),
        "transfer https://server4:443/file cubic /certs",
        "",
    ]
    (flow,) = load(cell, tmp_path / "one" / "artefacts").flows
    assert flow.endpoints.completed and flow.endpoints.progress.total == 1000
    assert flow.endpoints.ccas == {"cubic"}
    # Its client sleeps for a second first: it begins with its first packet.
    assert 1 < flow.start_s < 1.1 and 0 < flow.end_s - flow.start_s < 0.1


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 127", "does not support the test case `transfer`"),
        (SERVES, "ended with status 0 and downloaded nothing"),
        (SERVES + "echo x > /downloads/file", "downloaded 2 bytes, not 1000"),
        (SERVES + "sleep 99", "stopped before its download was complete"),
        (SERVES + "cat /thousand > /downloads/file", "differs from what was served"),
        ("[ $ROLE = client ] || exit 3", "ended with status 3"),
    ],
)
def test_what_the_contract_refuses(tmp_path: Path, script: str, reason: str) -> None:
    assert reason in why(made(tmp_path, script), tmp_path)


def test_an_image_that_has_a_link_in_place_of_a_folder(tmp_path: Path) -> None:
    entries = [("www", "/etc"), ("run_endpoint.sh", b"#!/bin/sh\n")]
    cell = made(tmp_path, "exit 0")
    docker(tmp_path / "quic.tar", [layer(entries)])
    (cell,) = cells_of(tmp_path / "x.fexp")
    assert "something else than a folder" in why(cell, tmp_path)


@pytest.mark.parametrize(
    ("cca", "size", "reason"),
    [
        ("bbr", "1kB", "the image does not offer the CCA `bbr`"),
        ("cubic(beta: 0.5)", "1kB", "an image takes the name of a CCA alone"),
        ("reno", "1GB", "an image moves a file of at most 256 MiB"),
    ],
)
def test_what_is_refused_where_it_is_written(
    tmp_path: Path, cca: str, size: str, reason: str
) -> None:
    with pytest.raises(dsl.CompileError) as refused:
        made(tmp_path, "exit 0", cca, size)
    assert [each.message for each in refused.value.diagnostics] == [reason]


@pytest.mark.full
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go, as the example says")
def test_two_runs_of_quic_gos_own_programs_have_equal_bytes(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "io", ignore=shutil.ignore_patterns("*.tar"))
    subprocess.run(["make", "-C", tmp_path / "io", "quic-go.tar"], check=True, capture_output=True)
    cell = next(c for c in cells_of(tmp_path / "io" / "quic-go.fexp") if "1%" in str(c.bindings))
    kept = equal_artefacts(cell, tmp_path / "io", tmp_path)
    assert any(name.endswith(".sqlog") for name in kept)
