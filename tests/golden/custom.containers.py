"""One cell of a network experiment in containers, written by `fairc compile`.

    docker compose up    # in the folder of compose.yaml

Each node is a container that does what the conductor says, a container of its own that runs this.
All of them have the package `cell` and fairc-endpoints in their image. This folder, which they
share, receives packet captures, the endpoints' logs, queue statistics and, last, cell.json.
"""
# cell           f44e3ef0de4f22e9
# experiment     custom
# configuration  dddf9eda652cfba1
#   long = cubic
# repetition     1, seed 123167460428437279
# Comments name the line of the experiment's file that a part comes from.

from cell.containers import run
from cell.experiment import Capture, End, Experiment, Flow, Link, Network, Route
from cell.links import Egress, GilbertElliott, Impairment, Shaper
from cell.queues import Fifo, FqCoDel, Red
from cell.workloads import BulkWorkload

NETWORK = Network(
    nodes={
        "c1": "host",
        "c2": "host",
        "c3": "host",
        "s1": "host",
        "s2": "host",
        "s3": "host",
        "r1": "router",
        "r2": "router",
        "r3": "router",
        "c1-r1": "hop",
        "c2-r1": "hop",
        "s2-r2": "hop",
        "c3-r2": "hop",
        "s1-r3": "hop",
        "s3-r3": "hop",
        "r2-r1": "hop",
        "r2-r3": "hop",
    },
    links=[
        Link(End("c1", "c1-eth0", "10.0.0.1/30"), End("c1-r1", "c1-r1-eth0", "10.0.0.2/30")),
        Link(End("c1-r1", "c1-r1-eth1", "10.0.0.5/30"), End("r1", "r1-eth0", "10.0.0.6/30")),
        Link(End("c2", "c2-eth0", "10.0.0.9/30"), End("c2-r1", "c2-r1-eth0", "10.0.0.10/30")),
        Link(End("c2-r1", "c2-r1-eth1", "10.0.0.13/30"), End("r1", "r1-eth1", "10.0.0.14/30")),
        Link(End("s2", "s2-eth0", "10.0.0.17/30"), End("s2-r2", "s2-r2-eth0", "10.0.0.18/30")),
        Link(End("s2-r2", "s2-r2-eth1", "10.0.0.21/30"), End("r2", "r2-eth0", "10.0.0.22/30")),
        Link(End("c3", "c3-eth0", "10.0.0.25/30"), End("c3-r2", "c3-r2-eth0", "10.0.0.26/30")),
        Link(End("c3-r2", "c3-r2-eth1", "10.0.0.29/30"), End("r2", "r2-eth1", "10.0.0.30/30")),
        Link(End("s1", "s1-eth0", "10.0.0.33/30"), End("s1-r3", "s1-r3-eth0", "10.0.0.34/30")),
        Link(End("s1-r3", "s1-r3-eth1", "10.0.0.37/30"), End("r3", "r3-eth0", "10.0.0.38/30")),
        Link(End("s3", "s3-eth0", "10.0.0.41/30"), End("s3-r3", "s3-r3-eth0", "10.0.0.42/30")),
        Link(End("s3-r3", "s3-r3-eth1", "10.0.0.45/30"), End("r3", "r3-eth1", "10.0.0.46/30")),
        Link(End("r2", "r2-eth2", "10.0.0.49/30"), End("r2-r1", "r2-r1-eth0", "10.0.0.50/30")),
        Link(End("r2-r1", "r2-r1-eth1", "10.0.0.53/30"), End("r1", "r1-eth2", "10.0.0.54/30")),
        Link(End("r2", "r2-eth3", "10.0.0.57/30"), End("r2-r3", "r2-r3-eth0", "10.0.0.58/30")),
        Link(End("r2-r3", "r2-r3-eth1", "10.0.0.61/30"), End("r3", "r3-eth2", "10.0.0.62/30")),
    ],
)

