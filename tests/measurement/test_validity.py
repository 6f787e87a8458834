"""Each check of the network: silent on a cell as planned, and in words on one that is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from judged import edit, verdict
from madeartefacts import Made, crowded, cut_short, lossy
from madecell import FULL, MS, made_cell
from madepackets import steady, through_queue

from fairc.compiler.plan import Cell, Change, GilbertElliott, Impairment
from fairc.mechanisms.effects.corrupt.cell import Corruption
from fairc.mechanisms.queues.fifo.cell import Fifo
from fairc.mechanisms.queues.fq.cell import Fq
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.validity import judge
from fairc.runtime.validity.buffers import buffer
from fairc.runtime.validity.expected_losses import LossCount, pooled
from fairc.runtime.validity.loss import random_loss
from fairc.runtime.validity.service import backlogged_rate, changes


def fq(limit_packets: int) -> Fq:
    return Fq(
        limit_packets=limit_packets,
        flow_limit_packets=100,
        quantum_bytes=2 * FULL,
        initial_quantum_bytes=10 * FULL,
        buckets=1024,
        flows=1024,
        ce_threshold_ns=None,
    )


def packets_at(content: bytes) -> list[int]:
    """Return where the packets of a capture begin, and its end."""
    at = [24]
    while at[-1] < len(content):
        at.append(at[-1] + 16 + int.from_bytes(content[at[-1] + 8 : at[-1] + 12], "little"))
    return at


def set_pings(rtt_ns: int) -> Callable[[Path], None]:
    return edit("ping.json", lambda d: d[0].update(rtts_ns=[rtt_ns] * 9))


def test_a_cell_as_planned_is_valid(tmp_path: Path) -> None:
    made = crowded()
    assert verdict(made, tmp_path) == ("valid", "")
    queue = load(made.cell, tmp_path).queues[0]
    assert len(queue.drops_s) > 50, "the case exercises a full queue"


@pytest.mark.parametrize("limit", [3, 8])
def test_a_queue_in_packets_is_valid_too(tmp_path: Path, limit: int) -> None:
    assert verdict(crowded(limit_bytes=None, limit_packets=limit), tmp_path) == ("valid", "")


@pytest.mark.parametrize(("kind", "expected"), [("clsact", "valid"), ("htb", "invalid")])
def test_what_filters_drop_of_what_arrives_is_not_of_the_queue(
    tmp_path: Path, kind: str, expected: str
) -> None:
    """As a NAT does beside a bottleneck, with packets that come back to a port of before."""
    made = crowded()
    node, interface = load(made.cell, made.write(tmp_path / "as-planned")).queues[0].place
    row = {"kind": kind, "handle": "ffff:", "dev": interface, "parent": "ffff:fff1", "drops": 9999}
    change = edit("qdisc-after.json", lambda nodes: nodes[node].append(row))
    assert verdict(made, tmp_path, change)[0] == expected


def rewritten(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Return a change of the content of one artefact."""

    def apply(folder: Path) -> None:
        (folder / name).write_bytes(change((folder / name).read_bytes()))

    return apply


