"""One cell of a network experiment in containers, written by `fairc compile`.

    docker compose up    # in the folder of compose.yaml

Each node is a container that does what the conductor says, a container of its own that runs this.
All of them have the package `cell` and fairc-endpoints in their image. This folder, which they
share, receives packet captures, the endpoints' logs, queue statistics and, last, cell.json.
"""
# Comments name the line of the experiment's file that a part comes from.

from cell.containers import run
from cell.links import GilbertElliott, Impairment, Interface, Shaper
from cell.model import Cable, Capture, Cell, Flow, Node, Route
from cell.queues import Fifo, FqCoDel, Red
from cell.workloads import BulkWorkload

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
CELL = Cell(
    id="f44e3ef0de4f22e9",
    experiment="custom",
    configuration="dddf9eda652cfba1",
    bindings={"long": "cubic"},
    repetition=1,
    seed=123_167_460_428_437_279,
    nodes=(
        Node(
            "c1", "host",
            (
                # custom.fexp:8
                Interface(
                    "c1-eth0", "10.0.0.1/30", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)
                ),
            ),
            (Route("10.0.0.0/8", "10.0.0.2"),),
        ),
        Node(
            "c2", "host",
            (
                # custom.fexp:8
                Interface(
                    "c2-eth0", "10.0.0.9/30", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)
                ),
            ),
            (Route("10.0.0.0/8", "10.0.0.10"),),
        ),
        Node(
            "c3", "host",
            (
                # custom.fexp:8
                Interface(
                    "c3-eth0", "10.0.0.25/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
            ),
            (Route("10.0.0.0/8", "10.0.0.26"),),
        ),
        Node(
            "s1", "host",
            (
                # custom.fexp:8
                Interface(
                    "s1-eth0", "10.0.0.33/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
            ),
            (Route("10.0.0.0/8", "10.0.0.34"),),
        ),
        Node(
            "s2", "host",
            (
                # custom.fexp:8
                Interface(
                    "s2-eth0", "10.0.0.17/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
            ),
            (Route("10.0.0.0/8", "10.0.0.18"),),
        ),
        Node(
            "s3", "host",
            (
                # custom.fexp:8
                Interface(
                    "s3-eth0", "10.0.0.41/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
            ),
            (Route("10.0.0.0/8", "10.0.0.42"),),
        ),
        Node(
            "r1", "router",
            (
                # custom.fexp:8
                Interface(
                    "r1-eth0", "10.0.0.6/30", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)
                ),
                Interface(
                    "r1-eth1", "10.0.0.14/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
                # custom.fexp:10
                Interface(
                    "r1-eth2", "10.0.0.54/30", Shaper(20_000_000, "hop"), Fifo(limit_packets=1000)
                ),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.5"),
                Route("10.0.0.9/32", "10.0.0.13"),
                Route("10.0.0.25/32", "10.0.0.53"),
                Route("10.0.0.33/32", "10.0.0.53"),
                Route("10.0.0.17/32", "10.0.0.53"),
                Route("10.0.0.41/32", "10.0.0.53"),
            ),
        ),
        Node(
            "r2", "router",
            (
                # custom.fexp:8
                Interface(
                    "r2-eth0", "10.0.0.22/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
                Interface(
                    "r2-eth1", "10.0.0.30/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
                # custom.fexp:9
                Interface(
                    "r2-eth2", "10.0.0.49/30", Shaper(20_000_000, "hop"),
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
                Interface(
                    "r2-eth3", "10.0.0.57/30", Shaper(20_000_000, "hop"),
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
            ),
            (
                Route("10.0.0.1/32", "10.0.0.50"),
                Route("10.0.0.9/32", "10.0.0.50"),
                Route("10.0.0.25/32", "10.0.0.29"),
                Route("10.0.0.33/32", "10.0.0.58"),
                Route("10.0.0.17/32", "10.0.0.21"),
                Route("10.0.0.41/32", "10.0.0.58"),
            ),
        ),
        Node(
            "r3", "router",
            (
                # custom.fexp:8
                Interface(
                    "r3-eth0", "10.0.0.38/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
                Interface(
                    "r3-eth1", "10.0.0.46/30", Shaper(1_000_000_000, "hop"),
                    Fifo(limit_packets=1000),
                ),
                # custom.fexp:11
                Interface(
                    "r3-eth2", "10.0.0.62/30", Shaper(20_000_000, "hop"),
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
            ),
            (
                Route("10.0.0.1/32", "10.0.0.61"),
                Route("10.0.0.9/32", "10.0.0.61"),
                Route("10.0.0.25/32", "10.0.0.61"),
                Route("10.0.0.33/32", "10.0.0.37"),
                Route("10.0.0.17/32", "10.0.0.61"),
                Route("10.0.0.41/32", "10.0.0.45"),
            ),
        ),
        Node(
            "c1-r1", "hop",
            (
                # custom.fexp:8
                Interface(
                    "c1-r1-eth0", "10.0.0.2/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
                Interface(
                    "c1-r1-eth1", "10.0.0.5/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
            ),
            (
                Route("10.0.0.9/32", "10.0.0.6"),
                Route("10.0.0.25/32", "10.0.0.6"),
                Route("10.0.0.33/32", "10.0.0.6"),
                Route("10.0.0.17/32", "10.0.0.6"),
                Route("10.0.0.41/32", "10.0.0.6"),
            ),
        ),
        Node(
            "c2-r1", "hop",
            (
                # custom.fexp:8
                Interface(
                    "c2-r1-eth0", "10.0.0.10/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
                Interface(
                    "c2-r1-eth1", "10.0.0.13/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.14"),
                Route("10.0.0.25/32", "10.0.0.14"),
                Route("10.0.0.33/32", "10.0.0.14"),
                Route("10.0.0.17/32", "10.0.0.14"),
                Route("10.0.0.41/32", "10.0.0.14"),
            ),
        ),
        Node(
            "s2-r2", "hop",
            (
                # custom.fexp:8
                Interface(
                    "s2-r2-eth0", "10.0.0.18/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
                Interface(
                    "s2-r2-eth1", "10.0.0.21/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.22"),
                Route("10.0.0.9/32", "10.0.0.22"),
                Route("10.0.0.25/32", "10.0.0.22"),
                Route("10.0.0.33/32", "10.0.0.22"),
                Route("10.0.0.41/32", "10.0.0.22"),
            ),
        ),
        Node(
            "c3-r2", "hop",
            (
                # custom.fexp:8
                Interface(
                    "c3-r2-eth0", "10.0.0.26/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
                Interface(
                    "c3-r2-eth1", "10.0.0.29/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.30"),
                Route("10.0.0.9/32", "10.0.0.30"),
                Route("10.0.0.33/32", "10.0.0.30"),
                Route("10.0.0.17/32", "10.0.0.30"),
                Route("10.0.0.41/32", "10.0.0.30"),
            ),
        ),
        Node(
            "s1-r3", "hop",
            (
                # custom.fexp:8
                Interface(
                    "s1-r3-eth0", "10.0.0.34/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
                Interface(
                    "s1-r3-eth1", "10.0.0.37/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.38"),
                Route("10.0.0.9/32", "10.0.0.38"),
                Route("10.0.0.25/32", "10.0.0.38"),
                Route("10.0.0.17/32", "10.0.0.38"),
                Route("10.0.0.41/32", "10.0.0.38"),
            ),
        ),
        Node(
            "s3-r3", "hop",
            (
                # custom.fexp:8
                Interface(
                    "s3-r3-eth0", "10.0.0.42/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
                Interface(
                    "s3-r3-eth1", "10.0.0.45/30",
                    impairment=Impairment(1_000_000, rate_bps=1_000_000_000),
                ),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.46"),
                Route("10.0.0.9/32", "10.0.0.46"),
                Route("10.0.0.25/32", "10.0.0.46"),
                Route("10.0.0.33/32", "10.0.0.46"),
                Route("10.0.0.17/32", "10.0.0.46"),
            ),
        ),
        Node(
            "r2-r1", "hop",
            (
                # custom.fexp:10
                Interface(
                    "r2-r1-eth0", "10.0.0.50/30",
                    impairment=Impairment(10_000_000, rate_bps=20_000_000),
                ),
                # custom.fexp:9
                Interface(
                    "r2-r1-eth1", "10.0.0.53/30",
                    impairment=Impairment(10_000_000, rate_bps=20_000_000),
                ),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.54"),
                Route("10.0.0.9/32", "10.0.0.54"),
                Route("10.0.0.25/32", "10.0.0.49"),
                Route("10.0.0.33/32", "10.0.0.49"),
                Route("10.0.0.17/32", "10.0.0.49"),
                Route("10.0.0.41/32", "10.0.0.49"),
            ),
        ),
        Node(
            "r2-r3", "hop",
            (
                # custom.fexp:11
                Interface(
                    "r2-r3-eth0", "10.0.0.58/30",
                    impairment=Impairment(
                        10_000_000,
                        loss=0.03225806451612903,
                        bursts=GilbertElliott(p=0.01, r=0.3, h=0.0, k=1.0),
                        seed=1_775_636_408_033_935_273,
                        rate_bps=20_000_000,
                    ),
                ),
                Interface(
                    "r2-r3-eth1", "10.0.0.61/30",
                    impairment=Impairment(
                        10_000_000,
                        loss=0.03225806451612903,
                        bursts=GilbertElliott(p=0.01, r=0.3, h=0.0, k=1.0),
                        seed=1_455_911_724_870_472_720,
                        rate_bps=20_000_000,
                    ),
                ),
            ),
            (
                Route("10.0.0.1/32", "10.0.0.57"),
                Route("10.0.0.9/32", "10.0.0.57"),
                Route("10.0.0.25/32", "10.0.0.57"),
                Route("10.0.0.33/32", "10.0.0.62"),
                Route("10.0.0.17/32", "10.0.0.57"),
                Route("10.0.0.41/32", "10.0.0.62"),
            ),
        ),
    ),
    cables=(
        Cable(("c1", "c1-eth0"), ("c1-r1", "c1-r1-eth0")),
        Cable(("c1-r1", "c1-r1-eth1"), ("r1", "r1-eth0")),
        Cable(("c2", "c2-eth0"), ("c2-r1", "c2-r1-eth0")),
        Cable(("c2-r1", "c2-r1-eth1"), ("r1", "r1-eth1")),
        Cable(("s2", "s2-eth0"), ("s2-r2", "s2-r2-eth0")),
        Cable(("s2-r2", "s2-r2-eth1"), ("r2", "r2-eth0")),
        Cable(("c3", "c3-eth0"), ("c3-r2", "c3-r2-eth0")),
        Cable(("c3-r2", "c3-r2-eth1"), ("r2", "r2-eth1")),
        Cable(("s1", "s1-eth0"), ("s1-r3", "s1-r3-eth0")),
        Cable(("s1-r3", "s1-r3-eth1"), ("r3", "r3-eth0")),
        Cable(("s3", "s3-eth0"), ("s3-r3", "s3-r3-eth0")),
        Cable(("s3-r3", "s3-r3-eth1"), ("r3", "r3-eth1")),
        Cable(("r2", "r2-eth2"), ("r2-r1", "r2-r1-eth0")),
        Cable(("r2-r1", "r2-r1-eth1"), ("r1", "r1-eth2")),
        Cable(("r2", "r2-eth3"), ("r2-r3", "r2-r3-eth0")),
        Cable(("r2-r3", "r2-r3-eth1"), ("r3", "r3-eth2")),
    ),
    flows=(
        # custom.fexp:19
        Flow(
            "long",
            server="s1",
            client="c1",
            address="10.0.0.33",
            port=5001,
            cca="cubic",
            workload=BulkWorkload(),
            starts_ns=(30_997_200,),
            base_rtt_ns=44_000_000,
            bottleneck=("r3", "r3-eth2"),
            buffer_bytes=524_288,
            client_address="10.0.0.1",
        ),
        # custom.fexp:20
        Flow(
            "short1",
            server="s2",
            client="c2",
            address="10.0.0.17",
            port=5002,
            cca="cubic",
            workload=BulkWorkload(),
            starts_ns=(5_000_000_000,),
            base_rtt_ns=24_000_000,
            bottleneck=("r2", "r2-eth2"),
            buffer_bytes=524_288,
            client_address="10.0.0.9",
        ),
        # custom.fexp:21
        Flow(
            "short2",
            server="s3",
            client="c3",
            address="10.0.0.41",
            port=5003,
            cca="cubic",
            workload=BulkWorkload(),
            starts_ns=(10_000_000_000,),
            base_rtt_ns=24_000_000,
            bottleneck=("r3", "r3-eth2"),
            buffer_bytes=524_288,
            client_address="10.0.0.25",
        ),
    ),
    captures=(
        # entry of the bottleneck r3/r3-eth2
        Capture("entry.r3.r3-eth2.r3-eth0", "r3", "r3-eth0", "in", "entry", ("r3", "r3-eth2")),
        Capture("entry.r3.r3-eth2.r3-eth1", "r3", "r3-eth1", "in", "entry", ("r3", "r3-eth2")),
        # exit of the bottleneck r3/r3-eth2
        Capture("exit.r3.r3-eth2", "r3", "r3-eth2", "out", "exit", ("r3", "r3-eth2")),
        # delivered of the bottleneck r3/r3-eth2
        Capture(
            "delivered.r3.r3-eth2", "r2-r3", "r2-r3-eth0", "out", "delivered", ("r3", "r3-eth2")
        ),
        # entry of the bottleneck r2/r2-eth2
        Capture("entry.r2.r2-eth2.r2-eth3", "r2", "r2-eth3", "in", "entry", ("r2", "r2-eth2")),
        Capture("entry.r2.r2-eth2.r2-eth0", "r2", "r2-eth0", "in", "entry", ("r2", "r2-eth2")),
        # exit of the bottleneck r2/r2-eth2
        Capture("exit.r2.r2-eth2", "r2", "r2-eth2", "out", "exit", ("r2", "r2-eth2")),
        # delivered of the bottleneck r2/r2-eth2
        Capture(
            "delivered.r2.r2-eth2", "r2-r1", "r2-r1-eth1", "out", "delivered", ("r2", "r2-eth2")
        ),
        # data and ACKs at a sender
        Capture("sender.s1.s1-eth0", "s1", "s1-eth0", "both", "sender", ("r3", "r3-eth2")),
        Capture("sender.s2.s2-eth0", "s2", "s2-eth0", "both", "sender", ("r2", "r2-eth2")),
        Capture("sender.s3.s3-eth0", "s3", "s3-eth0", "both", "sender", ("r3", "r3-eth2")),
    ),
    duration_ns=60_000_000_000,
    deadline_ns=61_000_000_000,
)

if __name__ == "__main__":
    run(CELL, ADDRESSES)
