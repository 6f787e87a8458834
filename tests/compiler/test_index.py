"""Names of configurations, and the index of a compiled plan."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from specs import compilation_of, only_cell_of

from fairc.compiler import Cell, emit
from fairc.compiler.targets.naming import MOST, Names, readable

SPEC = """fexp 1
experiment named {
  sweep {
    loss = [0%, 1%]
    queue = [fifo(1bdp), fq_codel]
    rate = [10Mbit/s]
  }
  topology = bottleneck(rate: rate, rtt: 20ms, loss: loss, queue: queue)
  flow f { cca = cubic  workload = file(1MB) }
  repeat = 2
  measure = [goodput]
}
"""
PLAIN = """fexp 1
experiment plain {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms)
  flow f { cca = cubic  workload = file(1MB) }
  measure = [goodput]
}
"""


@pytest.fixture(scope="module")
def plain() -> Cell:
    return only_cell_of(PLAIN)


def test_names_tell_the_swept_values_and_need_no_quotes(plain: Cell) -> None:
    assert readable(plain) == "plain"
    bindings = {"rate": "10Mbit/s", "queue": "codel(target: 5ms, limit: 1bdp)", "loss": "1%"}
    swept = replace(plain, bindings=bindings)
    assert readable(swept) == "rate=10Mbit-s_queue=codel-target-5ms,-limit-1bdp_loss=1%"
    assert readable(replace(plain, bindings={"x": "../../etc/passwd"})) == "x=..-..-etc-passwd"
    assert readable(replace(plain, bindings={"x": "$(reboot)\n'é"})) == "x=reboot"
    for module in ("mininet", "socket", "cell"):  # a program of this name would be imported
        assert readable(replace(plain, experiment=module)) == f"{module}-experiment"


def test_names_have_a_hash_only_where_they_need_one(plain: Cell) -> None:
    names = Names()
    several = [
        replace(plain, configuration=f"{number:016x}", bindings={"x": value})
        for number, value in enumerate(("a/b", "a b", "A-b", "c", 200 * "d", "a/b"), 1)
    ]
    several[-1] = several[0]  # another repetition
    assert [names(cell) for cell in several] == [
        "x=a-b",
        "x=a-b_0000000000000002",
        "x=A-b_0000000000000003",
        "x=c",
        "x=" + (MOST - 19) * "d" + "_0000000000000005",
        "x=a-b",
    ]


def test_the_index_lists_configurations_files_and_commands(tmp_path: Path) -> None:
    made = compilation_of(SPEC, "named.fexp")
    emit(made, tmp_path / "out", ["mininet"])
    index = json.loads((tmp_path / "out/index.json").read_text())
    assert index["experiment"] == "named" and len(index["configurations"]) == 4
    first = index["configurations"][0]
    name = "loss=0%_queue=fifo-1bdp_rate=10Mbit-s"
    assert first["name"] == name
    assert first["bindings"] == {"loss": "0%", "queue": "fifo(1bdp)", "rate": "10Mbit/s"}
    by_id = {cell.id: cell for cell in made.cells()}
    for each in index["configurations"]:
        for told in each["cells"]:
            cell = by_id.pop(told["id"])
            assert (cell.configuration, cell.repetition) == (
                each["configuration"],
                told["repetition"],
            )
            assert (tmp_path / "out" / told["mininet"]["file"]).is_file()
    assert not by_id
    assert first["cells"][1]["mininet"] == {
        "file": f"cells/{name}.py",
        "command": f"sudo python3 cells/{name}.py --repetition 2",
    }
    page = (tmp_path / "out/index.md").read_text()
    link = f"[cells/{name}.py](cells/{name.replace('%', '%25')}.py)"
    assert f"| 0% | fifo(1bdp) | 10Mbit/s | 1 to 2 | {link} |" in page
    assert "4 configurations, 8 cells, 2 repetitions of each at most" in page
