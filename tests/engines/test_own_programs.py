"""Programs of the user's own on `uml`: what is measured, equal bytes, and what bad ones end in."""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from specs import compile_spec

from fairc.compiler import Cell, Compilation
from fairc.mechanisms.workloads.program.cell import ProgramWorkload
from fairc.mechanisms.workloads.program.record import in_order
from fairc.runtime.analysis.values import values
from fairc.runtime.engines.base import RawResult
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.host import bounds
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.measurement import load
from fairc.runtime.uml import confinement, own_programs
from fairc.runtime.validity import judge

HERE = Path(__file__).parent / "programs"
SPEC = """fexp 1
experiment own {{
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  {flows}
  {more}
}}
"""
PYTHON = (
    "program("
    'server: ["python3", "./server.py", "{port}", "OVER"],'
    ' client: ["python3", "./client.py", "{server}", "{port}", "OVER"]READY)'
)
FLOWS = (
    "flow py { cca = bbr  start = 0s  workload = "
    + PYTHON.replace("OVER", "tcp").replace("READY", ', ready: "I am ready"')
    + " }",
    "flow dg { over = udp  start = 0s  workload = "
    + PYTHON.replace("OVER", "udp").replace("READY", "")
    + " }",
    (
        'flow sh { cca = reno  start = 1s  workload = program(server: ["./server.sh", "{port}"],'
        ' client: ["sh", "-c", "nc server {port} | wc -c"]) }'
    ),
    "flow beside { cca = cubic  start = 0s  workload = bulk }",
)
STATIC = (
    'flow c { cca = cubic  start = 2s  workload = program(server: ["./threads", "{port}"],'
    ' client: ["./threads", "{port}", "{server}"]) }'
)
MEASURE = """duration = 4s
  repeat = 2
  metric took = json("client.json", "timings.all.0", py) * 1s
  metric told = number("client.stdout", "s for ", py) * 1B
  metric none = json("client.json", "timings.none", py)
  measure = [goodput, rtt, loss_rate, fairness, took, told, none]"""


def compiled(
    folder: Path, *flows: str, more: str = "duration = 3s\n  measure = [goodput]"
) -> Compilation:
    """Compile an experiment in a folder with the programs of these tests."""
    for file in HERE.iterdir():
        shutil.copy(file, folder)
    spec = folder / "own.fexp"
    spec.write_text(SPEC.format(flows="\n  ".join(flows), more=more))
    return compile_spec(spec)


class ENGINE(UmlEngine):
    """An engine that may run programs."""

    allow_programs = True


def run(engine: UmlEngine, cell: Cell, folder: Path, files: Path) -> RawResult:
    """Run a cell whose programs are in a folder."""
    folder.mkdir()
    engine.program_files = files
    return engine.run(cell, folder)


def test_programs_are_measured_beside_others_to_equal_bytes(
    engine: UmlEngine, tmp_path: Path
) -> None:
    """Python over TCP and UDP, a shell script, and four threads in C: twice, once beside another
    cell.
    """
    files = tmp_path / "spec"
    files.mkdir()
    flows: tuple[str, ...] = FLOWS
    if shutil.which("gcc"):
        command = ["gcc", "-O2", "-static", "-pthread", "-o", str(files / "threads")]
        subprocess.run([*command, str(HERE / "threads.c")], check=True)
        flows = (*FLOWS, STATIC)
    compilation = compiled(files, *flows, more=MEASURE)
    cell, other = compilation.cells()
    raw = run(engine, cell, tmp_path / "one", files)
    assert raw.error == ""
    measured = load(cell, raw.artefacts)
    assert judge(measured) == ("valid", ())
    told = {flow.name: flow.endpoints for flow in measured.flows}
    sizes = {"py": 500_000, "dg": 100_000, "sh": 200_000, "c": 1_000_000}
    for name in sizes.keys() & told.keys():
        assert told[name].completed and not told[name].errors, name
        lost = 5_000 if name == "dg" else 0
        assert sizes[name] - lost <= told[name].progress.total <= sizes[name], name
    assert [*told["py"].ccas, *told["sh"].ccas] == ["bbr", "reno"]
    found = {(v.metric, v.flow): v for v in values(measured, compilation.plan.requests)}
    document = json.loads((raw.artefacts / "py.client.file.client.json").read_text())
    assert found["took", "py"].value == document["timings"]["all"][0] > 0.4
    assert found["told", "py"].value == document["bytes"] == 500_000
    assert "client.json has no none in timings" in found["none", "py"].reason
    for metric in ("goodput", "rtt.mean", "loss_rate.total"):
        assert found[metric, "py"].value is not None, metric
    assert document["peer"] == document["told"]["FAIRC_SERVER"]
    assert document["told"]["FAIRC_DURATION"] == "4"
    assert (raw.artefacts / "sh.client.stdout").read_text() == "200000\n"

    with ThreadPoolExecutor(2) as threads:
        beside = threads.submit(run, engine, other, tmp_path / "three", files)
        again = run(engine, cell, tmp_path / "two", files)
        seeded = beside.result()
    for file in sorted(raw.artefacts.iterdir()):
        assert (again.artefacts / file.name).read_bytes() == file.read_bytes(), file.name
    assert again.sha256 == raw.sha256
    drawn = json.loads((seeded.artefacts / "py.client.file.client.json").read_text())["drawn"]
    assert all(a != b for a, b in zip(drawn, document["drawn"], strict=True))


