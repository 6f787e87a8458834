"""Each check of the flows and their hosts: silent on a cell as planned, in words on one that is
not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from judged import edit, edit_lines, verdict
from madeartefacts import Made, crowded
from madecell import MS, Transport, made_cell
from madepackets import steady, through_queue

from fairc.cell.links import EMULATED_SLACK_NS, REAL_TIME_SLACK_NS, VIRTUAL_SLACK_NS
from fairc.compiler.plan import (
    Change,
    Distribution,
    Impairment,
    Shaper,
    SharedArrivals,
    TransportOptions,
)
from fairc.mechanisms.workloads.file.cell import FileWorkload
from fairc.mechanisms.workloads.requests.cell import RequestsWorkload
from fairc.runtime.measurement import load
from fairc.runtime.validity.options import transport_options
from fairc.runtime.validity.schedule import schedule


@pytest.mark.parametrize(
    "transports", [("quic", "tcp"), ("quic", "quic"), ("udp", "tcp"), ("udp", "udp")]
)
def test_cells_of_other_transports_are_valid(
    tmp_path: Path, transports: tuple[Transport, ...]
) -> None:
    assert verdict(crowded(transports=transports), tmp_path) == ("valid", "")


def server_of_a(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Return a change of every event of a flow's server."""
    return edit_lines("a.server.ndjson", change)


