"""A cell or header from a stranger is refused, or cannot become anything but data in a program."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import hostile
import plan_corpus
import pytest
from pydantic import ValidationError
from representatives import few
from specs import compilation_of
from torture.network import POLICED

from fairc.cell.document import Document
from fairc.cell.expansion import expand
from fairc.compiler import Cell
from fairc.compiler.plan import Plan, cell_json, parse_cell
from fairc.compiler.targets import containers, mininet
from fairc.dsl.core.diagnostics import CompileError
from fairc.dsl.model.names import label_of, users_of

GOLDEN = Path(__file__).parent.parent / "golden"
SEED = 15
PLACES = 130  # of each cell; a program is written and parsed for each that is taken

# What no golden plan has.
MORE = """fexp 1
topology line() {
  node s  router r  node c
  link s -- r { rate = 100Mbit/s  delay = 1ms  duplicate = 1% }
  link r -- c {
    rate = 2Mbit/s  delay = 20ms  jitter = 3ms
    loss = gilbert_elliott(p: 1%, r: 30%)
    queue = red(80pkt)
    at 5s { rate = 1Mbit/s }
  }
}
experiment more {
  topology = line()
  flow q { from = s  to = c  over = quic  cca = cubic(connections: 2)  workload = file(1MB) }
  flow i { from = s  to = c  over = quic(image: "my-quic:latest")  workload = file(1MB) }
  flow t { from = s  to = c  cca = cubic(hystart: off)  workload = file(1MB)  initial_window = 30pkt }
  flow a { from = s  to = c  cca = cubic(hystart: off)  workload = requests(size: 2pkt, every: 1s, share: 60%)  initial_window = 30pkt }
  flow b { from = s  to = c  cca = cubic(hystart: off)  workload = requests(size: 2pkt, every: 1s, share: 40%)  initial_window = 30pkt }
  flow j { from = s  to = c  over = udp  rate = 1Mbit/s  workload = iperf3(time: 2s) }
  flow u { from = s  to = c  over = udp  workload = onoff(rate: 1Mbit/s, on: exponential(1s), off: exponential(1s)) }
  duration = 20s
  measure = [goodput]
  report { boxplot(goodput) }
}
"""


def policed() -> Cell:
    """Compile `POLICED`."""
    return next(compilation_of(POLICED).cells())


def more() -> tuple[Plan, Cell]:
    """Compile `MORE`."""
    compilation = compilation_of(MORE, engine="fake")  # no engine can run all that is in it
    return compilation.plan, next(compilation.cells())


@cache
def documents() -> dict[str, Any]:
    """The cells of golden plans, and of one with what these lack."""
    found = {
        path.name.partition(".")[0]: json.loads(path.read_text())
        for path in sorted(GOLDEN.glob("*.cell.json"))
    }
    made = {"more": more()[1], "policed": policed()}
    return {**found, **{name: json.loads(cell_json(cell)) for name, cell in made.items()}}


def programs(cell: Cell) -> tuple[str, str]:
    """Write the Mininet program of a cell and the one of its containers; the Compose file, too."""
    job = containers.describe(cell)
    containers.render_compose(cell, job, "image")
    return mininet.render(cell), containers.render(cell, job)


def documents_of(cell: Cell) -> list[Document]:
    """Return what conductors work from, in real and in virtual time."""
    return [
        expand(cell),
        expand(cell, slack_ns=1000, epoch_ns=1, computing_is_free=True),
    ]


@pytest.mark.parametrize(
    "name",
    few(["custom", "quickstart", "more", "policed"], "more", "quickstart"),
)
def test_a_hostile_cell_is_refused_or_stays_data(name: str) -> None:
    document = documents()[name]
    usual = programs(parse_cell(json.dumps(document)))
    rng, seen = random.Random(SEED), Counter[str]()
    for path in rng.sample([*hostile.places(document)], PLACES):
        for what, mutant in hostile.at(document, path, rng, 2):
            try:
                cell = parse_cell(json.dumps(mutant))
            except (ValidationError, ValueError):
                seen["refused"] += 1
                continue
            seen["taken"] += 1
            for program, known in zip(programs(cell), usual, strict=True):
                try:
                    hostile.refuse_program(program, known)
                except AssertionError as error:
                    pytest.fail(f"{what}: {error}")
            for made in documents_of(cell):
                try:
                    hostile.refuse_document(made)
                except AssertionError as error:
                    pytest.fail(f"{what}: {error}")
    assert seen["refused"] > 3 * seen["taken"] > 0, seen


AT_ITS_PLACE = ""


def assert_refused(
    read: Callable[[str], object], document: object, path: hostile.Path, why: str
) -> None:
    """Raise AssertionError unless a document is refused for this reason, or at this place."""
    with pytest.raises(ValidationError) as refused:
        read(json.dumps(document))
    found = refused.value.errors()[0]
    assert why in found["msg"]
    assert why or found["loc"][: len(path)] == path


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (("nodes", 0, "routes", 0, "via"), "10.0.0.2\nnetns add x", AT_ITS_PLACE),
        (("nodes", 0, "routes", 0, "via"), "10.9.9.9", "is not a neighbour of `server`"),
        (("nodes", 0, "routes", 0, "destination"), "10.0.0.1/8", "is not a network"),
        (("nodes", 0, "interfaces", 0, "address"), "10.0.0.01/30", AT_ITS_PLACE),
        (("nodes", 0, "name"), "../x", AT_ITS_PLACE),
        (("captures", 0, "name"), "entry.../../x", AT_ITS_PLACE),
        (("captures", 0, "name"), "cubic.server", "have the same name"),
        (("captures", 0, "interface"), "eth7", "is not of interfaces"),
        (("flows", 0, "name"), "../../x", AT_ITS_PLACE),
        (("flows", 0, "cca"), "../x", AT_ITS_PLACE),
        (("flows", 0, "cca_parameters"), {"../../../x/parameters/y": 1}, AT_ITS_PLACE),
        (("flows", 0, "cca_parameters"), {"beta": 1}, "no such parameter"),
        (("flows", 0, "cca_parameters"), {"hystart": 7}, "beyond its limits"),
        (("flows", 0, "starts_ns"), [-(10**18)], AT_ITS_PLACE),
        (("flows", 0, "bottleneck"), ["left", "no-eth0"], "the bottleneck of `cubic`"),
        (("flows", 0, "server"), "nobody", "does not run between"),
        (("flows", 0, "client_address"), "10.0.0.1", "is not an address of `client`"),
        (("flows", 0, "image"), "x; id", AT_ITS_PLACE),
        (("flows", 0, "source"), "a\x1b[2J:1", AT_ITS_PLACE),
        (("flows",), [], AT_ITS_PLACE),
        (("experiment",), "/tmp/x", AT_ITS_PLACE),
        (("bindings",), {"x": "a\nb"}, AT_ITS_PLACE),
        (("deadline_ns",), 10**400, AT_ITS_PLACE),
    ],
)
def test_each_way_in_is_shut(path: hostile.Path, value: object, why: str) -> None:
    document = documents()["quickstart"]
    parse_cell(json.dumps(document))
    assert_refused(parse_cell, hostile.replaced(document, path, value), path, why)


@pytest.mark.parametrize("name", ["all", "default", "lo"])
def test_no_interface_has_a_name_that_means_something_else(name: str) -> None:
    text = json.dumps(documents()["quickstart"])
    assert text.count('"server-eth0"') > 1
    with pytest.raises(ValidationError, match=f"no interface can be called `{name}`"):
        parse_cell(text.replace('"server-eth0"', f'"{name}"'))


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (("name",), "../x", AT_ITS_PLACE),
        (("node",), "nobody", "not at a hop"),
        (("node",), "c", "not at a hop"),
        (("ingress",), "eth7", "not between the two"),
        (("egress",), "r-policer-eth0", "not between the two"),
        (("rate",), 0, AT_ITS_PLACE),
        (("rate",), float("nan"), AT_ITS_PLACE),
        (("depth",), float("inf"), AT_ITS_PLACE),
        (("seed",), -1, AT_ITS_PLACE),
        (("buckets",), [], "no bucket for `a`"),
        (("buckets",), ["nobody"], "belongs to no node"),
        (("policed", 0, "flow"), "nobody", "reads no flow"),
        (("policed", 0, "flow"), "b", "cannot tell its flows apart"),
        (("policed", 0, "bucket"), 7, "no bucket for `a`"),
        (("source",), "a\n#", AT_ITS_PLACE),
    ],
)
def test_each_way_in_through_a_policer_is_shut(path: hostile.Path, value: object, why: str) -> None:
    document = documents()["policed"]
    parse_cell(json.dumps(document))
    mutant = hostile.replaced(document, ("devices", 0, *path), value)
    assert_refused(parse_cell, mutant, ("devices", 0, "policer", *path), why)


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (("experiment",), "/tmp/x", AT_ITS_PLACE),
        (("experiment",), "../x", AT_ITS_PLACE),
        (("experiment",), "a\n", AT_ITS_PLACE),
        (("title",), "\x1b]0;owned\x07", AT_ITS_PLACE),
        (("source",), "a\x9b31m", AT_ITS_PLACE),
        (("file",), "../x", AT_ITS_PLACE),
        (("source_sha256",), "x", AT_ITS_PLACE),
        (("figures", 0, "options"), {}, "lacks its option `notch`"),
        (("figures", 0, "options", "by"), "nothing", "not an axis"),
        (("figures", 0, "kind"), "<b>", AT_ITS_PLACE),
        (("measure", 0, "name"), "../x", AT_ITS_PLACE),
        (("axes",), [{"name": "x", "values": ["1"]}] * 2, "the same name"),
        (
            ("axes",),
            [{"name": "x", "values": ["1", "2"], "numbers": [1.0]}],
            "each value of the axis",
        ),
        (("inputs",), [{"path": "../x", "sha256": "0" * 64}], AT_ITS_PLACE),
    ],
)
def test_a_hostile_header_is_refused(path: hostile.Path, value: object, why: str) -> None:
    document = json.loads(more()[0].model_dump_json())
    Plan.model_validate_json(json.dumps(document))
    mutant = hostile.replaced(document, path, value)
    assert_refused(Plan.model_validate_json, mutant, path, why)


@pytest.mark.parametrize(
    ("flow", "change"),
    [
        ("a", {"workload": {"shared": {"low": 0.0, "high": 1e-9}}}),
        ("a", {"workload": {"shared": {"low": 0.6, "high": 0.6}}}),
        ("a", {"workload": {"shared": {"low": -1.0, "high": 0.6}}}),
        ("j", {"transport": "quic", "cca": "cubic"}),
        ("j", {"client_address": ""}),
        ("j", {"rate_bps": None}),
        ("j", {"connections": 129, "starts_ns": [0] * 129}),
        ("j", {"workload": {"packet_bytes": None}}),
        ("j", {"workload": {"packet_bytes": 20}}),
        ("j", {"workload": {"window_bytes": 4096}}),
        ("j", {"workload": {"bytes": 147200}}),
        ("j", {"workload": {"time_s": 0}}),
        ("j", {"workload": {"time_s": "1 --logfile x"}}),
    ],
)
def test_a_workload_is_one_that_its_program_takes(flow: str, change: dict[str, Any]) -> None:
    document = json.loads(cell_json(more()[1]))
    (found,) = (each for each in document["flows"] if each["name"] == flow)
    workload = dict(change.get("workload", {}))
    if "shared" in workload:
        workload["shared"] = found["workload"]["shared"] | workload["shared"]
    found |= {key: value for key, value in change.items() if key != "workload"}
    found["workload"] |= workload
    with pytest.raises(ValidationError):
        parse_cell(json.dumps(document))


def test_lines_do_not_rely_on_the_types_of_the_plan() -> None:
    """Even a cell that nobody has checked adds no line."""
    cell = parse_cell(json.dumps(documents()["quickstart"]))
    node = cell.nodes[0]
    route = replace(node.routes[0], via=f"{node.routes[0].via}\nnetns add x")
    hurt = replace(node, routes=(route,))
    with pytest.raises(ValueError, match="not a line"):
        mininet.render(replace(cell, nodes=(hurt, *cell.nodes[1:])))


def test_what_is_beyond_a_plan_is_a_diagnostic() -> None:
    """23 days are the longest time: nothing waits longer."""
    text = MORE.replace("duration = 20s", "duration = 1000h")
    with pytest.raises(CompileError) as refused:
        next(compilation_of(text).cells())
    (found,) = refused.value.diagnostics
    assert found.code == "beyond-plan" and found.message.startswith("`duration_ns` of a cell")


def test_a_file_of_any_name_can_be_compiled() -> None:
    compilation = compilation_of(MORE, "/tmp/a\n\x1b[2J.fexp", "fake")
    assert compilation.plan.file == "a??[2J.fexp"
    assert next(compilation.cells()).flows[0].source.startswith("a??[2J.fexp:")


def own() -> dict[str, Any]:
    """The header of a plan with metrics of its own, as JSON."""
    compilation, _ = plan_corpus.corpus()["own"]
    document: dict[str, Any] = json.loads(compilation.plan.model_dump_json())
    return document


def parts(expression: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an expression and everything inside it."""
    yield expression
    for inner in expression.get("of", ()):
        yield from parts(inner)