DEAF = """flow {how} {{ over = udp  start = 0s  stop = 1s  workload = program(
    server: ["./deaf.py", "{{port}}", "{how}"],
    client: ["./deaf.py", "{{port}}", "hears"]) }}"""
"""A server that is deaf to SIGTERM, or has children that are."""


def test_those_deaf_to_sigterm_are_killed_a_second_after_their_stop(
    engine: UmlEngine, tmp_path: Path
) -> None:
    """With their children, and with orphans; nothing of theirs is sent then, to equal bytes."""
    files = tmp_path / "spec"
    files.mkdir()
    flows = [DEAF.format(how=how) for how in ("alone", "family", "orphan")]
    shell = (
        "flow shell { cca = cubic  start = 0s  stop = 1s  workload = program("
        'server: ["./server.sh", "{port}"], client: ["./bad.sh", "deaf"]) }'
    )
    good = "flow good { cca = cubic  start = 0s  workload = file(100kB) }"
    (cell,) = compiled(files, *flows, shell, good).cells()
    raw = run(engine, cell, tmp_path / "one", files)
    assert raw.error == ""
    measured = load(cell, raw.artefacts)
    late = "within 1 s of SIGTERM, and was killed"
    assert judge(measured) == (
        "flagged",
        (
            f"the server of flow alone: it did not end {late}",
            f"the server of flow family: it did not end {late}",
            f"the server of flow orphan: what it had started did not end {late}",
            f"the client of flow shell: it did not end {late}",
        ),
    )
    for flow in measured.flows[:3]:
        ((t_s, _),) = flow.endpoints.progress.reports
        assert 1.95 < t_s[-1] < 2.05, flow.name
    again = run(engine, cell, tmp_path / "two", files)
    assert again.sha256 == raw.sha256


ANSWERS = """#!/usr/bin/env python3
import socket, sys, time
port, asked = int(sys.argv[1]), sys.argv[2:]
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if not asked:
    link.bind(("", port))
    while True:
        link.sendto(bytes(500), link.recvfrom(100)[1])
while True:
    for host in asked:
        link.sendto(b"!", (host, port))
    time.sleep(0.05)
"""
STAR = """fexp 1
experiment star {
  topology {
    node a, b, c, d
    router r
    link a -- r, d -- r { rate = 1Gbit/s }
    link r -- b, r -- c { rate = 10Mbit/s  delay = 2ms }
  }
  flow own { over = udp  from = a  to = b  start = 0s  stop = 2s  workload = program(
    server: ["./answers.py", "{port}"], client: ["./answers.py", "{port}", "server"]) }
  flow two { over = udp  from = d  to = c  start = 0s  stop = 2s  workload = program(
    server: ["./answers.py", "{port}"], client: ["./answers.py", "5001", "a"]) }
  flow beside { cca = cubic  from = d  to = c  workload = bulk }
  duration = 3s
  measure = [goodput]
}
"""


