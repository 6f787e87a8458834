"""Links that change: from the file to the plan and to the lines of tc."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from documents import changed_lines, interface_lines
from pydantic import ValidationError
from specs import experiment_of, only_cell_of

from fairc import dsl
from fairc.cell.links import REAL_TIME_SLACK_NS, lower_name
from fairc.compiler import Cell, compile
from fairc.compiler.passes.dynamics import stop_bps
from fairc.compiler.plan import Interface, cell_json, parse_cell
from fairc.dsl.core.diagnostics import CompileError

S = 10**9
FRAME_BITS = 8 * 1514


def only_cell(link: str, folder: Path, extra: str = "") -> Cell:
    """The cell of an experiment with one link from server to client."""
    text = f"""fexp 1
    experiment e {{
      topology {{
        node server, client
        link server -> client {{ {link} }}
        link client -> server {{ rate = 10Mbit/s  delay = 10ms }}
      }}
      flow a {{ cca = cubic  workload = bulk }}
      duration = 30s
      {extra}
      measure = [goodput]
    }}
    """
    return only_cell_of(text, str(folder / "file.fexp"))


def interfaces(cell: Cell) -> tuple[Interface, Interface]:
    """The shaped end of the link, and the end of its hop that packets leave by."""
    nodes = {node.name: node for node in cell.nodes}
    return nodes["server"].interfaces[0], nodes["server-client"].interfaces[1]


def test_each_change_goes_where_it_acts(tmp_path: Path) -> None:
    link = (
        "rate = 8Mbit/s  delay = 10ms  at 5s { rate = 2Mbit/s  loss = 1% }  at 9s { delay = 40ms }"
    )
    shaped, hop = interfaces(only_cell(link, tmp_path))
    assert [(c.at_ns, c.rate_bps) for c in shaped.changes] == [(5 * S, 2_000_000)]
    assert shaped.repeat_ns is None
    states = [(c.at_ns, c.impairment) for c in hop.changes]
    found = [(at, i.delay_ns // 10**6, i.loss, i.in_order) for at, i in states if i]
    assert found == [(5 * S, 10, 0.01, True), (9 * S, 40, 0.01, True)]
    assert hop.impairment is not None and hop.impairment.in_order
    seeds = {i.seed for _, i in states if i}
    assert len(seeds) == 2 and None not in seeds, "what is changed begins a new stream"


def test_reordering_comes_and_goes(tmp_path: Path) -> None:
    link = "rate = 8Mbit/s  delay = 10ms  every 5s from 10s for 100ms { reorder = 5% }"
    _, hop = interfaces(only_cell(link, tmp_path))
    assert hop.impairment is not None and hop.impairment.reorder == 0
    found = [
        (c.at_ns, c.impairment.reorder, c.impairment.seed) for c in hop.changes if c.impairment
    ]
    assert [(at, share) for at, share, _ in found] == [
        (at, share)
        for begin in (10, 15, 20, 25)
        for at, share in ((begin * S, 0.05), (begin * S + S // 10, 0.0))
    ]
    assert all((seed is not None) == (share > 0) for _, share, seed in found)


def test_reordering_needs_a_delay(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="reorder-without-delay"):
        only_cell("rate = 8Mbit/s  at 5s { reorder = 5% }", tmp_path)


def test_a_link_that_is_down_loses_everything_and_comes_back_as_it_was(tmp_path: Path) -> None:
    link = "rate = 8Mbit/s  delay = 10ms  loss = 2%  down from 3s to 4s"
    shaped, hop = interfaces(only_cell(link, tmp_path))
    assert shaped.changes == ()
    assert [(c.at_ns, c.impairment and c.impairment.loss) for c in hop.changes] == [
        (3 * S, 1.0),
        (4 * S, 0.02),
    ]
    (line,) = changed_lines(hop, hop.changes[0])
    assert "loss random 100%" in line


def test_a_link_without_delay_gets_a_hop_to_be_down_on(tmp_path: Path) -> None:
    _, hop = interfaces(only_cell("rate = 8Mbit/s  down from 3s to 4s", tmp_path))
    assert len(hop.changes) == 2


def test_the_limits_are_those_of_the_fastest_and_the_farthest(tmp_path: Path) -> None:
    link = "rate = 8Mbit/s  delay = 10ms  at 5s { rate = 80Mbit/s  delay = 500ms }"
    cell = only_cell(link, tmp_path)
    _, hop = interfaces(cell)
    assert hop.impairment is not None
    assert hop.impairment.limit_packets >= 2 * 80e6 * 0.5 / FRAME_BITS
    assert cell.flows[0].buffer_bytes >= 2 * 80e6 * 0.51 / 8


def test_a_stop_is_one_frame_long(tmp_path: Path) -> None:
    link = "rate = 8Mbit/s  delay = 10ms  at 5s { rate = 0bit/s }  at 7s { rate = 8Mbit/s }"
    shaped, _ = interfaces(only_cell(link, tmp_path))
    *stop, after = shaped.changes
    assert (after.at_ns, after.rate_bps) == (7 * S, 8_000_000)
    assert [change.at_ns for change in stop] == list(range(5 * S, 7 * S, S // 16))
    for change in stop:  # whenever it comes, a full frame lasts until the stop ends
        assert change.rate_bps == stop_bps(7 * S - change.at_ns)
    assert stop_bps(100 * S) == 8 * (1514 // 50), "the shaper forgets after a minute"


def test_the_shaper_of_a_link_that_changes(tmp_path: Path) -> None:
    link = "rate = 8Mbit/s  delay = 10ms  queue = fifo(20pkt)  at 5s { rate = 2Mbit/s }"
    shaped, _ = interfaces(only_cell(link, tmp_path))
    name = shaped.name
    words = "htb rate 8000000bit ceil 8000000bit burst 20 cburst 20 quantum 1514"
    assert shaped.shaper is not None and shaped.shaper.transmitter == "below"
    assert list(interface_lines(shaped, slack_ns=20_000)) == [
        f"qdisc add dev {name} root handle 1: htb default 1",
        f"class add dev {name} parent 1: classid 1:1 {words}",
        f"qdisc add dev {name} parent 1:1 handle 2: pfifo limit 20",
    ]
    for slack_ns, slack in (20_000, 5), (REAL_TIME_SLACK_NS, 25):
        words = f"htb rate 2000000bit ceil 2000000bit burst {slack} cburst {slack}"
        assert changed_lines(shaped, shaped.changes[0], slack_ns) == [
            f"class change dev {name} parent 1: classid 1:1 {words} quantum 1514",
            (
                f"qdisc change dev {lower_name(name)} root handle 1: netem limit 1000000 rate"
                f" 2000000bit"
            ),
        ]


def test_where_a_rate_rises_the_transmitter_is_first(tmp_path: Path) -> None:
    link = "rate = 8Mbit/s  delay = 10ms  at 5s { rate = 9Mbit/s }"
    shaped, _ = interfaces(only_cell(link, tmp_path))
    kinds = [line.split()[0] for line in changed_lines(shaped, shaped.changes[0])]
    assert kinds == ["qdisc", "class"]


def trace(folder: Path, times_ms: list[int]) -> str:
    (folder / "t.down").write_text("".join(f"{t}\n" for t in times_ms))
    return 'rate = trace("t.down", every: 100ms)  delay = 10ms'


def test_the_bytes_of_each_bin_of_a_trace_are_kept(tmp_path: Path) -> None:
    times = [1, 50, 99, 100, 101, 150, 201, 202, 203, 204, 250]
    shaped, _ = interfaces(only_cell(trace(tmp_path, times), tmp_path))
    assert shaped.repeat_ns == 250_000_000
    sent = [(c.at_ns // 10**6, c.rate_bps) for c in shaped.changes]
    assert [at for at, _ in sent] == [0, 100, 200]
    ends = [100, 200, 250]
    for (at, rate), end, frames in zip(sent, ends, (4, 2, 5), strict=True):
        assert (rate or 0) * (end - at) / 1000 / FRAME_BITS == pytest.approx(frames, rel=1e-3)
    assert shaped.shaper is not None
    assert shaped.shaper.rate_bps == pytest.approx(11 * FRAME_BITS / 0.25, rel=1e-6)


def test_bins_of_equal_rate_are_one(tmp_path: Path) -> None:
    shaped, _ = interfaces(only_cell(trace(tmp_path, list(range(10, 1001, 10))), tmp_path))
    assert len(shaped.changes) == 1


def test_a_stop_of_a_trace_is_paid_back(tmp_path: Path) -> None:
    """Of 4, 0, 0, 4 chances the stop lets one frame go, and the last bin has one less."""
    times = [10, 20, 30, 40, 310, 320, 330, 400]
    shaped, _ = interfaces(only_cell(trace(tmp_path, times), tmp_path))
    frames = []
    changes = [change for change in shaped.changes if not change.is_rest]
    assert len(shaped.changes) == len(changes) + 1, "the stop has two bins"
    borders = [*(c.at_ns for c in changes), 400_000_000]
    for change, end_ns in zip(changes, borders[1:], strict=True):
        frames.append((change.rate_bps or 0) * (end_ns - change.at_ns) / S / FRAME_BITS)
    assert frames == pytest.approx([4, 1, 3], rel=1e-2)


def test_a_trace_is_an_input_of_the_plan(tmp_path: Path) -> None:
    text = trace(tmp_path, [5, 10])
    only_cell(text, tmp_path)
    source = f"""fexp 1
    experiment e {{
      topology {{ node server, client  link server -- client {{ {text} }} }}
      flow a {{ cca = cubic  workload = bulk }}
      duration = 30s
      measure = [goodput]
    }}
    """
    experiment = experiment_of(source, str(tmp_path / "file.fexp"))
    (file,) = compile(experiment).plan.inputs
    assert file.path == "t.down"
    before = file.sha256
    (tmp_path / "t.down").write_text("6\n10\n")
    experiment = experiment_of(source, str(tmp_path / "file.fexp"))
    assert compile(experiment).plan.inputs[0].sha256 != before


@pytest.mark.parametrize(
    "content", [b"", b"0\n", b"a\n", b"1 2\n", b"-1\n", b"1\n\n2\n", b"\xff\xfe\n", b"1e3\n"]
)
def test_rubbish_in_a_trace_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.down").write_bytes(content)
    with pytest.raises(AssertionError, match="bad-trace"):
        only_cell('rate = trace("t.down")  delay = 10ms', tmp_path)


def test_a_link_out_of_the_folder_is_no_way_out(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("5\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "t.down").symlink_to(tmp_path / "outside")
    with pytest.raises(AssertionError, match="file-path"):
        only_cell('rate = trace("t.down")  delay = 10ms', inner)


def test_changes_of_a_plan_repeat_no_faster_than_those_of_a_trace(tmp_path: Path) -> None:
    """A report goes through all of them: of 5 s with two each nanosecond, 10^10."""
    (tmp_path / "t.down").write_text("1\n2\n4\n")
    cell = only_cell('rate = trace("t.down", every: 1ms)  delay = 10ms', tmp_path)
    document = json.loads(cell_json(cell))
    (end,) = [i for n in document["nodes"] for i in n["interfaces"] if i.get("repeat_ns")]
    assert end["repeat_ns"] == 4_000_000 and len(end["changes"]) > 1
    parse_cell(json.dumps(document))
    for number, change in enumerate(end["changes"]):
        change["at_ns"] = number
    end["repeat_ns"] = 1000
    with pytest.raises(ValidationError, match="repeat faster than one each millisecond"):
        parse_cell(json.dumps(document))


def test_a_mobile_network_follows_a_trace(tmp_path: Path) -> None:
    (tmp_path / "t.down").write_text("".join(f"{t}\n" for t in range(3, 1000, 3)))
    text = """fexp 1
    experiment e {
      topology = 4g(down: trace("t.down"), up: 2Mbit/s)
      flow a { cca = cubic  workload = bulk }
      duration = 30s
      measure = [goodput]
    }
    """
    cell = only_cell_of(text, str(tmp_path / "file.fexp"))
    (bottleneck,) = [i for n in cell.nodes for i in n.interfaces if i.bottleneck]
    assert bottleneck.changes and bottleneck.repeat_ns == 999_000_000


RING = (
    "node s, c  router a, b, d  link s -- a, c -- b { rate = 1Mbit/s }  link a -> b, b -> d, d ->"
    " a { rate = 1Mbit/s }"
)
ISLANDS = "node s, c  router a, b  link s -- a, c -- b { rate = 1Mbit/s }"


@pytest.mark.parametrize(("body", "code"), [(RING, "one-way-link"), (ISLANDS, "unreachable")])
def test_networks_that_packets_cannot_cross_are_refused(body: str, code: str) -> None:
    text = f"""fexp 1
    experiment e {{
      topology {{ {body} }}
      flow a {{ from = s  to = c  cca = cubic  workload = file(1MB) }}
      measure = [goodput]
    }}
    """
    experiment, found = dsl.load(dsl.Source("file.fexp", text))
    codes = {d.code for d in found}
    if experiment is not None:
        with pytest.raises(CompileError) as caught:
            list(compile(experiment).cells())
        codes |= {d.code for d in caught.value.diagnostics}
    assert code in codes
