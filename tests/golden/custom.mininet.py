#!/usr/bin/env python3
"""One cell of a network experiment: a Mininet program, written by `fairc compile`.

    sudo python3 THIS_FILE [OUTDIR]     run it
    sudo python3 THIS_FILE --cli        have Mininet's command line, with the network up

It needs Mininet, iproute2, fairc-endpoints (next to this file or on PATH), and the package `cell`,
which runs it (next to this file).
OUTDIR (default: the cell's id) receives packet captures, the endpoints' logs, queue statistics and,
last, cell.json. Nodes are network namespaces that nobody else sees; they and every process in
them end with this program, however it ends.
"""
# cell           f44e3ef0de4f22e9
# experiment     custom
# configuration  dddf9eda652cfba1
#   long = cubic
# repetition     1, seed 123167460428437279
# Comments name the line of the experiment's file that a part comes from.

from mininet.topo import Topo

from cell.experiment import Capture, Experiment, Flow, Route
from cell.links import Egress, GilbertElliott, Impairment, Shaper
from cell.queues import Fifo, FqCoDel, Red
from cell.topology import Router, run
from cell.workloads import BulkWorkload


class Network(Topo):
    """Hosts, routers, and hops that delay and lose packets; the address of each interface."""

    def build(self):
        self.addHost("c1")
        self.addHost("c2")
        self.addHost("c3")
        self.addHost("s1")
        self.addHost("s2")
        self.addHost("s3")
        self.addHost("r1", cls=Router)
        self.addHost("r2", cls=Router)
        self.addHost("r3", cls=Router)
        self.addHost("c1-r1", cls=Router)  # a hop
        self.addHost("c2-r1", cls=Router)  # a hop
        self.addHost("s2-r2", cls=Router)  # a hop
        self.addHost("c3-r2", cls=Router)  # a hop
        self.addHost("s1-r3", cls=Router)  # a hop
        self.addHost("s3-r3", cls=Router)  # a hop
        self.addHost("r2-r1", cls=Router)  # a hop
        self.addHost("r2-r3", cls=Router)  # a hop
        # custom.fexp:8
        self.addLink("c1", "c1-r1", params1={"ip": "10.0.0.1/30"}, params2={"ip": "10.0.0.2/30"})
        self.addLink("c1-r1", "r1", params1={"ip": "10.0.0.5/30"}, params2={"ip": "10.0.0.6/30"})
        self.addLink("c2", "c2-r1", params1={"ip": "10.0.0.9/30"}, params2={"ip": "10.0.0.10/30"})
        self.addLink("c2-r1", "r1", params1={"ip": "10.0.0.13/30"}, params2={"ip": "10.0.0.14/30"})
        self.addLink("s2", "s2-r2", params1={"ip": "10.0.0.17/30"}, params2={"ip": "10.0.0.18/30"})
        self.addLink("s2-r2", "r2", params1={"ip": "10.0.0.21/30"}, params2={"ip": "10.0.0.22/30"})
        self.addLink("c3", "c3-r2", params1={"ip": "10.0.0.25/30"}, params2={"ip": "10.0.0.26/30"})
        self.addLink("c3-r2", "r2", params1={"ip": "10.0.0.29/30"}, params2={"ip": "10.0.0.30/30"})
        self.addLink("s1", "s1-r3", params1={"ip": "10.0.0.33/30"}, params2={"ip": "10.0.0.34/30"})
        self.addLink("s1-r3", "r3", params1={"ip": "10.0.0.37/30"}, params2={"ip": "10.0.0.38/30"})
        self.addLink("s3", "s3-r3", params1={"ip": "10.0.0.41/30"}, params2={"ip": "10.0.0.42/30"})
        self.addLink("s3-r3", "r3", params1={"ip": "10.0.0.45/30"}, params2={"ip": "10.0.0.46/30"})
        # custom.fexp:9
        self.addLink("r2", "r2-r1", params1={"ip": "10.0.0.49/30"}, params2={"ip": "10.0.0.50/30"})
        self.addLink("r2-r1", "r1", params1={"ip": "10.0.0.53/30"}, params2={"ip": "10.0.0.54/30"})
        # custom.fexp:11
        self.addLink("r2", "r2-r3", params1={"ip": "10.0.0.57/30"}, params2={"ip": "10.0.0.58/30"})
        self.addLink("r2-r3", "r3", params1={"ip": "10.0.0.61/30"}, params2={"ip": "10.0.0.62/30"})

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
    run(Network(), EXPERIMENT)
