"""The arguments of programs that follow from a whole experiment."""

from __future__ import annotations

import re

import pytest
from specs import only_cell_of

from fairc.cell.expansion import expand

SPEC = """fexp 1
experiment rings {{
  topology = bottleneck(rate: {rate}, rtt: 50ms, queue: fifo(2bdp))
  flow one {{ {flow} }}
  duration = 5s
  measure = [goodput]
}}
"""


@pytest.mark.parametrize(
    ("rate", "flow", "packets"),
    [
        ("1Mbit/s", "cca = reno  workload = bulk", 5_000),
        (
            "20Mbit/s",
            "cca = reno  workload = bulk",
            9_776,
        ),  # 250 ms of frames of 64 bytes, a window
        ("1Gbit/s", "cca = reno  workload = bulk", 25_000),
        ("1Mbit/s", "over = udp  count = 2  rate = 10Mbit/s  workload = bulk", 9_786),
        (
            "1Mbit/s",
            "over = udp  count = 20  workload = onoff(rate: 1Mbit/s, on: 1s, off: 1s)",
            9_966,
        ),
        ("1Mbit/s", "cca = reno  count = 600  workload = bulk", 6_488),
    ],
)
def test_a_capture_holds_250_ms_of_the_smallest_frames(rate: str, flow: str, packets: int) -> None:
    captures = expand(only_cell_of(SPEC.format(rate=rate, flow=flow)))["captures"]
    assert {capture["description"]["ring_packets"] for capture in captures} == {packets}


def test_a_capture_is_ready_for_the_fastest_rate_of_a_link() -> None:
    link = "rate = 1Mbit/s  delay = 10ms  at 1s { rate = 40Mbit/s }  at 2s { rate = 2Mbit/s }"
    topology = (
        f"{{ node server, client  router r  link server -- r {{ {link} }}  link r -- client {{"
        f" {link} }} }}"
    )
    spec = re.sub(r"bottleneck\(.*\)", topology.replace("{", "{{").replace("}", "}}"), SPEC)
    spec = spec.replace("topology = ", "topology ")
    cell = only_cell_of(spec.format(flow="cca = reno  workload = bulk"))
    captures = expand(cell)["captures"]
    assert {each["description"]["ring_packets"] for each in captures} == {19_541}
