"""One cell of a network experiment in containers, written by `fairc compile`.

    docker compose up    # in the folder of compose.yaml

Each node is a container that does what the conductor says, a container of its own that runs this.
All of them have the package `cell` and fairc-endpoints in their image. This folder, which they
share, receives packet captures, the endpoints' logs, queue statistics and, last, cell.json.
"""
# cell           72316535ea9df566
# experiment     quickstart
# configuration  44136fa355b3678a
# repetition     1, seed 251810346355374439
# Comments name the line of the experiment's file that a part comes from.

from cell.containers import run
from cell.experiment import Capture, End, Experiment, Flow, Link, Network, Route, TransportOptions
from cell.links import Egress, Impairment, Shaper
from cell.queues import Fifo
from cell.workloads import FileWorkload

NETWORK = Network(
    nodes={
        "server": "host",
        "client": "host",
        "left": "router",
        "right": "router",
        "left-right": "hop",
    },
    links=[
        Link(End("server", "server-eth0", "10.0.0.1/30"), End("left", "left-eth0", "10.0.0.2/30")),
        Link(
            End("right", "right-eth0", "10.0.0.5/30"), End("client", "client-eth0", "10.0.0.6/30")
        ),
        Link(
            End("left", "left-eth1", "10.0.0.9/30"),
            End("left-right", "left-right-eth0", "10.0.0.10/30"),
        ),
        Link(
            End("left-right", "left-right-eth1", "10.0.0.13/30"),
            End("right", "right-eth1", "10.0.0.14/30"),
        ),
    ],
)

# Addresses on the container engine's networks that identify the interfaces of a node.
ADDRESSES = {
    "server": ["198.18.0.2"],
    "client": ["198.18.0.11"],
    "left": ["198.18.0.3", "198.18.0.18"],
    "right": ["198.18.0.10", "198.18.0.27"],
    "left-right": ["198.18.0.19", "198.18.0.26"],
}

# Times are ns (after the epoch, which is when the flows begin), sizes bytes, rates bit/s.
EXPERIMENT = Experiment(
    id="72316535ea9df566",
    repetition=1,
    deadline_ns=1_602_050_000_000,
    routes={
        "server": [Route("10.0.0.0/8", "10.0.0.2")],
        "client": [Route("10.0.0.0/8", "10.0.0.5")],
        "left": [Route("10.0.0.6/32", "10.0.0.10")],
        "right": [Route("10.0.0.1/32", "10.0.0.13")],
        "left-right": [Route("10.0.0.1/32", "10.0.0.9"), Route("10.0.0.6/32", "10.0.0.14")],
    },
    egress=[
        # <preset bottleneck>:19
        Egress("server", "server-eth0", Shaper(100_000_000, "below"), Fifo(limit_packets=1000)),
        Egress("client", "client-eth0", Shaper(100_000_000, "below"), Fifo(limit_packets=1000)),
        Egress("left", "left-eth0", Shaper(100_000_000, "here"), Fifo(limit_packets=1000)),
        # <preset bottleneck>:20
        Egress(
            "left", "left-eth1", Shaper(1_000_000, "hop"), Fifo(limit_bytes=12_500), bottleneck=True
        ),
        # <preset bottleneck>:19
        Egress("right", "right-eth0", Shaper(100_000_000, "here"), Fifo(limit_packets=1000)),
        # <preset bottleneck>:21
        Egress("right", "right-eth1", Shaper(1_000_000, "hop"), Fifo(limit_packets=1000)),
        Egress(
            "left-right", "left-right-eth0", impairment=Impairment(25_000_000, rate_bps=1_000_000)
        ),
        # <preset bottleneck>:20
        Egress(
            "left-right", "left-right-eth1", impairment=Impairment(25_000_000, rate_bps=1_000_000)
        ),
    ],
    flows=[
        # quickstart.fexp:9
        Flow(
            "cubic",
            server="server",
            client="client",
            workload=FileWorkload(bytes=10_000_000),
            port=5001,
            starts_ns=(49_875_043,),
            base_rtt_ns=50_000_000,
            cca="cubic",
        ),
        # quickstart.fexp:10
        Flow(
            "bbr",
            server="server",
            client="client",
            workload=FileWorkload(bytes=10_000_000),
            port=5002,
            starts_ns=(29_058_537,),
            base_rtt_ns=50_000_000,
            cca="bbr",
            options=TransportOptions(pacing=True),
        ),
    ],
    captures=[
        # entry of the bottleneck left/left-eth1
        Capture("left", "left-eth0", "in", name="entry.left.left-eth1.left-eth0"),
        # exit of the bottleneck left/left-eth1
        Capture("left", "left-eth1", "out", name="exit.left.left-eth1"),
        # delivered of the bottleneck left/left-eth1
        Capture("left-right", "left-right-eth1", "out", name="delivered.left.left-eth1"),
        # data and ACKs at a sender
        Capture("server", "server-eth0", "both", name="sender.server.server-eth0", form="headers"),
    ],
)

if __name__ == "__main__":
    run(NETWORK, ADDRESSES, EXPERIMENT)
