"""Split connections carry TCP as it would go without them: bytes, ends, resets, and who talks to
whom.
"""

from __future__ import annotations

import hashlib
import random
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from split_connection import CLIENT, MSS, PATIENCE_S, PORT, SERVER, Split, connected

# More than all buffers between two programs hold: six of a connection, which the kernel doubles,
# and pipes.
MORE_THAN_FITS = 20_000_000
SIZES = (1, 100_000, 3_000_000, 10_000_000)


def test_both_ends_see_each_other_and_only_the_chosen_port_is_split(split: Split) -> None:
    with split.listen() as server:
        client, peer = split.joined(server)
        address = client.getsockname()
        assert (address[0], client.getpeername()) == (CLIENT, (SERVER, PORT))
        assert peer.getpeername() == address
        client.close()
        peer.close()
    with split.listen(PORT + 1) as server, split.connect(PORT + 1) as client:
        peer, other = server.accept()
        peer.close()
        assert other == client.getsockname()
    for ended in split.closed():
        assert [(event["connection"], event["error"]) for event in ended] == [(0, None)]
    for role in ("terminal", "gateway"):
        (begun,) = split.events(role, "split")
        assert begun["client"] == f"{address[0]}:{address[1]}"
        assert begun["server"] == f"{SERVER}:{PORT}"


def test_datagrams_and_pings_are_not_touched(split: Split) -> None:
    def datagram() -> socket.socket:
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    with split.on("server", datagram) as server, split.on("client", datagram) as client:
        server.settimeout(PATIENCE_S)
        client.settimeout(PATIENCE_S)
        server.bind((SERVER, PORT))
        client.sendto(b"question", (SERVER, PORT))
        words, address = server.recvfrom(100)
        assert (words, address[0]) == (b"question", CLIENT)
        server.sendto(b"answer", address)
        assert client.recvfrom(100) == (b"answer", (SERVER, PORT))

    def ping() -> socket.socket:
        return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)

    with split.on("client", ping) as client:
        client.settimeout(PATIENCE_S)
        # An echo request whose checksum is right: 0x0800 and this add up to 0xffff.
        client.sendto(struct.pack("!BBHI", 8, 0, 0xF7FF, 0), (SERVER, 0))
        packet, address = client.recvfrom(100)
        assert (address[0], packet[20]) == (SERVER, 0)  # an echo reply


def test_streams_both_ways_at_once_arrive_as_they_were_sent(split: Split) -> None:
    with split.listen() as server, ThreadPoolExecutor(4 * len(SIZES)) as pool:
        jobs, ends = [], []
        for number, size in enumerate(SIZES):
            client, peer = split.joined(server)
            ends += [client, peer]
            for sender, receiver in ((client, peer), (peer, client)):
                sending = pool.submit(_send, sender, number, size)
                jobs.append((sending, pool.submit(_digest, receiver)))
        for sent, received in jobs:
            assert sent.result() == received.result()
        for end in ends:
            end.close()
    for ended in split.closed():
        for direction in ("up_bytes", "down_bytes"):
            assert sorted(event[direction] for event in ended) == list(SIZES)
        assert {event["error"] for event in ended} == {None}


def test_half_a_close_is_half_a_close(split: Split) -> None:
    with split.listen() as server:
        for first, second in ((0, 1), (1, 0)):
            ends = split.joined(server)
            ends[first].sendall(b"question")
            ends[first].shutdown(socket.SHUT_WR)
            assert _all(ends[second]) == b"question"
            ends[second].sendall(b"answer" * 100_000)
            ends[second].close()
            assert _all(ends[first]) == b"answer" * 100_000
            ends[first].close()
    for ended in split.closed():
        assert [event["error"] for event in ended] == [None, None]


def test_a_reset_is_a_reset(split: Split) -> None:
    with split.listen() as server:
        for first, second in ((0, 1), (1, 0)):
            ends = split.joined(server)
            ends[first].sendall(b"x")
            assert ends[second].recv(1) == b"x"
            _reset(ends[first])
            with pytest.raises(ConnectionResetError):
                ends[second].recv(1)
            ends[second].close()
    names = [[event["error"].split(":")[0] for event in ended] for ended in split.closed()]
    assert names == [["the client", "the gateway"], ["the terminal", "the server"]]


def test_a_reset_comes_through_while_nobody_reads(split: Split) -> None:
    with split.listen() as server:
        for first, second in ((0, 1), (1, 0)):
            ends = split.joined(server)
            _fill(ends[first])
            _reset(ends[first])
            split.settle()
            with pytest.raises(ConnectionResetError):
                _all(ends[second])
            ends[second].close()


