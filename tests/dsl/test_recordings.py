"""Recordings: columns with units, steps and lines, what happens at the end, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from specs import compilation_of, only_cell_of

from fairc.compiler.plan import Interface

S = 10**9
TABLE = """# made up
time [s], rate [Mbit/s], delay [ms], loss [%], up_rate [kbit/s]
100, 4, 10, 0, 500
101, 2, 30, 5, 600
103, 8, 20, 0, 500
"""


def link(
    text: str, folder: Path, table: str = TABLE, duration: str = "12s"
) -> tuple[Interface, Interface]:
    """The shaped end of a link, and the end of its hop that packets leave by."""
    (folder / "t.csv").write_text(table)
    spec = f"""fexp 1
    experiment e {{
      topology {{
        node server, client
        link server -> client {{ {text} }}
        link client -> server {{ rate = 10Mbit/s  delay = 10ms }}
      }}
      flow a {{ cca = cubic  workload = bulk }}
      duration = {duration}
      measure = [goodput]
    }}
    """
    cell = only_cell_of(spec, str(folder / "file.fexp"))
    nodes = {node.name: node for node in cell.nodes}
    shaped = nodes["server"].interfaces[0]
    hop = nodes.get("server-client")
    return shaped, hop.interfaces[1] if hop else shaped


def rates(text: str, folder: Path, **how: str) -> list[tuple[float, float]]:
    shaped, _ = link(text, folder, **how)
    return [(c.at_ns / S, (c.rate_bps or 0) / 1e6) for c in shaped.changes]


def delays(text: str, folder: Path, **how: str) -> list[tuple[float, float]]:
    _, hop = link(text, folder, **how)
    assert hop.impairment is not None
    return [
        (0, hop.impairment.delay_ns / 1e6),
        *((c.at_ns / S, c.impairment.delay_ns / 1e6) for c in hop.changes if c.impairment),
    ]


def test_an_attribute_takes_the_column_of_its_name_again_and_again(tmp_path: Path) -> None:
    """The last row lasts for 2 s, as the one before it; so the recording has 5 s."""
    text = 'rate = trace("t.csv")  delay = trace("t.csv")'
    assert rates(text, tmp_path) == [
        *((0, 4), (1, 2), (3, 8)),
        *((5, 4), (6, 2), (8, 8)),
        *((10, 4), (11, 2), (13, 8)),
    ]
    assert delays(text, tmp_path)[:4] == [(0, 10), (1, 30), (3, 20), (5, 10)]
    shaped, hop = link(text, tmp_path)
    assert shaped.shaper is not None
    assert shaped.shaper.rate_bps == (4 * 1 + 2 * 2 + 8 * 2) * 10**6 // 5, "the mean over time"
    assert hop.impairment is not None and hop.impairment.in_order


def test_the_lowest_delay_sizes_queues_and_is_above_jitter(tmp_path: Path) -> None:
    text = 'rate = 8Mbit/s  delay = trace("t.csv")  jitter = 10ms  queue = fifo(1bdp)'
    shaped, hop = link(text, tmp_path)
    assert shaped.queue is not None and hop.impairment is not None
    assert shaped.queue.limit_bytes == 8_000_000 / 8 * (0.010 + 0.010)
    assert hop.impairment.jitter_ns == 10_000_000


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    """Excel's "CSV UTF-8" begins with one."""
    for table in (TABLE, TABLE.partition("\n")[2], "0\n10\n1000\n"):
        text = 'rate = trace("t.csv")  delay = 1ms'
        assert rates(text, tmp_path, table="\ufeff" + table) == rates(text, tmp_path, table=table)


def test_another_column(tmp_path: Path) -> None:
    assert rates('rate = trace("t.csv", column: "up_rate")', tmp_path)[:2] == [(0, 0.5), (1, 0.6)]


def test_the_last_value_may_stay(tmp_path: Path) -> None:
    text = 'rate = trace("t.csv", end: hold)'
    assert rates(text, tmp_path) == [(0, 4), (1, 2), (3, 8)]


def test_losses_have_streams_of_their_own(tmp_path: Path) -> None:
    _, hop = link('rate = 8Mbit/s  delay = 1ms  loss = trace("t.csv")', tmp_path)
    found = [c.impairment for c in hop.changes if c.impairment]
    assert [one.loss for one in found[:4]] == [0.05, 0, 0, 0.05]
    seeds = [one.seed for one in found if one.loss]
    assert len(set(seeds)) == len(seeds) >= 3 and None not in seeds


