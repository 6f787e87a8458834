"""One cell of a network experiment in containers, written by `fairc compile`.

    docker compose up    # in the folder of compose.yaml

Each node is a container that does what the conductor says, a container of its own that runs this.
All of them have the package `cell` and fairc-endpoints in their image. This folder, which they
share, receives packet captures, the endpoints' logs, queue statistics and, last, cell.json.
"""
# Comments name the line of the experiment's file that a part comes from.

from cell.containers import run
from cell.links import Impairment, Interface, Shaper
from cell.model import Cable, Capture, Cell, Flow, Node, Route, TransportOptions
from cell.queues_fifo import Fifo
from cell.workloads_file import FileWorkload

# Addresses on the container engine's networks that identify the interfaces of a node.
ADDRESSES = {
    "server": ["198.18.0.2"],
    "client": ["198.18.0.11"],
    "left": ["198.18.0.3", "198.18.0.18"],
    "right": ["198.18.0.10", "198.18.0.27"],
    "left-right": ["198.18.0.19", "198.18.0.26"],
}

# Times are ns (after the epoch, which is when the flows begin), sizes bytes, rates bit/s.
CELL = Cell(
    id="d7279b93418cfffa",
    experiment="quickstart",
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
                    "right-eth1", "10.0.0.14/30", Shaper(1_000_000, "hop"), Fifo(limit_packets=1000)
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
                    impairment=Impairment(25_000_000, rate_bps=1_000_000),
                ),
                # <preset bottleneck>:21
                Interface(
                    "left-right-eth1", "10.0.0.13/30",
                    impairment=Impairment(25_000_000, rate_bps=1_000_000),
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
        # quickstart.fexp:9
        Flow(
            "cubic",
            server="server",
            client="client",
            address="10.0.0.1",
            port=5001,
            cca="cubic",
            workload=FileWorkload(bytes=10_000_000),
            starts_ns=(49_875_043,),
            base_rtt_ns=50_000_000,
            bottleneck=("left", "left-eth1"),
            client_address="10.0.0.6",
        ),
        # quickstart.fexp:10
        Flow(
            "bbr",
            server="server",
            client="client",
            address="10.0.0.1",
            port=5002,
            cca="bbr",
            workload=FileWorkload(bytes=10_000_000),
            starts_ns=(29_058_537,),
            base_rtt_ns=50_000_000,
            bottleneck=("left", "left-eth1"),
            client_address="10.0.0.6",
            options=TransportOptions(pacing=True),
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
        # data and ACKs at a sender
        Capture(
            "sender.server.server-eth0", "server", "server-eth0", "both", "sender",
            ("left", "left-eth1"),
        ),
    ),
    deadline_ns=1_602_050_000_000,
)

if __name__ == "__main__":
    run(CELL, ADDRESSES)
