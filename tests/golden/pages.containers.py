"""One cell of a network experiment in containers, written by `fairc compile`.

    docker compose up    # in the folder of compose.yaml

Each node is a container that does what the conductor says, a container of its own that runs this.
All of them have the package `cell` and fairc-endpoints in their image. This folder, which they
share, receives packet captures, the endpoints' logs, queue statistics and, last, cell.json.
"""
# cell           3e697e6ef4cfae5d
# experiment     pages
# configuration  44136fa355b3678a
# repetition     1, seed 251810346355374439
# Comments name the line of the experiment's file that a part comes from.

from cell.containers import run
from cell.experiment import (
    Capture,
    End,
    Experiment,
    Flow,
    Link,
    Network,
    Pep,
    Route,
    TransportOptions,
)
from cell.links import Egress, Impairment, Shaper
from cell.queues import Fifo
from cell.workloads import LoadWorkload, PageObject

NETWORK = Network(
    nodes={
        "server": "host",
        "client": "host",
        "gateway": "router",
        "terminal": "router",
        "server-gateway": "hop",
        "terminal-client": "hop",
        "gateway-modem": "hop",
        "terminal-modem": "hop",
        "gateway-terminal": "hop",
    },
    links=[
        Link(
            End("server", "server-eth0", "10.0.0.1/30"),
            End("server-gateway", "eth0", "10.0.0.2/30"),
        ),
        Link(
            End("server-gateway", "eth1", "10.0.0.5/30"),
            End("gateway", "gateway-eth0", "10.0.0.6/30"),
        ),
        Link(
            End("terminal", "terminal-eth0", "10.0.0.9/30"),
            End("terminal-client", "eth0", "10.0.0.10/30"),
        ),
        Link(
            End("terminal-client", "eth1", "10.0.0.13/30"),
            End("client", "client-eth0", "10.0.0.14/30"),
        ),
        Link(
            End("gateway", "gateway-eth1", "10.0.0.17/30"),
            End("gateway-modem", "eth0", "10.0.0.18/30"),
        ),
        Link(
            End("gateway-modem", "eth1", "10.0.0.21/30"),
            End("gateway-terminal", "eth0", "10.0.0.22/30"),
        ),
        Link(
            End("gateway-terminal", "eth1", "10.0.0.25/30"),
            End("terminal-modem", "eth0", "10.0.0.26/30"),
        ),
        Link(
            End("terminal-modem", "eth1", "10.0.0.29/30"),
            End("terminal", "terminal-eth1", "10.0.0.30/30"),
        ),
    ],
)

# Addresses on the container engine's networks that identify the interfaces of a node.
ADDRESSES = {
    "server": ["198.18.0.2"],
    "client": ["198.18.0.27"],
    "gateway": ["198.18.0.11", "198.18.0.34"],
    "terminal": ["198.18.0.18", "198.18.0.59"],
    "server-gateway": ["198.18.0.3", "198.18.0.10"],
    "terminal-client": ["198.18.0.19", "198.18.0.26"],
    "gateway-modem": ["198.18.0.35", "198.18.0.42"],
    "terminal-modem": ["198.18.0.51", "198.18.0.58"],
    "gateway-terminal": ["198.18.0.43", "198.18.0.50"],
}

