"""A client, a terminal, a gateway and a server, each in a network namespace, and a split
connection.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from waiting import completed, eventually

IP = shutil.which("ip") or "/usr/sbin/ip"
NODES = ("client", "terminal", "gateway", "server")
CLIENT, SERVER = "10.1.0.2", "10.3.0.2"
TERMINAL, GATEWAY = "10.2.0.1", "10.2.0.2"
PORT = 8080
WINDOW_PACKETS, MTU, MSS = 200, 1500, 1448
POOL = 4
BUFFER_BYTES = 400_000
# What has not happened by then never will, s.
PATIENCE_S = 60.0
CLONE_NEWNET = 0x40000000  # of sched.h

# Each node has its interface towards the client in the west, and towards the server in the east.
# As docs/build/endpoints.md, "Split connections", says.
LINK = f"initcwnd {WINDOW_PACKETS} initrwnd {2 * WINDOW_PACKETS}"
INTERCEPT = "route replace local 0.0.0.0/0 dev lo table 100"
SETUP = {
    "client": ("addr add 10.1.0.2/24 dev east", "route add default via 10.1.0.1"),
    "terminal": (
        "addr add 10.1.0.1/24 dev west",
        "addr add 10.2.0.1/24 dev east",
        "route add 10.3.0.0/24 via 10.2.0.2",
        INTERCEPT,
        f"rule add iif west ipproto tcp dport {PORT} lookup 100",
        f"route replace {GATEWAY}/32 dev east {LINK}",
    ),
    "gateway": (
        "addr add 10.2.0.2/24 dev west",
        "addr add 10.3.0.1/24 dev east",
        "route add 10.1.0.0/24 via 10.2.0.1",
        INTERCEPT,
        f"rule add iif east ipproto tcp sport {PORT} lookup 100",
        f"route replace {TERMINAL}/32 dev west {LINK}",
    ),
    "server": ("addr add 10.3.0.2/24 dev west", "route add default via 10.3.0.1"),
}
SYSCTLS = {
    "ip_forward": "1",
    "tcp_slow_start_after_idle": "0",
    "tcp_no_metrics_save": "1",
    "conf/all/rp_filter": "0",
}

T = TypeVar("T")
Event = dict[str, Any]


class Split:
    """The four namespaces, and the two proxies once they are started."""

    def __init__(self, program: Path, folder: Path) -> None:
        self._program, self._folder = program, folder
        self._names = {node: f"fairc-{node}-{os.getpid()}" for node in NODES}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._sockets: dict[str, int] = {}

    def build(self) -> None:
        """Make the namespaces and links."""
        for name in self._names.values():
            subprocess.run([IP, "netns", "add", name], check=True)
        for left, right in itertools.pairwise(NODES):
            ends = ("link", "add", "east", "netns", self._names[left], "type", "veth", "peer")
            right_end = ("name", "west", "netns", self._names[right])
            subprocess.run([IP, *ends, *right_end], check=True)
        for node, commands in SETUP.items():
            for interface in ("lo", "east", "west"):
                if (node, interface) not in (("client", "west"), ("server", "east")):
                    # Packets go out one by one, as in a cell.
                    self.ip(node, f"link set dev {interface} gso_max_segs 1 up")
            for name, value in SYSCTLS.items():
                self.write(node, f"/proc/sys/net/ipv4/{name}", value)
            for command in commands:
                self.ip(node, command)
        self.write("gateway", "/proc/sys/net/ipv4/tcp_tw_reuse", "1")

    def remove(self) -> None:
        """End what runs and delete the namespaces."""
        for process in self._processes.values():
            process.kill()
            process.wait()
        for name in self._names.values():
            subprocess.run([IP, "netns", "delete", name], check=False)

    def ip(self, node: str, command: str) -> None:
        """Run `ip` on a node."""
        subprocess.run([IP, "-netns", self._names[node], *command.split()], check=True)

    def write(self, node: str, path: str, value: str) -> None:
        """Write a file of /proc on a node."""
        inside = (IP, "netns", "exec", self._names[node])
        subprocess.run([*inside, "sh", "-c", f"echo {value} > {path}"], check=True)

    def on(self, node: str, work: Callable[[], T]) -> T:
        """Do `work` in a node's namespace; sockets that it opens stay there."""
        results: list[T] = []
        failures: list[OSError] = []

        def enter() -> None:
            with Path("/run/netns", self._names[node]).open() as namespace:
                # os.setns is there from Python 3.12 on.
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"cannot enter the namespace of {node}")
            try:
                results.append(work())
            except OSError as error:
                failures.append(error)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if failures:
            raise failures[0]
        (result,) = results
        return result

    def start(self, role: str, **changes: Any) -> None:
        """Start one of the proxies, `terminal` or `gateway`."""
        description = {
            "flow": "pep",
            "listen_ports": [PORT],
            "terminal_address": TERMINAL,
            "gateway_address": GATEWAY,
            "port": 4000,
            "cca": "cubic",
            "pool": POOL,
            "window_bytes": WINDOW_PACKETS * MTU,
            "rate_bps": 1_000_000_000,
            "buffer_bytes": BUFFER_BYTES,
            "syn_retries": 1,
            "sample_every_ns": 20_000_000,
        } | changes
        program = [str(self._program), f"pep-{role}", "--epoch-ns", str(time.time_ns())]
        with (self._folder / role).open("wb") as output:
            self._processes[role] = subprocess.Popen(
                [IP, "netns", "exec", self._names[role], *program, json.dumps(description)],
                stdout=output,
            )

    def split(self, **changes: Any) -> None:
        """Start both proxies and wait until their pool is open."""
        for role in ("gateway", "terminal"):
            self.start(role, **changes)
        for role in ("gateway", "terminal"):
            self.wait_ready(role)
            self._sockets[role] = self.descriptors(role, "socket")

    def wait_ready(self, role: str) -> Event:
        """Wait until a proxy's pool is open; this line is written at once."""
        return eventually(lambda: self.events(role, "ready"))[0]

    def settle(self) -> None:
        """Wait until every connection has ended at both proxies, and the pool is full again."""
        for role, count in self._sockets.items():
            eventually(partial(self._holds, role, count))

    def _holds(self, role: str, sockets: int) -> bool:
        return self.descriptors(role, "socket") == sockets

    def descriptors(self, role: str, kind: str) -> int:
        """How many descriptors of a kind (`socket`, `pipe`) a proxy has open."""
        count = 0
        for descriptor in (self.process(role) / "fd").iterdir():
            try:
                count += str(descriptor.readlink()).startswith(f"{kind}:")
            except FileNotFoundError:
                continue  # closed meanwhile
        return count

    def stop(self, role: str) -> int:
        """End a proxy by SIGTERM and return its exit status; then all its events can be read."""
        self._processes[role].terminate()
        return self._processes[role].wait(PATIENCE_S)

    def closed(self) -> tuple[list[Event], list[Event]]:
        """Wait for the ends of all connections, end both proxies, and return what they say of
        them.
        """
        self.settle()
        assert self.stop("terminal") == self.stop("gateway") == 0
        return self.events("terminal", "closed"), self.events("gateway", "closed")

    def status(self, role: str) -> int:
        """Wait until a proxy ends by itself and return its exit status."""
        return self._processes[role].wait(PATIENCE_S)

    def process(self, role: str) -> Path:
        """The /proc folder of a proxy (`ip netns exec` becomes the program)."""
        return Path("/proc", str(self._processes[role].pid))

    def events(self, role: str, event: str) -> list[Event]:
        """What a proxy has written of one kind."""
        lines = (self._folder / role).read_text().splitlines()
        events = (json.loads(line) for line in lines if line.endswith("}"))
        return [line for line in events if line["event"] == event]

    def repeated(self, role: str) -> bool:
        """Whether TCP has sent anything again at the node of a proxy, twice over."""
        path = ("cat", "/proc/net/snmp")
        inside = (IP, "netns", "exec", self._names[role])
        text = completed([*inside, *path], check=True).stdout
        names, values = (line.split() for line in text.splitlines() if line.startswith("Tcp:"))
        return int(dict(zip(names, values, strict=True))["RetransSegs"]) >= 2

    def listen(self, port: int = PORT) -> socket.socket:
        """A listening socket at the server."""
        server = self.on("server", lambda: socket.create_server((SERVER, port), backlog=4096))
        server.settimeout(PATIENCE_S)
        return server

    def connect(self, port: int = PORT) -> socket.socket:
        """A connection from the client to the server's address."""
        return self.on("client", lambda: connected((SERVER, port)))

    def joined(self, server: socket.socket) -> tuple[socket.socket, socket.socket]:
        """A connection's two ends, at the client and at the server."""
        client = self.connect()
        peer, _ = server.accept()
        peer.settimeout(PATIENCE_S)
        return client, peer


def connected(address: tuple[str, int]) -> socket.socket:
    """A connection that waits for nothing for ever."""
    return socket.create_connection(address, timeout=PATIENCE_S)