WRONG: dict[str, tuple[Callable[[Path], None], str]] = {
    "no ping came back": (
        edit("ping.json", lambda d: d.pop()),
        "flow b: no ping came back",
    ),
    "a drop in another queue": (
        edit("qdisc-after.json", lambda d: d["h"][0].update(drops=1)),
        "the queue at h/h-eth0 dropped 1 packets",
    ),
    "no counters": (
        edit("qdisc-after.json", lambda d: d.pop("h")),
        "no counters of the queue at h/h-eth0",
    ),
    "counters that disagree with the captures": (
        edit("qdisc-after.json", lambda d: [q.update(drops=0) for q in d["r1"]]),
        "counted 0 drops, the captures show",
    ),
    "a capture that lost packets": (
        rewritten("exit-r1-eth2.ndjson", lambda b: b.replace(b'"dropped": 0', b'"dropped": 3')),
        "capture exit-r1-eth2 missed 3 packets",
    ),
    "a capture without counts": (
        rewritten("exit-r1-eth2.ndjson", lambda _: b'{"t_ns": -1, "event": "capturing"}\n'),
        "exit-r1-eth2 wrote no counts",
    ),
    "a capture that ends in a packet": (
        rewritten("delivered-h-eth1.pcap", lambda b: b[:-7]),
        "capture delivered-h-eth1 ends with",
    ),
    "packets that nobody saw enter": (
        rewritten("entry-r1-eth0.pcap", lambda b: b[: packets_at(b)[40]]),
        "packets left it without having been captured at its entry",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_makes_the_cell_invalid(tmp_path: Path, what: str) -> None:
    change, words = WRONG[what]
    found, reasons = verdict(crowded(), tmp_path, change)
    assert (found, words in reasons) == ("invalid", True)


def test_a_shaper_of_another_rate_is_invalid(tmp_path: Path) -> None:
    made = crowded()
    planned = made_cell(rate_bps=1_020_000)
    found, reasons = verdict(Made(planned, made.packets, made.ended_ns), tmp_path)
    assert found == "invalid"
    assert "bit/s while packets waited, not 1.02e+06 bit/s" in reasons


def test_a_rate_within_one_percent_is_valid(tmp_path: Path) -> None:
    made = crowded()
    planned = made_cell(rate_bps=1_009_000)
    assert verdict(Made(planned, made.packets, made.ended_ns), tmp_path)[0] == "valid"


def test_the_tokens_of_an_idle_shaper_do_not_count(tmp_path: Path) -> None:
    """Pairs of frames: the first goes at once, so only the second says how fast the shaper is."""
    cell = made_cell()
    pairs = [p for t in range(50, 9_000, 30) for p in steady(t * MS + 1, MS, 0, t * MS)[1:] * 2]
    made = Made(cell, through_queue(cell, pairs), 9_300 * MS)
    made.write(tmp_path)
    frames, slowest_bps, fastest_bps = backlogged_rate(load(cell, tmp_path).queues[0], slack_s=0.0)
    assert frames == len(pairs) // 2
    assert slowest_bps == pytest.approx(1e6, rel=0.01)
    assert fastest_bps == pytest.approx(1e6, rel=0.01)
    # A bucket with a millisecond to spare, as tc shows it: that much is not known of every pair.
    edit("qdisc-after.json", lambda d: d["r1"][0]["options"].update(burst=FULL + 125))(tmp_path)
    _, slowest_bps, fastest_bps = backlogged_rate(load(cell, tmp_path).queues[0], slack_s=0.0)
    pair_ms = FULL * 8 / 1e3
    assert slowest_bps == pytest.approx(1e6 * pair_ms / (pair_ms + 1), rel=0.01)
    assert fastest_bps == pytest.approx(1e6 * pair_ms / (pair_ms - 1), rel=0.01)


def test_a_queue_that_has_not_drained_is_flagged(tmp_path: Path) -> None:
    """One in a hundred packets may still wait when the captures end."""
    made = crowded()
    for waiting, expected in ((3, "valid"), (6, "flagged")):
        folder = cut_short(made, waiting, tmp_path / str(waiting))
        found, reasons = judge(load(made.cell, folder))
        assert found == expected, reasons
    (reason,) = reasons
    assert reason.startswith(f"6 of {len(made.packets)} packets still waited at r1/r1-eth2 when")


@pytest.mark.parametrize(
    ("rtt_ms", "expected"), [(49.4, "invalid"), (49.6, "valid"), (50.4, "valid"), (50.6, "invalid")]
)
def test_base_rtt(tmp_path: Path, rtt_ms: float, expected: str) -> None:
    found, reasons = verdict(crowded(), tmp_path, set_pings(int(rtt_ms * MS)))
    assert found == expected
    assert ("the base RTT is" in reasons) == (expected == "invalid")


def test_base_rtt_of_a_long_path_has_one_percent(tmp_path: Path) -> None:
    made = crowded(delay_ns=150 * MS)
    assert "the base RTT" not in verdict(made, tmp_path, set_pings(302_900_000))[1]


def test_pings_need_not_come_back_over_a_link_that_loses_nearly_all(tmp_path: Path) -> None:
    """Of ten pings none is expected at a loss of 99 %, and seven at one of 30 %."""

    def lose_all(document: Any) -> None:
        for entry in document:
            entry.update(sent=10, rtts_ns=[])

    for loss, expected in (0.99, "flagged"), (0.3, "invalid"):
        _, reasons = verdict(crowded(loss=loss), tmp_path / str(loss), edit("ping.json", lose_all))
        (line,) = [r for r in reasons.splitlines() if "flow b: no ping" in r]
        assert ("which can happen with a round-trip loss of 99.0%" in line) == (
            expected == "flagged"
        ), line


def test_planned_random_loss_is_valid_and_unplanned_is_not(tmp_path: Path) -> None:
    assert verdict(lossy(0.03, 15), tmp_path / "planned") == ("valid", "")
    found, reasons = verdict(lossy(0.0, 15), tmp_path / "unplanned")
    assert found == "invalid"
    assert "a probability of 0 does not explain that" in reasons
    assert "h/h-eth1 dropped" in reasons


def test_bursts_of_losses_beside_damage(tmp_path: Path) -> None:
    """A link that loses packets in bursts and damages others loses as many as both do."""
    made, planned = lossy(0.03, 15), made_cell(loss=0.03)
    chain = GilbertElliott(p=0.002, r=0.998, h=0.0, k=1.0)

    def of(damaged: float) -> list[str]:
        effects = (Corruption(share=damaged),) if damaged else ()
        nodes = tuple(
            replace(
                node,
                interfaces=tuple(
                    replace(
                        i,
                        impairment=replace(
                            i.impairment, bursts=chain, loss=chain.loss, effects=effects
                        ),
                    )
                    if i.impairment is not None and i.impairment.loss
                    else i
                    for i in node.interfaces
                ),
            )
            for node in planned.nodes
        )
        cell = replace(planned, nodes=nodes)
        measured = load(cell, Made(cell, made.packets, made.ended_ns).write(tmp_path))
        return [finding.reason for finding in random_loss(measured)]

    assert of(0.03) == []
    (reason,) = of(0.0)
    assert "a probability of 0.002 explains that in fewer than 1 of 10,000 cells" in reason


@pytest.mark.parametrize(
    ("limit", "words"), [(30_000, "packets that had room"), (8_000, "more than its limit of 8000")]
)
def test_another_buffer_than_planned(tmp_path: Path, limit: int, words: str) -> None:
    made = crowded()
    found, reasons = verdict(
        Made(made_cell(limit_bytes=limit), made.packets, made.ended_ns), tmp_path
    )
    assert (found, words in reasons) == ("invalid", True)


@pytest.mark.parametrize(
    ("kind", "limit", "dscp", "expected"),
    [
        (Fifo, 7, 0, []),
        (Fifo, 6, 0, ["8 packets waited at r1/r1-eth2, more than its limit of 6"]),
        # It counts each class of service for itself, and not what finds it empty.
        (fq, 1, 0, []),
        (fq, 1, 46, []),
    ],
)
def test_a_queue_that_holds_more_than_its_limit(
    tmp_path: Path, kind: Any, limit: int, dscp: int, expected: list[str]
) -> None:
    made = crowded(limit_bytes=None, limit_packets=8)
    planned = made_cell(limit_bytes=None, limit_packets=limit)
    nodes = tuple(
        replace(
            node,
            interfaces=tuple(
                replace(i, queue=kind(limit_packets=limit)) if i.queue else i
                for i in node.interfaces
            ),
        )
        for node in planned.nodes
    )
    flows = tuple(replace(flow, dscp=dscp) for flow in planned.flows)
    cell = replace(planned, nodes=nodes, flows=flows)
    folder = Made(cell, made.packets, made.ended_ns).write(tmp_path)
    found = [finding.reason.partition(":")[0] for finding in buffer(load(cell, folder))]
    assert [reason for reason in found if "waited" in reason] == expected


def test_what_a_device_may_have_held_is_not_in_the_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is captured before the device; as many as came within the time that one was held."""
    made = crowded(limit_bytes=None, limit_packets=8)
    planned = made_cell(limit_bytes=None, limit_packets=4)
    measured = load(planned, Made(planned, made.packets, made.ended_ns).write(tmp_path))
    for held_s, is_beyond in ((0.0, True), (1e-9, True), (made.ended_ns * 1e-9, False)):
        monkeypatch.setattr(Measurement, "held_s", lambda _, place, held_s=held_s: held_s)
        reasons = " ".join(finding.reason for finding in buffer(measured))
        assert ("8 packets waited" in reasons) == is_beyond


@pytest.mark.parametrize(("planned_s", "expected"), [(12, 0), (13, 1)])
def test_a_change_at_the_end_is_none(tmp_path: Path, planned_s: int, expected: int) -> None:
    """The end is noticed late: a wait of 12 s may end 12 ms late (poll(2) in Linux)."""
    made = crowded()
    hop = next(node for node in made.cell.nodes if node.name == "h")
    change = Change(12_000 * MS, impairment=Impairment(delay_ns=1))
    first = replace(hop.interfaces[0], changes=(change,))
    others = [node for node in made.cell.nodes if node is not hop]
    changed = replace(hop, interfaces=(first, *hop.interfaces[1:]))
    cell = replace(made.cell, nodes=(*others, changed), duration_ns=planned_s * 1_000 * MS)
    folder = Made(cell, made.packets, 12_012_518_353).write(tmp_path)
    (folder / "changes.ndjson").write_text("")
    found = [finding.reason for finding in changes(load(cell, folder))]
    assert len(found) == expected


def test_drops_before_the_cell_do_not_count(tmp_path: Path) -> None:
    changes = [
        edit(f"qdisc-{when}.json", lambda d: d["h"][0].update(drops=5))
        for when in ("before", "after")
    ]
    assert verdict(crowded(), tmp_path, *changes) == ("valid", "")


def test_nothing_is_said_of_packets_where_a_capture_missed_some(tmp_path: Path) -> None:
    """Each packet behind the queue that is not in its capture looks like a drop, or another rate."""

    def change(folder: Path) -> None:
        log, file = folder / "exit-r1-eth2.ndjson", folder / "exit-r1-eth2.pcap"
        log.write_text(log.read_text().replace('"dropped": 0', '"dropped": 99'))
        content = file.read_bytes()
        at = packets_at(content)
        file.write_bytes(content[: at[20]] + content[at[119] :])

    found, reasons = verdict(crowded(), tmp_path, change)
    assert found == "invalid"
    assert reasons.startswith("capture exit-r1-eth2 missed 99 packets, so nothing else was checked")
    assert "5000 that it holds between two readings, 100 ms apart" in reasons
    assert "\n" not in reasons


def test_a_super_packet(tmp_path: Path) -> None:
    cell = made_cell(limit_bytes=100_000)
    packets = steady(500 * MS, 20 * MS, 0)
    packets[-1] = packets[-1].__class__(packets[-1].entered_ns, 0, frame_bytes=2962)
    made = Made(cell, through_queue(cell, packets), 800 * MS)
    found, reasons = verdict(made, tmp_path)
    assert (found, "a frame of 2962 bytes reached r1/r1-eth2" in reasons) == ("invalid", True)


def with_mtus(cell: Cell, link: int, path: int) -> Cell:
    """The cell with another MTU at its bottleneck, and on the paths of its flows."""
    node = next(node for node in cell.nodes if node.name == "r1")
    changed = replace(node, interfaces=tuple(replace(i, mtu=link) for i in node.interfaces))
    return replace(
        cell,
        nodes=tuple(changed if n is node else n for n in cell.nodes),
        flows=tuple(replace(f, mtu=path) for f in cell.flows),
    )


@pytest.mark.parametrize(
    ("link", "path", "frame", "reason"),
    [
        (1500, 1500, 1514, ""),
        (9000, 9000, 9014, ""),
        (1280, 1280, 1294, ""),
        (1280, 1280, 1295, "a frame of 1295 bytes reached r1/r1-eth2"),
        # The smallest MTU is behind the bottleneck.
        (1500, 1280, 1294, ""),
        (1500, 1280, 1295, "flow a sent frames of 1295 bytes: more than its path allows"),
    ],
)
def test_packets_of_links_with_other_mtus(
    tmp_path: Path, link: int, path: int, frame: int, reason: str
) -> None:
    cell = made_cell(limit_bytes=100_000)
    packets = [
        p.__class__(p.entered_ns, p.flow, frame_bytes=frame) for p in steady(500 * MS, 20 * MS, 0)
    ]
    made = Made(with_mtus(cell, link, path), through_queue(cell, packets), 800 * MS)
    _, reasons = verdict(made, tmp_path)
    assert ("bytes" in reasons) == bool(reason)
    assert reason in reasons


def test_pieces_of_packets(tmp_path: Path) -> None:
    """The second half of a packet that was cut up: its offset is not zero."""

    def cut_up(folder: Path) -> None:
        for file in folder.glob("*.pcap"):
            data = bytearray(file.read_bytes())
            data[24 + 16 + 14 + 7] = 185  # x 8 bytes, in the first packet of each of two entries
            file.write_bytes(data)

    found, reasons = verdict(crowded(), tmp_path, cut_up)
    assert found == "invalid"
    assert "2 IP fragments reached r1/r1-eth2" in reasons


def test_a_shaper_that_overslept(tmp_path: Path) -> None:
    made = crowded()
    shifted = [
        p.__class__(p.sent, p.number, p.left_ns + 12 * MS, p.delivered_ns)
        if p.left_ns is not None and p.left_ns > 4_000 * MS
        else p
        for p in made.packets
    ]
    found, reasons = verdict(Made(made.cell, shifted, made.ended_ns), tmp_path)
    assert found == "invalid"
    assert "let packets wait 12.0 ms too long" in reasons


def test_notes_of_the_script_are_flagged(tmp_path: Path) -> None:
    made = crowded()
    made.notes.append("randomness at h/h-eth1 has no seed: results differ from run to run")
    assert verdict(made, tmp_path) == ("flagged", made.notes[0])


def test_reasons_begin_with_the_gravest(tmp_path: Path) -> None:
    made = crowded()
    made.notes.append("a note")
    found, reasons = verdict(made, tmp_path, set_pings(1))
    assert found == "invalid"
    assert reasons.splitlines()[-1] == "a note"


def test_the_level_of_the_loss_test() -> None:
    """1000 packets, 1 %: P(X <= 0) = 4.3e-5 < 5e-5 <= P(X <= 1); the upper tail from 24 or 25
    on.
    """
    from scipy.stats import binom

    accepted = [k for k in range(60) if LossCount(0.01, 1000, k).plausible]
    assert accepted[0] == 1
    assert accepted == list(range(accepted[0], accepted[-1] + 1))
    assert binom.sf(accepted[-1] - 1, 1000, 0.01) >= 5e-5 > binom.sf(accepted[-1], 1000, 0.01)
    assert LossCount(0.0, 1000, 0).plausible
    assert not LossCount(0.0, 1000, 1).plausible
    assert LossCount(0.5, 0, 0).plausible


def test_counts_are_pooled_by_probability() -> None:
    counts = [LossCount(0.01, 100, 2), LossCount(0.0, 50, 0), LossCount(0.01, 300, 1)]
    assert pooled(counts) == (LossCount(0.0, 50, 0), LossCount(0.01, 400, 3))
