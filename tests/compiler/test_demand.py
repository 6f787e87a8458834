"""Workloads and options against the path: deadlines, extra round trips, ports, warnings; by
hand.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from specs import compilation_of, only_cell_of
from tables import rows

from fairc.compiler import Cell
from fairc.compiler.engines import VM
from fairc.compiler.estimate import Estimate, length, packets, quic_share
from fairc.dsl import CompileError

TEXT = """fexp 1
experiment e {{
  topology = access(rate: 1Mbit/s, rtt: 50ms, queue: fifo(20kB{ecn}))
  users one {{ count = 1 }}
  users two {{ count = 2 }}
  {flows}
  {rest}
  measure = [goodput]
}}
"""


def made(flows: str, rest: str = "", ecn: str = "") -> tuple[Cell | None, list[str]]:
    """Return the only cell, and the codes of everything that is found; None if that is an error."""
    text = TEXT.format(flows=flows, rest=rest, ecn=ecn)
    if ecn:
        text = text.replace("fifo(20kB", "codel(20kB")
    compilation = compilation_of(text)
    try:
        (cell,) = compilation.cells()
    except CompileError:
        cell = None
    return cell, [d.code for d in compilation.diagnostics if d.code != "unused-name"]


def cell_of(flows: str, rest: str = "") -> Cell:
    cell, found = made(flows, rest)
    assert cell is not None, found
    return cell


NS = 10**9
VIDEO = "video(bitrate: 800kbit/s, length: 30s)"


@pytest.mark.parametrize(
    ("flow", "deadline_s"),
    [
        # 10 x (8 Mbit at 1 Mbit/s, and four round trips of 50 ms)
        ("cca = reno  start = 0s  workload = file(1MB)", 10 * 8.2),
        # 24 Mbit at 1 Mbit/s are less than the 30 s that the video plays
        (f"cca = reno  start = 0s  workload = {VIDEO}", 10 * 30.2),
        ("over = udp  rate = 100kbit/s  start = 0s  workload = file(1MB)", 10 * 80.2),
    ],
)
def test_deadline(flow: str, deadline_s: float) -> None:
    assert cell_of(f"flow a {{ {flow} }}").deadline_ns == round(deadline_s * NS)


@pytest.mark.parametrize(
    ("cca", "rtt", "loss", "seconds", "losing_s"),
    [
        # By hand (compiler/loss_rate.py), 2072 packets: 10 Mbit/s take 2.5 s, 2.7 with the round
        # trips of the start (compiler/estimate.py). Seen in a run of each:
        # 7.4, 6.5 and 2.7 s at 50 ms, 8 s (Reno) and 40 s (CUBIC) at 600 ms.
        ("reno", "50ms", "1%", 7.5, 7.5),
        ("cubic", "50ms", "1%", 7.5, 7.5),
        ("bbr", "50ms", "1%", 2.7, 2.5),
        ("cubic", "600ms", "0.5%", 22.0, 22.0),
    ],
)
def test_random_losses_count_in_estimates_and_deadlines(
    cca: str, rtt: str, loss: str, seconds: float, losing_s: float
) -> None:
    cell = only_cell_of(
        f"""fexp 1
        experiment e {{
          topology = bottleneck(rate: 10Mbit/s, rtt: {rtt}, loss: {loss})
          flow a {{ cca = {cca}  start = 0s  workload = file(3MB) }}
          measure = [fct]
        }}"""
    )
    assert length(cell) == pytest.approx(seconds, rel=0.05)
    rtts_s = 4 * cell.flows[0].base_rtt_ns / NS
    assert cell.deadline_ns / NS == pytest.approx(10 * (losing_s + rtts_s), rel=0.05)


def test_the_extra_round_trip_of_a_flow_is_on_its_own_host() -> None:
    cell = cell_of(
        "flow near { users = one  cca = reno  workload = file(1MB) }"
        "flow far  { users = two  cca = reno  rtt = 75ms  workload = file(1MB) }"
    )
    assert {f.name: f.base_rtt_ns for f in cell.flows} == {
        "near-1": 50_000_000,
        "far-1": 125_000_000,
        "far-2": 125_000_000,
    }


def test_an_extra_round_trip_without_a_host_of_its_own_is_refused() -> None:
    cell, found = made(
        "flow a { cca = reno  rtt = 10ms  workload = file(1MB) }"
        "flow b { cca = reno  workload = file(1MB) }"
    )
    assert (cell, found) == (None, ["shared-host"])


def test_equal_networks_with_different_extra_round_trips_are_told_apart() -> None:
    flows = "flow a { users = one  cca = reno  rtt = x  workload = file(1MB) }"
    text = TEXT.format(flows=flows, rest="sweep { x = [0ms, 10ms, 40ms] }", ecn="")
    rtts_ns = [cell.flows[0].base_rtt_ns for cell in compilation_of(text).cells()]
    assert rtts_ns == [50_000_000, 60_000_000, 90_000_000]


# A rate of UDP is of IP, that of a link of frames: 500 B take 514, full packets 1514. At
# 100 Mbit/s, 99 % of the frames of 15 kB wait, which 20 kB hold; of 30 kB they do not. 6 MB at
# the 900 kbit/s that a flow of 100 kbit/s leaves take 53 s, at half the rate 96 s. The BDP is
# 1 Mbit/s x 50 ms / 8 = 6250 bytes. A video of 995 kbit/s has 1.04 Mbit/s of frames: of 2.2 s in
# the buffer, 55 s of playing take 2.1 s; all of one of 3 s has come before its buffer is empty.
WARNED = """
over = udp  rate = 900kbit/s  workload = bulk |
over = udp  rate = 600kbit/s  count = 2  workload = bulk | udp-overload
over = udp  rate = 990kbit/s  workload = bulk |
over = udp  rate = 995kbit/s  workload = bulk | udp-overload
over = udp  rate = 970kbit/s  workload = bulk(packet: 500B) |
over = udp  rate = 980kbit/s  workload = bulk(packet: 500B) | udp-overload
over = udp  rate = 900kbit/s  stop = 20s  workload = bulk }
  flow b { over = udp  rate = 900kbit/s  start = 20s  workload = bulk |
over = udp  rate = 900kbit/s  stop = 20s  workload = bulk }
  flow b { over = udp  rate = 200kbit/s  start = 19s  workload = bulk | udp-overload
over = udp  rate = 100Mbit/s  workload = file(15kB) |
over = udp  rate = 100Mbit/s  workload = file(30kB) | udp-overload
over = udp  workload = onoff(1.9Mbit/s, 1s, 1s) |
over = udp  workload = onoff(1.9Mbit/s, 2s, 1s) | udp-overload
cca = reno  workload = video(900kbit/s, 30s) |
cca = reno  workload = video(1.1Mbit/s, 30s) | video-too-fast
cca = reno  workload = video(995kbit/s, 55s) | video-too-fast
cca = reno  workload = video(995kbit/s, 40s) |
cca = reno  workload = video(2Mbit/s, 3s) |
cca = reno  workload = video(900kbit/s, 70s) | short-duration
cca = reno  workload = file(6MB) }  flow b { over = udp  rate = 100kbit/s  workload = bulk |
cca = reno  workload = file(6MB) }  flow b { cca = reno  workload = bulk | short-duration
cca = reno  window = 6250B  workload = bulk |
cca = reno  window = 6249B  workload = bulk | window-below-bdp
cca = reno  count = 2  window = 3200B  workload = bulk |
cca = dctcp  workload = bulk | dctcp-without-ecn
cca = dctcp  ecn = on  workload = bulk | dctcp-without-ecn
over = udp  count = 9999  rate = 1bit/s  workload = bulk |
"""


@pytest.mark.parametrize(("flow", "code"), rows(WARNED))
def test_warnings(flow: str, code: str) -> None:
    cell, found = made(f"flow a {{ {flow} }}", "duration = 60s")
    assert cell is not None
    assert found == ([code] if code else [])


def test_marks_need_a_flow_that_asks_for_them() -> None:
    for ecn, codes in (("off", ["nothing-to-mark"]), ("on", [])):
        flow = f"flow a {{ cca = reno  ecn = {ecn}  workload = bulk }}"
        _, found = made(flow, "duration = 60s", ", ecn: on")
        assert sorted({c for c in found if c != "target-below-packet"}) == codes


def test_connections_over_udp_that_need_too_many_ports() -> None:
    flows = "".join(
        f"flow u{n} {{ over = udp  count = 9999  rate = 1bit/s  workload = bulk }}\n"
        for n in range(7)
    )
    cell, found = made(flows, "duration = 60s")
    assert (cell, "too-many-ports" in found) == (None, True)


@pytest.mark.parametrize(
    ("flow", "length_s", "sent"),
    [
        # as long as it plays, 3 MB in packets of 1448 bytes
        (f"cca = reno  start = 0s  workload = {VIDEO}", 30, 3_000_000 / 1448),
        (
            "over = udp  start = 0s  stop = 20s  workload = onoff(300kbit/s, 1s, 2s)",
            20,
            100_000 * 20 / 8 / 1500,
        ),
        ("cca = reno  start = 0s  stop = 20s  workload = requests(10kB, 1s)", 20, 200_000 / 1448),
        ("cca = reno  start = 0s  stop = 20s  workload = bulk", 20, 1e6 * 20 / 8 / 1514),
    ],
)
def test_estimates(flow: str, length_s: float, sent: float) -> None:
    cell = cell_of(f"flow a {{ {flow} }}")
    assert length(cell) == pytest.approx(length_s)
    assert packets(cell, length_s) == pytest.approx(sent, rel=1e-6)


QUIC = "flow b { over = quic  cca = cubic "


@pytest.mark.parametrize(
    ("flows", "share"),
    [
        ("flow a { cca = reno  workload = bulk }", 0),
        ("flow a { over = quic  cca = cubic  workload = bulk }", 1),
        (f"flow a {{ cca = reno  workload = file(3MB) }} {QUIC} workload = file(1MB) }}", 1 / 4),
        (f"flow a {{ cca = reno  workload = file(3MB) }} {QUIC} workload = bulk }}", 1 / 2),
    ],
)
def test_packets_over_quic_take_longer(flows: str, share: float) -> None:
    cell, _ = made(flows, "duration = 60s")
    assert cell is not None
    assert quic_share(cell, 60) == pytest.approx(share)
    plain = replace(cell, flows=tuple(replace(flow, transport="tcp") for flow in cell.flows))
    both = Estimate(jobs=1), Estimate(jobs=1)
    for estimate, one in zip(both, (cell, plain), strict=True):
        estimate.add(one)
    more_s = both[0].wall_s - both[1].wall_s
    assert more_s == pytest.approx(VM.per_quic_packet_s * share * packets(cell, 60))


def test_the_extra_round_trip_stays_when_the_delay_changes() -> None:
    text = """fexp 1
    experiment e {
      topology {
        node server, client
        link server -- client { rate = 1Mbit/s  delay = 10ms  at 5s { delay = 20ms } }
      }
      flow a { cca = reno  rtt = 10ms  workload = file(1MB) }
      measure = [goodput]
    }
    """
    cell = only_cell_of(text)
    (hop,) = [node for node in cell.nodes if node.kind == "hop"]
    for interface in hop.interfaces:
        assert interface.impairment is not None
        later = [change.impairment for change in interface.changes if change.impairment]
        assert interface.impairment.delay_ns == 15_000_000
        assert [impairment.delay_ns for impairment in later] == [25_000_000]


def test_an_overload_is_that_of_the_flow_that_sends_most() -> None:
    flows = (
        "flow load { over = udp  rate = 1.2Mbit/s  workload = bulk }\n"
        "flow probe { over = udp  workload = ping(every: 20ms) }"
    )
    compilation = compilation_of(TEXT.format(flows=flows, rest="duration = 9s", ecn=""))
    tuple(compilation.cells())
    (found,) = (d for d in compilation.diagnostics if d.code == "udp-overload")
    assert found.message.startswith("with `load`")


@pytest.mark.parametrize(("second", "codes"), [("3Mbit/s", ["udp-overload"]), ("1.9Mbit/s", [])])
def test_an_overload_of_a_link_that_is_not_the_bottleneck(second: str, codes: list[str]) -> None:
    """What of `long` passes the first link fits into the second one, whatever it sends."""
    compilation = compilation_of(
        "fexp 1\nexperiment e {\n  topology {\n    node s, c, d\n    router left, middle, right\n"
        "    link s -- left, middle -- d, right -- c { rate = 100Mbit/s }\n"
        "    link left -- middle { rate = 4Mbit/s }\n    link middle -- right { rate = 2.1Mbit/s }\n"
        "  }\n  flow long { from = s  to = c  over = udp  rate = 2Mbit/s  workload = bulk }\n"
        f"  flow part {{ from = s  to = d  over = udp  rate = {second}  workload = bulk }}\n"
        "  duration = 9s\n  measure = [goodput]\n}\n"
    )
    tuple(compilation.cells())
    found = [d for d in compilation.diagnostics if d.code == "udp-overload"]
    assert [d.code for d in found] == codes
    for each in found:
        assert each.message == "with `part`, UDP sends more than its bottleneck carries"
        assert "5.047 Mbit/s" in each.notes[0] and "from `left` over 4 Mbit/s" in each.notes[0]


def test_the_disk_that_captures_need_does_not_grow_with_the_interfaces_that_are_captured() -> None:
    """A capture on each of 12 interfaces in front of a queue sees a part of the packets each."""

    def disk_bytes(topology: str, flow: str) -> float:
        estimate = Estimate(engine="uml")
        estimate.add(
            only_cell_of(
                f"fexp 1\nexperiment e {{\n  topology = {topology}(rate: 10Mbit/s, rtt: 20ms)\n"
                f"  flow f[i] for i in 1..12 {{ {flow}  cca = cubic  workload = bulk }}\n"
                "  duration = 60s\n  measure = [goodput]\n}\n"
            )
        )
        return estimate.disk_bytes

    together = disk_bytes("bottleneck", "")
    assert disk_bytes("dumbbell", "") == pytest.approx(together, rel=0.01)
    # A full frame of 1514 bytes is captured in front of the queue, behind it and behind its delay,
    # and its headers at the sender; each flow logs 800 bytes a second.
    captured, logged = 60 * 10e6 / 8 / 1514, 12 * 60
    assert together == pytest.approx((3 + 64 / 112) * 25 * captured + 800 * logged, rel=0.05)


@pytest.mark.parametrize(
    ("pep", "size", "seconds"),
    # Cells took 3.02, 6.03 and 9.62 s, with split connections 0.86, 1.17 and 4.18 s.
    [
        ("none", "100kB", 3.0),
        ("none", "1MB", 6.0),
        ("none", "10MB", 9.6),
        ("split", "100kB", 0.8),
        ("split", "1MB", 1.1),
        ("split", "10MB", 4.1),
    ],
)
def test_round_trips_of_the_start_count_in_estimates(pep: str, size: str, seconds: float) -> None:
    cell = only_cell_of(
        f"""fexp 1
        experiment e {{
          topology = geo(pep: {pep})
          flow a {{ cca = cubic  start = 0s  workload = file({size}) }}
          measure = [fct]
        }}"""
    )
    assert length(cell) == pytest.approx(seconds, rel=0.1)
