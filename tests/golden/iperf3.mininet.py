#!/usr/bin/env python3
"""One cell of a network experiment: a Mininet program, written by `fairc compile`.

    sudo python3 THIS_FILE [OUTDIR]     run it
    sudo python3 THIS_FILE --cli        have Mininet's command line, with the network up

It needs Mininet, iproute2, fairc-endpoints (next to this file or on PATH), and the package `cell`,
which runs it (next to this file; cell/topology.py makes Mininet's topology of nodes and cables).
Some flows are iperf3, which it needs as well; its reports are in OUTDIR as NAME.json.
OUTDIR (default: the cell's id) receives packet captures, the endpoints' logs, queue statistics and,
last, cell.json. Nodes are network namespaces that nobody else sees; they and every process in
them end with this program, however it ends.
"""
# Comments name the line of the experiment's file that a part comes from.

from cell.links import Impairment, Interface, Shaper
from cell.model import Cable, Capture, Cell, Flow, Node, Route, TransportOptions
from cell.queues import Fifo
from cell.topology import run
from cell.workloads import FileWorkload, Iperf3Workload

# Times are ns (after the epoch, which is when the flows begin), sizes bytes, rates bit/s.
CELL = Cell(
    id="c0662f7d3ab2bb39",
    experiment="iperf3",
    configuration="44136fa355b3678a",
    repetition=1,
    seed=251_810_346_355_374_439,
    nodes=(
        Node(
            "server", "host",
            (
                # <preset bottleneck>:20
                Interface(
                    "server-eth0", "10.0.0.1/30", Shaper(100_000_000, "below"),
                    Fifo(limit_packets=1000),
                ),
            ),
            (Route("10.0.0.0/8", "10.0.0.2"),),
        ),
        Node(
            "client", "host",
            (
                # <preset bottleneck>:20
                Interface(
                    "client-eth0", "10.0.0.6/30", Shaper(100_000_000, "below"),
                    Fifo(limit_packets=1000),
                ),
            ),
            (Route("10.0.0.0/8", "10.0.0.5"),),
        ),
        Node(
            "left", "router",
            (
                # <preset bottleneck>:20
                Interface(
                    "left-eth0", "10.0.0.2/30", Shaper(100_000_000, "here"),
                    Fifo(limit_packets=1000),
                ),
                # <preset bottleneck>:21
                Interface(
                    "left-eth1", "10.0.0.9/30", Shaper(1_000_000, "hop"), Fifo(limit_bytes=12_500),
                    bottleneck=True,
                ),
            ),
            (Route("10.0.0.6/32", "10.0.0.10"),),
        ),
        Node(
            "right", "router",
            (
                # <preset bottleneck>:20
                Interface(
                    "right-eth0", "10.0.0.5/30", Shaper(100_000_000, "here"),
                    Fifo(limit_packets=1000),
                ),
                # <preset bottleneck>:22
                Interface(
                    "right-eth1", "10.0.0.14/30", Shaper(1_000_000, "hop"),
                    Fifo(limit_packets=1000),
                    bottleneck=True,
                ),
            ),
            (Route("10.0.0.1/32", "10.0.0.13"),),
        ),
        Node(
            "left-right", "hop",
            (
                # <preset bottleneck>:22
                Interface(
                    "left-right-eth0", "10.0.0.10/30",
                    impairment=Impairment(10_000_000, rate_bps=1_000_000),
                ),
                # <preset bottleneck>:21
                Interface(
                    "left-right-eth1", "10.0.0.13/30",
                    impairment=Impairment(10_000_000, rate_bps=1_000_000),
                ),
            ),
            (Route("10.0.0.1/32", "10.0.0.9"), Route("10.0.0.6/32", "10.0.0.14")),
        ),
    ),
    cables=(
        Cable(("server", "server-eth0"), ("left", "left-eth0")),
        Cable(("right", "right-eth0"), ("client", "client-eth0")),
        Cable(("left", "left-eth1"), ("left-right", "left-right-eth0")),
        Cable(("left-right", "left-right-eth1"), ("right", "right-eth1")),
    ),
    flows=(
        # iperf3.fexp:6
        Flow(
            "down",
            server="server",
            client="client",
            address="10.0.0.1",
            port=5001,
            cca="cubic",
            connections=2,
            workload=Iperf3Workload(time_s=1, window_bytes=300_000, reverse=True),
            starts_ns=(0, 0),
            base_rtt_ns=20_000_000,
            bottleneck=("left", "left-eth1"),
            client_address="10.0.0.6",
        ),
        # iperf3.fexp:7
        Flow(
            "up",
            server="client",
            client="server",
            address="10.0.0.6",
            port=5002,
            cca="bbr",
            workload=Iperf3Workload(reverse=False),
            starts_ns=(2_000_000_000,),
            stop_ns=3_000_000_000,
            base_rtt_ns=20_000_000,
            bottleneck=("right", "right-eth1"),
            buffer_bytes=4_194_304,
            client_address="10.0.0.1",
            options=TransportOptions(pacing=True),
            rate_bps=500_000,
        ),
        # iperf3.fexp:8
        Flow(
            "udp",
            server="server",
            client="client",
            address="10.0.0.1",
            port=5003,
            transport="udp",
            workload=Iperf3Workload(time_s=1, packet_bytes=1028, reverse=True),
            starts_ns=(4_000_000_000,),
            base_rtt_ns=20_000_000,
            bottleneck=("left", "left-eth1"),
            client_address="10.0.0.6",
            options=TransportOptions(sack=False),
            rate_bps=800_000,
        ),
        # iperf3.fexp:9
        Flow(
            "some",
            server="server",
            client="client",
            address="10.0.0.1",
            port=5004,
            cca="reno",
            workload=Iperf3Workload(bytes=131_072, reverse=True),
            starts_ns=(6_000_000_000,),
            base_rtt_ns=20_000_000,
            bottleneck=("left", "left-eth1"),
            client_address="10.0.0.6",
        ),
        # iperf3.fexp:10
        Flow(
            "file",
            server="server",
            client="client",
            address="10.0.0.1",
            port=5005,
            cca="reno",
            workload=FileWorkload(bytes=20_000),
            starts_ns=(6_000_000_000,),
            base_rtt_ns=20_000_000,
            bottleneck=("left", "left-eth1"),
            client_address="10.0.0.6",
        ),
    ),
    captures=(
        # entry of the bottleneck left/left-eth1
        Capture(
            "entry.left.left-eth1.left-eth0", "left", "left-eth0", "in", "entry",
            ("left", "left-eth1"),
        ),
        # exit of the bottleneck left/left-eth1
        Capture("exit.left.left-eth1", "left", "left-eth1", "out", "exit", ("left", "left-eth1")),
        # delivered of the bottleneck left/left-eth1
        Capture(
            "delivered.left.left-eth1", "left-right", "left-right-eth1", "out", "delivered",
            ("left", "left-eth1"),
        ),
        # entry of the bottleneck right/right-eth1
        Capture(
            "entry.right.right-eth1.right-eth0", "right", "right-eth0", "in", "entry",
            ("right", "right-eth1"),
        ),
        # exit of the bottleneck right/right-eth1
        Capture(
            "exit.right.right-eth1", "right", "right-eth1", "out", "exit", ("right", "right-eth1")
        ),
        # delivered of the bottleneck right/right-eth1
        Capture(
            "delivered.right.right-eth1", "left-right", "left-right-eth0", "out", "delivered",
            ("right", "right-eth1"),
        ),
        # data and ACKs at a sender
        Capture(
            "sender.server.server-eth0", "server", "server-eth0", "both", "sender",
            ("left", "left-eth1"),
        ),
        Capture(
            "sender.client.client-eth0", "client", "client-eth0", "both", "sender",
            ("right", "right-eth1"),
        ),
    ),
    deadline_ns=18_885_760_000,
)

if __name__ == "__main__":
    run(CELL)