def processes(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Return a change of how processes ended."""
    return edit("cell.json", lambda d: change(d["processes"]))


WRONG: dict[str, tuple[Transport, Callable[[Path], None], str]] = {
    "a CCA where there should be none": (
        *("udp", server_of_a(lambda e: e.update(cca="reno"))),
        "flow a used reno, not none",
    ),
    "no CCA where there should be one": (
        *("quic", server_of_a(lambda e: e.pop("cca", None))),
        "flow a used no CCA, not cubic",
    ),
    "another CCA": (
        *("tcp", server_of_a(lambda e: e.update(cca="reno") if "cca" in e else None)),
        "flow a used reno, not cubic",
    ),
    "a process that failed": (
        *("tcp", processes(lambda d: d.update({"a.client": 1}))),
        "a.client ended with status 1",
    ),
    "a process that was killed": (
        *("tcp", processes(lambda d: d.update({"a.client": -9}))),
        "a.client was ended by signal 9",
    ),
    "a process that never ran": (
        *("tcp", processes(lambda d: d.pop("b.server"))),
        "b.server is not among the processes",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_makes_the_cell_invalid(tmp_path: Path, what: str) -> None:
    transport, change, words = WRONG[what]
    found, reasons = verdict(crowded(transports=(transport, "tcp")), tmp_path, change)
    assert (found, words in reasons) == ("invalid", True)


AGREED = {"initial_window_packets": 10, "ecn": False, "sack": True}
OF_QUIC = {"initial_window_bytes": 14_720, "mtu": 1472}
LISTENS = {"ecn": False, "parameters": {"beta": 0.7}}


@pytest.mark.parametrize(
    ("transport", "event", "report", "words"),
    [
        ("tcp", "accepted", AGREED, ""),
        ("tcp", "accepted", AGREED | {"initial_window_packets": 1}, ""),
        ("tcp", "accepted", AGREED | {"initial_window_packets": 3}, "in packets of 3, not 10"),
        ("tcp", "accepted", AGREED | {"ecn": True}, "has ECN of on, not off"),
        ("tcp", "accepted", AGREED | {"sack": False}, "has SACK of off, not on"),
        ("tcp", "accepted", AGREED | {"accurate_ecn": False}, ""),
        ("tcp", "accepted", AGREED | {"accurate_ecn": None}, ""),
        ("tcp", "accepted", AGREED | {"accurate_ecn": True}, "has accurate ECN of on, not off"),
        ("quic", "accepted", OF_QUIC, ""),
        ("quic", "accepted", OF_QUIC | {"mtu": 1200}, "window in bytes of 14720, not 12000"),
        ("quic", "listening", LISTENS, ""),
        ("quic", "listening", LISTENS | {"ecn": True}, "has ECN of on, not off"),
        ("quic", "listening", LISTENS | {"parameters": {}}, "parameters of {}, not {'beta': 0.7}"),
    ],
)
def test_options_are_read_back(
    tmp_path: Path, transport: Transport, event: str, report: dict[str, Any], words: str
) -> None:
    made = crowded(transports=(transport, "tcp"))
    a, b = made.cell.flows
    a = replace(a, cca_parameters={"beta": 0.7})
    made.cell = replace(made.cell, flows=(a, b))

    def change(folder: Path) -> None:
        with (folder / "a.server.ndjson").open("a") as lines:
            whole = {"t_ns": 50 * MS, "event": event, "connection": 0, "cca": "cubic", **report}
            lines.write(json.dumps(whole) + "\n")

    found, reasons = verdict(made, tmp_path, change)
    assert (found, words in reasons) == ("invalid" if words else "valid", True)


def test_ecn_that_a_repeated_handshake_gave_up_is_nobodys_fault(tmp_path: Path) -> None:
    made = crowded()
    a, b = made.cell.flows
    options = TransportOptions(ecn=True)
    made.cell = replace(made.cell, flows=(replace(a, options=options), b))
    change = edit_lines(
        "a.server.ndjson", lambda e: e.update(ecn=False) if e["event"] == "accepted" else None
    )
    assert verdict(made, tmp_path, change) == ("valid", "")


@pytest.mark.parametrize(
    ("server", "accurate", "client", "words"),
    [
        (True, False, True, ""),
        (False, False, False, ""),
        (True, True, False, ""),
        (True, False, False, "1 of 1 connections of flow a do not respond to marks"),
    ],
)
def test_a_server_that_uses_classic_ecn_alone_is_told(
    server: bool, accurate: bool, client: bool, words: str, tmp_path: Path
) -> None:
    made = crowded()
    a, b = made.cell.flows
    options = TransportOptions(ecn=True, accurate_ecn=accurate)
    made.cell = replace(made.cell, flows=(replace(a, options=options), b))
    report = {"ecn": server, "accurate_ecn": accurate}

    def change(folder: Path) -> None:
        edit_lines(
            "a.server.ndjson", lambda e: e.update(report) if e["event"] == "accepted" else None
        )(folder)
        with (folder / "a.client.ndjson").open("a") as lines:
            connected = {"t_ns": 50 * MS, "event": "connected", "connection": 0, "ecn": client}
            lines.write(json.dumps(connected) + "\n")

    found, reasons = verdict(made, tmp_path, change)
    assert (found, words in reasons) == ("flagged" if words else "valid", True)


@pytest.mark.parametrize(("said", "words"), [(True, ""), (None, "accurate ECN of unknown, not on")])
def test_accurate_ecn_has_to_be_reported(tmp_path: Path, said: bool | None, words: str) -> None:
    made = crowded()
    a, b = made.cell.flows
    options = TransportOptions(ecn=True, accurate_ecn=True)
    made.cell = replace(made.cell, flows=(replace(a, options=options), b))
    report = {"ecn": True, "accurate_ecn": said}
    change = edit_lines(
        "a.server.ndjson", lambda e: e.update(report) if e["event"] == "accepted" else None
    )
    found, reasons = verdict(made, tmp_path, change)
    assert (found, words in reasons) == ("invalid" if words else "valid", True)


@pytest.mark.parametrize(
    ("file", "event", "field", "words"),
    [
        ("a.server", "listening", "send_buffer_bytes", "a send buffer of 999999 bytes"),
        ("a.client", "connected", "receive_buffer_bytes", "a receive buffer of 999999 bytes"),
    ],
)
def test_a_smaller_buffer_than_a_socket_should_have(
    tmp_path: Path, file: str, event: str, field: str, words: str
) -> None:
    """The plan has 1,000,000 bytes; Linux reports twice what was set."""

    def report(half: int) -> Callable[[Path], None]:
        def change(folder: Path) -> None:
            with (folder / f"{file}.ndjson").open("a") as lines:
                lines.write(json.dumps({"t_ns": 1, "event": event, field: 2 * half}) + "\n")

        return change

    # The first `listening` has no size: it is that of an older program.
    assert verdict(crowded(), tmp_path / "right", report(1_000_000)) == ("valid", "")
    found, reasons = verdict(crowded(), tmp_path / "wrong", report(999_999))
    assert (found, f"flow a: {words}, not 1000000" in reasons) == ("invalid", True)


@pytest.mark.parametrize(
    ("file", "fields", "words"),
    [
        ("a.server", {"event": "sent", "refused": 3}, "could not send 3 datagrams"),
        ("a.server", {"event": "sent", "late_us": 10_100}, "a datagram 10.1 ms late"),
        ("a.client", {"event": "received", "overflowed": 2}, "did not read 2 datagrams in time"),
    ],
)
def test_datagrams_that_a_host_spoilt(
    tmp_path: Path, file: str, fields: dict[str, Any], words: str
) -> None:
    def change(folder: Path) -> None:
        with (folder / f"{file}.ndjson").open("a") as lines:
            whole = {"t_ns": 4_300 * MS, "connection": 0, "bytes": 10**9, **fields}
            lines.write(json.dumps(whole) + "\n")

    found, reasons = verdict(crowded(transports=("udp", "tcp")), tmp_path, change)
    assert (found, words in reasons) == ("invalid", True)


@pytest.mark.parametrize(("transport", "expected"), [("quic", 11.0), ("udp", 36.0)])
def test_a_late_beginning_over_other_transports(
    tmp_path: Path, transport: Transport, expected: float
) -> None:
    """The server's first packet meets the queue at 36 ms: 25 ms after a request came, or at
    once.
    """
    cell = made_cell(transports=(transport, "tcp"))
    packets = steady(2_000 * MS, 20 * MS, 0, 61 * MS) + steady(2_000 * MS, 30 * MS, 1)
    found, reasons = verdict(Made(cell, through_queue(cell, packets), 2_300 * MS), tmp_path)
    assert found == "invalid"
    assert f"flow a started {expected} ms late" in reasons


@pytest.mark.parametrize(("first_ms", "late"), [(61, None), (89, None), (111, "21.3")])
def test_requests_may_wait_for_handshakes_on_a_slow_way_to_the_server(
    tmp_path: Path, first_ms: int, late: str | None
) -> None:
    """Two connections send two datagrams of 1242 bytes each, which take 39.7 ms at 1 Mbit/s."""
    cell = made_cell(transports=("quic", "quic"))
    shaper = Shaper(rate_bps=1_000_000, transmitter=None)
    router = cell.nodes[-1]
    ways = [replace(i, shaper=shaper) if i.name == "r2-eth2" else i for i in router.interfaces]
    nodes = (*cell.nodes[:-1], replace(router, interfaces=tuple(ways)))
    cell = replace(cell, nodes=nodes)
    packets = steady(2_000 * MS, 20 * MS, 0, first_ms * MS) + steady(2_000 * MS, 30 * MS, 1)
    _, reasons = verdict(Made(cell, through_queue(cell, packets), 2_300 * MS), tmp_path)
    started = [words.partition(":")[0] for words in reasons.splitlines() if "started" in words]
    assert started == ([f"flow a started {late} ms late"] if late else [])


@pytest.mark.parametrize(
    ("way_back", "changed", "first_ms", "late"),
    [
        # The flow starts at 25 ms, and its request takes 25 ms.
        ({}, None, 59, None),
        ({}, None, 61, "11.0"),
        ({"jitter_ns": 10 * MS}, None, 69, None),
        ({"jitter_ns": 10 * MS}, None, 71, "11.0"),
        # netem's tables reach to four times the jitter.
        ({"jitter_ns": 10 * MS, "jitter_distribution": "normal"}, None, 99, None),
        ({"jitter_ns": 10 * MS, "jitter_distribution": "normal"}, None, 101, "11.0"),
        # It may have changed by then.
        ({}, {"delay_ns": 50 * MS}, 84, None),
        ({}, {"delay_ns": 50 * MS}, 86, "11.0"),
        # A retry comes after a second, however short its own way was.
        ({"jitter_ns": 20 * MS}, None, 1_035, "965.0"),
        ({"jitter_ns": 20 * MS, "loss": 0.01}, None, 1_035, None),
        ({}, {"delay_ns": 25 * MS, "loss": 0.5}, 1_035, None),
    ],
)
def test_a_beginning_after_the_longest_way_to_the_server(
    tmp_path: Path,
    way_back: dict[str, Any],
    changed: dict[str, Any] | None,
    first_ms: int,
    late: str | None,
) -> None:
    cell = made_cell(transports=("quic", "tcp"))
    hop = next(node for node in cell.nodes if node.name == "h")
    back = hop.interfaces[0]
    assert back.impairment is not None
    changes = () if changed is None else (Change(1 * MS, impairment=Impairment(**changed)),)
    planned = replace(back, impairment=replace(back.impairment, **way_back), changes=changes)
    nodes = [n for n in cell.nodes if n is not hop]
    cell = replace(cell, nodes=(*nodes, replace(hop, interfaces=(planned, *hop.interfaces[1:]))))
    packets = steady(2_000 * MS, 20 * MS, 0, first_ms * MS) + steady(2_000 * MS, 30 * MS, 1)
    folder = Made(cell, through_queue(cell, packets), 2_300 * MS).write(tmp_path)
    (folder / "changes.ndjson").write_text("")
    reasons = [finding.reason.partition(":")[0] for finding in schedule(load(cell, folder))]
    started = [reason for reason in reasons if "flow a started" in reason]
    assert started == ([f"flow a started {late} ms late"] if late else [])


@pytest.mark.parametrize(
    ("slack_ns", "words"),
    [
        (None, "the machine was too busy: run fewer cells at once (`--jobs`), at lower rates, or"),
        (REAL_TIME_SLACK_NS, "the machine was too busy: run fewer cells at once (`--jobs`)"),
        (EMULATED_SLACK_NS, "the emulated processor was too busy: lower the rates, or use `uml`"),
        (VIRTUAL_SLACK_NS, "computing takes no time on this engine, so this is a fault of fairc"),
    ],
)
def test_only_a_machine_that_computes_in_its_own_time_is_too_busy(
    tmp_path: Path, slack_ns: int | None, words: str
) -> None:
    made = crowded()

    def change(folder: Path) -> None:
        system = {} if slack_ns is None else {"slack_ns": slack_ns}
        (folder / "system.json").write_text(json.dumps(system))
        edit("ping.json", lambda d: d[0].update(rtts_ns=[1] * 9))(folder)
        edit_lines("a.server.ndjson", late)(folder)

    def late(event: dict[str, Any]) -> None:
        if event["event"] == "sample":
            event["t_ns"] += 20 * MS

    _, reasons = verdict(made, tmp_path, change)
    (sample,) = [line for line in reasons.splitlines() if "took a sample" in line]
    (trip,) = [line for line in reasons.splitlines() if "flow a: the base RTT" in line]
    assert words in sample
    assert ("too busy" in trip) == (slack_ns != VIRTUAL_SLACK_NS)


def test_system_calls_that_take_time_are_no_fault_of_fairc(tmp_path: Path) -> None:
    made = crowded()
    made.cell = replace(made.cell, syscall_cost_ns=100_000)

    def change(folder: Path) -> None:
        (folder / "system.json").write_text(json.dumps({"slack_ns": VIRTUAL_SLACK_NS}))
        edit("ping.json", lambda d: d[0].update(rtts_ns=[1] * 9))(folder)
        edit_lines("a.server.ndjson", lambda e: e.update(t_ns=e["t_ns"] + 20 * MS))(folder)

    _, reasons = verdict(made, tmp_path, change)
    for what in ("took a sample", "flow a: the base RTT"):
        (line,) = [line for line in reasons.splitlines() if what in line]
        assert line.endswith("lower the rates, or `syscall_cost` of `hosts`")
        assert "please report it" not in line


@pytest.mark.parametrize(("cca", "expected"), [("reno", 1), ("hybla", 0)])
def test_a_cca_that_chooses_its_initial_window(tmp_path: Path, cca: str, expected: int) -> None:
    made = crowded()
    cell = replace(made.cell, flows=tuple(replace(f, cca=cca) for f in made.cell.flows))
    folder = Made(cell, made.packets, made.ended_ns).write(tmp_path)

    def three(event: dict[str, Any]) -> None:
        if event["event"] == "accepted":
            event["initial_window_packets"] = 3

    edit_lines("a.server.ndjson", three)(folder)
    found = [finding.reason for finding in transport_options(load(cell, folder))]
    assert len(
        [reason for reason in found if "initial window in packets of 3, not 10" in reason]
    ) == (expected)


@pytest.mark.parametrize(
    ("why", "expected"),
    [("Connection reset by peer (os error 104)", "invalid"), ("Connection timed out", "valid")],
)
def test_a_reset_where_no_nat_is(tmp_path: Path, why: str, expected: str) -> None:
    """A connection that gave up is an outcome; a host that knows nothing of it is a fault."""

    def reset(line: dict[str, Any]) -> None:
        if line["event"] == "stopped":
            line["reason"] = f"receiving after 9 bytes: {why}"

    found, reasons = verdict(crowded(), tmp_path, edit_lines("a.client.ndjson", reset))
    assert found == expected
    assert ("receiving after 9 bytes: Connection reset" in reasons) == (expected == "invalid")


@pytest.mark.parametrize("field", ["rwnd_limited_us", "sndbuf_limited_us"])
@pytest.mark.parametrize(("microseconds", "expected"), [(42_000, "valid"), (43_000, "flagged")])
def test_a_connection_limited_by_its_host(
    tmp_path: Path, field: str, microseconds: int, expected: str
) -> None:
    """The connection lives from 0.05 s to 4.3 s, so 1 % of it is 42.5 ms."""
    change = edit_lines(
        "b.server.ndjson", lambda e: e.update({field: microseconds}) if field in e else None
    )
    found, reasons = verdict(crowded(), tmp_path, change)
    assert found == expected
    assert ("flow b, connection 0: limited by" in reasons) == (expected == "flagged")


SMALL = {"receive_buffer_bytes": 500_000}
OUTGROWS = TransportOptions(cca_outgrows_receivers=True)


@pytest.mark.parametrize(
    ("planned", "field", "words"),
    [
        ({"options": TransportOptions(receive_window_bytes=65_536)}, "rwnd_limited_us", ""),
        # A SYN offers 64 KiB at most, so the first window waits for the receiver.
        ({"options": TransportOptions(initial_window_packets=50)}, "rwnd_limited_us", ""),
        # Its window grows faster than any receiver's.
        ({"options": OUTGROWS}, "rwnd_limited_us", ""),
        (SMALL | {"options": OUTGROWS}, "rwnd_limited_us", "`receive_buffer = 500000B` of `hosts`"),
        (SMALL, "rwnd_limited_us", "`receive_buffer = 500000B` of `hosts` is too small"),
        ({"send_buffer_bytes": 500_000}, "sndbuf_limited_us", "`send_buffer = 500000B` of `hosts`"),
        ({}, "sndbuf_limited_us", "the file sets no buffer, so the machine's memory for sockets"),
    ],
)
def test_a_limit_that_is_meant_is_no_finding_and_another_one_names_its_cause(
    tmp_path: Path, planned: dict[str, Any], field: str, words: str
) -> None:
    made = crowded()
    flows = (made.cell.flows[0], replace(made.cell.flows[1], **planned))
    limited = Made(replace(made.cell, flows=flows), made.packets, made.ended_ns)

    def limit(event: Any) -> None:
        if field in event:
            event[field] = 500_000

    found, reasons = verdict(limited, tmp_path, edit_lines("b.server.ndjson", limit))
    assert found == ("flagged" if words else "valid")
    assert words in reasons


@pytest.mark.parametrize(("microseconds", "expected"), [(42_000, "valid"), (43_000, "flagged")])
def test_a_quic_connection_limited_by_its_hosts(
    tmp_path: Path, microseconds: int, expected: str
) -> None:
    """It lives from 0.05 s to 4.3 s. The handshake before the first sample does not count, and
    neither do its last two round trips of 80 ms.
    """
    handshake = 500_000

    def limit(event: dict[str, Any]) -> None:
        if event["event"] == "sample":
            late = event["t_ns"] > 4_100 * MS
            so_far = 0 if event["t_ns"] == 100 * MS else 900_000 if late else microseconds
            event["app_limited_us"] = handshake + so_far

    made = crowded(transports=("tcp", "quic"))
    found, reasons = verdict(made, tmp_path, edit_lines("b.server.ndjson", limit))
    assert found == expected
    words = "flow b, connection 0: limited by its hosts for 1.0% of its time"
    assert (words in reasons) == (expected == "flagged")


@pytest.mark.parametrize(("lost_bytes", "expected"), [(0, "valid"), (1_500, "flagged")])
def test_hosts_that_have_sent_everything_do_not_limit(
    tmp_path: Path, lost_bytes: int, expected: str
) -> None:
    """Half of its time goes by after all of a file has been sent, unless a part of it was lost."""
    made = crowded(transports=("tcp", "quic"))
    a, b = made.cell.flows
    made.cell = replace(made.cell, flows=(a, replace(b, workload=FileWorkload(bytes=1_000_000))))

    def send(event: dict[str, Any]) -> None:
        if event["event"] == "sample":
            all_sent = event["t_ns"] > 2_000 * MS
            event["bytes_sent"] = 1_001_000 if all_sent else 900_000
            event["bytes_lost"] = lost_bytes
            event["app_limited_us"] = 1_500_000 if all_sent else 0

    found, reasons = verdict(made, tmp_path, edit_lines("b.server.ndjson", send))
    assert ("limited by its hosts" in reasons) == (expected == "flagged"), (found, reasons)


def test_hosts_whose_last_packets_are_lost_do_not_limit(tmp_path: Path) -> None:
    """All of a file has been sent from 2 s on; a loss of it is known from 3 s on, and repaired."""
    made = crowded(transports=("tcp", "quic"))
    a, b = made.cell.flows
    made.cell = replace(made.cell, flows=(a, replace(b, workload=FileWorkload(bytes=1_000_000))))

    def send(event: dict[str, Any]) -> None:
        if event["event"] == "sample":
            all_sent, known = event["t_ns"] > 2_000 * MS, event["t_ns"] > 3_000 * MS
            event["bytes_sent"] = 1_001_000 if all_sent else 900_000
            event["bytes_lost"] = 50_000 if known else 0
            event["app_limited_us"] = max(0, event["t_ns"] // 1_000 - 2_000_000)

    found, reasons = verdict(made, tmp_path, edit_lines("b.server.ndjson", send))
    assert (found, "limited by its hosts" in reasons) == ("valid", False), reasons


def test_a_busy_machine_is_flagged(tmp_path: Path) -> None:
    change = edit_lines("monitor.ndjson", lambda e: e.update(busy_ns=e["total_ns"] * 71 // 100))
    found, reasons = verdict(crowded(), tmp_path, change)
    assert (found, "over 70% busy in 43 of 43 slots" in reasons) == ("flagged", True)


@pytest.mark.parametrize(
    ("slack_ns", "cost_ns", "words"),
    [
        (REAL_TIME_SLACK_NS, None, "the machine: lower the rates, or use `uml`"),
        (VIRTUAL_SLACK_NS, 8_000, "lower the rates, or `syscall_cost` of `hosts`"),
        (VIRTUAL_SLACK_NS, None, ""),
    ],
)
def test_what_a_busy_machine_can_do_is_said_for_its_engine(
    tmp_path: Path, slack_ns: int, cost_ns: int | None, words: str
) -> None:
    made = crowded()

    def change(folder: Path) -> None:
        (folder / "system.json").write_text(json.dumps({"slack_ns": slack_ns}))
        edit_lines("monitor.ndjson", lambda e: e.update(busy_ns=e["total_ns"]))(folder)

        def limit(event: dict[str, Any]) -> None:
            if event["event"] == "listening":
                event["send_buffer_bytes"] = 2

        edit_lines("a.server.ndjson", limit)(folder)

    made = replace(made, cell=replace(made.cell, syscall_cost_ns=cost_ns))
    _, reasons = verdict(made, tmp_path, change)
    load_of_it = [line for line in reasons.splitlines() if "70% busy" in line]
    (limited,) = [line for line in reasons.splitlines() if "a send buffer of 1 bytes" in line]
    assert len(load_of_it) == bool(words)  # where nothing takes time, ticks say nothing
    in_real_time = slack_ns == REAL_TIME_SLACK_NS
    assert ("`uml`" in limited) == in_real_time
    for said in load_of_it:
        assert words in said and ("`uml`" in said) == in_real_time


def test_a_late_client(tmp_path: Path) -> None:
    cell = made_cell()
    packets = steady(2_000 * MS, 20 * MS, 0, 61 * MS) + steady(2_000 * MS, 30 * MS, 1, 59 * MS)
    made = Made(cell, through_queue(cell, packets), 2_300 * MS)
    found, reasons = verdict(made, tmp_path)
    assert found == "invalid"
    assert "flow a started 11.0 ms late" in reasons
    assert "flow b" not in reasons


def test_a_late_connection(tmp_path: Path) -> None:
    made, opened_ns = crowded(), (10 * MS, 11 * MS)
    (a, *others), connections = made.cell.flows, 2
    a = replace(a, connections=connections, starts_ns=(0, 500 * MS))
    made.cell = replace(made.cell, flows=(a, *others))

    def late(event: dict[str, Any]) -> None:
        if event["event"] == "opened":
            event["t_ns"] += opened_ns[event["connection"]]

    found, reasons = verdict(made, tmp_path, edit_lines("a.client.ndjson", late))
    assert found == "invalid"
    assert "flow a, connection 1: opened 11.0 ms late" in reasons
    assert "connection 0: opened" not in reasons


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("late_us", "words"), [(10_000, ""), (10_100, "10.1 ms late")])
def test_requests_are_begun_on_time(tmp_path: Path, shared: bool, late_us: int, words: str) -> None:
    """Where a stream begins that shares its arrivals is drawn, so only its own clock can tell."""
    made = crowded()
    value = Distribution(kind="constant", parameters={"value": 1.0})
    part = SharedArrivals(seed=1, low=0.0, high=0.5) if shared else None
    workload = RequestsWorkload(size=value, every=value, seed=2, shared=part)
    a, b = made.cell.flows
    # In a shared process the packets of the first request come when they come.
    start_ns = -500 * MS if shared else 0
    a = replace(a, workload=workload, starts_ns=(start_ns,))
    made.cell = replace(made.cell, flows=(a, b))

    def change(folder: Path) -> None:
        with (folder / "a.client.ndjson").open("a") as lines:
            asked = {"event": "asked", "connection": 0, "requests": 9, "late_us": late_us}
            lines.write(json.dumps({"t_ns": 4000 * MS, **asked}) + "\n")

    found, reasons = verdict(made, tmp_path, change)
    assert (found == "invalid") == bool(words), reasons
    assert (f"flow a began a request {words}" if words else "") in reasons
    assert "started" not in reasons


def test_a_late_sample(tmp_path: Path) -> None:
    change = edit_lines(
        "a.server.ndjson", lambda e: e.update(t_ns=511 * MS) if e["t_ns"] == 500 * MS else None
    )
    found, reasons = verdict(crowded(), tmp_path, change)
    assert found == "invalid"
    assert "the server of flow a took a sample 11.0 ms late" in reasons


def test_a_sample_left_out(tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        lines = (folder / "a.server.ndjson").read_text().splitlines(keepends=True)
        kept = [line for line in lines if '"t_ns": 500000000,' not in line]
        assert len(kept) == len(lines) - 1
        (folder / "a.server.ndjson").write_text("".join(kept))

    found, reasons = verdict(crowded(), tmp_path, change)
    assert (found, "took a sample 100.0 ms late" in reasons) == ("invalid", True)


@pytest.mark.parametrize(
    ("side", "message"),
    [
        ("server", "listening on 10.0.1.1:5001: Address already in use"),
        ("client", "connecting: invalid peer certificate: certificate expired"),
        ("client", "nothing has come from the server for 120 s, after 5 bytes"),
    ],
)
def test_what_an_endpoint_says_has_failed_is_a_reason(
    tmp_path: Path, side: str, message: str
) -> None:
    def fail(folder: Path) -> None:
        with (folder / f"a.{side}.ndjson").open("a") as lines:
            lines.write(json.dumps({"t_ns": 1, "event": "error", "message": message}) + "\n")

    found, reasons = verdict(crowded(transports=("quic", "tcp")), tmp_path, fail)
    assert (found, f"{side} of flow a: {message}" in reasons) == ("invalid", True)
