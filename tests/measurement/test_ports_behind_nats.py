"""Captures of cells with a NAT have the ports that hosts know."""

from __future__ import annotations

from dataclasses import fields, replace
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
import pytest
from twice import cells_of

from fairc.mechanisms.devices.nat.record import original
from fairc.runtime.measurement.matching import lines
from fairc.runtime.measurement.pcap import Packets

SPEC = """fexp 1
experiment x {
  topology {
    node a, b, c
    router home, isp
    link a -- home, b -- home, isp -- c { rate = 20Mbit/s  delay = 1ms }
    link home -> isp { rate = 10Mbit/s  delay = 10ms  nat = rebind(3s) }
    link home <- isp { rate = 10Mbit/s  delay = 10ms }
  }
  flow f { from = c  to = a  cca = cubic  workload = bulk }
  flow g { from = c  to = b  cca = cubic  workload = bulk }
  flow local { from = a  to = b  cca = cubic  workload = LOCAL }
  duration = 5s
  measure = [goodput]
}
"""
LISTENS = {"bulk": "address", "iperf3(reverse: off)": "client_address"}


@pytest.mark.parametrize("workload", LISTENS)
def test_what_a_host_behind_a_nat_serves_keeps_its_port(tmp_path: Path, workload: str) -> None:
    """A connection of its own with another port has its own again."""
    (tmp_path / "x.fexp").write_text(SPEC.replace("LOCAL", workload))
    (cell,) = cells_of(tmp_path / "x.fexp")
    (local,) = (flow for flow in cell.flows if flow.name == "local")
    served = int(IPv4Address(getattr(local, LISTENS[workload])))
    (asks,) = {int(IPv4Address(end)) for end in (local.address, local.client_address)} - {served}
    nothing = np.zeros(2, np.int64)
    packets = Packets(**{each.name: nothing for each in fields(Packets)})
    sent = replace(
        packets,
        source=np.array([served, served]),
        source_port=np.array([local.port, 40_000 ^ 0xFF00]),
        destination=np.array([asks, asks]),
        destination_port=np.array([50_000, 50_000 ^ 0xFF00]),
    )
    found = original(cell, sent)
    assert found.source_port.tolist() == [local.port, 40_000]
    assert found.destination_port.tolist() == [50_000, 50_000]
    assert found.translated.tolist() == [0, 1]


def test_a_fair_queue_sees_two_flows_as_ports_change() -> None:
    """Each has a queue of its own, so that packets with the new ports overtake those before."""
    nothing = np.zeros(4, np.int64)
    packets = Packets(**{each.name: nothing for each in fields(Packets)})
    packets = replace(packets, translated=np.array([0, 1, 0, 1]))
    assert [line.tolist() for line in lines(packets, "flows")] in (
        [[0, 2], [1, 3]],
        [[1, 3], [0, 2]],
    )
