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
        ("100Mbit/s", "cca = reno  workload = bulk", 25_000),
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


BULK = "cca = reno  workload = bulk"


@pytest.mark.parametrize(
    ("rate", "flows", "every_ms", "packets"),
    [
        # 82,563 full frames/s, and an ACK for two: 2.5 times 12,384 in 100 ms, a window of 50 ms
        # and 2 BDP (12,384 packets), and the first one. The way back has a queue of 1000 packets.
        ("1Gbit/s", f"flow one {{ {BULK} }}", 100, 30_961 + 12_384 + 10),
        ("1Gbit/s", f"flow one {{ {BULK} }}  flow two {{ from = client  to = server  {BULK} }}", 100,
         61_922 + 12_384 + 4_128 + 1_000 + 20),
        ("10Gbit/s", "flow one { over = udp  rate = 800Mbit/s  workload = bulk(packet: 100B) }",
         25, 62_500 + 10),
        ("1Gbit/s", "flow one { over = udp  rate = 8Mbit/s  workload = bulk(packet: 100B) }", 100,
         25_000),
        # What receivers buffer comes at once, as fast as 10 Gbit/s in front of the link carry it.
        ("1Gbit/s", "flow one { cca = hybla  workload = bulk }", 100, 30_961 + 10 + 123_845),
        # 9,000 bytes take 18,844 of a socket, and 100 MiB are read at once.
        ("20Gbit/s", "flow one { over = udp  rate = 10Gbit/s  workload = bulk(packet: 9000B) }",
         100 / 3, 25_000),
    ],
)  # fmt: skip
def test_what_waits_is_read_before_it_is_too_much(
    rate: str, flows: str, every_ms: float, packets: int
) -> None:
    spec = SPEC.replace("flow one {{ {flow} }}", "{flow}")
    if "9000B" in flows:
        spec = spec.replace("rtt: 50ms", "rtt: 1ms, mtu: 9000B")
    made = expand(only_cell_of(spec.format(rate=rate, flow=flows)))
    captures = [each["description"] for each in made["captures"]]
    assert {each["every_ns"] for each in captures} == {int(every_ms * 1e6)}
    (ring_packets,) = {each["ring_packets"] for each in captures}
    assert ring_packets == pytest.approx(packets, abs=2)
    for client in made["clients"]:
        polled = client["description"].get("poll_every_ns", int(every_ms * 1e6))
        assert polled == int(every_ms * 1e6)


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