def test_programs_may_ask_the_servers_of_others(engine: UmlEngine, tmp_path: Path) -> None:
    """What `c` gets from the server of `own` is on no way of that flow, and makes nothing wrong."""
    files = tmp_path / "spec"
    files.mkdir()
    (files / "answers.py").write_text(ANSWERS)
    (files / "answers.py").chmod(0o755)
    (files / "star.fexp").write_text(STAR)
    (cell,) = compile_spec(files / "star.fexp").cells()
    measured = load(cell, run(engine, cell, tmp_path / "one", files).artefacts)
    (queue,) = (q for q in measured.queues if q.place == measured.flows[2].plan.bottleneck)
    assert (queue.left.source_port == 5001).any()
    assert judge(measured) == ("valid", ())


@pytest.mark.full
def test_bad_programs_fail_by_themselves(engine: UmlEngine, tmp_path: Path) -> None:
    """Each says in its cell's verdict what happened; the others go on."""
    files = tmp_path / "spec"
    files.mkdir()
    serves = 'server: ["./server.sh", "{port}"]'
    clients = {
        **{f"f_{what}": f'"./bad.sh", "{what}"' for what in ("fails", "crashes", "prints")},
        **{f"f_{what}": f'"./bad.sh", "{what}"' for what in ("fills", "deaf", "breaks")},
        "f_absent": '"curl", "{server}"',
    }
    flows = [
        f"flow {name} {{ cca = cubic  start = 0s  workload = program({serves},"
        f" client: [{command}]) }}"
        for name, command in clients.items()
    ]
    flows += [
        (
            'flow mute { cca = cubic  start = 0s  workload = program(server: ["sleep", "100"],'
            ' client: ["true"]) }'
        ),
        (
            'flow early { cca = cubic  start = 0s  workload = program(server: ["true"],'
            ' client: ["true"]) }'
        ),
        "flow good { cca = cubic  start = 0s  workload = file(100kB) }",
    ]
    if shutil.which("gcc"):
        (files / "a.c").write_text("int own(void) { return 1; }")
        (files / "b.c").write_text("int own(void);\nint main(void) { return own(); }")
        for command in (
            ["gcc", "-shared", "-fPIC", "-o", "libown.so", "a.c"],
            ["gcc", "-o", "needs", "b.c", "-L.", "-lown"],
            ["gcc", "-Wl,--dynamic-linker=/lib/ld-other.so.1", "-o", "loader", "a.c", "b.c"],
        ):
            subprocess.run(command, cwd=files, check=True)
        flows += [
            f"flow {name} {{ cca = cubic  start = 0s  workload = program({serves},"
            f' client: ["./{name}"]) }}'
            for name in ("needs", "loader")
        ]
    (cell,) = compiled(files, *flows).cells()
    raw = run(engine, cell, tmp_path / "one", files)
    assert raw.error == ""
    measured = load(cell, raw.artefacts)
    verdict, reasons = judge(measured)
    assert verdict == "invalid"
    said = "\n".join(reasons)
    for text in (
        "the client of flow f_fails failed: it ended with status 3: no route to happiness",
        "the client of flow f_crashes failed: it was ended by SIGSEGV",
        "the client of flow f_prints failed: it was ended because it wrote more than 16 MiB",
        "the client of flow f_fills failed: it was ended because it wrote more than 16 MiB",
        "the client of flow f_deaf: it did not end within 1 s of SIGTERM, and was killed",
        (
            "the client of flow f_absent failed: `curl` is no program of the hosts;"
            " a file of yours is written `./curl`"
        ),
        "the server of flow mute failed: it did not listen on TCP port",
        "the server of flow early failed: it ended with status 0 before it was ready",
    ):
        assert text in said, text
    if shutil.which("gcc"):
        assert "needs failed: it ended with status 127: /program/needs: error while load" in said
        assert "libown.so" in said
        assert "the hosts lack /lib/ld-other.so.1, which it names: link it statically" in said
    good = next(flow for flow in measured.flows if flow.name == "good")
    assert good.endpoints.completed and "good" not in said
    breaks = (raw.artefacts / "f_breaks.client.stdout").read_text()
    assert "WORKS" not in breaks
    assert breaks.startswith("id 100")


