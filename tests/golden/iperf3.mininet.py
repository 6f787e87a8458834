#!/usr/bin/env python3
"""iperf3: a Mininet program, written by `fairc compile`.

    sudo python3 experiment.py [OUTDIR]
        runs the flows; OUTDIR gets packet captures, logs of both ends, counters of queues and,
        last, cell.json, which says how it went
    sudo python3 experiment.py --cli
        Mininet's command line, with the network up and no flows
    sudo mn --custom experiment.py --topo iperf3
        the same with Mininet's own program

It needs Mininet and iproute2. For flows it needs two things next to it: `fairc-endpoints`, the
program that sends and receives, and the package `cell`, which starts programs on time.
Some flows are iperf3, which it needs as well; its reports are in OUTDIR as NAME.json.
"""
# Comments such as `# x.fexp:8` name the line of the experiment's file that a part comes from.

import sys

try:
    from mininet.cli import CLI
    from mininet.link import Intf, Link
    from mininet.net import Mininet
    from mininet.node import Node
    from mininet.topo import Topo
except ImportError as error:
    sys.exit(f"this program needs Mininet (apt-get install mininet): {error}")

# Kernel options (sysctl) of all nodes, and of each kind.
EVERYWHERE = {
    "net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1",
    "net.ipv4.conf.all.rp_filter": "0", "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.conf.all.send_redirects": "0", "net.ipv4.conf.default.send_redirects": "0",
    "net.core.txrehash": "0",
}
HOST = EVERYWHERE | {
    "net.ipv4.ip_forward": "0", "net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_rmem": "4096 33554432 33554432", "net.ipv4.tcp_wmem": "4096 16384 8388608",
}
HOST_2 = EVERYWHERE | {
    "net.ipv4.ip_forward": "0", "net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_rmem": "4096 2097152 8388608", "net.ipv4.tcp_wmem": "4096 16384 8388608",
}
ROUTER = EVERYWHERE | {"net.ipv4.ip_forward": "1"}


def do(node, command):
    """Run a command in the shell of a node; stop with what it says if it fails."""
    *said, status = node.cmd(f"{command}; echo $?").split()
    if status != "0":
        sys.exit(f"{node}: {command}: {' '.join(said)}")


def mac(address):
    """Return the MAC address of an IPv4 address: it has the same four bytes at its end."""
    return "02:00:" + ":".join(f"{int(byte):02x}" for byte in address.split("/")[0].split("."))


class Machine(Node):
    """A host, a router, or a node that delays packets: a network namespace with a shell."""

    def __init__(self, name, sysctls, **params):
        """Set kernel options before there are interfaces; those that the kernel lacks are left."""
        super().__init__(name, sysctls=sysctls, **params)
        for option, value in sysctls.items():
            path = f"/proc/sys/{option.replace('.', '/')}"
            do(self, f"[ ! -e {path} ] || echo '{value}' > {path}")

    def config(self, commands=(), ip=None, **params):
        """Set rules and routes, once there are links. Not `ip`, the address that Mininet proposes:
        interfaces have their own.
        """
        result = super().config(**params)
        for command in commands:
            do(self, command)
        return result


class Port(Intf):
    """An end of a cable. Mininet makes it and gives it its address, `commands` give it its queues.

    peer: the address at the other end, known beforehand: no ARP gets between the flows' packets.
    below: an interface under this one, where packets go that have left its queue. segments: how
    many packets TCP may hand over as one; with 1, queues count packets as they are on the wire.
    """

    def config(self, peer, below=None, mtu=1500, segments=1, commands=(), **params):
        """Set size, address, neighbour and queues."""
        size = f"mtu {mtu} gso_max_segs {segments}"
        if below:
            do(self.node, f"ip link set dev {self} name {below}")
            do(self.node, f"ip link set dev {below} {size} up")
            do(self.node, f"ip link add link {below} name {self} type macvlan mode passthru")
        do(self.node, f"ip link set dev {self} {size} up")
        result = super().config(**params)
        address = peer.split("/")[0]
        do(self.node, f"ip neighbour add {address} lladdr {mac(peer)} dev {self} nud permanent")
        for command in commands:
            do(self.node, command)
        return result