def test_an_amount_has_a_number_for_each_row() -> None:
    document = own()
    (amount,) = (part for part in parts(document["formulas"][0]["expression"]) if "rows" in part)
    assert len(amount["rows"]) == 2
    for rows in (amount["rows"][:1], [["10ms", "20ms"], ["10ms"]]):
        other = json.dumps({**amount, "rows": rows})
        changed = json.dumps(document).replace(json.dumps(amount), other)
        with pytest.raises(ValidationError, match=r"each row (of an amount )?has a"):
            Plan.model_validate_json(changed)


def test_a_cell_for_which_an_amount_has_no_number_is_not_of_the_plan() -> None:
    compilation, cell = plan_corpus.corpus()["own"]
    amounts = compilation.plan.requests.amounts
    assert amounts
    assert all(amount.covers(cell.bindings) for amount in amounts)
    assert not all(amount.covers({"trip": "30ms"}) for amount in amounts)


@pytest.mark.parametrize("name", ["f-_1b_5bH", "f-_ff", "f-_e2_80_ae", "f-_5D", "f-_41"])
def test_a_name_that_no_file_can_declare_is_not_decoded(name: str) -> None:
    flow = replace(more()[1].flows[0], name=name, declared="f")
    assert label_of(flow) == name
    grouped = replace(flow, users="f", client=f"{name}-1")
    assert users_of(grouped) == name


def test_a_packet_with_a_number_that_no_experiment_loses_is_refused() -> None:
    """Each packet before it has a filter, so 2^31 of them fill the memory of who emits the cell."""
    (cell,) = compilation_of(LOSING).cells()
    document = json.loads(cell_json(cell))
    (end,) = [i for n in document["nodes"] for i in n["interfaces"] if i.get("arriving_losses")]
    for number, is_refused in ((200, False), (201, True), (2**31 - 1, True)):
        end["arriving_losses"][0]["numbers"] = [1, number]
        if not is_refused:
            assert parse_cell(json.dumps(document))
            continue
        with pytest.raises(ValidationError, match="beyond the one with the number 200"):
            parse_cell(json.dumps(document))


LOSING = """fexp 1
topology one() {
  node s  router r  node c
  link s -- r { rate = 10Mbit/s  delay = 1ms }
  link r -> c { rate = 1Mbit/s  delay = 20ms  loss = packets(1) }
  link c -> r { rate = 1Mbit/s  delay = 20ms }
}
experiment e {
  topology = one()
  flow a { from = s  to = c  cca = cubic  workload = file(10kB) }
  duration = 5s
  measure = [goodput]
}
"""
