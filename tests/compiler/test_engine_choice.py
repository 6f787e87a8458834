"""Which engine runs a plan, and what in the file decides it; estimates of each engine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from specs import compilation_of, experiment_of, only_cell_of

from fairc.compiler import Cell, Compilation, compile, emit
from fairc.compiler.engine_choice import (
    CHOICES,
    VIRTUAL_TIME,
    Requirement,
    choose,
    of_cell,
    of_scenario,
)
from fairc.compiler.engines import IMAGE, PROFILES, UML, VM
from fairc.compiler.estimate import Estimate
from fairc.compiler.plan import Plan
from fairc.compiler.targets.containers import obstacles
from fairc.dsl import CompileError
from fairc.mechanisms.queues.registry import QUEUES
from fairc.runtime.engines import ENGINES, EngineKind, instead

ROOT = Path(__file__).parents[2]
OBJECT = ROOT / "tests/engines/bpf/refused.bpf.o"
PLAIN = "flow a { cca = cubic  workload = file(100kB) }"
OWN_CCA = 'bpf("refused.bpf.o")'
OWN = 'flow own { cca = bpf("refused.bpf.o")  workload = file(100kB) }'
OTHERS = 'flow other { over = quic(image: "localhost/quic:1")  workload = file(100kB) }'
PAGE = """flow page { cca = bbr  workload = load(page(html: 5kB), client: chromium) }"""
PARAMETERS = "flow a { cca = cubic(hystart: off)  workload = file(100kB) }"


def compiled(*flows: str, engine: str | None = None, rest: str = "") -> Compilation:
    """Compile flows over one link; own CCAs come from this project's files."""
    lines = ["fexp 1", "experiment e {", "  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)"]
    text = "\n".join([*lines, *flows, rest, "measure = [goodput]", "}", ""])
    experiment = experiment_of(text, str(OBJECT.with_name("e.fexp")))
    return compile(experiment, engine)


def chosen(*flows: str, engine: str | None = None, rest: str = "") -> tuple[str, tuple[str, ...]]:
    plan = compiled(*flows, engine=engine, rest=rest).plan
    return plan.engine, plan.engine_reasons


def kind(name: str) -> EngineKind:
    return next(kind for kind in ENGINES if kind.name == name)


def test_the_fastest_engine_runs_what_it_can() -> None:
    assert VIRTUAL_TIME == ("uml", "vm")
    assert chosen(PLAIN) == ("uml", ())
    assert chosen(PAGE) == ("uml", ())
    assert chosen(PARAMETERS) == ("uml", ())


def test_a_cca_in_bpf_needs_the_emulated_machine() -> None:
    why = "flow `own` uses a BPF congestion controller (line 5), which uml cannot load"
    assert chosen(PLAIN, OWN) == ("vm", (why,))


def test_bytes_of_iperf3_over_tcp_need_the_emulated_machine() -> None:
    """Its thread that has written them spins on memory: uml's clock would stand still."""
    tcp = "flow a { cca = cubic  start = 1s  workload = iperf3(bytes: 128KiB) }"
    engine, (why,) = chosen(tcp)
    assert (engine, "which uml cannot wait out" in why) == ("vm", True)
    assert chosen(tcp.replace("bytes: 128KiB", "time: 5s")) == ("uml", ())
    udp = "over = udp  rate = 1Mbit/s  start = 1s  workload = iperf3(bytes: 147200B, reverse: off)"
    assert chosen(f"flow a {{ {udp} }}") == ("uml", ())


def test_no_words_are_without_an_engine() -> None:
    """But for a container's image, which runs in containers alone, whose kernel is the host's."""
    features = {each for kind in PROFILES.values() for each in kind.lacks} - {IMAGE}
    assert len(features) > 8
    for each in features:
        assert choose([Requirement("x", 0, each)]).engine in VIRTUAL_TIME


def test_what_only_uml_has_does_not_go_with_a_cca_in_bpf() -> None:
    cost = "hosts { syscall_cost = 1us }"
    assert chosen(PLAIN, rest=cost)[0] == "uml"
    with pytest.raises(CompileError) as caught:
        chosen(PLAIN, engine="vm", rest=cost)
    assert "which vm cannot do (only uml can)" in caught.value.diagnostics[0].notes[0]
    with pytest.raises(CompileError) as caught:
        chosen(OWN, rest=cost)
    help = str(caught.value.diagnostics[0].help)
    assert "on uml with another CCA in place of `bpf`, or on vm without `syscall_cost`" in help