def test_one_direction_may_end_while_the_other_is_held_up(split: Split) -> None:
    """The end of both directions is seen, but cannot be taken: nobody may spin, and all comes
    later.
    """
    with split.listen() as server:
        client, peer = split.joined(server)
        peer.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
        _fill(client)
        with ThreadPoolExecutor(1) as pool:
            client.settimeout(PATIENCE_S)
            sending = pool.submit(_send, client, 1, 1_000_000)
            before = _processor_ticks(split, "terminal")
            with pytest.raises(TimeoutError):
                sending.result(1.0)
            assert _processor_ticks(split, "terminal") - before < 20  # of 10 ms
            peer.recv(1)
            _all(peer)
            sending.result()
        client.close()
        peer.close()
    for ended in split.closed():
        assert [event["error"] for event in ended] == [None]


def test_who_does_not_read_stops_who_sends_and_all_comes_later(split: Split) -> None:
    with split.listen() as server:
        for first, second in ((0, 1), (1, 0)):
            ends = split.joined(server)
            sent = _fill(ends[first])
            assert sent < MORE_THAN_FITS
            for role in ("terminal", "gateway"):
                status = (split.process(role) / "status").read_text().splitlines()
                (resident,) = (line for line in status if line.startswith("VmRSS:"))
                # kB: the kernel holds what is under way, in buffers that are bounded.
                assert int(resident.split()[1]) < 10_000
            with ThreadPoolExecutor(1) as pool:
                receiving = pool.submit(_all, ends[second])
                ends[first].settimeout(PATIENCE_S)
                ends[first].shutdown(socket.SHUT_WR)
                got = receiving.result()
            assert got == _pattern(sent)
            for end in ends:
                end.close()


@pytest.mark.full
def test_ten_thousand_short_connections_leave_nothing_behind(split: Split) -> None:
    count, threads = 10_000, 20
    answer = bytes(range(256)) * 4

    def serve(server: socket.socket) -> None:
        for _ in range(count):
            peer, _ = server.accept()
            with peer:
                assert peer.recv(4) == b"give"
                peer.sendall(answer)

    def ask(_: int) -> int:
        def work() -> int:
            good = 0
            for _ in range(count // threads):
                with connected((SERVER, PORT)) as client:
                    client.sendall(b"give")
                    good += _all(client) == answer
            return good

        return split.on("client", work)

    with split.listen() as server, ThreadPoolExecutor(threads + 1) as pool:
        serving = pool.submit(serve, server)
        assert sum(pool.map(ask, range(threads))) == count
        serving.result()
    split.settle()
    for role in ("terminal", "gateway"):
        assert split.descriptors(role, "pipe") <= 2 * 64  # what is kept for later
    for ended in split.closed():
        assert {event["error"] for event in ended} == {None}
        assert sorted(event["connection"] for event in ended) == list(range(count))
        assert {event["down_bytes"] for event in ended} == {len(answer)}


def test_more_clients_than_the_pool_has_wait_for_their_turn(split: Split) -> None:
    with split.listen() as server:
        clients = [split.connect() for _ in range(50)]
        for number, client in enumerate(clients):
            client.sendall(bytes([number]))
        words = []
        for _ in clients:
            peer, _ = server.accept()
            words.append(peer.recv(1)[0])
            peer.close()
        assert sorted(words) == list(range(50))
        for client in clients:
            client.close()
    split.settle()


def _pattern(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def _fill(sender: socket.socket) -> int:
    """Send a pattern until nothing has fitted for a while; return how much went."""
    sent, quiet = 0, threading.Event()
    sender.settimeout(1.0)
    pattern = _pattern(MORE_THAN_FITS)
    while not quiet.is_set() and sent < MORE_THAN_FITS:
        try:
            sent += sender.send(pattern[sent : sent + 64 * MSS])
        except TimeoutError:
            quiet.set()
    return sent


def _send(sender: socket.socket, seed: int, size: int) -> str:
    """Send bytes of this seed in pieces of any size, and the end; return their hash."""
    generator, digest = random.Random(seed), hashlib.sha256()
    while size:
        piece = generator.randbytes(min(size, generator.randint(1, 50_000)))
        digest.update(piece)
        sender.sendall(piece)
        size -= len(piece)
    sender.shutdown(socket.SHUT_WR)
    return digest.hexdigest()


def _digest(receiver: socket.socket) -> str:
    digest = hashlib.sha256()
    while piece := receiver.recv(65_536):
        digest.update(piece)
    return digest.hexdigest()


def _all(receiver: socket.socket) -> bytes:
    pieces = []
    while piece := receiver.recv(65_536):
        pieces.append(piece)
    return b"".join(pieces)


def _reset(end: socket.socket) -> None:
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


def _processor_ticks(split: Split, role: str) -> int:
    fields = (split.process(role) / "stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])
