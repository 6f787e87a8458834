#!/usr/bin/env python3
"""custom: a Mininet program, written by `fairc compile`.

    sudo python3 experiment.py [OUTDIR]
        runs the flows; OUTDIR gets packet captures, logs of both ends, counters of queues and,
        last, cell.json, which says how it went
    sudo python3 experiment.py --cli
        Mininet's command line, with the network up and no flows
    sudo mn --custom experiment.py --topo custom
        the same with Mininet's own program

It needs Mininet and iproute2. For flows it needs two things next to it: `fairc-endpoints`, the
program that sends and receives, and the package `cell`, which starts programs on time.
Some flows are iperf3, which it needs as well; its reports are in OUTDIR as NAME.json.
Its browser: Chromium, ChromeDriver, Selenium, and fairc-browser (next to this file or on PATH).
"""
# Comments such as `# x.fexp:8` name the line of the experiment's file that a part comes from.
# long = cubic

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
    "net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_wmem": "4096 16384 4194304",
}
HOST_2 = EVERYWHERE | {
    "net.ipv4.ip_forward": "0", "net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_rmem": "4096 4194304 8388608", "net.ipv4.tcp_wmem": "4096 16384 8388608",
}
HOST_3 = EVERYWHERE | {
    "net.ipv4.ip_forward": "0", "net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_rmem": "4096 16777216 16777216", "net.ipv4.tcp_wmem": "4096 16384 4194304",
}
HOST_4 = EVERYWHERE | {
    "net.ipv4.ip_forward": "0", "net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_rmem": "4096 33554432 33554432", "net.ipv4.tcp_wmem": "4096 16384 8388608",
}
ROUTER = EVERYWHERE | {"net.ipv4.ip_forward": "1"}
ROUTER_2 = EVERYWHERE | {
    "net.ipv4.ip_forward": "1", "net.ipv4.tcp_slow_start_after_idle": "0",
    "net.ipv4.tcp_no_metrics_save": "1",
}
ROUTER_3 = EVERYWHERE | {
    "net.ipv4.ip_forward": "1", "net.ipv4.tcp_slow_start_after_idle": "0",
    "net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_tw_reuse": "1",
}


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
            "c1", cls=Machine, sysctls=HOST, commands=["ip route add 10.0.0.0/8 via 10.0.0.2"],
        )
        self.addHost(
            "c2", cls=Machine, sysctls=HOST_2, commands=["ip route add 10.0.0.0/8 via 10.0.0.10"],
        )
        self.addHost(
            "c3", cls=Machine, sysctls=HOST_3, commands=["ip route add 10.0.0.0/8 via 10.0.0.26"],
        )
        self.addHost(
            "s1", cls=Machine, sysctls=HOST,
            commands=[
                "ip rule add iif lo ipproto tcp sport 5008 lookup 101",
                "ip route add 10.0.0.0/8 via 10.0.0.34",
                "ip route add 10.0.0.1/32 via 10.0.0.34 table 101 initcwnd 32",
            ],
        )
        self.addHost(
            "s2", cls=Machine, sysctls=HOST_4, commands=["ip route add 10.0.0.0/8 via 10.0.0.18"],
        )
        self.addHost(
            "s3", cls=Machine, sysctls=HOST,
            commands=[
                "ip rule add iif lo ipproto tcp sport 5009 lookup 101",
                "ip route add 10.0.0.0/8 via 10.0.0.42",
                "ip route add 10.0.0.25/32 via 10.0.0.42 table 101 initcwnd 32",
            ],
        )
        # Routers.
        self.addHost(
            "r1", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.5",
                "ip route add 10.0.0.9/32 via 10.0.0.13",
                "ip route add 10.0.0.25/32 via 10.0.0.53",
                "ip route add 10.0.0.33/32 via 10.0.0.53",
                "ip route add 10.0.0.17/32 via 10.0.0.53",
                "ip route add 10.0.0.41/32 via 10.0.0.53",
            ],
        )
        self.addHost(
            "r2", cls=Machine, sysctls=ROUTER_2,
            commands=[
                "ip rule add iif r2-eth0 ipproto tcp dport 5001 lookup 100",
                "ip rule add iif r2-eth0 ipproto tcp dport 5003 lookup 100",
                "ip rule add iif r2-eth0 ipproto tcp dport 5008 lookup 100",
                "ip rule add iif r2-eth0 ipproto tcp dport 5009 lookup 100",
                "ip rule add iif r2-eth1 ipproto tcp dport 5001 lookup 100",
                "ip rule add iif r2-eth1 ipproto tcp dport 5003 lookup 100",
                "ip rule add iif r2-eth1 ipproto tcp dport 5008 lookup 100",
                "ip rule add iif r2-eth1 ipproto tcp dport 5009 lookup 100",
                "ip rule add iif r2-eth2 ipproto tcp dport 5001 lookup 100",
                "ip rule add iif r2-eth2 ipproto tcp dport 5003 lookup 100",
                "ip rule add iif r2-eth2 ipproto tcp dport 5008 lookup 100",
                "ip rule add iif r2-eth2 ipproto tcp dport 5009 lookup 100",
                "ip route add 10.0.0.1/32 via 10.0.0.50",
                "ip route add 10.0.0.9/32 via 10.0.0.50",
                "ip route add 10.0.0.25/32 via 10.0.0.29",
                "ip route add 10.0.0.33/32 via 10.0.0.58",
                "ip route add 10.0.0.17/32 via 10.0.0.21",
                "ip route add 10.0.0.41/32 via 10.0.0.58",
                "ip route add 10.0.0.70/32 via 10.0.0.58",
                "ip route replace local 0.0.0.0/0 dev lo table 100",
                "ip route replace 10.0.0.70/32 via 10.0.0.58 initcwnd 34 initrwnd 68",
            ],
        )
        self.addHost(
            "r3", cls=Machine, sysctls=ROUTER_3,
            commands=[
                "ip rule add iif r3-eth0 ipproto tcp sport 5001 lookup 100",
                "ip rule add iif r3-eth0 ipproto tcp sport 5003 lookup 100",
                "ip rule add iif r3-eth0 ipproto tcp sport 5008 lookup 100",
                "ip rule add iif r3-eth0 ipproto tcp sport 5009 lookup 100",
                "ip rule add iif r3-eth1 ipproto tcp sport 5001 lookup 100",
                "ip rule add iif r3-eth1 ipproto tcp sport 5003 lookup 100",
                "ip rule add iif r3-eth1 ipproto tcp sport 5008 lookup 100",
                "ip rule add iif r3-eth1 ipproto tcp sport 5009 lookup 100",
                "ip route add 10.0.0.1/32 via 10.0.0.69",
                "ip route add 10.0.0.9/32 via 10.0.0.69",
                "ip route add 10.0.0.25/32 via 10.0.0.69",
                "ip route add 10.0.0.33/32 via 10.0.0.37",
                "ip route add 10.0.0.17/32 via 10.0.0.69",
                "ip route add 10.0.0.41/32 via 10.0.0.45",
                "ip route add 10.0.0.57/32 via 10.0.0.69",
                "ip route replace local 0.0.0.0/0 dev lo table 100",
                "ip route replace 10.0.0.57/32 via 10.0.0.69 initcwnd 34 initrwnd 68",
            ],
        )
        # Between two of them: nodes that delay, lose and transmit what is on a link.
        self.addHost(
            "c1-r1", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.9/32 via 10.0.0.6",
                "ip route add 10.0.0.25/32 via 10.0.0.6",
                "ip route add 10.0.0.33/32 via 10.0.0.6",
                "ip route add 10.0.0.17/32 via 10.0.0.6",
                "ip route add 10.0.0.41/32 via 10.0.0.6",
            ],
        )
        self.addHost(
            "c2-r1", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.14",
                "ip route add 10.0.0.25/32 via 10.0.0.14",
                "ip route add 10.0.0.33/32 via 10.0.0.14",
                "ip route add 10.0.0.17/32 via 10.0.0.14",
                "ip route add 10.0.0.41/32 via 10.0.0.14",
            ],
        )
        self.addHost(
            "s2-r2", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.22",
                "ip route add 10.0.0.9/32 via 10.0.0.22",
                "ip route add 10.0.0.25/32 via 10.0.0.22",
                "ip route add 10.0.0.33/32 via 10.0.0.22",
                "ip route add 10.0.0.41/32 via 10.0.0.22",
            ],
        )
        self.addHost(
            "c3-r2", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.30",
                "ip route add 10.0.0.9/32 via 10.0.0.30",
                "ip route add 10.0.0.33/32 via 10.0.0.30",
                "ip route add 10.0.0.17/32 via 10.0.0.30",
                "ip route add 10.0.0.41/32 via 10.0.0.30",
            ],
        )
        self.addHost(
            "s1-r3", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.38",
                "ip route add 10.0.0.9/32 via 10.0.0.38",
                "ip route add 10.0.0.25/32 via 10.0.0.38",
                "ip route add 10.0.0.17/32 via 10.0.0.38",
                "ip route add 10.0.0.41/32 via 10.0.0.38",
            ],
        )
        self.addHost(
            "s3-r3", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.46",
                "ip route add 10.0.0.9/32 via 10.0.0.46",
                "ip route add 10.0.0.25/32 via 10.0.0.46",
                "ip route add 10.0.0.33/32 via 10.0.0.46",
                "ip route add 10.0.0.17/32 via 10.0.0.46",
            ],
        )
        self.addHost(
            "r2-r1", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.54",
                "ip route add 10.0.0.9/32 via 10.0.0.54",
                "ip route add 10.0.0.25/32 via 10.0.0.49",
                "ip route add 10.0.0.33/32 via 10.0.0.49",
                "ip route add 10.0.0.17/32 via 10.0.0.49",
                "ip route add 10.0.0.41/32 via 10.0.0.49",
            ],
        )
        self.addHost(
            "r2-modem", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.57",
                "ip route add 10.0.0.9/32 via 10.0.0.57",
                "ip route add 10.0.0.25/32 via 10.0.0.57",
                "ip route add 10.0.0.33/32 via 10.0.0.62",
                "ip route add 10.0.0.17/32 via 10.0.0.57",
                "ip route add 10.0.0.41/32 via 10.0.0.62",
                "ip route add 10.0.0.70/32 via 10.0.0.62",
            ],
        )
        self.addHost(
            "r3-modem", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.65",
                "ip route add 10.0.0.9/32 via 10.0.0.65",
                "ip route add 10.0.0.25/32 via 10.0.0.65",
                "ip route add 10.0.0.33/32 via 10.0.0.70",
                "ip route add 10.0.0.17/32 via 10.0.0.65",
                "ip route add 10.0.0.41/32 via 10.0.0.70",
                "ip route add 10.0.0.57/32 via 10.0.0.65",
            ],
        )
        self.addHost(
            "r2-r3", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.61",
                "ip route add 10.0.0.9/32 via 10.0.0.61",
                "ip route add 10.0.0.25/32 via 10.0.0.61",
                "ip route add 10.0.0.33/32 via 10.0.0.66",
                "ip route add 10.0.0.17/32 via 10.0.0.61",
                "ip route add 10.0.0.41/32 via 10.0.0.66",
                "ip route add 10.0.0.57/32 via 10.0.0.61",
                "ip route add 10.0.0.70/32 via 10.0.0.66",
            ],
        )

        # custom.fexp:10
        self.addLink(
            "c1", "c1-r1", cls=Cable, intfName1="c1-eth0", intfName2="c1-r1-eth0",
            params1={
                "ip": "10.0.0.1/30",
                "commands": [
                    "tc qdisc add dev c1-eth0 root handle 1: htb default 1",
                    "tc class add dev c1-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev c1-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
            params2={
                "ip": "10.0.0.2/30",
                "commands": [
                    "tc qdisc add dev c1-r1-eth0 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
        )

        # custom.fexp:10
        self.addLink(
            "c1-r1", "r1", cls=Cable, intfName1="c1-r1-eth1", intfName2="r1-eth0",
            params1={
                "ip": "10.0.0.5/30",
                "commands": [
                    "tc qdisc add dev c1-r1-eth1 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.6/30",
                "commands": [
                    "tc qdisc add dev r1-eth0 root handle 1: htb default 1",
                    "tc class add dev r1-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev r1-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
        )

        # custom.fexp:10
        self.addLink(
            "c2", "c2-r1", cls=Cable, intfName1="c2-eth0", intfName2="c2-r1-eth0",
            params1={
                "ip": "10.0.0.9/30",
                "commands": [
                    "tc qdisc add dev c2-eth0 root handle 1: htb default 1",
                    "tc class add dev c2-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev c2-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
            params2={
                "ip": "10.0.0.10/30",
                "commands": [
                    "tc qdisc add dev c2-r1-eth0 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
        )

        # custom.fexp:10
        self.addLink(
            "c2-r1", "r1", cls=Cable, intfName1="c2-r1-eth1", intfName2="r1-eth1",
            params1={
                "ip": "10.0.0.13/30",
                "commands": [
                    "tc qdisc add dev c2-r1-eth1 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.14/30",
                "commands": [
                    "tc qdisc add dev r1-eth1 root handle 1: htb default 1",
                    "tc class add dev r1-eth1 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev r1-eth1 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
        )

        # custom.fexp:10
        self.addLink(
            "s2", "s2-r2", cls=Cable, intfName1="s2-eth0", intfName2="s2-r2-eth0",
            params1={
                "ip": "10.0.0.17/30",
                "commands": [
                    "tc qdisc add dev s2-eth0 root handle 1: htb default 1",
                    "tc class add dev s2-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev s2-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
            params2={
                "ip": "10.0.0.18/30",
                "commands": [
                    "tc qdisc add dev s2-r2-eth0 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
        )

        # custom.fexp:10
        self.addLink(
            "s2-r2", "r2", cls=Cable, intfName1="s2-r2-eth1", intfName2="r2-eth0",
            params1={
                "ip": "10.0.0.21/30",
                "commands": [
                    "tc qdisc add dev s2-r2-eth1 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.22/30",
                "commands": [
                    "tc qdisc add dev r2-eth0 root handle 1: htb default 1",
                    "tc class add dev r2-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev r2-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
        )

        # custom.fexp:10
        self.addLink(
            "c3", "c3-r2", cls=Cable, intfName1="c3-eth0", intfName2="c3-r2-eth0",
            params1={
                "ip": "10.0.0.25/30",
                "commands": [
                    "tc qdisc add dev c3-eth0 root handle 1: htb default 1",
                    "tc class add dev c3-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev c3-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
            params2={
                "ip": "10.0.0.26/30",
                "commands": [
                    "tc qdisc add dev c3-r2-eth0 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
        )

        # custom.fexp:10
        self.addLink(
            "c3-r2", "r2", cls=Cable, intfName1="c3-r2-eth1", intfName2="r2-eth1",
            params1={
                "ip": "10.0.0.29/30",
                "commands": [
                    "tc qdisc add dev c3-r2-eth1 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.30/30",
                "commands": [
                    "tc qdisc add dev r2-eth1 root handle 1: htb default 1",
                    "tc class add dev r2-eth1 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev r2-eth1 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
        )

        # custom.fexp:10
        self.addLink(
            "s1", "s1-r3", cls=Cable, intfName1="s1-eth0", intfName2="s1-r3-eth0",
            params1={
                "ip": "10.0.0.33/30",
                "commands": [
                    "tc qdisc add dev s1-eth0 root handle 1: htb default 1",
                    "tc class add dev s1-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev s1-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
            params2={
                "ip": "10.0.0.34/30",
                "commands": [
                    "tc qdisc add dev s1-r3-eth0 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
        )

        # custom.fexp:10
        self.addLink(
            "s1-r3", "r3", cls=Cable, intfName1="s1-r3-eth1", intfName2="r3-eth0",
            params1={
                "ip": "10.0.0.37/30",
                "commands": [
                    "tc qdisc add dev s1-r3-eth1 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.38/30",
                "commands": [
                    "tc qdisc add dev r3-eth0 root handle 1: htb default 1",
                    "tc class add dev r3-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev r3-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
        )

        # custom.fexp:10
        self.addLink(
            "s3", "s3-r3", cls=Cable, intfName1="s3-eth0", intfName2="s3-r3-eth0",
            params1={
                "ip": "10.0.0.41/30",
                "commands": [
                    "tc qdisc add dev s3-eth0 root handle 1: htb default 1",
                    "tc class add dev s3-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev s3-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
            params2={
                "ip": "10.0.0.42/30",
                "commands": [
                    "tc qdisc add dev s3-r3-eth0 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
        )

        # custom.fexp:10
        self.addLink(
            "s3-r3", "r3", cls=Cable, intfName1="s3-r3-eth1", intfName2="r3-eth1",
            params1={
                "ip": "10.0.0.45/30",
                "commands": [
                    "tc qdisc add dev s3-r3-eth1 root handle 1: netem limit 3907 delay 1ms rate 1000000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.46/30",
                "commands": [
                    "tc qdisc add dev r3-eth1 root handle 1: htb default 1",
                    "tc class add dev r3-eth1 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev r3-eth1 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
        )

        # custom.fexp:11, custom.fexp:12
        self.addLink(
            "r2", "r2-r1", cls=Cable, intfName1="r2-eth2", intfName2="r2-r1-eth0",
            params1={
                "ip": "10.0.0.49/30",
                "commands": [
                    "tc qdisc add dev r2-eth2 root handle 1: htb default 1",
                    "tc class add dev r2-eth2 parent 1: classid 1:1 htb rate 20000000bit ceil 20000000bit burst 250 cburst 250 quantum 1514",
                    "tc qdisc add dev r2-eth2 parent 1:1 handle 2: fq_codel limit 73 flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 33554432 drop_batch 64 ecn",
                ],
            },
            params2={
                "ip": "10.0.0.50/30",
                "commands": [
                    "tc qdisc add dev r2-r1-eth0 root handle 1: netem limit 1000 delay 10ms rate 20000000bit",
                ],
            },
        )

        # custom.fexp:11, custom.fexp:12
        self.addLink(
            "r2-r1", "r1", cls=Cable, intfName1="r2-r1-eth1", intfName2="r1-eth2",
            params1={
                "ip": "10.0.0.53/30",
                "commands": [
                    "tc qdisc add dev r2-r1-eth1 root handle 1: netem limit 1000 delay 10ms rate 20000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.54/30",
                "commands": [
                    "tc qdisc add dev r1-eth2 root handle 1: htb default 1",
                    "tc class add dev r1-eth2 parent 1: classid 1:1 htb rate 20000000bit ceil 20000000bit burst 250 cburst 250 quantum 1514",
                    "tc qdisc add dev r1-eth2 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
        )

        # custom.fexp:13
        self.addLink(
            "r2", "r2-modem", cls=Cable, intfName1="r2-eth3", intfName2="r2-modem-eth0",
            params1={"ip": "10.0.0.57/30"}, params2={"ip": "10.0.0.58/30"},
        )

        # custom.fexp:13
        self.addLink(
            "r2-modem", "r2-r3", cls=Cable, intfName1="r2-modem-eth1", intfName2="r2-r3-eth0",
            params1={
                "ip": "10.0.0.61/30",
                "commands": [
                    "tc qdisc add dev r2-modem-eth1 root handle 1: htb default 1",
                    "tc class add dev r2-modem-eth1 parent 1: classid 1:1 htb rate 20000000bit ceil 20000000bit burst 250 cburst 250 quantum 1514",
                    "tc qdisc add dev r2-modem-eth1 parent 1:1 handle 2: gred setup vqs 1 default 0",
                    "tc qdisc change dev r2-modem-eth1 parent 1:1 handle 2: gred vq 0 limit 125000 min 12500 max 125000 avpkt 1514 burst 35 probability 0.9999999998 bandwidth 20000000bit ecn",
                ],
            },
            params2={
                "ip": "10.0.0.62/30",
                "commands": [
                    "tc qdisc add dev r2-r3-eth0 root handle 1: netem limit 1000 delay 10ms loss gemodel 1% 30% 100% 0% rate 20000000bit seed 1775636408033935273",
                ],
            },
        )

        # custom.fexp:13
        self.addLink(
            "r2-r3", "r3-modem", cls=Cable, intfName1="r2-r3-eth1", intfName2="r3-modem-eth0",
            params1={
                "ip": "10.0.0.65/30",
                "commands": [
                    "tc qdisc add dev r2-r3-eth1 root handle 1: netem limit 1000 delay 10ms loss gemodel 1% 30% 100% 0% rate 20000000bit seed 1455911724870472720",
                ],
            },
            params2={
                "ip": "10.0.0.66/30",
                "commands": [
                    "tc qdisc add dev r3-modem-eth0 root handle 1: htb default 1",
                    "tc class add dev r3-modem-eth0 parent 1: classid 1:1 htb rate 20000000bit ceil 20000000bit burst 250 cburst 250 quantum 1514",
                    "tc qdisc add dev r3-modem-eth0 parent 1:1 handle 2: gred setup vqs 1 default 0",
                    "tc qdisc change dev r3-modem-eth0 parent 1:1 handle 2: gred vq 0 limit 125000 min 12500 max 125000 avpkt 1514 burst 35 probability 0.9999999998 bandwidth 20000000bit ecn",
                ],
            },
        )

        # custom.fexp:13
        self.addLink(
            "r3-modem", "r3", cls=Cable, intfName1="r3-modem-eth1", intfName2="r3-eth2",
            params1={"ip": "10.0.0.69/30"}, params2={"ip": "10.0.0.70/30"},
        )


topos = {"custom": Network}  # of `mn --custom`


def experiment(repetition):
    """Return what runs in the network, and when. Times are ns after the epoch, when the flows
    begin; sizes are bytes.

    A flow has a server, which sends, and a client, which asks. Each is a role of `fairc-endpoints`
    with the fields here (and those of `both`), or another program: `browser` is fairc-browser, and
    a role with a dot in its name is a module of the package `cell` that runs the `command`. `pings`
    measure round trips before the flows.
    """
    return {
        "id": "8222db03ca978541",
        "flows": [
            # custom.fexp:22
            {
                "name": "long",
                "both": {
                    "flow": "long", "address": "10.0.0.33", "port": 5001, "connections": 1,
                    "workload": {"kind": "bulk"},
                    "options": {
                        "initial_window_packets": 10, "receive_window_bytes": None, "ecn": False,
                        "sack": True, "pacing": False, "fast_open": False, "idle_restart": None,
                    },
                    "starts_ns": [30_997_200],
                },
                "server": {
                    "node": "s1", "role": "tcp-server", "buffer_bytes": None, "rate_bps": None,
                    "sample_every_ns": 100_000_000, "cca": "cubic",
                },
                "client": {
                    "node": "c1", "role": "tcp-client", "buffer_bytes": 8_388_608,
                    "stop_ns": 60_000_000_000, "progress_every_ns": 100_000_000,
                },
            },
            # custom.fexp:23
            {
                "name": "short1",
                "both": {
                    "flow": "short1", "address": "10.0.0.17", "port": 5002, "connections": 1,
                    "workload": {"kind": "bulk"},
                    "options": {
                        "initial_window_packets": 10, "receive_window_bytes": None, "ecn": False,
                        "sack": True, "pacing": False, "fast_open": False, "idle_restart": None,
                    },
                    "starts_ns": [5_000_000_000],
                },
                "server": {
                    "node": "s2", "role": "tcp-server", "buffer_bytes": None, "rate_bps": None,
                    "sample_every_ns": 100_000_000, "cca": "cubic",
                },
                "client": {
                    "node": "c2", "role": "tcp-client", "buffer_bytes": 2_097_152,
                    "stop_ns": 60_000_000_000, "progress_every_ns": 100_000_000,
                },
            },
            # custom.fexp:24
            {
                "name": "short2",
                "both": {
                    "flow": "short2", "address": "10.0.0.41", "port": 5003, "connections": 1,
                    "workload": {"kind": "bulk"},
                    "options": {
                        "initial_window_packets": 10, "receive_window_bytes": None, "ecn": False,
                        "sack": True, "pacing": False, "fast_open": False, "idle_restart": None,
                    },
                    "starts_ns": [10_000_000_000],
                },
                "server": {
                    "node": "s3", "role": "tcp-server", "buffer_bytes": None, "rate_bps": None,
                    "sample_every_ns": 100_000_000, "cca": "cubic",
                },
                "client": {
                    "node": "c3", "role": "tcp-client", "buffer_bytes": 8_388_608,
                    "stop_ns": 60_000_000_000, "progress_every_ns": 100_000_000,
                },
            },
            # custom.fexp:25
            {
                "name": "down", "both": {"stop_ns": None},
                "server": {
                    "node": "s2", "role": "cell.timed", "name": "down.server",
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
                    "node": "c2", "role": "cell.timed", "name": "down.client",
                    "command": [
                        "iperf3",
                        "--client",
                        "10.0.0.17",
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
                        "5004",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": -102_000_000,
                },
            },
            # custom.fexp:26
            {
                "name": "up",
                "server": {
                    "node": "s2", "role": "cell.timed", "name": "up.server",
                    "command": [
                        "iperf3",
                        "--server",
                        "--one-off",
                        "--version4",
                        "--port",
                        "5005",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": None, "stop_ns": None,
                },
                "client": {
                    "node": "c2", "role": "cell.timed", "name": "up.client",
                    "command": [
                        "iperf3",
                        "--client",
                        "10.0.0.17",
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
                        "5005",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": 1_922_000_000, "stop_ns": 3_000_000_000,
                },
            },
            # custom.fexp:27
            {
                "name": "udp", "both": {"stop_ns": None},
                "server": {
                    "node": "s2", "role": "cell.timed", "name": "udp.server",
                    "command": [
                        "iperf3",
                        "--server",
                        "--one-off",
                        "--version4",
                        "--port",
                        "5006",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": None,
                },
                "client": {
                    "node": "c2", "role": "cell.timed", "name": "udp.client",
                    "command": [
                        "iperf3",
                        "--client",
                        "10.0.0.17",
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
                        "5006",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": 3_910_000_000,
                },
            },
            # custom.fexp:28
            {
                "name": "some", "both": {"stop_ns": None},
                "server": {
                    "node": "s2", "role": "cell.timed", "name": "some.server",
                    "command": [
                        "iperf3",
                        "--server",
                        "--one-off",
                        "--version4",
                        "--port",
                        "5007",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": None,
                },
                "client": {
                    "node": "c2", "role": "cell.timed", "name": "some.client",
                    "command": [
                        "iperf3",
                        "--client",
                        "10.0.0.17",
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
                        "5007",
                        "--interval",
                        "0.1",
                        "--json",
                    ],
                    "begin_ns": 5_922_000_000,
                },
            },
            # custom.fexp:29
            {
                "name": "web",
                "both": {
                    "flow": "web", "address": "10.0.0.33", "port": 5008,
                    "workload": {
                        "kind": "load",
                        "page": [
                            {"path": "/", "bytes": 9000, "type": "text/html", "parent": None},
                            {
                                "path": "/1.js", "bytes": 2000, "type": "text/javascript",
                                "parent": 0,
                            },
                            {"path": "/2.png", "bytes": 2000, "type": "image/png", "parent": 1},
                            {"path": "/3.png", "bytes": 2000, "type": "image/png", "parent": 0},
                        ],
                        "client": "plain", "protocols": ["h2", "h3"], "idle_ns": [0, 1_243_242_838],
                        "every_ns": 0, "timeout_ns": 60_000_000_000, "quic_parameters": {},
                    },
                    "options": {
                        "initial_window_packets": 32, "receive_window_bytes": None, "ecn": False,
                        "sack": True, "pacing": True, "fast_open": False, "idle_restart": None,
                    },
                    "starts_ns": [19_280_904], "buffer_bytes": None,
                },
                "server": {
                    "node": "s1", "role": "web-server", "connections": 1, "rate_bps": None,
                    "sample_every_ns": 100_000_000, "cca": "bbr",
                    "quic": {"name": "bbr", "parameters": {}},
                },
                "client": {
                    "node": "c1", "role": "web-client", "stop_ns": 60_000_000_000,
                    "progress_every_ns": 100_000_000, "name": "web.fairc",
                },
            },
            # custom.fexp:30
            {
                "name": "seen",
                "both": {
                    "flow": "seen", "address": "10.0.0.41", "port": 5009,
                    "workload": {
                        "kind": "load",
                        "page": [
                            {"path": "/", "bytes": 1_000_000, "type": "image/png", "parent": None},
                        ],
                        "client": "chromium", "protocols": ["h2"], "idle_ns": [0], "every_ns": 0,
                        "timeout_ns": 60_000_000_000, "quic_parameters": {},
                    },
                    "options": {
                        "initial_window_packets": 32, "receive_window_bytes": None, "ecn": False,
                        "sack": True, "pacing": False, "fast_open": False, "idle_restart": None,
                    },
                    "starts_ns": [1_000_000_000], "buffer_bytes": None,
                },
                "server": {
                    "node": "s3", "role": "web-server", "connections": 1, "rate_bps": None,
                    "sample_every_ns": 100_000_000, "cca": "cubic", "quic": None,
                },
                "client": {
                    "node": "c3", "role": "browser", "stop_ns": 60_000_000_000,
                    "progress_every_ns": 100_000_000, "name": "web.fairc",
                    "own_time": {"quic": None},
                },
            },
        ],
        "captures": [
            # entry of the bottleneck r2/r2-eth2
            {
                "node": "r2", "interface": "r2-eth3", "direction": "in",
                "file": "entry.r2.r2-eth2.r2-eth3.pcap",
            },
            # entry of the bottleneck r2/r2-eth2
            {
                "node": "r2", "interface": "r2-eth0", "direction": "in",
                "file": "entry.r2.r2-eth2.r2-eth0.pcap",
            },
            # exit of the bottleneck r2/r2-eth2
            {
                "node": "r2", "interface": "r2-eth2", "direction": "out",
                "file": "exit.r2.r2-eth2.pcap",
            },
            # delivered of the bottleneck r2/r2-eth2
            {
                "node": "r2-r1", "interface": "r2-r1-eth1", "direction": "out",
                "file": "delivered.r2.r2-eth2.pcap",
            },
            # entry of the bottleneck r3-modem/r3-modem-eth0
            {
                "node": "r3-modem", "interface": "r3-modem-eth1", "direction": "in",
                "file": "entry.r3-modem.r3-modem-eth0.r3-modem-eth1.pcap",
            },
            # exit of the bottleneck r3-modem/r3-modem-eth0
            {
                "node": "r3-modem", "interface": "r3-modem-eth0", "direction": "out",
                "file": "exit.r3-modem.r3-modem-eth0.pcap",
            },
            # delivered of the bottleneck r3-modem/r3-modem-eth0
            {
                "node": "r2-r3", "interface": "r2-r3-eth0", "direction": "out",
                "file": "delivered.r3-modem.r3-modem-eth0.pcap",
            },
            # entry of the bottleneck r1/r1-eth2
            {
                "node": "r1", "interface": "r1-eth0", "direction": "in",
                "file": "entry.r1.r1-eth2.r1-eth0.pcap",
            },
            # entry of the bottleneck r1/r1-eth2
            {
                "node": "r1", "interface": "r1-eth1", "direction": "in",
                "file": "entry.r1.r1-eth2.r1-eth1.pcap",
            },
            # exit of the bottleneck r1/r1-eth2
            {
                "node": "r1", "interface": "r1-eth2", "direction": "out",
                "file": "exit.r1.r1-eth2.pcap",
            },
            # delivered of the bottleneck r1/r1-eth2
            {
                "node": "r2-r1", "interface": "r2-r1-eth0", "direction": "out",
                "file": "delivered.r1.r1-eth2.pcap",
            },
            # data and ACKs at a sender
            {
                "node": "s1", "interface": "s1-eth0", "direction": "both",
                "file": "sender.s1.s1-eth0.headers",
            },
            # data and ACKs at a sender
            {
                "node": "s2", "interface": "s2-eth0", "direction": "both",
                "file": "sender.s2.s2-eth0.headers",
            },
            # data and ACKs at a sender
            {
                "node": "s3", "interface": "s3-eth0", "direction": "both",
                "file": "sender.s3.s3-eth0.headers",
            },
            # data and ACKs at a sender
            {
                "node": "c2", "interface": "c2-eth0", "direction": "both",
                "file": "sender.c2.c2-eth0.headers",
            },
            # client of page loads
            {
                "node": "c1", "interface": "c1-eth0", "direction": "in",
                "file": "client.c1.c1-eth0.pcap",
            },
            # client of page loads
            {
                "node": "c3", "interface": "c3-eth0", "direction": "in",
                "file": "client.c3.c3-eth0.pcap",
            },
        ],
        "capture": {"snaplen": 96, "ring_packets": 14_112, "every_ns": 100_000_000},
        "duration_ns": 60_000_000_000, "window_bytes": 300_000,
        "proxies": [
            # custom.fexp:14
            {
                "name": "split.terminal", "node": "r2", "role": "pep-terminal",
                "description": {
                    "flow": "split", "listen_ports": [5001, 5003, 5008, 5009],
                    "terminal_address": "10.0.0.57", "gateway_address": "10.0.0.70", "port": 5010,
                    "cca": "bbr", "pool": 4, "window_bytes": 49_537, "rate_bps": 19_815_059,
                    "buffer_bytes": 1_048_576, "syn_retries": 1, "sample_every_ns": 100_000_000,
                },
            },
            # custom.fexp:14
            {
                "name": "split.gateway", "node": "r3", "role": "pep-gateway",
                "description": {
                    "flow": "split", "listen_ports": [5001, 5003, 5008, 5009],
                    "terminal_address": "10.0.0.57", "gateway_address": "10.0.0.70", "port": 5010,
                    "cca": "bbr", "pool": 4, "window_bytes": 49_537, "rate_bps": 19_815_059,
                    "buffer_bytes": 1_048_576, "syn_retries": 1, "sample_every_ns": 100_000_000,
                },
            },
        ],
        "patience_ns": 1_132_000_000, "deadline_ns": 61_000_000_000, "drain_ns": 793_600_000,
        "lead_ns": 8_162_000_000, "slack_ns": 100_000,
        "pings": [
            {
                "flow": "long", "client": "c1", "server": "s1", "address": "10.0.0.33",
                "expected_ns": 44_196_736, "every_ns": 10_000_000,
            },
            {
                "flow": "short1", "client": "c2", "server": "s2", "address": "10.0.0.17",
                "expected_ns": 24_196_736, "every_ns": 10_000_000,
            },
            {
                "flow": "short2", "client": "c3", "server": "s3", "address": "10.0.0.41",
                "expected_ns": 24_196_736, "every_ns": 10_000_000,
            },
            {
                "flow": "down", "client": "c2", "server": "s2", "address": "10.0.0.17",
                "expected_ns": 24_196_736, "every_ns": 10_000_000,
            },
            {
                "flow": "up", "client": "s2", "server": "c2", "address": "10.0.0.9",
                "expected_ns": 24_196_736, "every_ns": 10_000_000,
            },
            {
                "flow": "udp", "client": "c2", "server": "s2", "address": "10.0.0.17",
                "expected_ns": 24_196_736, "every_ns": 10_000_000,
            },
            {
                "flow": "some", "client": "c2", "server": "s2", "address": "10.0.0.17",
                "expected_ns": 24_196_736, "every_ns": 10_000_000,
            },
            {
                "flow": "web", "client": "c1", "server": "s1", "address": "10.0.0.33",
                "expected_ns": 44_196_736, "every_ns": 10_000_000,
            },
            {
                "flow": "seen", "client": "c3", "server": "s3", "address": "10.0.0.41",
                "expected_ns": 24_196_736, "every_ns": 10_000_000,
            },
        ],
    }


def meanwhile(net):
    """Yours: is called when the flows begin. Try print(net.get("c1").cmd("ip -s link"))."""


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
