"""What emitted Mininet programs set up, and what `uml` sets up of the same cells: equal qdiscs,
addresses, routes, neighbours, rules, sysctls and offloads. Inside the guest of `vm`, whose kernel
has netem.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from emitted_programs import READ_BACK, told
from kept_cells import run_alone
from specs import compilation_of

from fairc.cell.expansion import expand
from fairc.compiler import Cell
from fairc.compiler.targets import mininet
from fairc.runtime.engines import guest_job
from fairc.runtime.engines.vm import VmEngine

SATELLITE = """fexp 1
experiment satellite {
  topology = geo(pep: split, loss: 1%)
  flow a { cca = bbr    workload = file(1MB) }
  flow b { cca = cubic  ecn = on  initial_window = 4pkt  workload = file(1MB) }
  duration = 5s
  repeat = 2
  measure = [goodput]
}
"""
QUEUES = """fexp 1
experiment queues {
  topology {
    node s, c
    router a, b, d
    link s -- a { rate = 100Mbit/s }
    link a -- b { rate = 10Mbit/s  delay = 5ms  jitter = jitter(1ms, normal)  queue = fq_codel(50pkt) }
    link b -- d { rate = 5Mbit/s  delay = 5ms  loss = 2%  queue = red(100kB)  mtu = 1400B }
    link d -- c { rate = 20Mbit/s  queue = codel(100pkt) }
  }
  flow f { from = s  to = c  cca = cubic  workload = bulk }
  duration = 5s
  measure = [goodput]
}
"""
SPECS = {"satellite": SATELLITE, "queues": QUEUES}
PROGRAM = """
import os, subprocess, sys
place = os.path.dirname(os.path.abspath(sys.argv[0]))
os.chdir(place)
for name, text in {files!r}.items():
    with open(name, "w") as file:
        file.write(text)
paths = os.environ | {{"PYTHONPATH": ":".join(sys.path)}}
for name in {names!r}:
    with open(os.path.join(sys.argv[1], name + ".read-back.json"), "w") as out:
        subprocess.run(["python3", "-c", {read!r}, name + ".py", name + ".json", "mininet", "netlink"],
                       stdout=out, env=paths, check=True)
"""


def last_repetition(text: str) -> tuple[list[Cell], Cell]:
    """Return all cells of an experiment of one configuration, and its last one."""
    cells = list(compilation_of(text).cells())
    return cells, cells[-1]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is read back of each network."""
    files: dict[str, str] = {}
    ran = None
    for name, text in SPECS.items():
        cells, ran = last_repetition(text)
        program = mininet.render(*cells)
        # Read back without options of the command line: as if the last one were the first.
        program = program.replace("repetition=1)", f"repetition={ran.repetition})")
        files |= {f"{name}.py": program, f"{name}.json": json.dumps(expand(ran))}
    names = sorted({name.partition(".")[0] for name in files})
    assert ran is not None
    with pytest.MonkeyPatch.context() as patched:
        program = PROGRAM.format(files=files, names=names, read=READ_BACK)
        patched.setattr(guest_job, "PROGRAM", program)
        result = run_alone(VmEngine(), ran, tmp_path_factory.mktemp("networks"))
    return {name: read(result.artefacts / f"{name}.read-back.json") for name in names}


def read(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.parametrize("name", ["satellite", "queues"])
def test_an_emitted_network_is_that_of_uml(said: dict[str, Any], name: str) -> None:
    _, ran = last_repetition(SPECS[name])
    seeds = {(s["node"], s["interface"]): s["seed"] for s in expand(ran)["seeds"]}
    ours, of_uml = (_asked(said[name][way], seeds) for way in ("mininet", "netlink"))
    for node in of_uml:
        for words, value in told(of_uml[node]).items():
            assert told(ours[node])[words] == value, (node, words)
    assert told(ours) == told(of_uml)


def _asked(found: dict[str, Any], seeds: dict[tuple[str, str], int]) -> dict[str, Any]:
    """Return what was read back without the seeds that the kernel drew where nothing is random."""
    for node, of_node in found.items():
        for queue in of_node.get("tc", ()):
            if queue["options"].get("seed") != seeds.get((node, queue["dev"])):
                assert (node, queue["dev"]) not in seeds, "another seed than the plan's"
                queue["options"].pop("seed", None)
    return found


def test_the_networks_have_what_is_compared(said: dict[str, Any]) -> None:
    kinds = {
        queue["kind"]
        for found in said.values()
        for node, of_node in found["mininet"].items()
        if node != "in force"
        for queue in of_node["tc"]
    }
    assert kinds >= {"netem", "htb", "fq_codel", "codel", "gred", "pfifo", "bfifo"}
    queues = [
        q for n, v in said["satellite"]["mininet"].items() if n != "in force" for q in v["tc"]
    ]
    assert any("seed" in queue["options"] for queue in queues if queue["kind"] == "netem")
    routes = str(said["satellite"]["mininet"])
    assert "initcwnd" in routes and "initrwnd" in routes
