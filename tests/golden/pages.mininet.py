#!/usr/bin/env python3
"""One cell of a network experiment: a Mininet program, written by `fairc compile`.

    sudo python3 THIS_FILE [OUTDIR]     run it
    sudo python3 THIS_FILE --cli        have Mininet's command line, with the network up

It needs Mininet, iproute2, fairc-endpoints (next to this file or on PATH), and the package `cell`,
which runs it (next to this file; cell/topology.py makes Mininet's topology of nodes and cables).
Its browser: Chromium, ChromeDriver, Selenium, and fairc-browser (next to this file or on PATH).
OUTDIR (default: the cell's id) receives packet captures, the endpoints' logs, queue statistics and,
last, cell.json. Nodes are network namespaces that nobody else sees; they and every process in
them end with this program, however it ends.
"""
# Comments name the line of the experiment's file that a part comes from.

from cell.links import Impairment, Interface, Shaper
from cell.model import Cable, Capture, Cell, Flow, Node, Pep, Route, TransportOptions
from cell.queues import Fifo
from cell.topology import run
from cell.workloads import LoadWorkload, PageObject

# Times are ns (after the epoch, which is when the flows begin), sizes bytes, rates bit/s.
CELL = Cell(
    id="3e697e6ef4cfae5d",
    experiment="pages",
    configuration="44136fa355b3678a",
    repetition=1,
    seed=251_810_346_355_374_439,
    nodes=(
        Node(
            "server", "host",
            (
                # <preset geo>:21
                Interface(
                    "server-eth0", "10.0.0.1/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
            ),
            (Route("10.0.0.0/8", "10.0.0.2"),),
        ),
        Node(
            "client", "host",
            (
                # <preset geo>:22
                Interface(
                    "client-eth0", "10.0.0.14/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
            ),
            (Route("10.0.0.0/8", "10.0.0.13"),),
        ),
        Node(
            "gateway", "router",
            (
                # <preset geo>:21
                Interface(
                    "gateway-eth0", "10.0.0.6/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
                Interface("gateway-eth1", "10.0.0.17/30"),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.5"),
                Route("10.0.0.14/32", "10.0.0.18"),
                Route("10.0.0.30/32", "10.0.0.18"),
            ),
        ),
        Node(
            "terminal", "router",
            (
                # <preset geo>:22
                Interface(
                    "terminal-eth0", "10.0.0.9/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
                Interface("terminal-eth1", "10.0.0.30/30"),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.29"),
                Route("10.0.0.14/32", "10.0.0.10"),
                Route("10.0.0.17/32", "10.0.0.29"),
            ),
        ),
        Node(
            "server-gateway", "hop",
            (
                # <preset geo>:21
                Interface(
                    "eth0", "10.0.0.2/30",
                    impairment=Impairment(15_000_000, limit_packets=2477, rate_bps=1_000_000_000),
                ),
                Interface(
                    "eth1", "10.0.0.5/30",
                    impairment=Impairment(15_000_000, limit_packets=2477, rate_bps=1_000_000_000),
                ),
            ),
            (Route("10.0.0.14/32", "10.0.0.6"),),
        ),
        Node(
            "terminal-client", "hop",
            (
                # <preset geo>:22
                Interface(
                    "eth0", "10.0.0.10/30", impairment=Impairment(500_000, rate_bps=1_000_000_000)
                ),
                Interface(
                    "eth1", "10.0.0.13/30", impairment=Impairment(500_000, rate_bps=1_000_000_000)
                ),
            ),
            (Route("10.0.0.1/32", "10.0.0.9"),),
        ),
        Node(
            "gateway-modem", "hop",
            (
                Interface("eth0", "10.0.0.18/30"),
                # <preset geo>:23
                Interface(
                    "eth1", "10.0.0.21/30", Shaper(25_000_000, "hop"), Fifo(limit_bytes=2_343_750),
                    bottleneck=True,
                ),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.17"),
                Route("10.0.0.14/32", "10.0.0.22"),
                Route("10.0.0.30/32", "10.0.0.22"),
            ),
        ),
        Node(
            "terminal-modem", "hop",
            (
                # <preset geo>:24
                Interface(
                    "eth0", "10.0.0.26/30", Shaper(5_000_000, "hop"), Fifo(limit_packets=1000)
                ),
                Interface("eth1", "10.0.0.29/30"),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.25"),
                Route("10.0.0.14/32", "10.0.0.30"),
                Route("10.0.0.17/32", "10.0.0.25"),
            ),
        ),
        Node(
            "gateway-terminal", "hop",
            (
                # <preset geo>:24
                Interface(
                    "eth0", "10.0.0.22/30", impairment=Impairment(359_500_000, rate_bps=5_000_000)
                ),
                # <preset geo>:23
                Interface(
                    "eth1", "10.0.0.25/30",
                    impairment=Impairment(359_500_000, limit_packets=1485, rate_bps=25_000_000),
                ),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.21"),
                Route("10.0.0.14/32", "10.0.0.26"),
                Route("10.0.0.30/32", "10.0.0.26"),
                Route("10.0.0.17/32", "10.0.0.21"),
            ),
        ),
    ),
    cables=(
        Cable(("server", "server-eth0"), ("server-gateway", "eth0")),
        Cable(("server-gateway", "eth1"), ("gateway", "gateway-eth0")),
        Cable(("terminal", "terminal-eth0"), ("terminal-client", "eth0")),
        Cable(("terminal-client", "eth1"), ("client", "client-eth0")),
        Cable(("gateway", "gateway-eth1"), ("gateway-modem", "eth0")),
        Cable(("gateway-modem", "eth1"), ("gateway-terminal", "eth0")),
        Cable(("gateway-terminal", "eth1"), ("terminal-modem", "eth0")),
        Cable(("terminal-modem", "eth1"), ("terminal", "terminal-eth1")),
    ),
    flows=(
        # pages.fexp:6
        Flow(
            "web",
            server="server",
            client="client",
            address="10.0.0.1",
            port=5001,
            transport="web",
            cca="bbr",
            workload=LoadWorkload(
                page=(
                    PageObject(path="/", bytes=9000, type="text/html", parent=None),
                    PageObject(path="/1.js", bytes=2000, type="text/javascript", parent=0),
                    PageObject(path="/2.png", bytes=2000, type="image/png", parent=1),
                    PageObject(path="/3.png", bytes=2000, type="image/png", parent=0),
                ),
                client="plain",
                protocols=("h2", "h3"),
                idle_ns=(0, 1_243_242_838),
                timeout_ns=60_000_000_000,
            ),
            starts_ns=(328_651_776,),
            base_rtt_ns=750_000_000,
            bottleneck=("gateway-modem", "eth1"),
            buffer_bytes=16_777_216,
            client_address="10.0.0.14",
            options=TransportOptions(initial_window_packets=32, pacing=True),
        ),
        # pages.fexp:7
        Flow(
            "seen",
            server="server",
            client="client",
            address="10.0.0.1",
            port=5002,
            transport="web",
            cca="cubic",
            workload=LoadWorkload(
                page=(PageObject(path="/", bytes=1_000_000, type="image/png", parent=None),),
                client="chromium",
                protocols=("h2",),
                idle_ns=(0,),
                timeout_ns=60_000_000_000,
            ),
            starts_ns=(1_000_000_000,),
            base_rtt_ns=750_000_000,
            bottleneck=("gateway-modem", "eth1"),
            buffer_bytes=16_777_216,
            client_address="10.0.0.14",
            options=TransportOptions(initial_window_packets=32),
        ),
    ),
    captures=(
        # entry of the bottleneck gateway-modem/eth1
        Capture(
            "entry.gateway-modem.eth1.eth0", "gateway-modem", "eth0", "in", "entry",
            ("gateway-modem", "eth1"),
        ),
        # exit of the bottleneck gateway-modem/eth1
        Capture(
            "exit.gateway-modem.eth1", "gateway-modem", "eth1", "out", "exit",
            ("gateway-modem", "eth1"),
        ),
        # delivered of the bottleneck gateway-modem/eth1
        Capture(
            "delivered.gateway-modem.eth1", "gateway-terminal", "eth1", "out", "delivered",
            ("gateway-modem", "eth1"),
        ),
        # data and ACKs at a sender
        Capture(
            "sender.server.server-eth0", "server", "server-eth0", "both", "sender",
            ("gateway-modem", "eth1"),
        ),
        # client of page loads
        Capture(
            "client.client.client-eth0", "client", "client-eth0", "in", "client",
            ("gateway-modem", "eth1"),
        ),
    ),
    peps=(
        # <preset geo>:25
        Pep(
            name="satellite",
            terminal="terminal",
            gateway="gateway",
            terminal_address="10.0.0.30",
            gateway_address="10.0.0.17",
            port=5003,
            ports=(5001, 5002),
            cca="bbr",
            pool=4,
            window_bytes=2_226_098,
            rate_bps=(25_000_000, 5_000_000),
            buffer_bytes=16_777_216,
        ),
    ),
    deadline_ns=183_243_242_838,
)

if __name__ == "__main__":
    run(CELL)