class Cable(Link):
    """A veth pair; params1, params2: of its ends, as `Port` takes them."""

    def __init__(self, node1, node2, params1, params2, **names):
        """Tell each end of the other one."""
        names |= {"addr1": mac(params1["ip"]), "addr2": mac(params2["ip"]), "intf": Port}
        params1, params2 = params1 | {"peer": params2["ip"]}, params2 | {"peer": params1["ip"]}
        super().__init__(node1, node2, params1=params1, params2=params2, **names)


class Network(Topo):
    """The nodes and links of the experiment."""

    def build(self, repetition=1):
        """Add nodes, then links, in the order of the experiment's file."""
        # Hosts.
        self.addHost(
            "server", cls=Machine, sysctls=HOST, commands=["ip route add 10.0.0.0/8 via 10.0.0.2"],
        )
        self.addHost(
            "client", cls=Machine, sysctls=HOST_2,
            commands=["ip route add 10.0.0.0/8 via 10.0.0.5"],
        )
        # Routers.
        self.addHost(
            "left", cls=Machine, sysctls=ROUTER,
            commands=["ip route add 10.0.0.6/32 via 10.0.0.10"],
        )
        self.addHost(
            "right", cls=Machine, sysctls=ROUTER,
            commands=["ip route add 10.0.0.1/32 via 10.0.0.13"],
        )
        # Between two of them: nodes that delay, lose and transmit what is on a link.
        self.addHost(
            "left-right", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.9",
                "ip route add 10.0.0.6/32 via 10.0.0.14",
            ],
        )

        # <preset bottleneck>:20
        self.addLink(
            "server", "left", cls=Cable, intfName1="server-eth0", intfName2="left-eth0",
            params1={
                "ip": "10.0.0.1/30", "below": "server-nic0",
                "commands": [
                    "tc qdisc add dev server-eth0 root handle 1: htb default 1",
                    "tc class add dev server-eth0 parent 1: classid 1:1 htb rate 100000000bit ceil 100000000bit burst 1250 cburst 1250 quantum 1514",
                    "tc qdisc add dev server-eth0 parent 1:1 handle 2: pfifo limit 1000",
                    "tc qdisc add dev server-nic0 root handle 1: netem limit 1000000 rate 100000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.2/30",
                "commands": [
                    "tc qdisc add dev left-eth0 root handle 1: netem limit 1001 rate 100000000bit",
                ],
            },
        )

        # <preset bottleneck>:20
        self.addLink(
            "right", "client", cls=Cable, intfName1="right-eth0", intfName2="client-eth0",
            params1={
                "ip": "10.0.0.5/30",
                "commands": [
                    "tc qdisc add dev right-eth0 root handle 1: netem limit 1001 rate 100000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.6/30", "below": "client-nic0",
                "commands": [
                    "tc qdisc add dev client-eth0 root handle 1: htb default 1",
                    "tc class add dev client-eth0 parent 1: classid 1:1 htb rate 100000000bit ceil 100000000bit burst 1250 cburst 1250 quantum 1514",
                    "tc qdisc add dev client-eth0 parent 1:1 handle 2: pfifo limit 1000",
                    "tc qdisc add dev client-nic0 root handle 1: netem limit 1000000 rate 100000000bit",
                ],
            },
        )

        # <preset bottleneck>:21, <preset bottleneck>:22
        self.addLink(
            "left", "left-right", cls=Cable, intfName1="left-eth1", intfName2="left-right-eth0",
            params1={
                "ip": "10.0.0.9/30",
                "commands": [
                    "tc qdisc add dev left-eth1 root handle 1: htb default 1",
                    "tc class add dev left-eth1 parent 1: classid 1:1 htb rate 1000000bit ceil 1000000bit burst 12 cburst 12 quantum 1514",
                    "tc qdisc add dev left-eth1 parent 1:1 handle 2: bfifo limit 12500",
                ],
            },
            params2={
                "ip": "10.0.0.10/30",
                "commands": [
                    "tc qdisc add dev left-right-eth0 root handle 1: netem limit 1000 delay 10ms rate 1000000bit",
                ],
            },
        )

        # <preset bottleneck>:21, <preset bottleneck>:22
        self.addLink(
            "left-right", "right", cls=Cable, intfName1="left-right-eth1", intfName2="right-eth1",
            params1={
                "ip": "10.0.0.13/30",
                "commands": [
                    "tc qdisc add dev left-right-eth1 root handle 1: netem limit 1000 delay 10ms rate 1000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.14/30",
                "commands": [
                    "tc qdisc add dev right-eth1 root handle 1: htb default 1",
                    "tc class add dev right-eth1 parent 1: classid 1:1 htb rate 1000000bit ceil 1000000bit burst 12 cburst 12 quantum 1514",
                    "tc qdisc add dev right-eth1 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
        )


topos = {"iperf3": Network}  # of `mn --custom`


def experiment(repetition):
    """Return what runs in the network, and when. Times are ns after the epoch, when the flows
    begin; sizes are bytes.

    A flow has a server, which sends, and a client, which asks. Each is a role of `fairc-endpoints`
    with the fields here (and those of `both`), or another program: `browser` is fairc-browser, and
    a role with a dot in its name is a module of the package `cell` that runs the `command`. `pings`
    measure round trips before the flows.
    """
    return {
        "id": "e6e5a9182cd92b70",
        "flows": [
            # iperf3.fexp:6
            {
                "name": "down", "both": {"stop_ns": None},
                "server": {
                    "node": "server", "role": "cell.timed", "name": "down.server",
                    "command": [
                        "iperf3",
                        "--server",
                        "--one-off",
                        "--version4",
                        "--port",
                        "5001",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": None,
                },
                "client": {
                    "node": "client", "role": "cell.timed", "name": "down.client",
                    "command": [
                        "iperf3",
                        "--client",
                        "10.0.0.1",
                        "--reverse",
                        "--congestion",
                        "cubic",
                        "--length",
                        "4096",
                        "--window",
                        "300000",
                        "--parallel",
                        "2",
                        "--time",
                        "1",
                        "--connect-timeout",
                        "30000",
                        "--version4",
                        "--port",
                        "5001",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": -86_000_000,
                },
            },
            # iperf3.fexp:7
            {
                "name": "up",
                "server": {
                    "node": "server", "role": "cell.timed", "name": "up.server",
                    "command": [
                        "iperf3",
                        "--server",
                        "--one-off",
                        "--version4",
                        "--port",
                        "5002",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": None, "stop_ns": None,
                },
                "client": {
                    "node": "client", "role": "cell.timed", "name": "up.client",
                    "command": [
                        "iperf3",
                        "--client",
                        "10.0.0.1",
                        "--congestion",
                        "bbr",
                        "--length",
                        "4096",
                        "--fq-rate",
                        "482666",
                        "--time",
                        "0",
                        "--connect-timeout",
                        "30000",
                        "--version4",
                        "--port",
                        "5002",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": 1_934_000_000, "stop_ns": 3_000_000_000,
                },
            },
            # iperf3.fexp:8
            {
                "name": "udp", "both": {"stop_ns": None},
                "server": {
                    "node": "server", "role": "cell.timed", "name": "udp.server",
                    "command": [
                        "iperf3",
                        "--server",
                        "--one-off",
                        "--version4",
                        "--port",
                        "5003",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": None,
                },
                "client": {
                    "node": "client", "role": "cell.timed", "name": "udp.client",
                    "command": [
                        "iperf3",
                        "--client",
                        "10.0.0.1",
                        "--reverse",
                        "--udp",
                        "--bitrate",
                        "778210",
                        "--length",
                        "1000",
                        "--time",
                        "1",
                        "--connect-timeout",
                        "30000",
                        "--version4",
                        "--port",
                        "5003",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": 3_924_000_000,
                },
            },
            # iperf3.fexp:9
            {
                "name": "some", "both": {"stop_ns": None},
                "server": {
                    "node": "server", "role": "cell.timed", "name": "some.server",
                    "command": [
                        "iperf3",
                        "--server",
                        "--one-off",
                        "--version4",
                        "--port",
                        "5004",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": None,
                },
                "client": {
                    "node": "client", "role": "cell.timed", "name": "some.client",
                    "command": [
                        "iperf3",
                        "--client",
                        "10.0.0.1",
                        "--reverse",
                        "--congestion",
                        "reno",
                        "--length",
                        "4096",
                        "--bytes",
                        "131072",
                        "--connect-timeout",
                        "30000",
                        "--version4",
                        "--port",
                        "5004",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": 5_934_000_000,
                },
            },
            # iperf3.fexp:10
            {
                "name": "file",
                "both": {
                    "flow": "file", "address": "10.0.0.1", "port": 5005, "connections": 1,
                    "workload": {"kind": "file", "bytes": 20_000},
                    "options": {
                        "initial_window_packets": 10, "receive_window_bytes": None, "ecn": False,
                        "sack": True, "pacing": False, "fast_open": False, "idle_restart": None,
                    },
                    "starts_ns": [6_000_000_000],
                },
                "server": {
                    "node": "server", "role": "tcp-server", "buffer_bytes": None, "rate_bps": None,
                    "sample_every_ns": 100_000_000, "cca": "reno",
                },
                "client": {
                    "node": "client", "role": "tcp-client", "buffer_bytes": 1_048_576,
                    "stop_ns": None, "progress_every_ns": 100_000_000,
                },
            },
        ],
        "captures": [
            # entry of the bottleneck left/left-eth1
            {
                "node": "left", "interface": "left-eth0", "direction": "in",
                "file": "entry.left.left-eth1.left-eth0.pcap",
            },
            # exit of the bottleneck left/left-eth1
            {
                "node": "left", "interface": "left-eth1", "direction": "out",
                "file": "exit.left.left-eth1.pcap",
            },
            # delivered of the bottleneck left/left-eth1
            {
                "node": "left-right", "interface": "left-right-eth1", "direction": "out",
                "file": "delivered.left.left-eth1.pcap",
            },
            # entry of the bottleneck right/right-eth1
            {
                "node": "right", "interface": "right-eth0", "direction": "in",
                "file": "entry.right.right-eth1.right-eth0.pcap",
            },
            # exit of the bottleneck right/right-eth1
            {
                "node": "right", "interface": "right-eth1", "direction": "out",
                "file": "exit.right.right-eth1.pcap",
            },
            # delivered of the bottleneck right/right-eth1
            {
                "node": "left-right", "interface": "left-right-eth0", "direction": "out",
                "file": "delivered.right.right-eth1.pcap",
            },
            # data and ACKs at a sender
            {
                "node": "server", "interface": "server-eth0", "direction": "both",
                "file": "sender.server.server-eth0.headers",
            },
            # data and ACKs at a sender
            {
                "node": "client", "interface": "client-eth0", "direction": "both",
                "file": "sender.client.client-eth0.headers",
            },
        ],
        "capture": {"snaplen": 96, "ring_packets": 5000, "every_ns": 100_000_000},
        "window_bytes": 300_000, "deadline_ns": 18_885_760_000, "drain_ns": 10_000_000_000,
        "lead_ns": 1_766_000_000, "slack_ns": 100_000,
        "pings": [
            {
                "flow": "down", "client": "client", "server": "server", "address": "10.0.0.1",
                "expected_ns": 21_874_560, "every_ns": 10_000_000,
            },
            {
                "flow": "up", "client": "server", "server": "client", "address": "10.0.0.6",
                "expected_ns": 21_874_560, "every_ns": 10_000_000,
            },
            {
                "flow": "udp", "client": "client", "server": "server", "address": "10.0.0.1",
                "expected_ns": 21_874_560, "every_ns": 10_000_000,
            },
            {
                "flow": "some", "client": "client", "server": "server", "address": "10.0.0.1",
                "expected_ns": 21_874_560, "every_ns": 10_000_000,
            },
            {
                "flow": "file", "client": "client", "server": "server", "address": "10.0.0.1",
                "expected_ns": 21_874_560, "every_ns": 10_000_000,
            },
        ],
    }


def meanwhile(net):
    """Yours: is called when the flows begin. Try print(net.get("server").cmd("ip -s link"))."""


def main():
    """Make the network; run the flows, or Mininet's command line."""
    from cell.mininet import arguments, run  # next to this file

    options = arguments(__doc__, [1])
    Mininet.inited = True  # or Mininet would raise limits of the whole machine
    try:
        net = Mininet(topo=Network(options.repetition), controller=None)
        net.start()
    except Exception as error:
        sys.exit(f"Mininet cannot make the network: {error}")
    try:
        if options.cli:
            CLI(net)
        else:
            sys.exit(run(net, experiment(options.repetition), options.outdir, meanwhile))
    finally:
        net.stop()


if __name__ == "__main__":
    main()
