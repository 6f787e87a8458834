"""The middle of a split connection: its window, its pool, and what happens when an end is not
there.
"""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from split_connection import (
    BUFFER_BYTES,
    GATEWAY,
    LINK,
    MSS,
    MTU,
    POOL,
    PORT,
    TERMINAL,
    WINDOW_PACKETS,
    Split,
    connected,
)
from waiting import eventually

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
RATE_BPS = 80_000_000
NOBODY = "10.3.0.99"
LONG = 4_000_000


def test_ready_says_what_is_in_force(network: Split) -> None:
    network.split(rate_bps=RATE_BPS, cca="reno")
    for role in ("terminal", "gateway"):
        ready = network.wait_ready(role)
        assert (ready["connections"], ready["cca"]) == (POOL, "reno")
        assert (ready["window_packets"], ready["mss"]) == (WINDOW_PACKETS, MSS)
        assert ready["peer_window_bytes"] >= WINDOW_PACKETS * MSS
        # Of IP, as the kernel counts it: payload, in whole bytes per second.
        assert ready["max_pacing_bps"] == RATE_BPS * MSS // MTU // 8 * 8
        assert ready["send_buffer_bytes"] == ready["receive_buffer_bytes"] == 4 * 300_000


@pytest.mark.parametrize(
    ("sender", "cca"), [("gateway", "cubic"), ("terminal", "cubic"), ("gateway", "bbr")]
)
def test_the_first_flight_is_the_window(network: Split, sender: str, cca: str) -> None:
    """Without acknowledgements nothing but the window says how much goes out."""
    if cca not in AVAILABLE.read_text().split():
        pytest.skip(f"needs the congestion control {cca}")
    network.split(cca=cca)
    with network.listen() as server, ThreadPoolExecutor(1) as pool:
        ends = network.joined(server)
        # Both have been heard, so all is quiet; and a connection of the pool has been idle.
        for one, other in (ends, ends[::-1]):
            one.sendall(b"x")
            assert other.recv(1) == b"x"
        receiver, back = {
            "gateway": ("terminal", GATEWAY),
            "terminal": ("gateway", TERMINAL),
        }[sender]
        network.ip(receiver, f"route replace blackhole {back}/32")
        end = ends[0] if sender == "terminal" else ends[1]
        sending = pool.submit(end.sendall, bytes(LONG))
        # The acknowledgements that are missing make it repeat what it has sent, and nothing else.
        eventually(lambda: network.repeated(sender))
        for one in ends:
            one.shutdown(socket.SHUT_RDWR)
        assert network.stop(sender) == 0
        assert sending.exception() is None or isinstance(sending.exception(), OSError)
        for one in ends:
            one.close()
    flight = max(sample["unacked"] for sample in network.events(sender, "sample"))
    # In packets, not all of them full; tail loss probes may bring a few more.
    assert WINDOW_PACKETS <= flight < WINDOW_PACKETS + 5


def test_a_middle_that_is_silent_for_a_while_is_lived_through(split: Split) -> None:
    words = bytes(range(251)) * 20_000
    with split.listen() as server, ThreadPoolExecutor(2) as pool:
        client, peer = split.joined(server)
        peer.sendall(b"x")
        assert client.recv(1) == b"x"
        split.ip("terminal", f"route replace blackhole {GATEWAY}/32")
        sending = pool.submit(peer.sendall, words)
        eventually(lambda: split.repeated("gateway"))
        split.ip("terminal", f"route replace {GATEWAY}/32 dev east {LINK}")
        received = b""
        while len(received) < len(words):
            received += client.recv(1 << 20)
        assert received == words
        sending.result()
        client.close()
        peer.close()
    assert [event["error"] for event in split.closed()[1]] == [None]


@pytest.mark.parametrize(
    ("node", "route", "role", "words"),
    [
        ("gateway", f"{TERMINAL}/32 dev west initrwnd 400", "gateway", "`initcwnd`"),
        ("terminal", f"{GATEWAY}/32 dev east initrwnd 400", "terminal", "`initcwnd`"),
        ("terminal", f"{GATEWAY}/32 dev east initcwnd 200 initrwnd 20", "gateway", "`initrwnd`"),
        ("gateway", f"{TERMINAL}/32 dev west initcwnd 200 initrwnd 20", "terminal", "`initrwnd`"),
    ],
)
def test_a_middle_that_would_begin_slowly_is_refused(
    network: Split, node: str, route: str, role: str, words: str
) -> None:
    network.ip(node, f"route replace {route}")
    for one in ("gateway", "terminal"):
        network.start(one)
    assert network.status(role) == 1
    (error,) = network.events(role, "error")
    assert words in error["message"]


def test_a_client_of_a_server_that_refuses_is_answered_and_reset(split: Split) -> None:
    # On a busy machine the reset can come before connect() returns; a refusal would be another
    # error.
    with pytest.raises(ConnectionResetError), split.connect() as client:
        client.recv(1)
    terminal, gateway = split.closed()
    assert [event["error"].split(":")[0] for event in terminal] == ["the gateway"]
    assert ["refused" in event["error"] for event in gateway] == [True]


def test_a_client_of_a_server_that_is_not_there_is_answered_and_reset(split: Split) -> None:
    # The kernel gives up after the first SYN and one more, not after six more.
    split.write("gateway", "/proc/sys/net/ipv4/tcp_syn_retries", "1")
    client = split.on("client", lambda: connected((NOBODY, PORT)))
    client.sendall(b"x")
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    client.close()
    assert "timed out" in split.closed()[1][0]["error"]


def test_a_terminal_without_a_gateway_resets_its_clients_until_there_is_one(split: Split) -> None:
    with split.listen() as server:
        client, peer = split.joined(server)
        client.sendall(b"x")
        assert peer.recv(1) == b"x"
        assert split.stop("gateway") == 0
        for end in (client, peer):
            with pytest.raises(ConnectionResetError):
                end.recv(1)
            end.close()
        # As above, the reset can come before connect() returns.
        with pytest.raises(ConnectionResetError), split.connect() as client:
            client.recv(1)
        split.start("gateway")
        split.wait_ready("gateway")
        client, peer = split.joined(server)
        client.sendall(b"y")
        assert peer.recv(1) == b"y"
        client.close()
        peer.close()
    assert [event["error"] is None for event in split.closed()[0]] == [False, False, True]


def test_what_is_under_way_at_the_end_is_reset(split: Split) -> None:
    with split.listen() as server:
        client, peer = split.joined(server)
        client.sendall(b"x")
        assert peer.recv(1) == b"x"
        assert split.stop("terminal") == 0
        for end in (client, peer):
            with pytest.raises(ConnectionResetError):
                end.recv(1)
            end.close()
    assert split.stop("gateway") == 0
    (closed,) = split.events("terminal", "closed")
    assert (closed["error"], closed["up_bytes"], closed["down_bytes"]) == ("stopped", 1, 0)
    (closed,) = split.events("gateway", "closed")
    assert closed["error"].startswith("the terminal")


def test_buffers_are_those_that_were_asked_for(network: Split) -> None:
    network.split(buffer_bytes=2 * BUFFER_BYTES)
    ready = network.wait_ready("gateway")
    assert ready["send_buffer_bytes"] == 4 * BUFFER_BYTES
