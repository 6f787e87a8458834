"""Queues as kernel modules: against the queue of Linux that one imitates, and against a formula."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_modules import LoadingEngine, packets, run
from specs import compile_spec

from fairc.compiler import Cell
from fairc.dsl.core.diagnostics import CompileError, Diagnostic
from fairc.runtime import validity
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.engines import host
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import load

ENGINE = LoadingEngine
END = Path(__file__).parents[2] / "examples" / "module" / "sch_end.c"
TCP = """
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: {queue})
  flow a {{ cca = cubic  workload = bulk }}
  flow b {{ cca = reno   workload = bulk }}
  duration = 3s
  measure  = [goodput]
"""
OVERLOAD = """
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: {queue})
  flow a {{ over = udp  rate = 20Mbit/s  workload = bulk }}
  duration = 3s
  warmup   = 1s
  measure  = [queue_delay]
"""
TWO = """
  topology {{
    node a, b, c
    router r
    link a -- r {{ rate = 10Mbit/s  queue = module("sch_end.c", limit: 20pkt)  delay = 5ms }}
    link b -- r {{ rate = 10Mbit/s  queue = module("sch_end.c", limit: 30pkt, head: off)  delay = 5ms }}
    link r -- c {{ rate = 10Mbit/s  queue = module("sch_end.c", limit: 25pkt, head: off)  delay = 5ms }}
  }}
  flow f {{ from = a  to = c  cca = cubic  workload = bulk }}
  flow g {{ from = b  to = c  cca = cubic  workload = bulk }}
  duration = 3s
  measure  = [goodput]
"""


def cell_of(folder: Path, queue: str, body: str = TCP, source: str | None = None) -> Cell:
    """Compile a cell with a queue; source: of `sch_end.c` beside its file."""
    folder.mkdir(exist_ok=True)
    (folder / "sch_end.c").write_text(END.read_text() if source is None else source)
    text = "fexp 1\nexperiment own {" + body.format(queue=queue) + "}\n"
    (folder / "own.fexp").write_text(text)
    (cell,) = compile_spec(folder / "own.fexp").cells()
    return cell


def names(cell: Cell) -> set[str]:
    return {queue.tc_name for queue in cell.queues if queue.own_module}


def test_one_that_drops_at_its_tail_is_a_fifo(engine: UmlEngine, tmp_path: Path) -> None:
    """Every packet passes at the same nanosecond (a module's load draws random numbers, such as
    those of initial sequence numbers).
    """
    folders = []
    for name, queue in (
        ("own", 'module("sch_end.c", limit: 30pkt, head: off)'),
        ("linux", "fifo(30pkt)"),
    ):
        cell = cell_of(tmp_path / name, queue)
        raw = run(engine, cell, tmp_path / name)
        assert raw.error == ""
        assert validity.judge(load(cell, raw.artefacts))[0] == "valid"
        folders.append(raw.artefacts)
    one, other = ({p.name: packets(p) for p in f.glob("*.pcap")} for f in folders)
    assert len(one) >= 3 and one == other and all(len(each) > 1000 for each in one.values())


@pytest.mark.parametrize(("head", "share"), [("off", 1.0), ("on", 0.5)])
def test_what_it_does_follows_from_its_parameter(
    engine: UmlEngine, tmp_path: Path, head: str, share: float
) -> None:
    """Under a load of twice the rate of the link, a packet that joins a full queue of 50 packets
    waits until these have left it. At its tail others are dropped, so 50 frames have to be sent.
    At its head one is dropped for each that arrives, so they leave twice as fast.
    """
    queue = f'module("sch_end.c", limit: 50pkt, head: {head})'
    cell = cell_of(tmp_path, queue, OVERLOAD)
    raw = run(engine, cell, tmp_path)
    assert raw.error == ""
    requests = compile_spec(tmp_path / "own.fexp").plan.requests
    analysis = analyse(cell, raw.artefacts, requests)
    assert analysis.verdict == "valid", analysis.reasons
    (delay_s,) = [m.value for m in analysis.metrics if m.metric == "queue_delay.mean"]
    frame_s = 1514 * 8 / 10e6
    assert delay_s == pytest.approx(share * 50 * frame_s, abs=1.5 * frame_s)


def test_several_of_one_name_have_names_of_their_own(engine: UmlEngine, tmp_path: Path) -> None:
    """Other parameters make another module; another limit does not."""
    cell = cell_of(tmp_path, "", TWO)
    assert names(cell) == {"end", "end_2"}
    assert set(cell.modules) == {"sch-end", "sch-end_2"}
    raw = run(engine, cell, tmp_path)
    assert raw.error == ""
    measurement = load(cell, raw.artefacts)
    assert validity.judge(measurement)[0] == "valid"
    assert {"module sch-end", "module sch-end_2"} <= set(engine.versions)


def test_a_name_that_linux_has_gets_a_number(engine: UmlEngine, tmp_path: Path) -> None:
    source = END.read_text().replace('.id = "end"', '.id = "codel"')
    cell = cell_of(tmp_path, 'module("sch_end.c", name: "codel")', source=source)
    assert names(cell) == {"codel_1"}
    assert run(engine, cell, tmp_path).error == ""


def test_a_queue_that_is_not_registered_fails_its_cell(engine: UmlEngine, tmp_path: Path) -> None:
    cell = cell_of(tmp_path, 'module("sch_end.c", name: "other")')
    assert "the module does not make a queue `other`" in run(engine, cell, tmp_path).error


def test_one_that_holds_more_than_its_limit_is_invalid(engine: UmlEngine, tmp_path: Path) -> None:
    source = END.read_text().replace("->tx_queue_len;", "->tx_queue_len + 20;")
    cell = cell_of(tmp_path, 'module("sch_end.c", limit: 20pkt)', source=source)
    raw = run(engine, cell, tmp_path)
    assert raw.error == ""
    verdict, reasons = validity.judge(load(cell, raw.artefacts))
    assert verdict == "invalid" and "more than its limit of 20" in reasons[0], reasons


def refused(folder: Path, queue: str) -> Diagnostic:
    with pytest.raises(CompileError) as error:
        cell_of(folder, queue)
    return error.value.diagnostics[0]


def test_what_is_no_module_is_refused(tmp_path: Path) -> None:
    assert "has no parameter `heed`" in refused(tmp_path, 'module("sch_end.c", heed: on)').message
    bad = refused(tmp_path, 'module("sch_end.c", name: "End")')
    assert bad.message == "`End` is not a name of a queueing discipline"
    assert "its Qdisc_ops" in (bad.help or "")
    (tmp_path / "sch_end.o").write_bytes(b"\x7fELF")
    assert "not the C source" in refused(tmp_path, 'module("sch_end.o")').message


def test_no_host_loads_it(tmp_path: Path) -> None:
    cell = cell_of(tmp_path, 'module("sch_end.c")')
    missing = [what for what, there in host.needs(cell) if not there]
    assert any("the kernel module sch-end" in what for what in missing)