def test_lines_between_rows_have_their_means(tmp_path: Path) -> None:
    """From 4 to 2 in 1 s, to 8 in 2 s; then it stays, or goes back to 4 in 2 s."""
    text = 'rate = trace("t.csv", interpolation: linear, every: 500ms, end: {end})'
    line = [3.5, 2.5, 2.75, 4.25, 5.75, 7.25]
    held = rates(text.format(end="hold"), tmp_path)
    assert held == [*((0.5 * n, rate) for n, rate in enumerate(line)), (3, 8)]
    again = rates(text.format(end="repeat"), tmp_path)[:10]
    assert [rate for _, rate in again] == [*line, 7.5, 6.5, 5.5, 4.5]


def test_steps_may_be_averaged(tmp_path: Path) -> None:
    found = rates('rate = trace("t.csv", every: 2s, end: hold)', tmp_path)
    assert found == [(0, 3), (2, 5), (4, 8)]


def test_events_go_on_top_of_a_recording(tmp_path: Path) -> None:
    text = (
        'rate = trace("t.csv")  delay = 1ms'
        "  every 100s from 2500ms for 1s { rate = 1Mbit/s }  at 6s { rate = 3Mbit/s }"
    )
    assert rates(text, tmp_path) == [(0, 4), (1, 2), (2.5, 1), (3, 1), (3.5, 8), (5, 4), (6, 3)]


def test_the_file_is_an_input_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    spec = """fexp 1
    experiment e {
      topology = bottleneck(rate: trace("t.csv"), rtt: 20ms) with { link left -> right { delay = trace("t.csv") } }
      flow a { cca = cubic  workload = bulk }
      duration = 5s
      measure = [goodput]
    }
    """
    assert [
        file.path for file in compilation_of(spec, str(tmp_path / "file.fexp")).plan.inputs
    ] == ["t.csv"]


@pytest.mark.parametrize(
    ("table", "where"),
    [
        ("", "is empty"),
        ("# only this\n", "is empty"),
        ("time [s], delay [ms]\n", "two rows"),
        ("time [s], delay [ms]\n0, 1\n", "two rows"),
        ("delay [ms]\n1\n2\n", "no column `time`"),
        ("time [s], rate [bit/s]\n0, 1\n1, 2\n", "no column `delay`"),
        ("time [s], delay [ms], delay [s]\n0, 1, 1\n1, 2, 1\n", "two columns called"),
        ("time [s], delay\n0, 1\n1, 2\n", "no unit"),
        ("time [s], delay [Mbit/s]\n0, 1\n1, 2\n", "the unit `Mbit/s`"),
        ("time [parsec], delay [ms]\n0, 1\n1, 2\n", "the unit `parsec`"),
        ("time [s], delay [ms]\n1, 1\n0, 2\n", "line 3 of the recording goes back"),
        ("time [s], delay [ms]\n0, 1\n0, 2\n", "time of the one before"),
        ("time [s], delay [ms]\n0, 1\n1, -2\n", "negative"),
        ("time [s], delay [ms]\n0, 1\n1, NaN\n", "no number"),
        ("time [s], delay [ms]\n0, 1\n1, inf\n", "no number"),
        ("time [s], delay [ms]\n0, 1\n1, 1e999999999\n", "no number"),
        ("time [s], delay [ms]\n0, 1\n1\n", "has 1 columns"),
        ("time [s], delay [ms]\n0, 1\n1, 2, 3\n", "has 3 columns"),
        ("5\n7\n", "no header"),
        ("time [s], delay [ms]\n" + "".join(f"{n},1\n" for n in range(100_002)), "the limit is"),
    ],
)
def test_bad_recordings_are_refused(tmp_path: Path, table: str, where: str) -> None:
    with pytest.raises(AssertionError, match=r"bad-trace|too-many") as caught:
        link('rate = 8Mbit/s  delay = trace("t.csv")', tmp_path, table)
    assert where in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('rate = 8Mbit/s  loss = trace("t.csv", column: "delay")', "bad-trace"),
        ('rate = 8Mbit/s  delay = trace("t.csv", every: 1us)', "out-of-range"),
        ('rate = 8Mbit/s  delay = trace("t.csv")  jitter = 11ms', "jitter-above-delay"),
        (
            'rate = 8Mbit/s  delay = trace("t.csv")  loss = gilbert_elliott(1%, 9%)',
            "conflicting-loss",
        ),
        ('rate = 8Mbit/s  delay = trace("t.csv", interpolation: cubic)', "unknown-word"),
        ('rate = 8Mbit/s  delay = trace("t.csv", end: never)', "unknown-word"),
        ('rate = trace("walk", end: hold)', "bad-trace"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "walk").write_text("1\n5\n")
    with pytest.raises(AssertionError, match=code):
        link(text, tmp_path)