@pytest.mark.parametrize("queue", [queue.name for queue in QUEUES if queue.is_sized])
@pytest.mark.parametrize(
    "cca", ["cubic", "over = quic  cca = prague", OWN_CCA, 'module("tcp_aimd.c")']
)
def test_every_queue_goes_with_every_kind_of_cca(
    queue: str, cca: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(OBJECT, tmp_path)
    shutil.copy(ROOT / "examples/module/tcp_aimd.c", tmp_path)
    network = f"topology = bottleneck(rate: 10Mbit/s, rtt: 50ms, queue: {queue}(20pkt))"
    written = cca if " = " in cca else f"cca = {cca}"
    flow = f"flow a {{ {written}  workload = file(1kB) }}"
    text = f"fexp 1\nexperiment e {{ {network} {flow} measure = [goodput] }}"
    made = compilation_of(text, f"{tmp_path}/e.fexp")
    assert made.plan.engine == ("vm" if cca == OWN_CCA else "uml")


def test_one_configuration_decides_for_all_cells() -> None:
    flow = "flow a { cca = cca  workload = file(100kB) }"
    sweep = 'sweep { cca = [cubic, bpf("refused.bpf.o")] }  repeat = 2'
    made = compiled(flow, rest=sweep)
    assert made.plan.engine == "vm"
    assert [reason.requirement.line for reason in made.choice.reasons] == [4]
    assert sum(cell.flows[0].cca_object is not None for cell in made.cells()) == 2
    without = compiled(flow, rest=sweep + ' exclude cca == bpf("refused.bpf.o")')
    assert without.plan.engine == "uml"


def test_a_word_that_is_imported_or_set_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where a word stands nowhere is the grid not looked at."""
    monkeypatch.chdir(tmp_path)  # what is set names files from here
    shutil.copy(OBJECT, tmp_path)
    (tmp_path / "ccas.fexp").write_text('fexp 1\nlet mine = bpf("refused.bpf.o")\n')
    body = "topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)  measure = [goodput]"
    flow = "flow a { cca = mine  workload = file(1kB) }"
    imports = f'fexp 1\nimport "ccas.fexp"\nexperiment e {{ {body}  {flow} }}\n'
    lets = f"fexp 1\nlet mine = reno\nexperiment e {{ {body}  {flow} }}\n"
    for text, settings, engine in (
        (imports, {}, "vm"),
        (lets, {}, "uml"),
        (lets, {"mine": 'bpf("refused.bpf.o")'}, "vm"),
    ):
        made = compilation_of(text, str(tmp_path / "e.fexp"), settings=settings)
        assert made.plan.engine == engine


def test_a_grid_is_not_looked_at_where_no_word_asks_for_anything() -> None:
    made = compiled(PLAIN)
    assert made.choice.engine == "uml" and not made._seen_all
    asked = compiled(OWN)
    assert asked.choice.engine == "vm" and asked._seen_all


def test_users_of_one_flow_are_one_reason() -> None:
    users = "users many { count = 20 }"
    flow = 'flow own { users = many  cca = bpf("refused.bpf.o")  workload = file(10kB) }'
    topology = "topology = access(rate: 10Mbit/s, rtt: 40ms)"
    text = f"fexp 1\nexperiment e {{ {topology}  {users}  {flow}  measure = [goodput] }}\n"
    made = compilation_of(text, str(OBJECT.with_name("e.fexp")))
    assert len(made.choice.reasons) == 1
    (cell,) = made.cells()
    assert len(cell.flows) == 20 and len(list(kind("uml").cannot(cell))) == 1


def test_images_need_containers() -> None:
    engine, reasons = chosen(PLAIN, OTHERS)
    assert engine == "docker"
    assert reasons == (
        "flow `other` runs the image `localhost/quic:1` (line 5), which uml and vm cannot run",
    )


def test_what_no_engine_can_run() -> None:
    with pytest.raises(CompileError) as caught:
        chosen(OWN, OTHERS)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "no-engine"
    assert len(diagnostic.notes) == 4  # two of uml, one each of vm and docker


def test_an_engine_that_was_asked_for() -> None:
    assert chosen(PLAIN, engine="vm") == ("vm", ())  # a wish: nothing in the file is the reason
    assert chosen(PLAIN, engine="mininet") == ("mininet", ())
    with pytest.raises(CompileError):
        chosen(OWN, engine="mininet")  # whose kernel nobody lends a CCA
    engine, reasons = chosen(OWN, engine="vm")
    assert engine == "vm" and "which uml cannot load" in reasons[0]
    with pytest.raises(CompileError) as caught:
        chosen(PLAIN, OWN, engine="uml")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "engine-cannot"
    assert "flow `own` uses a BPF congestion controller (line 5)" in diagnostic.notes[0]


@pytest.mark.parametrize("flow", [PLAIN, OWN, PARAMETERS, OTHERS, PAGE])
def test_a_cell_asks_for_what_its_scenario_does(flow: str) -> None:
    """The choice is made before anything is lowered; whoever has the plan alone sees the same."""
    made = compiled(flow)
    (cell,) = made.cells()
    (configuration,) = made.experiment.configurations()
    assert list(of_cell(cell)) == list(of_scenario(configuration.scenario))


@pytest.mark.parametrize("flow", [PLAIN, OWN, PARAMETERS, PAGE])
def test_containers_refuse_what_their_engine_cannot(flow: str) -> None:
    (cell,) = compiled(flow).cells()
    assert any(kind("docker").cannot(cell)) == any(obstacles(cell))


def test_every_engine_says_what_it_cannot() -> None:
    named = {engine.like or engine.name for engine in ENGINES}
    assert named == PROFILES.keys() >= set(CHOICES)
    (cell,) = compiled(OTHERS).cells()
    for engine in ENGINES:
        found = [str(reason) for reason in engine.cannot(cell)]
        assert len(found) == (engine.name != "docker"), engine.name
        assert all(f"which {engine.name} cannot run" in words for words in found)


def test_the_other_engine_that_can() -> None:
    plain, own, image = (next(compiled(flow).cells()) for flow in (PLAIN, OWN, OTHERS))
    assert instead("uml", [plain, own]) == "vm"
    assert instead("vm", [plain]) == "uml"
    assert instead("vm", [plain, own]) is None
    assert instead("uml", [plain, image]) is None


def test_the_engine_is_recorded_and_changes_no_cell(tmp_path: Path) -> None:
    folders = []
    for engine in (None, "vm", "mininet"):
        folders.append(tmp_path / str(engine))
        emit(compiled(PLAIN, engine=engine), folders[-1], ["json"])
    cells = {(folder / "cells.jsonl").read_bytes() for folder in folders}
    assert len(cells) == 1
    plans = [Plan.model_validate_json((folder / "plan.json").read_bytes()) for folder in folders]
    assert [plan.engine for plan in plans] == ["uml", "vm", "mininet"]


def test_a_plan_of_an_earlier_version_means_vm() -> None:
    document = compiled(PLAIN).plan.model_dump(exclude={"engine", "engine_reasons"})
    plan = Plan.model_validate(document)
    assert (plan.engine, plan.engine_reasons) == ("vm", ())


@pytest.mark.parametrize("engine", ["", "UML", "vm\nrm -rf ~", "../vm", "v" * 33])
def test_a_plan_names_an_engine_by_a_word(engine: str) -> None:
    document = compiled(PLAIN).plan.model_dump()
    with pytest.raises(ValueError, match="engine"):
        Plan.model_validate({**document, "engine": engine})


def test_a_plan_cannot_write_on_a_terminal() -> None:
    document = compiled(PLAIN).plan.model_dump()
    with pytest.raises(ValueError, match="engine_reasons"):
        Plan.model_validate({**document, "engine_reasons": ("\x1b[2J",)})


def test_a_fast_link_concerns_the_emulated_machine() -> None:
    fast = "topology t() { node s, c  link s -- c { rate = 1Gbit/s  delay = 1ms } }"
    body = "topology = t()  flow a { from = s  to = c  cca = cubic  workload = file(1MB) }"
    text = f"fexp 1\n{fast}\nexperiment e {{ {body}  measure = [goodput] }}\n"
    for engine, warned in ((None, False), ("vm", True)):
        made = compilation_of(text, "e.fexp", engine)
        list(made.cells())
        assert made.plan.engine == engine or engine is None
        assert ("fast-link" in {d.code for d in made.diagnostics}) is warned


def wall_s(cell: Cell, engine: str) -> float:
    estimate = Estimate(2, engine)
    estimate.add(cell, 4)
    return estimate.wall_s


def test_each_engine_has_its_costs() -> None:
    (cell,) = compiled(PLAIN, rest="duration = 30s").cells()
    assert wall_s(cell, "uml") < wall_s(cell, "vm") / 1.5
    # In real time, and one cell after the other whatever the number of cores.
    assert wall_s(cell, "mininet") >= 4 * 30
    assert wall_s(cell, "fake") == wall_s(cell, "vm")


@pytest.mark.parametrize(
    ("rate", "seconds", "least_s", "most_s"),
    [
        ("1Mbit/s", 80, 0.30, 0.67),
        ("10Mbit/s", 20, 0.31, 0.62),
        ("100Mbit/s", 20, 1.14, 2.40),
        ("1Gbit/s", 5, 3.01, 5.17),
    ],
)
def test_the_estimate_of_the_fast_engine_is_what_was_measured(
    rate: str, seconds: int, least_s: float, most_s: float
) -> None:
    """CPU seconds of two backlogged flows with captures, on two machines."""
    text = f"""fexp 1
    experiment e {{
      topology = bottleneck(rate: {rate}, rtt: 50ms)
      flow a {{ cca = cubic  workload = bulk }}
      flow b {{ cca = bbr  workload = bulk }}
      duration = {seconds}s
      measure = [goodput]
    }}
    """
    cell = only_cell_of(text, "e.fexp")
    estimate = Estimate(1, "uml")
    estimate.add(cell)
    assert least_s <= estimate.wall_s <= most_s
    assert UML.memory_mib < VM.memory_mib
