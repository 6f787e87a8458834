"""Hosts whose interfaces segment (`hosts { offload = on }`): what changes in a cell, and its id."""

from __future__ import annotations

import pytest
from specs import compilation_of, only_cell_of

from fairc.cell.batch import node_lines
from fairc.cell.expansion import expand
from fairc.compiler.plan import Cell
from fairc.dsl.core.diagnostics import CompileError, Diagnostic

SPEC = """fexp 1
experiment offload {{
  topology = bottleneck(rate: 100Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  hosts {{ {hosts} }}
  flow a {{ cca = {flow}  workload = bulk }}
  duration = 2s
  measure = [goodput]
}}
"""


def cell(hosts: str = "offload = on", flow: str = "cubic") -> Cell:
    return only_cell_of(SPEC.format(hosts=hosts, flow=flow))


def refused(text: str) -> list[Diagnostic]:
    """Return the errors of a spec that the compiler finds."""
    try:
        list(compilation_of(text).cells())
    except CompileError as error:
        return [d for d in error.diagnostics if d.code != "no-entry-capture"]
    return []


def test_frames_go_over_the_wire_behind_the_queue_of_the_host() -> None:
    made = cell()
    nodes = {node.name: node for node in made.nodes}
    shaper = nodes["server"].interfaces[0].shaper
    assert shaper is not None and shaper.transmitter == "hop"
    wire = nodes["server-left"]
    assert wire.kind == "hop"
    assert {i.impairment.rate_bps for i in wire.interfaces if i.impairment} == {10**9}
    assert {i.impairment.delay_ns for i in wire.interfaces if i.impairment} == {0}


def test_only_interfaces_of_hosts_take_several_segments() -> None:
    made = expand(cell(), computing_is_free=True)
    sizes = {
        (node["name"], words[words.index("gso_max_segs") + 1])
        for node in made["network"]["nodes"]
        for words in (line.split(" ") for line in node_lines(node))
        if "gso_max_segs" in words
    }
    many = {name for name, size in sizes if size != "1"}
    assert many == {"server", "client"}
    assert not many & {name for name, size in sizes if size == "1"}


def test_senders_are_watched_where_frames_leave() -> None:
    made = cell()
    watched = {
        free: {
            c["description"]["interface"]
            for c in expand(made, computing_is_free=free)["captures"]
            if c["name"].startswith("sender.server")
        }
        for free in (True, False)
    }
    assert watched == {True: {"server-nic0"}, False: {"server-eth0"}}


def test_off_is_as_if_it_were_not_written() -> None:
    assert cell("offload = off").id == cell("").id != cell().id


@pytest.mark.parametrize(
    ("link", "word"),
    [
        ("rate = 10Mbit/s", "bottleneck"),
        ("rate = 200Mbit/s  transmit = bucket", "bucket"),
    ],
)
def test_links_that_would_take_them_as_one_packet(link: str, word: str) -> None:
    text = """fexp 1
    experiment offload {
      topology {
        node server, client
        router r
        link server -- r { LINK }
        link r -- client { rate = 100Mbit/s  delay = 5ms }
      }
      hosts { offload = on }
      flow a { cca = CCA  workload = bulk }
      duration = 2s
      measure = [goodput]
    }
    """.replace("LINK", link)
    found = refused(text.replace("CCA", "cubic"))
    assert [d.code for d in found] == ["offload-at-link"]
    assert word in found[0].notes[0]
    assert refused(text.replace("CCA", "cubic  over = quic")) == []