@pytest.mark.full
@pytest.mark.parametrize("what", ["spins", "forks"])
def test_one_that_spins_or_forks_is_ended_with_advice(
    engine: UmlEngine, tmp_path: Path, what: str
) -> None:
    files = tmp_path / "spec"
    files.mkdir()
    spins = f'program(server: ["./server.sh", "{{port}}"], client: ["./bad.sh", "{what}"], cpu: 5s)'
    (cell,) = compiled(files, f"flow f {{ cca = cubic  workload = {spins} }}").cells()
    raw = run(engine, cell, tmp_path / "one", files)
    assert "while it computed for 5 s" in raw.error and "of the flow `f`" in raw.error
    assert "`cpu: 120s` of `program` lets one compute for longer" in raw.error


def test_a_hostile_program_gets_nothing_and_harms_nobody(engine: UmlEngine, tmp_path: Path) -> None:
    """Fork bomb, full disks, ptrace, raw sockets, the agent, every device, the Internet, a GPU."""
    files = tmp_path / "spec"
    files.mkdir()
    hostile = (
        'flow hostile { cca = cubic  start = 0s  workload = program(server: ["./server.sh",'
        ' "{port}"], client: ["./attack.py", "{server}", "{port}"]) }'
    )
    good = "flow good { cca = cubic  start = 0s  workload = file(100kB) }"
    (cell,) = compiled(files, hostile, good, more="deadline = 60s\n measure = [goodput]").cells()
    raw = run(engine, cell, tmp_path / "one", files)
    assert raw.error == ""
    measured = load(cell, raw.artefacts)
    assert judge(measured) == ("valid", ())
    assert all(flow.endpoints.completed for flow in measured.flows)
    said = (raw.artefacts / "hostile.client.stdout").read_text()
    assert "WORKS" not in said
    told = {name: rest for name, *rest in map(str.split, said.splitlines())}
    assert 100 <= int(told["forks"][0]) < 128
    assert all(50 < int(mebibytes) <= 64 for mebibytes in told["fills"])
    assert {*told["devices"]} == {"full", "null", "random", "urandom", "zero"}
    assert told["processes"] == ["1", "2"]
    assert told["received"] == ["200000"]


def test_they_run_only_where_they_may_and_as_they_were(
    engine: UmlEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = 'flow f { cca = cubic  workload = program(server: ["./server.sh"], client: ["true"]) }'
    (cell,) = compiled(tmp_path, flow).cells()
    workload = cell.flows[0].workload
    assert isinstance(workload, ProgramWorkload)
    changed = replace(workload.files[0], sha256="0" * 64)
    others = replace(cell.flows[0], workload=replace(workload, files=(changed,)))
    with pytest.raises(EngineUnavailable, match=r"`server.sh`, a file of a program, is not in"):
        own_programs.files(replace(cell, flows=(others,)), tmp_path)
    assert [*own_programs.files(cell, tmp_path)] == [workload.files[0].sha256 + ".program"]
    monkeypatch.setattr(engine, "allow_programs", False)
    with pytest.raises(EngineUnavailable, match="is code that runs in the guest"):
        engine.identity_for(cell)
    monkeypatch.setattr(confinement, "missing", lambda: "it has no namespaces")
    monkeypatch.setattr(engine, "allow_programs", True)
    with pytest.raises(EngineUnavailable, match="would not be confined on this machine"):
        engine.identity_for(cell)
    limits = bounds.limits(1.0, 1.0, **own_programs.standstill(cell))
    assert (limits.standstill_s, limits.standstill_ns) == (30.0, own_programs.HARDLY_NS)


def test_bytes_count_once_all_before_them_are_there() -> None:
    """A gap delays what is behind it; copies, also of another size, count once; a stream may pass
    2^32.
    """
    start = (1 << 32) - 100
    sequence = np.array([0, 200, 100, 100, 150, 400]) + start
    sizes = np.array([100, 100, 100, 100, 150, 50])
    t_s, delivered = in_order(np.arange(6.0), sequence % (1 << 32), sizes)
    until = [int(delivered[t_s <= t].sum()) for t in (0, 1, 2, 5)]
    assert until == [100, 100, 300, 300]
