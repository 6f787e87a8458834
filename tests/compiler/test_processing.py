"""What hosts take for a packet: in the plan, and in the programs of cells."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from documents import constants, program
from specs import compilation_of

from fairc.cell.expansion import expand, lower
from fairc.cell.links import lower_name
from fairc.compiler import Cell, engine_choice
from fairc.compiler.plan import Plan, cell_json, parse_cell
from fairc.compiler.targets import containers
from fairc.dsl import CompileError

SPEC = """fexp 1
experiment e {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)
  HOSTS
  flow t { cca = cubic  workload = file(1MB) }
  flow u { over = udp  rate = 100kbit/s  workload = bulk  stop = 5s }
  flow o { over = udp  workload = onoff(100kbit/s, on: 1s, off: 1s)  stop = 5s }
  flow s { cca = reno  workload = onoff(100kbit/s, on: 1s, off: 1s)  stop = 5s }
  repeat = 2
  measure = [goodput]
}
"""


def compiled(hosts: str = "") -> tuple[Plan, list[Cell]]:
    made = compilation_of(SPEC.replace("HOSTS", hosts))
    return made.plan, list(made.cells())


def told(cell: Cell, flow: str, end: str) -> dict[str, Any]:
    (found,) = [f for f in cell.flows if f.name == flow]
    return program(cell, found, end)[1]


def test_a_file_that_says_nothing_has_the_plan_that_it_had() -> None:
    plan, cells = compiled()
    assert "processing_ns" not in plan.model_dump_json() + cell_json(cells[0])
    assert parse_cell(cell_json(cells[0])).processing_ns is None


@pytest.mark.parametrize(
    ("written", "bound_ns"),
    [("uniform(0us, 10us)", 10_000), ("uniform(0s, 2ms)", 2_000_000), ("off", 0)],
)
def test_what_a_file_says_is_part_of_a_cell(written: str, bound_ns: int) -> None:
    plan, cells = compiled(f"hosts {{ processing = {written} }}")
    assert plan.processing_ns == (bound_ns,)
    assert {cell.processing_ns for cell in cells} == {bound_ns}
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
    before = compiled()[1]
    assert not {c.id for c in cells} & {c.id for c in before}
    assert [c.seed for c in cells] == [c.seed for c in before]
    assert any("time that hosts take" in words for words in plan.varied) == (bound_ns > 0)


def test_only_where_computing_is_free_a_default_holds() -> None:
    cell = compiled()[1][0]
    alone = "netem limit 1000000 rate 100000000bit"
    assert str(constants(cell)["TC"]).count(alone) == 2, "links are transmitted in any case"
    assert expand(cell) == expand(cell, computing_is_free=False)
    default = constants(cell, computing_is_free=True)
    assert str(default["IP"]).count(" macvlan mode passthru'") == 2
    words = "netem limit 1000000 delay 5us 5us rate 100000000bit seed"
    assert str(default["TC"]).count(words) == 2
    assert default["DOCUMENT"]["processing_ns"] == 10_000
    off = compiled("hosts { processing = off }")[1][0]
    assert str(constants(off, computing_is_free=True)["TC"]).count(alone) == 2
    assert expand(off) == expand(cell) | {"id": off.id}
    ten = compiled("hosts { processing = uniform(0us, 10us) }")[1][0]
    assert expand(ten) == expand(ten, computing_is_free=True)


def test_the_delay_lies_below_the_queue_of_a_host_and_nowhere_else() -> None:
    cell = compiled("hosts { processing = uniform(0us, 1ms) }")[1][0]
    script = constants(cell, slack_ns=1000)
    server = script["IP"]["server"]
    assert server[:4] == [
        "link set dev lo up",
        "link set dev server-nic0 mtu 1500 gso_max_segs 1 up",
        "link add link server-nic0 name server-eth0 type macvlan mode passthru",
        "link set dev server-eth0 mtu 1500 gso_max_segs 1 up",
    ]
    root, rate, queue, delay = script["TC"]["server"]
    assert root == "qdisc add dev server-eth0 root handle 1: htb default 1"
    assert " htb rate 100000000bit " in rate
    assert queue.startswith("qdisc add dev server-eth0 parent 1:1")
    assert delay.startswith(
        "qdisc add dev server-nic0 root handle 1: netem limit 1000000 delay 500us 500us"
    )
    ends = [end for cable in script["DOCUMENT"]["network"]["cables"] for end in cable]
    assert {e["interface"] for e in ends if e["node"] == "server"} == {"server-nic0"}
    assert not [line for line in script["IP"]["left"] if "macvlan" in line]


def seeds_of(cell: Cell) -> list[int | None]:
    return [netem.seed for netems in lower(cell).values() for netem in netems if netem.in_order]


def test_each_host_has_a_stream_of_its_own() -> None:
    first, second = compiled("hosts { processing = uniform(0us, 1ms) }")[1]
    seeds = [seed for cell in (first, second) for seed in seeds_of(cell)]
    assert len(set(seeds)) == 4
    default = expand(compiled()[1][0], computing_is_free=True)["seeds"]
    assert [each["seed"] for each in default] == seeds[:2]


def test_names_of_interfaces_fit_linux() -> None:
    cell = compiled("hosts { processing = uniform(0us, 1ms) }")[1][0]
    host = next(node for node in cell.nodes if node.name == "server")
    short = replace(host.interfaces[0], name="eth0")
    long = replace(cell, nodes=(replace(host, interfaces=(short,)),))
    assert [lower_name(name) for _, name in lower(long)] == ["nic0"]
    ethel = replace(short, name="ethel-eth1")
    named = replace(cell, nodes=(replace(host, interfaces=(ethel,)),))
    assert [lower_name(name) for _, name in lower(named)] == ["ethel-nic1"]


def test_constant_rate_sources_vary_their_gaps_with_it() -> None:
    plain = compiled()[1][0]
    for flow in "tuos":
        assert "gaps" not in json.dumps(told(plain, flow, "server"))
    first, second = compiled("hosts { processing = uniform(0us, 10us) }")[1]
    assert told(first, "u", "server")["gaps_seed"] == told(first, "u", "client")["gaps_seed"]
    assert told(first, "u", "server")["gaps_seed"] != told(second, "u", "server")["gaps_seed"]
    for flow in "os":
        assert told(first, flow, "server")["workload"]["vary_gaps"] is True
        assert "gaps_seed" not in told(first, flow, "server")
    assert "gaps" not in json.dumps(told(first, "t", "server"))
    off = compiled("hosts { processing = off }")[1][0]
    assert "gaps" not in json.dumps(told(off, "u", "server"))


def test_containers_have_it_where_the_file_says_so() -> None:
    cell = compiled("hosts { processing = uniform(0us, 1ms) }")[1][0]
    job = containers.describe(cell)
    names = {c.name: [a.name for a in c.attachments] for c in job.containers}
    assert names["server"] == ["server-nic0"] and names["left"] == ["left-eth0", "left-eth1"]
    assert "processing_ns=1_000_000" in containers.render(cell, job)
    plain = containers.describe(compiled()[1][0])
    assert [a.name for a in plain.containers[0].attachments] == ["server-nic0"]
    assert "processing_ns" not in containers.render(compiled()[1][0], plain)


@pytest.mark.parametrize("value", [-1, 4_000_000_001, 1.5, True])
def test_a_plan_with_another_time_is_refused(value: object) -> None:
    document = json.loads(cell_json(compiled()[1][0]))
    with pytest.raises(ValueError, match="processing_ns"):
        parse_cell(json.dumps(document | {"processing_ns": value}))


def test_the_cost_of_a_system_call_is_a_part_of_the_cell_where_the_file_names_it() -> None:
    (_, (cell, *_)), (_, (other, *_)) = compiled(), compiled("hosts { syscall_cost = 8us }")
    assert "syscall_cost_ns" not in cell_json(cell)
    assert other.syscall_cost_ns == 8000
    assert other.id != cell.id


def test_only_uml_charges_for_system_calls() -> None:
    _, (cell, *_) = compiled("hosts { syscall_cost = 8us }")
    asked = tuple(engine_choice.of_cell(cell))
    assert engine_choice.choose(asked).engine == "uml"
    for engine in ("vm", "mininet", "docker"):
        with pytest.raises(CompileError) as refused:
            engine_choice.given(engine, asked)
        (note,) = refused.value.diagnostics[0].notes
        assert note.endswith(f"`syscall_cost`, which {engine} cannot do (only uml can)")