# Times are ns (after the epoch, which is when the flows begin), sizes bytes, rates bit/s.
EXPERIMENT = Experiment(
    id="3e697e6ef4cfae5d",
    repetition=1,
    deadline_ns=183_243_242_838,
    routes={
        "server": [Route("10.0.0.0/8", "10.0.0.2")],
        "client": [Route("10.0.0.0/8", "10.0.0.13")],
        "gateway": [
            Route("10.0.0.1/32", "10.0.0.5"),
            Route("10.0.0.14/32", "10.0.0.18"),
            Route("10.0.0.30/32", "10.0.0.18"),
        ],
        "terminal": [
            Route("10.0.0.1/32", "10.0.0.29"),
            Route("10.0.0.14/32", "10.0.0.10"),
            Route("10.0.0.17/32", "10.0.0.29"),
        ],
        "server-gateway": [Route("10.0.0.14/32", "10.0.0.6")],
        "terminal-client": [Route("10.0.0.1/32", "10.0.0.9")],
        "gateway-modem": [
            Route("10.0.0.1/32", "10.0.0.17"),
            Route("10.0.0.14/32", "10.0.0.22"),
            Route("10.0.0.30/32", "10.0.0.22"),
        ],
        "terminal-modem": [
            Route("10.0.0.1/32", "10.0.0.25"),
            Route("10.0.0.14/32", "10.0.0.30"),
            Route("10.0.0.17/32", "10.0.0.25"),
        ],
        "gateway-terminal": [
            Route("10.0.0.1/32", "10.0.0.21"),
            Route("10.0.0.14/32", "10.0.0.26"),
            Route("10.0.0.30/32", "10.0.0.26"),
            Route("10.0.0.17/32", "10.0.0.21"),
        ],
    },
    egress=[
        # <preset geo>:20
        Egress("server", "server-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        # <preset geo>:21
        Egress("client", "client-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        # <preset geo>:20
        Egress("gateway", "gateway-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        # <preset geo>:21
        Egress("terminal", "terminal-eth0", Shaper(1_000_000_000, "hop"), Fifo(limit_packets=1000)),
        # <preset geo>:20
        Egress(
            "server-gateway",
            "eth0",
            impairment=Impairment(15_000_000, limit_packets=2477, rate_bps=1_000_000_000),
        ),
        Egress(
            "server-gateway",
            "eth1",
            impairment=Impairment(15_000_000, limit_packets=2477, rate_bps=1_000_000_000),
        ),
        # <preset geo>:21
        Egress("terminal-client", "eth0", impairment=Impairment(500_000, rate_bps=1_000_000_000)),
        Egress("terminal-client", "eth1", impairment=Impairment(500_000, rate_bps=1_000_000_000)),
        # <preset geo>:22
        Egress(
            "gateway-modem",
            "eth1",
            Shaper(25_000_000, "hop"),
            Fifo(limit_bytes=2_343_750),
            bottleneck=True,
        ),
        # <preset geo>:23
        Egress("terminal-modem", "eth0", Shaper(5_000_000, "hop"), Fifo(limit_packets=1000)),
        Egress("gateway-terminal", "eth0", impairment=Impairment(359_500_000, rate_bps=5_000_000)),
        # <preset geo>:22
        Egress(
            "gateway-terminal",
            "eth1",
            impairment=Impairment(359_500_000, limit_packets=1485, rate_bps=25_000_000),
        ),
    ],
    peps=[
        # <preset geo>:24
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
    ],
    flows=[
        # pages.fexp:6
        Flow(
            "web",
            server="server",
            client="client",
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
            port=5001,
            starts_ns=(328_651_776,),
            base_rtt_ns=750_000_000,
            transport="web",
            cca="bbr",
            buffer_bytes=16_777_216,
            options=TransportOptions(initial_window_packets=32, pacing=True),
        ),
        # pages.fexp:7
        Flow(
            "seen",
            server="server",
            client="client",
            workload=LoadWorkload(
                page=(PageObject(path="/", bytes=1_000_000, type="image/png", parent=None),),
                client="chromium",
                protocols=("h2",),
                idle_ns=(0,),
                timeout_ns=60_000_000_000,
            ),
            port=5002,
            starts_ns=(1_000_000_000,),
            base_rtt_ns=750_000_000,
            transport="web",
            cca="cubic",
            buffer_bytes=16_777_216,
            options=TransportOptions(initial_window_packets=32),
        ),
    ],
    captures=[
        # entry of the bottleneck gateway-modem/eth1
        Capture("gateway-modem", "eth0", "in", name="entry.gateway-modem.eth1.eth0"),
        # exit of the bottleneck gateway-modem/eth1
        Capture("gateway-modem", "eth1", "out", name="exit.gateway-modem.eth1"),
        # delivered of the bottleneck gateway-modem/eth1
        Capture("gateway-terminal", "eth1", "out", name="delivered.gateway-modem.eth1"),
        # data and ACKs at a sender
        Capture("server", "server-eth0", "both", name="sender.server.server-eth0", form="headers"),
        # client of page loads
        Capture("client", "client-eth0", "in", name="client.client.client-eth0"),
    ],
)

if __name__ == "__main__":
    run(NETWORK, ADDRESSES, EXPERIMENT)
