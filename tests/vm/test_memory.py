"""How much memory a cell's machine has on the uml engine."""

from __future__ import annotations

from itertools import pairwise

import pytest
from specs import dumbbell, only_cell_of

from fairc.compiler import Cell
from fairc.compiler.estimate import results_bytes
from fairc.runtime.host.faults import MachineFault
from fairc.runtime.uml import memory
from fairc.runtime.vm import recipe

SPEC = """fexp 1
experiment memory {{
  topology = bottleneck(rate: {rate}, rtt: 12ms, queue: fifo(10pkt))
  flow a {{ count = {count}  cca = reno  workload = bulk }}
  duration = {duration}
  measure = [goodput]
}}
"""


def only_cell(rate: str, count: int, duration: str) -> Cell:
    text = SPEC.format(rate=rate, count=count, duration=duration)
    return only_cell_of(text)


def test_results_are_packets_in_three_captures_headers_at_senders_and_a_line_a_sample() -> None:
    cell = only_cell("100Mbit/s", 2, "100s")
    packets = 100e6 * 100 / (8 * 1514)
    assert results_bytes(cell) == pytest.approx((3 * 112 + 64) * packets + 2 * 1000 * 700)


def test_captures_of_other_interfaces_in_front_of_a_queue_take_no_memory_of_their_own() -> None:
    """Each of 12 hosts has an interface there, and a packet passes one of them."""

    def results(topology: str) -> float:
        return results_bytes(
            only_cell_of(
                f"fexp 1\nexperiment e {{\n  topology = {topology}(rate: 100Mbit/s, rtt: 20ms)\n"
                "  flow f[i] for i in 1..12 { cca = cubic  workload = bulk }\n"
                "  duration = 280s\n  measure = [goodput]\n}\n"
            )
        )

    assert results("dumbbell") == pytest.approx(results("bottleneck"), rel=0.01)


@pytest.mark.parametrize(
    ("rate", "count", "duration", "mib"),
    [
        ("10Mbit/s", 2, "20s", 256),
        ("10Mbit/s", 2, "200s", 1024),
        ("10Mbit/s", 200, "20s", 1024),
        ("100Mbit/s", 1, "100s", 1024),
        ("100Mbit/s", 1, "600s", 5 * 1024),
    ],
)
def test_a_machine_has_the_memory_that_its_cell_needs(
    rate: str, count: int, duration: str, mib: int
) -> None:
    cell = only_cell(rate, count, duration)
    assert memory.machine_bytes(cell, recipe.UML) == mib << 20


@pytest.mark.parametrize(
    ("queue", "flow", "mib"),
    [
        ("10pkt", "cca = reno  workload = bulk", 256),
        ("40000pkt", "cca = reno  workload = bulk", 1024),
        ("10pkt", "over = quic  cca = reno  workload = bulk", 256),
        ("10pkt", "over = quic(qlog: on)  cca = reno  workload = bulk", 1024),
        ("10pkt", "cca = reno  workload = load(page(10kB), client: plain)", 1024),
        ("10pkt", "over = udp  rate = 300Mbit/s  workload = bulk", 1024),
    ],
)
def test_a_machine_with_less_memory_is_for_small_cells(queue: str, flow: str, mib: int) -> None:
    """Not small are a long queue, a record of packets, connections without number, and floods of
    datagrams.
    """
    text = SPEC.replace("10pkt", queue).replace(
        "count = {count}  cca = reno  workload = bulk", flow
    )
    cell = only_cell_of(text.format(rate="1Mbit/s", duration="2s"))
    assert memory.machine_bytes(cell, recipe.UML) == mib << 20


