#!/usr/bin/env python3
"""pages: a Mininet program, written by `fairc compile`.

    sudo python3 experiment.py [OUTDIR]
        runs the flows; OUTDIR gets packet captures, logs of both ends, counters of queues and,
        last, cell.json, which says how it went
    sudo python3 experiment.py --cli
        Mininet's command line, with the network up and no flows
    sudo mn --custom experiment.py --topo pages
        the same with Mininet's own program

It needs Mininet and iproute2. For flows it needs two things next to it: `fairc-endpoints`, the
program that sends and receives, and the package `cell`, which starts programs on time.
Its browser: Chromium, ChromeDriver, Selenium, and fairc-browser (next to this file or on PATH).
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
    "net.ipv4.tcp_rmem": "4096 131072 33554432", "net.ipv4.tcp_wmem": "4096 16384 33554432",
}
HOST_2 = EVERYWHERE | {
    "net.ipv4.ip_forward": "0", "net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_rmem": "4096 134217728 134217728", "net.ipv4.tcp_wmem": "4096 16384 33554432",
}
ROUTER = EVERYWHERE | {
    "net.ipv4.ip_forward": "1", "net.ipv4.tcp_slow_start_after_idle": "0",
    "net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_tw_reuse": "1",
}
ROUTER_2 = EVERYWHERE | {
    "net.ipv4.ip_forward": "1", "net.ipv4.tcp_slow_start_after_idle": "0",
    "net.ipv4.tcp_no_metrics_save": "1",
}
ROUTER_3 = EVERYWHERE | {"net.ipv4.ip_forward": "1"}


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
            "server", cls=Machine, sysctls=HOST,
            commands=[
                "ip rule add iif lo ipproto tcp sport 5001 lookup 101",
                "ip rule add iif lo ipproto tcp sport 5002 lookup 101",
                "ip route add 10.0.0.0/8 via 10.0.0.2",
                "ip route add 10.0.0.14/32 via 10.0.0.2 table 101 initcwnd 32",
            ],
        )
        self.addHost(
            "client", cls=Machine, sysctls=HOST_2,
            commands=["ip route add 10.0.0.0/8 via 10.0.0.13"],
        )
        # Routers.
        self.addHost(
            "gateway", cls=Machine, sysctls=ROUTER,
            commands=[
                "ip rule add iif gateway-eth0 ipproto tcp sport 5001 lookup 100",
                "ip rule add iif gateway-eth0 ipproto tcp sport 5002 lookup 100",
                "ip route add 10.0.0.1/32 via 10.0.0.5",
                "ip route add 10.0.0.14/32 via 10.0.0.18",
                "ip route add 10.0.0.30/32 via 10.0.0.18",
                "ip route replace local 0.0.0.0/0 dev lo table 100",
                "ip route replace 10.0.0.30/32 via 10.0.0.18 initcwnd 1485 initrwnd 2970",
            ],
        )
        self.addHost(
            "terminal", cls=Machine, sysctls=ROUTER_2,
            commands=[
                "ip rule add iif terminal-eth0 ipproto tcp dport 5001 lookup 100",
                "ip rule add iif terminal-eth0 ipproto tcp dport 5002 lookup 100",
                "ip route add 10.0.0.1/32 via 10.0.0.29",
                "ip route add 10.0.0.14/32 via 10.0.0.10",
                "ip route add 10.0.0.17/32 via 10.0.0.29",
                "ip route replace local 0.0.0.0/0 dev lo table 100",
                "ip route replace 10.0.0.17/32 via 10.0.0.29 initcwnd 1485 initrwnd 2970",
            ],
        )
        # Between two of them: nodes that delay, lose and transmit what is on a link.
        self.addHost(
            "server-gateway", cls=Machine, sysctls=ROUTER_3,
            commands=["ip route add 10.0.0.14/32 via 10.0.0.6"],
        )
        self.addHost(
            "terminal-client", cls=Machine, sysctls=ROUTER_3,
            commands=["ip route add 10.0.0.1/32 via 10.0.0.9"],
        )
        self.addHost(
            "gateway-modem", cls=Machine, sysctls=ROUTER_3,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.17",
                "ip route add 10.0.0.14/32 via 10.0.0.22",
                "ip route add 10.0.0.30/32 via 10.0.0.22",
            ],
        )
        self.addHost(
            "terminal-modem", cls=Machine, sysctls=ROUTER_3,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.25",
                "ip route add 10.0.0.14/32 via 10.0.0.30",
                "ip route add 10.0.0.17/32 via 10.0.0.25",
            ],
        )
        self.addHost(
            "gateway-terminal", cls=Machine, sysctls=ROUTER_3,
            commands=[
                "ip route add 10.0.0.1/32 via 10.0.0.21",
                "ip route add 10.0.0.14/32 via 10.0.0.26",
                "ip route add 10.0.0.30/32 via 10.0.0.26",
                "ip route add 10.0.0.17/32 via 10.0.0.21",
            ],
        )

        # <preset geo>:21
        self.addLink(
            "server", "server-gateway", cls=Cable, intfName1="server-eth0", intfName2="eth0",
            params1={
                "ip": "10.0.0.1/30",
                "commands": [
                    "tc qdisc add dev server-eth0 root handle 1: htb default 1",
                    "tc class add dev server-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev server-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
            params2={
                "ip": "10.0.0.2/30",
                "commands": [
                    "tc qdisc add dev eth0 root handle 1: netem limit 58594 delay 15ms rate 1000000000bit",
                ],
            },
        )

        # <preset geo>:21
        self.addLink(
            "server-gateway", "gateway", cls=Cable, intfName1="eth1", intfName2="gateway-eth0",
            params1={
                "ip": "10.0.0.5/30",
                "commands": [
                    "tc qdisc add dev eth1 root handle 1: netem limit 58594 delay 15ms rate 1000000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.6/30",
                "commands": [
                    "tc qdisc add dev gateway-eth0 root handle 1: htb default 1",
                    "tc class add dev gateway-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev gateway-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
        )

        # <preset geo>:22
        self.addLink(
            "terminal", "terminal-client", cls=Cable, intfName1="terminal-eth0", intfName2="eth0",
            params1={
                "ip": "10.0.0.9/30",
                "commands": [
                    "tc qdisc add dev terminal-eth0 root handle 1: htb default 1",
                    "tc class add dev terminal-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev terminal-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
            params2={
                "ip": "10.0.0.10/30",
                "commands": [
                    "tc qdisc add dev eth0 root handle 1: netem limit 1954 delay 500us rate 1000000000bit",
                ],
            },
        )

        # <preset geo>:22
        self.addLink(
            "terminal-client", "client", cls=Cable, intfName1="eth1", intfName2="client-eth0",
            params1={
                "ip": "10.0.0.13/30",
                "commands": [
                    "tc qdisc add dev eth1 root handle 1: netem limit 1954 delay 500us rate 1000000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.14/30",
                "commands": [
                    "tc qdisc add dev client-eth0 root handle 1: htb default 1",
                    "tc class add dev client-eth0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 12500 cburst 12500 quantum 1514",
                    "tc qdisc add dev client-eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
        )

        # <preset geo>:23, <preset geo>:24
        self.addLink(
            "gateway", "gateway-modem", cls=Cable, intfName1="gateway-eth1", intfName2="eth0",
            params1={"ip": "10.0.0.17/30"}, params2={"ip": "10.0.0.18/30"},
        )

        # <preset geo>:23, <preset geo>:24
        self.addLink(
            "gateway-modem", "gateway-terminal", cls=Cable, intfName1="eth1", intfName2="eth0",
            params1={
                "ip": "10.0.0.21/30",
                "commands": [
                    "tc qdisc add dev eth1 root handle 1: htb default 1",
                    "tc class add dev eth1 parent 1: classid 1:1 htb rate 25000000bit ceil 25000000bit burst 312 cburst 312 quantum 1514",
                    "tc qdisc add dev eth1 parent 1:1 handle 2: bfifo limit 2343750",
                ],
            },
            params2={
                "ip": "10.0.0.22/30",
                "commands": [
                    "tc qdisc add dev eth0 root handle 1: netem limit 7022 delay 359500us rate 5000000bit",
                ],
            },
        )

        # <preset geo>:23, <preset geo>:24
        self.addLink(
            "gateway-terminal", "terminal-modem", cls=Cable, intfName1="eth1", intfName2="eth0",
            params1={
                "ip": "10.0.0.25/30",
                "commands": [
                    "tc qdisc add dev eth1 root handle 1: netem limit 35108 delay 359500us rate 25000000bit",
                ],
            },
            params2={
                "ip": "10.0.0.26/30",
                "commands": [
                    "tc qdisc add dev eth0 root handle 1: htb default 1",
                    "tc class add dev eth0 parent 1: classid 1:1 htb rate 5000000bit ceil 5000000bit burst 62 cburst 62 quantum 1514",
                    "tc qdisc add dev eth0 parent 1:1 handle 2: pfifo limit 1000",
                ],
            },
        )

        # <preset geo>:23, <preset geo>:24
        self.addLink(
            "terminal-modem", "terminal", cls=Cable, intfName1="eth1", intfName2="terminal-eth1",
            params1={"ip": "10.0.0.29/30"}, params2={"ip": "10.0.0.30/30"},
        )


topos = {"pages": Network}  # of `mn --custom`


def experiment(repetition):
    """Return what runs in the network, and when. Times are ns after the epoch, when the flows
    begin; sizes are bytes.

    A flow has a server, which sends, and a client, which asks. Each is a role of `fairc-endpoints`
    with the fields here (and those of `both`), or another program: `browser` is fairc-browser, and
    a role with a dot in its name is a module of the package `cell` that runs the `command`. `pings`
    measure round trips before the flows.
    """
    return {
        "id": "74e90a0478023ef7",
        "flows": [
            # pages.fexp:6
            {
                "name": "web",
                "both": {
                    "flow": "web", "address": "10.0.0.1", "port": 5001,
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
                    "starts_ns": [328_651_776], "buffer_bytes": None,
                },
                "server": {
                    "node": "server", "role": "web-server", "connections": 1, "rate_bps": None,
                    "sample_every_ns": 100_000_000, "cca": "bbr",
                    "quic": {"name": "bbr", "parameters": {}},
                },
                "client": {
                    "node": "client", "role": "web-client", "stop_ns": None,
                    "progress_every_ns": 100_000_000, "name": "web.fairc",
                },
            },
            # pages.fexp:7
            {
                "name": "seen",
                "both": {
                    "flow": "seen", "address": "10.0.0.1", "port": 5002,
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
                    "node": "server", "role": "web-server", "connections": 1, "rate_bps": None,
                    "sample_every_ns": 100_000_000, "cca": "cubic", "quic": None,
                },
                "client": {
                    "node": "client", "role": "browser", "stop_ns": None,
                    "progress_every_ns": 100_000_000, "name": "web.fairc",
                    "own_time": {"quic": None},
                },
            },
        ],
        "captures": [
            # entry of the bottleneck gateway-modem/eth1
            {
                "node": "gateway-modem", "interface": "eth0", "direction": "in",
                "file": "entry.gateway-modem.eth1.eth0.pcap",
            },
            # exit of the bottleneck gateway-modem/eth1
            {
                "node": "gateway-modem", "interface": "eth1", "direction": "out",
                "file": "exit.gateway-modem.eth1.pcap",
            },
            # delivered of the bottleneck gateway-modem/eth1
            {
                "node": "gateway-terminal", "interface": "eth1", "direction": "out",
                "file": "delivered.gateway-modem.eth1.pcap",
            },
            # data and ACKs at a sender
            {
                "node": "server", "interface": "server-eth0", "direction": "both",
                "file": "sender.server.server-eth0.headers",
            },
            # client of page loads
            {
                "node": "client", "interface": "client-eth0", "direction": "in",
                "file": "client.client.client-eth0.pcap",
            },
        ],
        "capture": {"snaplen": 96, "ring_packets": 13_543, "every_ns": 100_000_000},
        "proxies": [
            # <preset geo>:25
            {
                "name": "satellite.terminal", "node": "terminal", "role": "pep-terminal",
                "description": {
                    "flow": "satellite", "listen_ports": [5001, 5002],
                    "terminal_address": "10.0.0.30", "gateway_address": "10.0.0.17", "port": 5003,
                    "cca": "bbr", "pool": 4, "window_bytes": 2_226_098, "rate_bps": 4_953_764,
                    "buffer_bytes": 16_777_216, "syn_retries": 1, "sample_every_ns": 100_000_000,
                },
            },
            # <preset geo>:25
            {
                "name": "satellite.gateway", "node": "gateway", "role": "pep-gateway",
                "description": {
                    "flow": "satellite", "listen_ports": [5001, 5002],
                    "terminal_address": "10.0.0.30", "gateway_address": "10.0.0.17", "port": 5003,
                    "cca": "bbr", "pool": 4, "window_bytes": 2_226_098, "rate_bps": 24_768_824,
                    "buffer_bytes": 16_777_216, "syn_retries": 1, "sample_every_ns": 100_000_000,
                },
            },
        ],
        "patience_ns": 3_250_000_000, "deadline_ns": 183_243_242_838, "drain_ns": 2_350_000_000,
        "lead_ns": 6_540_000_000, "slack_ns": 100_000,
        "pings": [
            {
                "flow": "web", "client": "client", "server": "server", "address": "10.0.0.1",
                "expected_ns": 750_226_432, "every_ns": 10_000_000,
            },
            {
                "flow": "seen", "client": "client", "server": "server", "address": "10.0.0.1",
                "expected_ns": 750_226_432, "every_ns": 10_000_000,
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
