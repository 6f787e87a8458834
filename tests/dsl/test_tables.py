"""Tables as people share them: separators, no header, times of day, units in names, gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairc.dsl import model
from fairc.dsl.core.diagnostics import CompileError
from fairc.dsl.core.entries import bind
from fairc.dsl.core.render import render_full
from fairc.dsl.core.source import Source
from fairc.dsl.core.units import SHARE, TIME
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.text.parser import parse_expression
from fairc.words.distributions import A_RANDOM_TRANSFER, distribution, mean
from fairc.words.trace import RATES, load_rate, load_recording

S = 10**9


def followed(
    folder: Path, table: str, arguments: str = "", what: str = "rate"
) -> list[tuple[float, float]]:
    """Steps of a recording: s, and Mbit/s, ms or %."""
    (folder / "t.csv").write_text(table)
    text = (
        f'trace("t.csv", {arguments})'
        if arguments[:1] not in "*/"
        else f'trace("t.csv") {arguments}'
    )
    value = evaluate(parse_expression(Source(str(folder / "x.fexp"), text)), Scope({}))
    use = bind(RATES, value, "a test")
    if what == "rate":
        read, _ = load_rate(use)
        if isinstance(read, model.Trace):
            return [(n * read.every_ns / S, count) for n, count in enumerate(read.chances)]
    else:
        read = load_recording(use, what, {"delay": TIME, "loss": SHARE}[what])
    factor = {"rate": 1e-6, "delay": 1e-6, "loss": 100}[what]
    return [(at / S, round(value * factor, 9)) for at, value in read.steps]


EXPECTED = [(0, 4), (1, 2.5), (3, 8)]


@pytest.mark.parametrize(
    ("table", "arguments"),
    [
        ("time [s], rate [Mbit/s]\n0,4\n1,2.5\n3,8\n", ""),
        ("time [s] rate [Mbit/s]\n0 4\n1   2.5\n3 8\n", ""),
        ("time_s\trate_mbps\n0\t4\n1\t2.5\n3\t8\n", ""),
        ("Timestamp (ms);rate (Mbps)\n5000;4\n6000;2.5\n8000;8\n", ""),
        ('"time_ms","x","rate_kbps"\n"0","-","4000"\n"1000","","2500"\n"3000","1","8000"\n', ""),
        ("0 4\n1 2.5\n3 8\n", 'time: "1 [s]", unit: 1Mbit/s'),
        ("4,9,0\n2.5,9,1000\n8,9,3000\n", 'column: 1, time: "3 [ms]", unit: 1Mbit/s'),
        ("t,DL rate\n0,0.5\n1,0.3125\n3,1\n", 'column: "DL rate", time: "t [s]", unit: 8Mbit/s'),
        ("11:00:59.5 4\n11:01:00.5 2.5\n11:01:02.5 8\n", "unit: 1Mbit/s"),
        ("time,rate_mbps\n23:59:59,4\n00:00:00,2.5\n00:00:02,8\n", ""),
        (
            "date rate_mbps\n2026-01-31 23:59:59 4\n2026-02-01 00:00:00 2.5\n2026-02-01 00:00:02 8\n",
            "",
        ),
        (
            "time,rate_mbps\n2026-01-01T11:00Z,4\n2026-01-01T12:00:01+01:00,2.5\n2026-01-01T11:00:03Z,8\n",
            "",
        ),
        ("time_s,rate_mbps\n0,8\n1,5\n3,16\n", "/ 2"),
        ("time_s,rate_mbps\n0,8\n1,5\n3,16\n", "* 50%"),
        ("time_s,rate_mbps\n0,8\n1,5\n3,16\n", "/ 4 * 2"),
        ("time_s,rate_mbps\n0,8\n1,5\n3,16\n", "scale: 0.5"),
    ],
)
def test_files_are_read_as_they_are_shared(tmp_path: Path, table: str, arguments: str) -> None:
    assert followed(tmp_path, table, arguments) == EXPECTED


def test_a_missing_value_is_what_the_experiment_says(tmp_path: Path) -> None:
    table = "time_s,delay_ms,loss_pct,rate_mbps\n0,10,1,4\n1,-,NaN,n/a\n2,20,3,8\n3,,5,\n"
    for what, hold, other in (
        ("delay", [(0, 10), (2, 20)], ("10ms", [(0, 10), (2, 20), (3, 10)])),
        ("loss", [(0, 1), (2, 3), (3, 5)], ("100%", [(0, 1), (1, 100), (2, 3), (3, 5)])),
        ("rate", [(0, 4), (2, 8)], ("0bit/s", [(0, 4), (1, 0), (2, 8), (3, 0)])),
    ):
        assert followed(tmp_path, table, "missing: hold", what) == hold
        assert followed(tmp_path, table, f"missing: {other[0]}", what) == other[1]
    lines = "missing: hold, interpolation: linear, every: 1s, end: hold"
    # From 10 to 20 over 2 s, past the gap; the last row holds what it has.
    assert followed(tmp_path, table, lines, "delay") == [(0, 12.5), (1, 17.5), (2, 20)]


def test_a_scaled_mahimahi_trace_has_as_many_opportunities(tmp_path: Path) -> None:
    times = "".join(f"{ms}\n" for ms in range(1, 301))
    assert [n for _, n in followed(tmp_path, times, "/ 3")] == [33, 33, 34]
    assert [n for _, n in followed(tmp_path, times, "* 2")] == [200, 200, 200]
    with pytest.raises(CompileError, match="no opportunity"):
        followed(tmp_path, "5\n", "/ 2")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("/ 0", "division-by-zero"),
        ("* 2s", "wrong-dimension"),
        ("* 10000", "out-of-range"),
        ("unit: 1ms", "wrong-dimension"),
        ("unit: Mbit/s", "unknown-name"),
        ("missing: 1ms", "wrong-dimension"),
        ("missing: never", "unknown-name"),
        ("column: 9", "bad-trace"),
        ("column: 1.5", "out-of-range"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, arguments: str, code: str) -> None:
    with pytest.raises(CompileError) as refused:
        followed(tmp_path, "time_s,rate_mbps\n0,8\n1,5\n", arguments)
    assert [d.code for d in refused.value.diagnostics] == [code]


def test_one_diagnostic_lists_all_that_is_to_be_changed(tmp_path: Path) -> None:
    table = "Timestamp,DL bitrate,x\n10,4,2\n11,-,3\n12,NaN,3\n12,5,3\n13,4\n14,abc,1\n"
    with pytest.raises(CompileError) as refused:
        followed(tmp_path, table, 'column: "DL bitrate"')
    (found,) = refused.value.diagnostics
    text = render_full([found])
    for part in (
        "needs 6 changes: line 1 has no unit for `Timestamp`",
        "no unit for `DL bitrate`",
        "has `-` in `DL bitrate`, which is no number (and 1 more line)",
        "has the time of the one before",
        "has 2 columns, and the header has 3",
        "has `abc` in `DL bitrate`, which is no number",
        '`time: "Timestamp [s]"`, `unit: 1Mbit/s` and `missing: hold` (as the row before)',
        "t.csv:1:1",
    ):
        assert part in text, text


SIZES = "size [B], cdf [%]\n0, 0\n10000, 50\n100000, 100\n"


@pytest.mark.parametrize(
    ("table", "arguments"),
    [
        (SIZES, ""),
        ("0 0\n10000 0.5\n100000 1\n", ", unit: 1B"),
        ("0 1 0\n10 2 0.5\n100 3 1\n", ", unit: 1kB"),
        ("bytes;n;CDF\n0;7;0\n10000;8;50\n100000;9;100\n", ', column: "bytes [B]"'),
        ("size_bytes cdf_percent\n0 0\n10000 50\n100000 100\n", ""),
    ],
)
def test_a_distribution_may_begin_at_zero(tmp_path: Path, table: str, arguments: str) -> None:
    """Half of it uniform up to 10 kB, half from there to 100 kB: 30 kB on average."""
    (tmp_path / "t.csv").write_text(table)
    source = Source(str(tmp_path / "x.fexp"), f'empirical("t.csv"{arguments})')
    value = evaluate(parse_expression(source), Scope({}))
    found = distribution(A_RANDOM_TRANSFER.take(value, "a test"), 8)
    assert mean(found) == 30_000


@pytest.mark.parametrize("table", ["size [B], cdf [%]\n0, 10\n9, 100\n", "size [B]\n0\n9\n"])
def test_sizes_of_zero_are_refused(tmp_path: Path, table: str) -> None:
    (tmp_path / "t.csv").write_text(table)
    value = evaluate(
        parse_expression(Source(str(tmp_path / "x.fexp"), 'empirical("t.csv")')), Scope({})
    )
    with pytest.raises(CompileError, match="more than zero"):
        A_RANDOM_TRANSFER.take(value, "a test")


def test_rates_are_columns_of_the_kind(tmp_path: Path) -> None:
    """Several columns are one each: a recording's dimension follows what it is for."""
    table = "time_s,down_mbps,up_kbps,rtt_ms\n0,4,500,10\n1,2,600,20\n"
    assert followed(tmp_path, table, 'column: "up_kbps"') == [(0, 0.5), (1, 0.6)]
    assert followed(tmp_path, table, 'column: "rtt"', "delay") == [(0, 10), (1, 20)]
    with pytest.raises(CompileError, match="has the unit `ms` for `rtt_ms`, where a rate is meant"):
        followed(tmp_path, table, 'column: "rtt_ms"')
