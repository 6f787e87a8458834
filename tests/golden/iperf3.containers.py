"""One cell of a network experiment in containers, written by `fairc compile`.

    docker compose up    # in the folder of compose.yaml

Each node is a container that does what the conductor says, a container of its own that runs this.
All of them have the package `cell` and fairc-endpoints in their image. This folder, which they
share, receives packet captures, the endpoints' logs, queue statistics and, last, cell.json.
"""
# cell           c0662f7d3ab2bb39
# experiment     iperf3
# configuration  44136fa355b3678a
# repetition     1, seed 251810346355374439
# Comments name the line of the experiment's file that a part comes from.

from cell.containers import run
from cell.experiment import Capture, End, Experiment, Flow, Link, Network, Route, TransportOptions
from cell.links import Egress, Impairment, Shaper
from cell.queues import Fifo
from cell.workloads import FileWorkload, Iperf3Workload

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
    id="c0662f7d3ab2bb39",
    repetition=1,
    deadline_ns=18_885_760_000,
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
        Egress(
            "right",
            "right-eth1",
            Shaper(1_000_000, "hop"),
            Fifo(limit_packets=1000),
            bottleneck=True,
        ),
        Egress(
            "left-right", "left-right-eth0", impairment=Impairment(10_000_000, rate_bps=1_000_000)
        ),
        # <preset bottleneck>:20
        Egress(
            "left-right", "left-right-eth1", impairment=Impairment(10_000_000, rate_bps=1_000_000)
        ),
    ],
    flows=[
        # iperf3.fexp:6
        Flow(
            "down",
            server="server",
            client="client",
            workload=Iperf3Workload(time_s=1, window_bytes=300_000, reverse=True),
            port=5001,
            starts_ns=(0, 0),
            base_rtt_ns=20_000_000,
            cca="cubic",
            connections=2,
        ),
        # iperf3.fexp:7
        Flow(
            "up",
            server="client",
            client="server",
            workload=Iperf3Workload(reverse=False),
            port=5002,
            starts_ns=(2_000_000_000,),
            base_rtt_ns=20_000_000,
            cca="bbr",
            stop_ns=3_000_000_000,
            buffer_bytes=4_194_304,
            options=TransportOptions(pacing=True),
            rate_bps=500_000,
        ),
        # iperf3.fexp:8
        Flow(
            "udp",
            server="server",
            client="client",
            workload=Iperf3Workload(time_s=1, packet_bytes=1028, reverse=True),
            port=5003,
            starts_ns=(4_000_000_000,),
            base_rtt_ns=20_000_000,
            transport="udp",
            options=TransportOptions(sack=False),
            rate_bps=800_000,
        ),
        # iperf3.fexp:9
        Flow(
            "some",
            server="server",
            client="client",
            workload=Iperf3Workload(bytes=131_072, reverse=True),
            port=5004,
            starts_ns=(6_000_000_000,),
            base_rtt_ns=20_000_000,
            cca="reno",
        ),
        # iperf3.fexp:10
        Flow(
            "file",
            server="server",
            client="client",
            workload=FileWorkload(bytes=20_000),
            port=5005,
            starts_ns=(6_000_000_000,),
            base_rtt_ns=20_000_000,
            cca="reno",
        ),
    ],
    captures=[
        # entry of the bottleneck left/left-eth1
        Capture("left", "left-eth0", "in", name="entry.left.left-eth1.left-eth0"),
        # exit of the bottleneck left/left-eth1
        Capture("left", "left-eth1", "out", name="exit.left.left-eth1"),
        # delivered of the bottleneck left/left-eth1
        Capture("left-right", "left-right-eth1", "out", name="delivered.left.left-eth1"),
        # entry of the bottleneck right/right-eth1
        Capture("right", "right-eth0", "in", name="entry.right.right-eth1.right-eth0"),
        # exit of the bottleneck right/right-eth1
        Capture("right", "right-eth1", "out", name="exit.right.right-eth1"),
        # delivered of the bottleneck right/right-eth1
        Capture("left-right", "left-right-eth0", "out", name="delivered.right.right-eth1"),
        # data and ACKs at a sender
        Capture("server", "server-eth0", "both", name="sender.server.server-eth0", form="headers"),
        Capture("client", "client-eth0", "both", name="sender.client.client-eth0", form="headers"),
    ],
)

if __name__ == "__main__":
    run(NETWORK, ADDRESSES, EXPERIMENT)