@pytest.mark.parametrize(
    ("link", "routers", "mib"),
    [
        ("rate = 1Mbit/s", 1, 256),
        ("rate = 1Mbit/s  at 1s { rate = 200Mbit/s }", 1, 1024),
        ("rate = 1Mbit/s  queue = fifo(10pkt)", 100, 2048),  # each is captured: its queue is named
    ],
)
def test_changing_links_and_many_nodes_are_not_small(link: str, routers: int, mib: int) -> None:
    names = ["server", *(f"r{number}" for number in range(routers)), "client"]
    links = "  ".join(f"link {a} -- {b} {{ {link} }}" for a, b in pairwise(names))
    cell = only_cell_of(f"""fexp 1
experiment memory {{
  topology {{ node server, client  router {", ".join(names[1:-1])}  {links} }}
  flow a {{ cca = reno  workload = bulk }}
  duration = 2s
  measure = [goodput]
}}
""")
    assert memory.machine_bytes(cell, recipe.UML) == mib << 20


def test_many_programs_and_nodes_need_more() -> None:
    """With 120 such flows 1.5 GiB were too little, and 2 GiB enough."""
    cell = only_cell_of(dumbbell(pairs=60))
    assert memory.machine_bytes(cell, recipe.PLAIN) == 2048 << 20


def test_every_machine_has_the_tables_of_the_usual_one() -> None:
    """What the kernel derives from its memory and a cell could notice."""
    usual = recipe.UML.memory_bytes
    assert memory.arguments(usual // 4, recipe.UML) == ["mem=256M", *memory.LIKE_1_GIB]
    assert memory.arguments(usual, recipe.UML) == ["mem=1024M", *memory.LIKE_1_GIB]
    assert memory.arguments(5 * usual, recipe.UML) == ["mem=5120M", *memory.LIKE_1_GIB]
    assert memory.arguments(2 * usual, recipe.BROWSER) == ["mem=2048M"]


def test_a_host_without_the_memory_of_the_nodes_says_so() -> None:
    cell = only_cell_of(dumbbell(pairs=60))
    memory.require(cell, 2 << 30)
    with pytest.raises(MachineFault) as refused:
        memory.require(cell, 256 << 20)
    said = str(refused.value)
    assert "most of it for its nodes, flows and programs, and this computer has 0.2 GiB" in said


def test_a_host_without_the_memory_of_the_captures_says_so() -> None:
    """10 Gbit/s for 10 s: 8.3 million packets, 400 bytes of each."""
    cell = only_cell("10Gbit/s", 1, "10s")
    memory.require(cell, 4 << 30)
    with pytest.raises(MachineFault, match=r"needs 3\.\d GiB of memory, most of it for captures"):
        memory.require(cell, 3 << 30)


def test_memory_is_for_what_is_under_way_and_not_for_limits() -> None:
    """100 Mbit/s over 2 s hold 25 MB each way, though the delay lines would take 781,250
    packets.
    """
    text = SPEC.replace("rtt: 12ms", "rtt: 4s").format(rate="100Mbit/s", count=1, duration="1s")
    cell = only_cell_of(text)
    assert memory.under_way_bytes(cell) == pytest.approx(2 * 25e6)
    full = 2344 / 1514
    assert memory.carried_bytes(cell) == pytest.approx(3 * full * (50e6 + 10 * 1514))


def test_memory_of_datagrams_is_that_of_small_ones() -> None:
    """10,000 datagrams/s of 100 bytes for 1 s under way and 100 ms in a socket."""
    flow = "over = udp  rate = 8Mbit/s  workload = bulk(packet: 100B)"
    text = SPEC.replace("count = {count}  cca = reno  workload = bulk", flow)
    text = text.replace("rtt: 12ms", "rtt: 1s").format(rate="10Mbit/s", duration="1s")
    carried = memory.carried_bytes(only_cell_of(text))
    links = 2344 / 1514 * (2 * 10e6 / 8 / 2 + 10 * 1514)
    assert carried == pytest.approx(10_000 * 1.1 * (2 * 100 + 844) + links)
    assert results_bytes(only_cell_of(text)) == pytest.approx(3 * 112 * 10_000 + 10 * 700)