# Addresses on the container engine's networks that identify the interfaces of a node.
ADDRESSES = {
    "c1": ["198.18.0.2"],
    "c2": ["198.18.0.18"],
    "c3": ["198.18.0.50"],
    "s1": ["198.18.0.66"],
    "s2": ["198.18.0.34"],
    "s3": ["198.18.0.82"],
    "r1": ["198.18.0.11", "198.18.0.27", "198.18.0.107"],
    "r2": ["198.18.0.43", "198.18.0.59", "198.18.0.98", "198.18.0.114"],
    "r3": ["198.18.0.75", "198.18.0.91", "198.18.0.123"],
    "c1-r1": ["198.18.0.3", "198.18.0.10"],
    "c2-r1": ["198.18.0.19", "198.18.0.26"],
    "s2-r2": ["198.18.0.35", "198.18.0.42"],
    "c3-r2": ["198.18.0.51", "198.18.0.58"],
    "s1-r3": ["198.18.0.67", "198.18.0.74"],
    "s3-r3": ["198.18.0.83", "198.18.0.90"],
    "r2-r1": ["198.18.0.99", "198.18.0.106"],
    "r2-r3": ["198.18.0.115", "198.18.0.122"],
}

# Times are ns (after the epoch, which is when the flows begin), sizes bytes, rates bit/s.
EXPERIMENT = Experiment(
    id="f44e3ef0de4f22e9",
    repetition=1,
    duration_ns=60_000_000_000,
    deadline_ns=61_000_000_000,
    routes={
        "c1": [Route("10.0.0.0/8", "10.0.0.2")],
        "c2": [Route("10.0.0.0/8", "10.0.0.10")],
        "c3": [Route("10.0.0.0/8", "10.0.0.26")],
        "s1": [Route("10.0.0.0/8", "10.0.0.34")],
        "s2": [Route("10.0.0.0/8", "10.0.0.18")],
        "s3": [Route("10.0.0.0/8", "10.0.0.42")],
        "r1": [
            Route("10.0.0.1/32", "10.0.0.5"),
            Route("10.0.0.9/32", "10.0.0.13"),
            Route("10.0.0.25/32", "10.0.0.53"),
            Route("10.0.0.33/32", "10.0.0.53"),
            Route("10.0.0.17/32", "10.0.0.53"),
            Route("10.0.0.41/32", "10.0.0.53"),
        ],
        "r2": [
            Route("10.0.0.1/32", "10.0.0.50"),
            Route("10.0.0.9/32", "10.0.0.50"),
            Route("10.0.0.25/32", "10.0.0.29"),
            Route("10.0.0.33/32", "10.0.0.58"),
            Route("10.0.0.17/32", "10.0.0.21"),
            Route("10.0.0.41/32", "10.0.0.58"),
        ],
        "r3": [
            Route("10.0.0.1/32", "10.0.0.61"),
            Route("10.0.0.9/32", "10.0.0.61"),
            Route("10.0.0.25/32", "10.0.0.61"),
            Route("10.0.0.33/32", "10.0.0.37"),
            Route("10.0.0.17/32", "10.0.0.61"),
            Route("10.0.0.41/32", "10.0.0.45"),
        ],
        "c1-r1": [
            Route("10.0.0.9/32", "10.0.0.6"),
            Route("10.0.0.25/32", "10.0.0.6"),
            Route("10.0.0.33/32", "10.0.0.6"),
            Route("10.0.0.17/32", "10.0.0.6"),
            Route("10.0.0.41/32", "10.0.0.6"),
        ],
        "c2-r1": [
            Route("10.0.0.1/32", "10.0.0.14"),
            Route("10.0.0.25/32", "10.0.0.14"),
            Route("10.0.0.33/32", "10.0.0.14"),
            Route("10.0.0.17/32", "10.0.0.14"),
            Route("10.0.0.41/32", "10.0.0.14"),
        ],
        "s2-r2": [
            Route("10.0.0.1/32", "10.0.0.22"),
            Route("10.0.0.9/32", "10.0.0.22"),
            Route("10.0.0.25/32", "10.0.0.22"),
            Route("10.0.0.33/32", "10.0.0.22"),
            Route("10.0.0.41/32", "10.0.0.22"),
        ],
        "c3-r2": [
            Route("10.0.0.1/32", "10.0.0.30"),
            Route("10.0.0.9/32", "10.0.0.30"),
            Route("10.0.0.33/32", "10.0.0.30"),
            Route("10.0.0.17/32", "10.0.0.30"),
            Route("10.0.0.41/32", "10.0.0.30"),
        ],
        "s1-r3": [
            Route("10.0.0.1/32", "10.0.0.38"),
            Route("10.0.0.9/32", "10.0.0.38"),
            Route("10.0.0.25/32", "10.0.0.38"),
            Route("10.0.0.17/32", "10.0.0.38"),
            Route("10.0.0.41/32", "10.0.0.38"),
        ],
        "s3-r3": [
            Route("10.0.0.1/32", "10.0.0.46"),
            Route("10.0.0.9/32", "10.0.0.46"),
            Route("10.0.0.25/32", "10.0.0.46"),
            Route("10.0.0.33/32", "10.0.0.46"),
            Route("10.0.0.17/32", "10.0.0.46"),
        ],
        "r2-r1": [
            Route("10.0.0.1/32", "10.0.0.54"),
            Route("10.0.0.9/32", "10.0.0.54"),
            Route("10.0.0.25/32", "10.0.0.49"),
            Route("10.0.0.33/32", "10.0.0.49"),
            Route("10.0.0.17/32", "10.0.0.49"),
            Route("10.0.0.41/32", "10.0.0.49"),
        ],
        "r2-r3": [
            Route("10.0.0.1/32", "10.0.0.57"),
            Route("10.0.0.9/32", "10.0.0.57"),
            Route("10.0.0.25/32", "10.0.0.57"),
            Route("10.0.0.33/32", "10.0.0.62"),
            Route("10.0.0.17/32", "10.0.0.57"),
            Route("10.0.0.41/32", "10.0.0.62"),
        ],
    },
    egress=[
        # custom.fexp:8
        Egress("c1", "c1-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        Egress("c2", "c2-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        Egress("c3", "c3-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        Egress("s1", "s1-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        Egress("s2", "s2-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        Egress("s3", "s3-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        Egress("r1", "r1-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        Egress("r1", "r1-eth1", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        # custom.fexp:10
        Egress("r1", "r1-eth2", Shaper(20_000_000, "hop"), Fifo(limit_packets=1000)),
        # custom.fexp:8
        Egress("r2", "r2-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        Egress("r2", "r2-eth1", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        # custom.fexp:9
        Egress(
            "r2",
            "r2-eth2",
            Shaper(20_000_000, "hop"),
            FqCoDel(
                limit_packets=73,
                target_ns=5_000_000,
                interval_ns=100_000_000,
                flows=1024,
                quantum_bytes=1514,
                memory_bytes=33_554_432,
                drop_batch=64,
                ecn=True,
            ),
            bottleneck=True,
        ),
        # custom.fexp:11
        Egress(
            "r2",
            "r2-eth3",
            Shaper(20_000_000, "hop"),
            Red(
                limit_bytes=125_000,
                min_bytes=12_500,
                max_bytes=125_000,
                average_packet_bytes=1514,
                burst_packets=35,
                probability=0.9999999997671694,
                ecn=True,
            ),
        ),
        # custom.fexp:8
        Egress("r3", "r3-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        Egress("r3", "r3-eth1", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        # custom.fexp:11
        Egress(
            "r3",
            "r3-eth2",
            Shaper(20_000_000, "hop"),
            Red(
                limit_bytes=125_000,
                min_bytes=12_500,
                max_bytes=125_000,
                average_packet_bytes=1514,
                burst_packets=35,
                probability=0.9999999997671694,
                ecn=True,
            ),
            bottleneck=True,
        ),
        # custom.fexp:8
        Egress("c1-r1", "c1-r1-eth0", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        Egress("c1-r1", "c1-r1-eth1", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        Egress("c2-r1", "c2-r1-eth0", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        Egress("c2-r1", "c2-r1-eth1", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        Egress("s2-r2", "s2-r2-eth0", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        Egress("s2-r2", "s2-r2-eth1", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        Egress("c3-r2", "c3-r2-eth0", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        Egress("c3-r2", "c3-r2-eth1", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        Egress("s1-r3", "s1-r3-eth0", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        Egress("s1-r3", "s1-r3-eth1", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        Egress("s3-r3", "s3-r3-eth0", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        Egress("s3-r3", "s3-r3-eth1", impairment=Impairment(1_000_000, rate_bps=1_000_000_000)),
        # custom.fexp:10
        Egress("r2-r1", "r2-r1-eth0", impairment=Impairment(10_000_000, rate_bps=20_000_000)),
        # custom.fexp:9
        Egress("r2-r1", "r2-r1-eth1", impairment=Impairment(10_000_000, rate_bps=20_000_000)),
        # custom.fexp:11
        Egress(
            "r2-r3",
            "r2-r3-eth0",
            impairment=Impairment(
                10_000_000,
                loss=0.03225806451612903,
                bursts=GilbertElliott(p=0.01, r=0.3, h=0.0, k=1.0),
                seed=1_775_636_408_033_935_273,
                rate_bps=20_000_000,
            ),
        ),
        Egress(
            "r2-r3",
            "r2-r3-eth1",
            impairment=Impairment(
                10_000_000,
                loss=0.03225806451612903,
                bursts=GilbertElliott(p=0.01, r=0.3, h=0.0, k=1.0),
                seed=1_455_911_724_870_472_720,
                rate_bps=20_000_000,
            ),
        ),
    ],
    flows=[
        # custom.fexp:19
        Flow(
            "long",
            server="s1",
            client="c1",
            workload=BulkWorkload(),
            port=5001,
            starts_ns=(30_997_200,),
            base_rtt_ns=44_000_000,
            cca="cubic",
            buffer_bytes=524_288,
        ),
        # custom.fexp:20
        Flow(
            "short1",
            server="s2",
            client="c2",
            workload=BulkWorkload(),
            port=5002,
            starts_ns=(5_000_000_000,),
            base_rtt_ns=24_000_000,
            cca="cubic",
            buffer_bytes=524_288,
        ),
        # custom.fexp:21
        Flow(
            "short2",
            server="s3",
            client="c3",
            workload=BulkWorkload(),
            port=5003,
            starts_ns=(10_000_000_000,),
            base_rtt_ns=24_000_000,
            cca="cubic",
            buffer_bytes=524_288,
        ),
    ],
    captures=[
        # entry of the bottleneck r3/r3-eth2
        Capture("r3", "r3-eth0", "in", name="entry.r3.r3-eth2.r3-eth0"),
        Capture("r3", "r3-eth1", "in", name="entry.r3.r3-eth2.r3-eth1"),
        # exit of the bottleneck r3/r3-eth2
        Capture("r3", "r3-eth2", "out", name="exit.r3.r3-eth2"),
        # delivered of the bottleneck r3/r3-eth2
        Capture("r2-r3", "r2-r3-eth0", "out", name="delivered.r3.r3-eth2"),
        # entry of the bottleneck r2/r2-eth2
        Capture("r2", "r2-eth3", "in", name="entry.r2.r2-eth2.r2-eth3"),
        Capture("r2", "r2-eth0", "in", name="entry.r2.r2-eth2.r2-eth0"),
        # exit of the bottleneck r2/r2-eth2
        Capture("r2", "r2-eth2", "out", name="exit.r2.r2-eth2"),
        # delivered of the bottleneck r2/r2-eth2
        Capture("r2-r1", "r2-r1-eth1", "out", name="delivered.r2.r2-eth2"),
        # data and ACKs at a sender
        Capture("s1", "s1-eth0", "both", name="sender.s1.s1-eth0", form="headers"),
        Capture("s2", "s2-eth0", "both", name="sender.s2.s2-eth0", form="headers"),
        Capture("s3", "s3-eth0", "both", name="sender.s3.s3-eth0", form="headers"),
    ],
)

if __name__ == "__main__":
    run(NETWORK, ADDRESSES, EXPERIMENT)
