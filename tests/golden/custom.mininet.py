#!/usr/bin/env python3
"""One cell of a network experiment: a standalone Mininet program, written by `fairc compile`.

    sudo python3 THIS_FILE [OUTDIR]

It needs Mininet, iproute2 and fairc-endpoints (beside this file or on PATH).
OUTDIR (default: the cell's id) receives packet captures, the endpoints' logs, queue statistics and,
last, cell.json. Nodes are network namespaces that nobody else sees; they and every process in
them end with this program, however it ends. Nothing else on the machine is touched, but
for parameters of congestion control modules (MODULES, mostly empty), which are restored.
"""
# cell           2722bcd835cb2da2
# experiment     custom
# configuration  dddf9eda652cfba1
#   long = cubic
# repetition     1, seed 123167460428437279
# Comments name the line of the experiment's file that a part comes from.

import ctypes
import fcntl
import heapq
import itertools
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from mininet.link import Link
from mininet.net import VERSION, Mininet
from mininet.node import Node
from mininet.util import numCores

HERE = os.path.dirname(os.path.abspath(__file__))
CELL = '2722bcd835cb2da2'
DURATION_NS = 60000000000  # a fixed length, or None
DEADLINE_NS = 61000000000  # the latest end
STOP = 'all'  # the cell ends with the `first` flow, or when `all` have ended
DRAIN_NS = 238000000  # after the end: time for what still waits in queues
LEAD_NS = 600000000  # from the start of the first program to the epoch


def build(net):
    """Create the nodes, and the cables between them."""
    net.addHost('c1')  # host
    net.addHost('c2')  # host
    net.addHost('c3')  # host
    net.addHost('s1')  # host
    net.addHost('s2')  # host
    net.addHost('s3')  # host
    net.addHost('r1')  # router
    net.addHost('r2')  # router
    net.addHost('r3')  # router
    net.addHost('c1-r1')  # hop
    net.addHost('c2-r1')  # hop
    net.addHost('s2-r2')  # hop
    net.addHost('c3-r2')  # hop
    net.addHost('s1-r3')  # hop
    net.addHost('s3-r3')  # hop
    net.addHost('r2-r1')  # hop
    net.addHost('r2-r3')  # hop
    # custom.fexp:8
    net.addLink(
        'c1', 'c1-r1',
        intfName1='c1-eth0', addr1='02:00:0a:00:00:01',
        intfName2='c1-r1-eth0', addr2='02:00:0a:00:00:02',
        up=None,
    )
    # custom.fexp:8
    net.addLink(
        'c1-r1', 'r1',
        intfName1='c1-r1-eth1', addr1='02:00:0a:00:00:05',
        intfName2='r1-eth0', addr2='02:00:0a:00:00:06',
        up=None,
    )
    # custom.fexp:8
    net.addLink(
        'c2', 'c2-r1',
        intfName1='c2-eth0', addr1='02:00:0a:00:00:09',
        intfName2='c2-r1-eth0', addr2='02:00:0a:00:00:0a',
        up=None,
    )
    # custom.fexp:8
    net.addLink(
        'c2-r1', 'r1',
        intfName1='c2-r1-eth1', addr1='02:00:0a:00:00:0d',
        intfName2='r1-eth1', addr2='02:00:0a:00:00:0e',
        up=None,
    )
    # custom.fexp:8
    net.addLink(
        's2', 's2-r2',
        intfName1='s2-eth0', addr1='02:00:0a:00:00:11',
        intfName2='s2-r2-eth0', addr2='02:00:0a:00:00:12',
        up=None,
    )
    # custom.fexp:8
    net.addLink(
        's2-r2', 'r2',
        intfName1='s2-r2-eth1', addr1='02:00:0a:00:00:15',
        intfName2='r2-eth0', addr2='02:00:0a:00:00:16',
        up=None,
    )
    # custom.fexp:8
    net.addLink(
        'c3', 'c3-r2',
        intfName1='c3-eth0', addr1='02:00:0a:00:00:19',
        intfName2='c3-r2-eth0', addr2='02:00:0a:00:00:1a',
        up=None,
    )
    # custom.fexp:8
    net.addLink(
        'c3-r2', 'r2',
        intfName1='c3-r2-eth1', addr1='02:00:0a:00:00:1d',
        intfName2='r2-eth1', addr2='02:00:0a:00:00:1e',
        up=None,
    )
    # custom.fexp:8
    net.addLink(
        's1', 's1-r3',
        intfName1='s1-eth0', addr1='02:00:0a:00:00:21',
        intfName2='s1-r3-eth0', addr2='02:00:0a:00:00:22',
        up=None,
    )
    # custom.fexp:8
    net.addLink(
        's1-r3', 'r3',
        intfName1='s1-r3-eth1', addr1='02:00:0a:00:00:25',
        intfName2='r3-eth0', addr2='02:00:0a:00:00:26',
        up=None,
    )
    # custom.fexp:8
    net.addLink(
        's3', 's3-r3',
        intfName1='s3-eth0', addr1='02:00:0a:00:00:29',
        intfName2='s3-r3-eth0', addr2='02:00:0a:00:00:2a',
        up=None,
    )
    # custom.fexp:8
    net.addLink(
        's3-r3', 'r3',
        intfName1='s3-r3-eth1', addr1='02:00:0a:00:00:2d',
        intfName2='r3-eth1', addr2='02:00:0a:00:00:2e',
        up=None,
    )
    # custom.fexp:9
    net.addLink(
        'r2', 'r2-r1',
        intfName1='r2-eth2', addr1='02:00:0a:00:00:31',
        intfName2='r2-r1-eth0', addr2='02:00:0a:00:00:32',
        up=None,
    )
    # custom.fexp:9
    net.addLink(
        'r2-r1', 'r1',
        intfName1='r2-r1-eth1', addr1='02:00:0a:00:00:35',
        intfName2='r1-eth2', addr2='02:00:0a:00:00:36',
        up=None,
    )
    # custom.fexp:11
    net.addLink(
        'r2', 'r2-r3',
        intfName1='r2-eth3', addr1='02:00:0a:00:00:39',
        intfName2='r2-r3-eth0', addr2='02:00:0a:00:00:3a',
        up=None,
    )
    # custom.fexp:11
    net.addLink(
        'r2-r3', 'r3',
        intfName1='r2-r3-eth1', addr1='02:00:0a:00:00:3d',
        intfName2='r3-eth2', addr2='02:00:0a:00:00:3e',
        up=None,
    )
    return net


# What `sysctl` sets: in every node, and in each.
SYSCTL_EVERYWHERE = {
    'net.ipv6.conf.all.disable_ipv6': '1',
    'net.ipv6.conf.default.disable_ipv6': '1',
    'net.ipv4.conf.all.rp_filter': '0',
    'net.ipv4.conf.default.rp_filter': '0',
    'net.ipv4.conf.all.send_redirects': '0',
    'net.ipv4.conf.default.send_redirects': '0',
}
SYSCTL = {
    'c1': {
        'net.ipv4.ip_forward': '0',
        'net.ipv4.tcp_no_metrics_save': '1',
        'net.ipv4.tcp_ecn': '2',
        'net.ipv4.tcp_rmem': '4096 131072 6291456',
        'net.ipv4.tcp_wmem': '4096 16384 4194304',
    },
    'c2': {
        'net.ipv4.ip_forward': '0',
        'net.ipv4.tcp_no_metrics_save': '1',
        'net.ipv4.tcp_ecn': '2',
        'net.ipv4.tcp_rmem': '4096 131072 6291456',
        'net.ipv4.tcp_wmem': '4096 16384 4194304',
    },
    'c3': {
        'net.ipv4.ip_forward': '0',
        'net.ipv4.tcp_no_metrics_save': '1',
        'net.ipv4.tcp_ecn': '2',
        'net.ipv4.tcp_rmem': '4096 131072 6291456',
        'net.ipv4.tcp_wmem': '4096 16384 4194304',
    },
    's1': {
        'net.ipv4.ip_forward': '0',
        'net.ipv4.tcp_no_metrics_save': '1',
        'net.ipv4.tcp_ecn': '2',
        'net.ipv4.tcp_rmem': '4096 131072 6291456',
        'net.ipv4.tcp_wmem': '4096 16384 4194304',
    },
    's2': {
        'net.ipv4.ip_forward': '0',
        'net.ipv4.tcp_no_metrics_save': '1',
        'net.ipv4.tcp_ecn': '2',
        'net.ipv4.tcp_rmem': '4096 131072 6291456',
        'net.ipv4.tcp_wmem': '4096 16384 4194304',
    },
    's3': {
        'net.ipv4.ip_forward': '0',
        'net.ipv4.tcp_no_metrics_save': '1',
        'net.ipv4.tcp_ecn': '2',
        'net.ipv4.tcp_rmem': '4096 131072 6291456',
        'net.ipv4.tcp_wmem': '4096 16384 4194304',
    },
    'r1': {
        'net.ipv4.ip_forward': '1',
    },
    'r2': {
        'net.ipv4.ip_forward': '1',
    },
    'r3': {
        'net.ipv4.ip_forward': '1',
    },
    'c1-r1': {
        'net.ipv4.ip_forward': '1',
    },
    'c2-r1': {
        'net.ipv4.ip_forward': '1',
    },
    's2-r2': {
        'net.ipv4.ip_forward': '1',
    },
    'c3-r2': {
        'net.ipv4.ip_forward': '1',
    },
    's1-r3': {
        'net.ipv4.ip_forward': '1',
    },
    's3-r3': {
        'net.ipv4.ip_forward': '1',
    },
    'r2-r1': {
        'net.ipv4.ip_forward': '1',
    },
    'r2-r3': {
        'net.ipv4.ip_forward': '1',
    },
}

# What `ip -batch` does in each node: interfaces, addresses, neighbours (so that no ARP gets between
# the packets of the flows) and routes. One segment per packet: queues count real packets.
IP = {
    'c1': [
        'link set dev lo up',
        'link set dev c1-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.1/30 dev c1-eth0',
        'neighbour add 10.0.0.2 lladdr 02:00:0a:00:00:02 dev c1-eth0 nud permanent',
        'route add 10.0.0.0/8 via 10.0.0.2',
    ],
    'c2': [
        'link set dev lo up',
        'link set dev c2-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.9/30 dev c2-eth0',
        'neighbour add 10.0.0.10 lladdr 02:00:0a:00:00:0a dev c2-eth0 nud permanent',
        'route add 10.0.0.0/8 via 10.0.0.10',
    ],
    'c3': [
        'link set dev lo up',
        'link set dev c3-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.25/30 dev c3-eth0',
        'neighbour add 10.0.0.26 lladdr 02:00:0a:00:00:1a dev c3-eth0 nud permanent',
        'route add 10.0.0.0/8 via 10.0.0.26',
    ],
    's1': [
        'link set dev lo up',
        'link set dev s1-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.33/30 dev s1-eth0',
        'neighbour add 10.0.0.34 lladdr 02:00:0a:00:00:22 dev s1-eth0 nud permanent',
        'route add 10.0.0.0/8 via 10.0.0.34',
    ],
    's2': [
        'link set dev lo up',
        'link set dev s2-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.17/30 dev s2-eth0',
        'neighbour add 10.0.0.18 lladdr 02:00:0a:00:00:12 dev s2-eth0 nud permanent',
        'route add 10.0.0.0/8 via 10.0.0.18',
    ],
    's3': [
        'link set dev lo up',
        'link set dev s3-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.41/30 dev s3-eth0',
        'neighbour add 10.0.0.42 lladdr 02:00:0a:00:00:2a dev s3-eth0 nud permanent',
        'route add 10.0.0.0/8 via 10.0.0.42',
    ],
    'r1': [
        'link set dev lo up',
        'link set dev r1-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.6/30 dev r1-eth0',
        'link set dev r1-eth1 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.14/30 dev r1-eth1',
        'link set dev r1-eth2 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.54/30 dev r1-eth2',
        'neighbour add 10.0.0.5 lladdr 02:00:0a:00:00:05 dev r1-eth0 nud permanent',
        'neighbour add 10.0.0.13 lladdr 02:00:0a:00:00:0d dev r1-eth1 nud permanent',
        'neighbour add 10.0.0.53 lladdr 02:00:0a:00:00:35 dev r1-eth2 nud permanent',
        'route add 10.0.0.1/32 via 10.0.0.5',
        'route add 10.0.0.9/32 via 10.0.0.13',
        'route add 10.0.0.25/32 via 10.0.0.53',
        'route add 10.0.0.33/32 via 10.0.0.53',
        'route add 10.0.0.17/32 via 10.0.0.53',
        'route add 10.0.0.41/32 via 10.0.0.53',
    ],
    'r2': [
        'link set dev lo up',
        'link set dev r2-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.22/30 dev r2-eth0',
        'link set dev r2-eth1 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.30/30 dev r2-eth1',
        'link set dev r2-eth2 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.49/30 dev r2-eth2',
        'link set dev r2-eth3 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.57/30 dev r2-eth3',
        'neighbour add 10.0.0.21 lladdr 02:00:0a:00:00:15 dev r2-eth0 nud permanent',
        'neighbour add 10.0.0.29 lladdr 02:00:0a:00:00:1d dev r2-eth1 nud permanent',
        'neighbour add 10.0.0.50 lladdr 02:00:0a:00:00:32 dev r2-eth2 nud permanent',
        'neighbour add 10.0.0.58 lladdr 02:00:0a:00:00:3a dev r2-eth3 nud permanent',
        'route add 10.0.0.1/32 via 10.0.0.50',
        'route add 10.0.0.9/32 via 10.0.0.50',
        'route add 10.0.0.25/32 via 10.0.0.29',
        'route add 10.0.0.33/32 via 10.0.0.58',
        'route add 10.0.0.17/32 via 10.0.0.21',
        'route add 10.0.0.41/32 via 10.0.0.58',
    ],
    'r3': [
        'link set dev lo up',
        'link set dev r3-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.38/30 dev r3-eth0',
        'link set dev r3-eth1 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.46/30 dev r3-eth1',
        'link set dev r3-eth2 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.62/30 dev r3-eth2',
        'neighbour add 10.0.0.37 lladdr 02:00:0a:00:00:25 dev r3-eth0 nud permanent',
        'neighbour add 10.0.0.45 lladdr 02:00:0a:00:00:2d dev r3-eth1 nud permanent',
        'neighbour add 10.0.0.61 lladdr 02:00:0a:00:00:3d dev r3-eth2 nud permanent',
        'route add 10.0.0.1/32 via 10.0.0.61',
        'route add 10.0.0.9/32 via 10.0.0.61',
        'route add 10.0.0.25/32 via 10.0.0.61',
        'route add 10.0.0.33/32 via 10.0.0.37',
        'route add 10.0.0.17/32 via 10.0.0.61',
        'route add 10.0.0.41/32 via 10.0.0.45',
    ],
    'c1-r1': [
        'link set dev lo up',
        'link set dev c1-r1-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.2/30 dev c1-r1-eth0',
        'link set dev c1-r1-eth1 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.5/30 dev c1-r1-eth1',
        'neighbour add 10.0.0.1 lladdr 02:00:0a:00:00:01 dev c1-r1-eth0 nud permanent',
        'neighbour add 10.0.0.6 lladdr 02:00:0a:00:00:06 dev c1-r1-eth1 nud permanent',
        'route add 10.0.0.9/32 via 10.0.0.6',
        'route add 10.0.0.25/32 via 10.0.0.6',
        'route add 10.0.0.33/32 via 10.0.0.6',
        'route add 10.0.0.17/32 via 10.0.0.6',
        'route add 10.0.0.41/32 via 10.0.0.6',
    ],
    'c2-r1': [
        'link set dev lo up',
        'link set dev c2-r1-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.10/30 dev c2-r1-eth0',
        'link set dev c2-r1-eth1 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.13/30 dev c2-r1-eth1',
        'neighbour add 10.0.0.9 lladdr 02:00:0a:00:00:09 dev c2-r1-eth0 nud permanent',
        'neighbour add 10.0.0.14 lladdr 02:00:0a:00:00:0e dev c2-r1-eth1 nud permanent',
        'route add 10.0.0.1/32 via 10.0.0.14',
        'route add 10.0.0.25/32 via 10.0.0.14',
        'route add 10.0.0.33/32 via 10.0.0.14',
        'route add 10.0.0.17/32 via 10.0.0.14',
        'route add 10.0.0.41/32 via 10.0.0.14',
    ],
    's2-r2': [
        'link set dev lo up',
        'link set dev s2-r2-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.18/30 dev s2-r2-eth0',
        'link set dev s2-r2-eth1 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.21/30 dev s2-r2-eth1',
        'neighbour add 10.0.0.17 lladdr 02:00:0a:00:00:11 dev s2-r2-eth0 nud permanent',
        'neighbour add 10.0.0.22 lladdr 02:00:0a:00:00:16 dev s2-r2-eth1 nud permanent',
        'route add 10.0.0.1/32 via 10.0.0.22',
        'route add 10.0.0.9/32 via 10.0.0.22',
        'route add 10.0.0.25/32 via 10.0.0.22',
        'route add 10.0.0.33/32 via 10.0.0.22',
        'route add 10.0.0.41/32 via 10.0.0.22',
    ],
    'c3-r2': [
        'link set dev lo up',
        'link set dev c3-r2-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.26/30 dev c3-r2-eth0',
        'link set dev c3-r2-eth1 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.29/30 dev c3-r2-eth1',
        'neighbour add 10.0.0.25 lladdr 02:00:0a:00:00:19 dev c3-r2-eth0 nud permanent',
        'neighbour add 10.0.0.30 lladdr 02:00:0a:00:00:1e dev c3-r2-eth1 nud permanent',
        'route add 10.0.0.1/32 via 10.0.0.30',
        'route add 10.0.0.9/32 via 10.0.0.30',
        'route add 10.0.0.33/32 via 10.0.0.30',
        'route add 10.0.0.17/32 via 10.0.0.30',
        'route add 10.0.0.41/32 via 10.0.0.30',
    ],
    's1-r3': [
        'link set dev lo up',
        'link set dev s1-r3-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.34/30 dev s1-r3-eth0',
        'link set dev s1-r3-eth1 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.37/30 dev s1-r3-eth1',
        'neighbour add 10.0.0.33 lladdr 02:00:0a:00:00:21 dev s1-r3-eth0 nud permanent',
        'neighbour add 10.0.0.38 lladdr 02:00:0a:00:00:26 dev s1-r3-eth1 nud permanent',
        'route add 10.0.0.1/32 via 10.0.0.38',
        'route add 10.0.0.9/32 via 10.0.0.38',
        'route add 10.0.0.25/32 via 10.0.0.38',
        'route add 10.0.0.17/32 via 10.0.0.38',
        'route add 10.0.0.41/32 via 10.0.0.38',
    ],
    's3-r3': [
        'link set dev lo up',
        'link set dev s3-r3-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.42/30 dev s3-r3-eth0',
        'link set dev s3-r3-eth1 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.45/30 dev s3-r3-eth1',
        'neighbour add 10.0.0.41 lladdr 02:00:0a:00:00:29 dev s3-r3-eth0 nud permanent',
        'neighbour add 10.0.0.46 lladdr 02:00:0a:00:00:2e dev s3-r3-eth1 nud permanent',
        'route add 10.0.0.1/32 via 10.0.0.46',
        'route add 10.0.0.9/32 via 10.0.0.46',
        'route add 10.0.0.25/32 via 10.0.0.46',
        'route add 10.0.0.33/32 via 10.0.0.46',
        'route add 10.0.0.17/32 via 10.0.0.46',
    ],
    'r2-r1': [
        'link set dev lo up',
        'link set dev r2-r1-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.50/30 dev r2-r1-eth0',
        'link set dev r2-r1-eth1 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.53/30 dev r2-r1-eth1',
        'neighbour add 10.0.0.49 lladdr 02:00:0a:00:00:31 dev r2-r1-eth0 nud permanent',
        'neighbour add 10.0.0.54 lladdr 02:00:0a:00:00:36 dev r2-r1-eth1 nud permanent',
        'route add 10.0.0.1/32 via 10.0.0.54',
        'route add 10.0.0.9/32 via 10.0.0.54',
        'route add 10.0.0.25/32 via 10.0.0.49',
        'route add 10.0.0.33/32 via 10.0.0.49',
        'route add 10.0.0.17/32 via 10.0.0.49',
        'route add 10.0.0.41/32 via 10.0.0.49',
    ],
    'r2-r3': [
        'link set dev lo up',
        'link set dev r2-r3-eth0 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.58/30 dev r2-r3-eth0',
        'link set dev r2-r3-eth1 mtu 1500 gso_max_segs 1 up',
        'address add 10.0.0.61/30 dev r2-r3-eth1',
        'neighbour add 10.0.0.57 lladdr 02:00:0a:00:00:39 dev r2-r3-eth0 nud permanent',
        'neighbour add 10.0.0.62 lladdr 02:00:0a:00:00:3e dev r2-r3-eth1 nud permanent',
        'route add 10.0.0.1/32 via 10.0.0.57',
        'route add 10.0.0.9/32 via 10.0.0.57',
        'route add 10.0.0.25/32 via 10.0.0.57',
        'route add 10.0.0.33/32 via 10.0.0.62',
        'route add 10.0.0.17/32 via 10.0.0.57',
        'route add 10.0.0.41/32 via 10.0.0.62',
    ],
}

# What `tc -batch` does in each node. On the way of a packet: the queue and its rate, at the
# sending end of a link, then (on a hop of its own) the loss, then the delay.
TC = {
    'c1': [
        # custom.fexp:8
        'qdisc add dev c1-eth0 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev c1-eth0 parent 1:1 handle 2: pfifo limit 1000',
    ],
    'c2': [
        # custom.fexp:8
        'qdisc add dev c2-eth0 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev c2-eth0 parent 1:1 handle 2: pfifo limit 1000',
    ],
    'c3': [
        # custom.fexp:8
        'qdisc add dev c3-eth0 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev c3-eth0 parent 1:1 handle 2: pfifo limit 1000',
    ],
    's1': [
        # custom.fexp:8
        'qdisc add dev s1-eth0 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev s1-eth0 parent 1:1 handle 2: pfifo limit 1000',
    ],
    's2': [
        # custom.fexp:8
        'qdisc add dev s2-eth0 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev s2-eth0 parent 1:1 handle 2: pfifo limit 1000',
    ],
    's3': [
        # custom.fexp:8
        'qdisc add dev s3-eth0 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev s3-eth0 parent 1:1 handle 2: pfifo limit 1000',
    ],
    'r1': [
        # custom.fexp:8
        'qdisc add dev r1-eth0 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev r1-eth0 parent 1:1 handle 2: pfifo limit 1000',
        # custom.fexp:8
        'qdisc add dev r1-eth1 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev r1-eth1 parent 1:1 handle 2: pfifo limit 1000',
        # custom.fexp:10
        'qdisc add dev r1-eth2 root handle 1: tbf rate 20000000bit burst 1764 limit 1514000',
        'qdisc add dev r1-eth2 parent 1:1 handle 2: pfifo limit 1000',
    ],
    'r2': [
        # custom.fexp:8
        'qdisc add dev r2-eth0 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev r2-eth0 parent 1:1 handle 2: pfifo limit 1000',
        # custom.fexp:8
        'qdisc add dev r2-eth1 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev r2-eth1 parent 1:1 handle 2: pfifo limit 1000',
        # custom.fexp:9
        'qdisc add dev r2-eth2 root handle 1: tbf rate 20000000bit burst 1764 limit 110522',
        'qdisc add dev r2-eth2 parent 1:1 handle 2: fq_codel limit 73 flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 33554432 drop_batch 64 ecn',
        # custom.fexp:11
        'qdisc add dev r2-eth3 root handle 1: tbf rate 20000000bit burst 1764 limit 125000',
        'qdisc add dev r2-eth3 parent 1:1 handle 2: gred setup vqs 1 default 0',
        'qdisc change dev r2-eth3 parent 1:1 handle 2: gred vq 0 limit 125000 min 12500 max 125000 avpkt 1514 burst 35 probability 0.9999999998 bandwidth 20000000bit ecn',
    ],
    'r3': [
        # custom.fexp:8
        'qdisc add dev r3-eth0 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev r3-eth0 parent 1:1 handle 2: pfifo limit 1000',
        # custom.fexp:8
        'qdisc add dev r3-eth1 root handle 1: tbf rate 1000000000bit burst 13027 limit 1514000',
        'qdisc add dev r3-eth1 parent 1:1 handle 2: pfifo limit 1000',
        # custom.fexp:11
        'qdisc add dev r3-eth2 root handle 1: tbf rate 20000000bit burst 1764 limit 125000',
        'qdisc add dev r3-eth2 parent 1:1 handle 2: gred setup vqs 1 default 0',
        'qdisc change dev r3-eth2 parent 1:1 handle 2: gred vq 0 limit 125000 min 12500 max 125000 avpkt 1514 burst 35 probability 0.9999999998 bandwidth 20000000bit ecn',
    ],
    'c1-r1': [
        # custom.fexp:8
        'qdisc add dev c1-r1-eth0 root handle 1: netem limit 1000 delay 1ms',
        # custom.fexp:8
        'qdisc add dev c1-r1-eth1 root handle 1: netem limit 1000 delay 1ms',
    ],
    'c2-r1': [
        # custom.fexp:8
        'qdisc add dev c2-r1-eth0 root handle 1: netem limit 1000 delay 1ms',
        # custom.fexp:8
        'qdisc add dev c2-r1-eth1 root handle 1: netem limit 1000 delay 1ms',
    ],
    's2-r2': [
        # custom.fexp:8
        'qdisc add dev s2-r2-eth0 root handle 1: netem limit 1000 delay 1ms',
        # custom.fexp:8
        'qdisc add dev s2-r2-eth1 root handle 1: netem limit 1000 delay 1ms',
    ],
    'c3-r2': [
        # custom.fexp:8
        'qdisc add dev c3-r2-eth0 root handle 1: netem limit 1000 delay 1ms',
        # custom.fexp:8
        'qdisc add dev c3-r2-eth1 root handle 1: netem limit 1000 delay 1ms',
    ],
    's1-r3': [
        # custom.fexp:8
        'qdisc add dev s1-r3-eth0 root handle 1: netem limit 1000 delay 1ms',
        # custom.fexp:8
        'qdisc add dev s1-r3-eth1 root handle 1: netem limit 1000 delay 1ms',
    ],
    's3-r3': [
        # custom.fexp:8
        'qdisc add dev s3-r3-eth0 root handle 1: netem limit 1000 delay 1ms',
        # custom.fexp:8
        'qdisc add dev s3-r3-eth1 root handle 1: netem limit 1000 delay 1ms',
    ],
    'r2-r1': [
        # custom.fexp:10
        'qdisc add dev r2-r1-eth0 root handle 1: netem limit 1000 delay 10ms',
        # custom.fexp:9
        'qdisc add dev r2-r1-eth1 root handle 1: netem limit 1000 delay 10ms',
    ],
    'r2-r3': [
        # custom.fexp:11
        'qdisc add dev r2-r3-eth0 root handle 1: netem limit 1000 delay 10ms loss gemodel 1% 30% 100% 0% seed 1775636408033935273',
        # custom.fexp:11
        'qdisc add dev r2-r3-eth1 root handle 1: netem limit 1000 delay 10ms loss gemodel 1% 30% 100% 0% seed 1455911724870472720',
    ],
}

# Parameters of CCAs: (module, name, value). They belong to the kernel, not to a namespace: they are
# written before the flows start, and what was there before is written back at the end.
MODULES = [
]

# Random streams of losses and delays: (node, interface, seed of its netem).
SEEDS = [
    ('r2-r3', 'r2-r3-eth0', 1775636408033935273),
    ('r2-r3', 'r2-r3-eth1', 1455911724870472720),
]

# What changes while the flows run: (node, interface, ns after which it all comes again or None,
# [(ns after the epoch, a line of `tc -batch`)]).
CHANGES = [
]

# Packet captures: (name, node, description for fairc-endpoints). Each writes what
# `tcpdump -i INTERFACE -Q DIRECTION -s 96 --time-stamp-precision=nano -w NAME.pcap` would.
CAPTURES = [
    # entry of the bottleneck r3/r3-eth2
    ('entry.r3.r3-eth2.r3-eth0', 'r3', '{"interface": "r3-eth0", "direction": "in", "file": "entry.r3.r3-eth2.r3-eth0.pcap", "snaplen": 96, "ring_packets": 25000, "every_ns": 100000000}'),
    # entry of the bottleneck r3/r3-eth2
    ('entry.r3.r3-eth2.r3-eth1', 'r3', '{"interface": "r3-eth1", "direction": "in", "file": "entry.r3.r3-eth2.r3-eth1.pcap", "snaplen": 96, "ring_packets": 25000, "every_ns": 100000000}'),
    # exit of the bottleneck r3/r3-eth2
    ('exit.r3.r3-eth2', 'r3', '{"interface": "r3-eth2", "direction": "out", "file": "exit.r3.r3-eth2.pcap", "snaplen": 96, "ring_packets": 25000, "every_ns": 100000000}'),
    # delivered of the bottleneck r3/r3-eth2
    ('delivered.r3.r3-eth2', 'r2-r3', '{"interface": "r2-r3-eth0", "direction": "out", "file": "delivered.r3.r3-eth2.pcap", "snaplen": 96, "ring_packets": 25000, "every_ns": 100000000}'),
    # entry of the bottleneck r2/r2-eth2
    ('entry.r2.r2-eth2.r2-eth3', 'r2', '{"interface": "r2-eth3", "direction": "in", "file": "entry.r2.r2-eth2.r2-eth3.pcap", "snaplen": 96, "ring_packets": 25000, "every_ns": 100000000}'),
    # entry of the bottleneck r2/r2-eth2
    ('entry.r2.r2-eth2.r2-eth0', 'r2', '{"interface": "r2-eth0", "direction": "in", "file": "entry.r2.r2-eth2.r2-eth0.pcap", "snaplen": 96, "ring_packets": 25000, "every_ns": 100000000}'),
    # exit of the bottleneck r2/r2-eth2
    ('exit.r2.r2-eth2', 'r2', '{"interface": "r2-eth2", "direction": "out", "file": "exit.r2.r2-eth2.pcap", "snaplen": 96, "ring_packets": 25000, "every_ns": 100000000}'),
    # delivered of the bottleneck r2/r2-eth2
    ('delivered.r2.r2-eth2', 'r2-r1', '{"interface": "r2-r1-eth1", "direction": "out", "file": "delivered.r2.r2-eth2.pcap", "snaplen": 96, "ring_packets": 25000, "every_ns": 100000000}'),
]

# Pings on the idle network: (flow, client, server, server's address, expected round trip in ns).
PINGS = [
    ('long', 'c1', 's1', '10.0.0.33', 44000000),
    ('short1', 'c2', 's2', '10.0.0.17', 24000000),
    ('short2', 'c3', 's3', '10.0.0.41', 24000000),
]

# Programs: (name, node, role, description for fairc-endpoints). Servers before clients.
MONITOR = '{"every_ns": 100000000}'
SERVERS = [
    # custom.fexp:19
    ('long.server', 's1', 'tcp-server', '{"flow":"long","address":"10.0.0.33","port":5001,"connections":1,"workload":{"kind":"bulk"},"options":{"initial_window_packets":10,"receive_window_bytes":null,"ecn":false,"sack":true,"pacing":false,"fast_open":false},"starts_ns":[30997200],"buffer_bytes":524288,"rate_bps":null,"sample_every_ns":100000000,"cca":"cubic"}'),
    # custom.fexp:20
    ('short1.server', 's2', 'tcp-server', '{"flow":"short1","address":"10.0.0.17","port":5002,"connections":1,"workload":{"kind":"bulk"},"options":{"initial_window_packets":10,"receive_window_bytes":null,"ecn":false,"sack":true,"pacing":false,"fast_open":false},"starts_ns":[5000000000],"buffer_bytes":524288,"rate_bps":null,"sample_every_ns":100000000,"cca":"cubic"}'),
    # custom.fexp:21
    ('short2.server', 's3', 'tcp-server', '{"flow":"short2","address":"10.0.0.41","port":5003,"connections":1,"workload":{"kind":"bulk"},"options":{"initial_window_packets":10,"receive_window_bytes":null,"ecn":false,"sack":true,"pacing":false,"fast_open":false},"starts_ns":[10000000000],"buffer_bytes":524288,"rate_bps":null,"sample_every_ns":100000000,"cca":"cubic"}'),
]
CLIENTS = [
    # custom.fexp:19
    ('long.client', 'c1', 'tcp-client', '{"flow":"long","address":"10.0.0.33","port":5001,"connections":1,"workload":{"kind":"bulk"},"options":{"initial_window_packets":10,"receive_window_bytes":null,"ecn":false,"sack":true,"pacing":false,"fast_open":false},"starts_ns":[30997200],"buffer_bytes":524288,"stop_ns":60000000000,"progress_every_ns":100000000}'),
    # custom.fexp:20
    ('short1.client', 'c2', 'tcp-client', '{"flow":"short1","address":"10.0.0.17","port":5002,"connections":1,"workload":{"kind":"bulk"},"options":{"initial_window_packets":10,"receive_window_bytes":null,"ecn":false,"sack":true,"pacing":false,"fast_open":false},"starts_ns":[5000000000],"buffer_bytes":524288,"stop_ns":60000000000,"progress_every_ns":100000000}'),
    # custom.fexp:21
    ('short2.client', 'c3', 'tcp-client', '{"flow":"short2","address":"10.0.0.41","port":5003,"connections":1,"workload":{"kind":"bulk"},"options":{"initial_window_packets":10,"receive_window_bytes":null,"ecn":false,"sack":true,"pacing":false,"fast_open":false},"starts_ns":[10000000000],"buffer_bytes":524288,"stop_ns":60000000000,"progress_every_ns":100000000}'),
]


class Failed(Exception):
    """The cell cannot come to its end; the message says why."""


def explain(message, lines):
    """Return what a command said, and the line of its batch (`-:3`) that it failed at."""
    failed = re.search(r"-:(\d+)", message)
    line = f": {lines[int(failed[1]) - 1]}" if failed else ""
    return message.partition("\n")[0].strip() + line


# ---- Namespaces ------------------------------------------------------------------------------

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000


def system_call(function, *arguments):
    """Call into the C library; raise OSError with its errno when that fails."""
    if function(*arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{function.__name__}: {os.strerror(code)}")


def tie_children_to_this_process():
    """Give the children a process namespace of their own, whose first process ends with us.

    When that one ends the kernel kills all others, even if this program was killed by SIGKILL.
    """
    read_end, write_end = os.pipe()
    system_call(libc.unshare, CLONE_NEWPID)
    if os.fork() == 0:
        os.close(write_end)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        os.read(read_end, 1)  # returns when the last copy of write_end has been closed
        os._exit(0)
    os.close(read_end)


class NamespaceNode(Node):
    """A Mininet node without a shell: just a network namespace, held open by a descriptor."""

    isSetup = True  # spares Mininet's search for ifconfig, which is not used
    home = os.open("/proc/self/ns/net", os.O_RDONLY)

    def startShell(self, mnopts=None):
        """Create the namespace."""
        system_call(libc.unshare, CLONE_NEWNET)
        self.namespace = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.path = f"/proc/{os.getpid()}/fd/{self.namespace}"
        system_call(libc.setns, self.home, CLONE_NEWNET)

    def terminate(self):
        """Let go of the namespace; with its last process it is gone."""
        os.close(self.namespace)

    def __enter__(self):
        system_call(libc.setns, self.namespace, CLONE_NEWNET)
        return self

    def __exit__(self, *exception):
        system_call(libc.setns, self.home, CLONE_NEWNET)

    def call(self, function, *arguments):
        """Call a function in the node."""
        with self:
            return function(*arguments)

    def popen(self, command, **options):
        """Start a program in the node."""
        return self.call(lambda: subprocess.Popen(command, **options))

    def run(self, command, lines=()):
        """Run a command in the node, feed it lines, return what it prints."""
        text = "".join(f"{line}\n" for line in lines)
        process = self.popen(command, stdin=-1, stdout=-1, stderr=-1, text=True)
        out, err = process.communicate(text)
        if process.returncode != 0:
            raise Failed(f"{self.name}: {' '.join(command)}: {explain(err, lines)}")
        return out


class Cable(Link):
    """A veth pair; all of them are made by one `ip -batch`, between the nodes' namespaces."""

    batch = []

    @classmethod
    def makeIntfPair(cls, name1, name2, mac1, mac2, node1, node2, deleteIntfs=False):
        """Note the command that makes the pair."""
        cls.batch.append(
            f"link add name {name1} address {mac1} netns {node1.path} type veth"
            f" peer name {name2} address {mac2} netns {node2.path}"
        )


def lay_cables(net):
    """Connect the nodes."""
    net.hosts[0].run(["ip", "-batch", "-"], Cable.batch)


def watch(process):
    """Return a descriptor that can be read from as soon as a process has ended."""
    return os.pidfd_open(process.pid)


# ---- Configuration ---------------------------------------------------------------------------

SIOCETHTOOL = 0x8946
OFFLOADS = {  # name: (ETHTOOL_G.., ETHTOOL_S..)
    "tso": (0x1E, 0x1F),
    "gso": (0x23, 0x24),
    "gro": (0x2B, 0x2C),
}


def switch_offloads_off(interfaces):
    """Do what `ethtool -K INTERFACE tso off gso off gro off` does; return what is then in force."""
    state = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:

        def ethtool(interface, command, value):
            data = ctypes.create_string_buffer(struct.pack("II", command, value), 8)
            request = struct.pack("16sP", interface.encode(), ctypes.addressof(data))
            fcntl.ioctl(control, SIOCETHTOOL, request)
            return struct.unpack("II", data.raw)[1]

        for interface in interfaces:
            state[interface] = {}
            for name, (get, put) in OFFLOADS.items():
                ethtool(interface, put, 0)
                state[interface][name] = "on" if ethtool(interface, get, 0) else "off"
    return state


def set_sysctls(settings):
    """Write kernel options of the node that we are in; return those that are in force."""
    in_force = {}
    for name, value in settings.items():
        path = "/proc/sys/" + name.replace(".", "/")
        try:
            with open(path, "r+") as option:
                option.write(value)
            with open(path) as option:
                in_force[name] = " ".join(option.read().split())
        except FileNotFoundError:
            in_force[name] = None  # this kernel has no such option for a namespace
    return in_force


def configure(net):
    """Set up every node; return what system.json says about it."""
    system = {"sysctl": {}, "offloads": {}}
    for node in net.hosts:
        settings = SYSCTL_EVERYWHERE | SYSCTL[node.name]
        system["sysctl"][node.name] = node.call(set_sysctls, settings)
    lay_cables(net)
    for node in net.hosts:
        node.run(["ip", "-batch", "-"], IP[node.name])
        system["offloads"][node.name] = node.call(switch_offloads_off, node.intfNames())
        if node.name in TC:
            node.run(["tc", "-batch", "-"], TC[node.name])
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control") as available:
        system["ccas"] = available.read().split()
    return system


def write_parameter(module, name, value):
    """Write a parameter of a kernel module; return its value before, and the one now in force."""
    path = f"/sys/module/{module}/parameters/{name}"
    try:
        with open(path) as parameter:
            before = parameter.read().strip()
        with open(path, "w") as parameter:
            parameter.write(value)
        with open(path) as parameter:
            return before, parameter.read().strip()
    except OSError as error:
        raise Failed(f"{name} of {module} cannot be set to {value}: {error.strerror}") from None


def set_modules(before):
    """Write the parameters of the CCAs; return what is in force, for system.json.

    before: receives what is to be written back, also when a later parameter cannot be written.
    """
    state = {}
    for module, name, value in MODULES:
        was, now = write_parameter(module, name, value)
        before.append((module, name, was))
        if now != value:
            raise Failed(f"{name} of {module} is {now}, not {value}, after it was written")
        state.setdefault(module, {})[name] = {"before": was, "in_force": now}
    return state


def restore_modules(before):
    """Write back what was in force before, the last one first; return what could not be."""
    notes = []
    for module, name, value in reversed(before):
        try:
            _, now = write_parameter(module, name, value)
            if now != value:
                notes.append(f"{name} of {module} is {now} now, and was {value}")
        except Failed as error:
            notes.append(str(error))
    return notes


def versions():
    """Return what the numbers depend on outside this file."""
    tc = subprocess.run(["tc", "-V"], capture_output=True, text=True, check=True)
    return {"kernel": os.uname().release, "tc": tc.stdout.strip(), "mininet": VERSION}




# ---- Measurement -----------------------------------------------------------------------------


def write_json(path, value):
    """Write a file that is either complete or not there."""
    with open(path + ".part", "w") as file:
        json.dump(value, file, indent=1)
    os.replace(path + ".part", path)


def write_queues(net, path):
    """Write `tc -s -j qdisc show` of every node; return it."""
    queues = {n.name: json.loads(n.run(["tc", "-s", "-j", "qdisc", "show"])) for n in net.hosts}
    write_json(path, queues)
    return queues


def seeds_in_force(queues):
    """Say which random streams this kernel or tc does not seed (Linux before 6.6, old iproute2)."""
    notes = []
    for node, interface, seed in SEEDS:
        netem = next(q for q in queues[node] if q["dev"] == interface and q["kind"] == "netem")
        if netem["options"].get("seed") != seed:
            notes.append(f"what is random at {node}/{interface} is not seeded: no two runs are equal")
    return notes


def ping(address, identifier, expected_ns, count=10, every_ns=10_000_000):
    """Send small ICMP echo requests; return the round trips in ns (fewer than sent when some are lost).

    The arrival is the kernel's timestamp.
    """
    sent_ns, rtts_ns = {}, []
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        raw.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
        ready = select.poll()
        ready.register(raw, select.POLLIN)
        begin = time.time_ns()
        give_up = begin + count * every_ns + 2 * expected_ns + 1_000_000_000
        while len(rtts_ns) < count and time.time_ns() < give_up:
            due = begin + len(sent_ns) * every_ns if len(sent_ns) < count else give_up
            wait_ms = (due - time.time_ns()) / 1e6
            if len(sent_ns) < count and wait_ms <= 0:
                number = len(sent_ns)
                packet = struct.pack("!BBHHH16x", 8, 0, 0, identifier, number)
                total = sum(struct.unpack("!12H", packet))
                packet = struct.pack("!BBHHH16x", 8, 0, 0xFFFF - total % 0xFFFF, identifier, number)
                sent_ns[number] = time.time_ns()
                raw.sendto(packet, (address, 0))
            elif ready.poll(max(0, wait_ms)):
                packet, ancillary, _, _ = raw.recvmsg(256, 64)
                kind, _, _, mark, number = struct.unpack("!BBHHH", packet[20:28])
                if kind == 0 and mark == identifier and number in sent_ns:
                    seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
                    arrived_ns = seconds * 1_000_000_000 + nanoseconds
                    rtts_ns.append(arrived_ns - sent_ns[number])
    return rtts_ns


def ping_all(net):
    """Measure the round trip of every flow on the idle network."""
    results = []
    for number, (flow, client, server, address, expected_ns) in enumerate(PINGS, 1):
        rtts_ns = net[client].call(ping, address, number, expected_ns)
        results.append(
            {"flow": flow, "client": client, "server": server, "sent": 10, "rtts_ns": rtts_ns}
        )
    return results


# ---- Programs --------------------------------------------------------------------------------


class Programs:
    """The programs that were started, by name, and how they ended. Waits without polling."""

    def __init__(self):
        self.running = {}
        self.status = {}

    def start(self, name, process):
        """Take charge of a process."""
        self.running[name] = process

    def wait_any(self, names, until_ns):
        """Wait until one of them ends or the clock shows until_ns; return the names that ended."""
        names = [name for name in names if name in self.running]
        # A signal to a program that has ended takes its exit status, and its pid is gone.
        ended = [name for name in names if self.running[name].returncode is not None]
        if not ended:
            poller = select.poll()
            descriptors = {watch(self.running[name]): name for name in names}
            for descriptor in descriptors:
                poller.register(descriptor, select.POLLIN)
            left_ms = -(-(until_ns - time.time_ns()) // 1_000_000)
            ended = [descriptors[descriptor] for descriptor, _ in poller.poll(max(0, left_ms))]
            for descriptor in descriptors:
                os.close(descriptor)
        for name in ended:
            self.status[name] = self.running.pop(name).wait()
        return ended

    def wait(self, names, patience_ns):
        """Wait until all of them have ended; return those that did not in that time."""
        until_ns = time.time_ns() + patience_ns
        names = [name for name in names if name in self.running]
        while names and time.time_ns() < until_ns:
            ended = self.wait_any(names, until_ns)
            names = [name for name in names if name not in ended]
        return names

    def signal(self, names, number):
        """Send a signal to those that still run."""
        for name in names:
            if name in self.running:
                self.running[name].send_signal(number)

    def kill(self):
        """End everything that is left."""
        for name, process in self.running.items():
            process.kill()
            self.status[name] = process.wait()
        self.running.clear()


def find_program(name):
    """Return the path of a program: beside this file, else on PATH."""
    beside = os.path.join(HERE, name)
    path = beside if os.access(beside, os.X_OK) else shutil.which(name)
    if path is None:
        raise Failed(f"{name} is neither beside this file nor on PATH")
    return path


def last_words(name):
    """Return why an endpoint failed: its last error event, else the end of its standard error."""
    with open(name + ".ndjson") as log:
        errors = [line for line in log if '"error"' in line]
    if errors:
        return errors[-1].strip()
    with open(name + ".err") as log:
        return log.read()[-500:].strip()


def start_endpoint(programs, popen, command, name, role, epoch_ns, description):
    """Start a program of the endpoints, or the one that drives a browser; its output goes to files."""
    program = [find_program("fairc-browser")] if role == "browser" else [command, role]
    command = [*program, "--epoch-ns", str(epoch_ns), description]
    with open(name + ".ndjson", "wb") as out, open(name + ".err", "wb") as err:
        programs.start(name, popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err))


def start_captures(net, programs, endpoints, epoch_ns):
    """Start the captures and return when all of them have said that they listen."""
    for name, node, description in CAPTURES:
        command = [endpoints, "capture", "--epoch-ns", str(epoch_ns), description]
        with open(name + ".err", "wb") as err:
            process = net[node].popen(command, stdin=subprocess.DEVNULL, stdout=-1, stderr=err)
        programs.start(name, process)
    for name, *_ in CAPTURES:
        said = programs.running[name].stdout.readline()
        with open(name + ".ndjson", "wb") as log:
            log.write(said)
        if b'"capturing"' not in said:
            raise Failed(f"capture {name}: {last_words(name)}")


def stop_captures(programs):
    """End the captures; each writes its last packets, and says how many it wrote and missed."""
    names = [name for name, *_ in CAPTURES]
    programs.signal(names, signal.SIGTERM)
    for name in names:
        with open(name + ".ndjson", "ab") as log:
            log.write(programs.running[name].stdout.read())
    programs.wait(names, 5_000_000_000)
    for name in names:
        if programs.status.get(name) != 0:
            raise Failed(f"capture {name}: {last_words(name)}")


def due_changes(place, repeat_ns, lines):
    """Yield the changes of an interface in order of time, for ever if they come again."""
    for round in itertools.count():
        for at_ns, line in lines:
            yield at_ns + round * (repeat_ns or 0), place, line
        if repeat_ns is None:
            return


class Changes:
    """Carries out the changes at their times, by one `tc -batch` per node, and writes down when."""

    def __init__(self, net, epoch_ns):
        self.epoch_ns, self.log = epoch_ns, None
        self.due = heapq.merge(*(due_changes((n, i), repeat, c) for n, i, repeat, c in CHANGES))
        self.next = next(self.due, None)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.tc = {n: net[n].popen(["tc", "-batch", "-"], **pipes) for n, *_ in CHANGES}
        if CHANGES:
            self.log = open("changes.ndjson", "w")

    def wake_ns(self, until_ns):
        """Return when to look again: before the next change, until_ns at the latest.

        poll() may come late by up to 0.5 % of its wait (Linux, select_estimate_accuracy()): a longer
        wait ends 1 % early, and the rest is waited for anew.
        """
        if self.next is None:
            return until_ns
        next_ns = self.epoch_ns + self.next[0] - 2_000_000
        return min(until_ns, next_ns - max(0, next_ns - time.time_ns()) // 100)

    def carry_out(self, until_ns):
        """Carry out what is due, or will be in a moment, before until_ns; raise Failed if tc refuses."""
        while self.next is not None and self.epoch_ns + self.next[0] < until_ns:
            left_ns = self.epoch_ns + self.next[0] - time.time_ns()
            if left_ns > 3_000_000:
                return
            time.sleep(max(0, left_ns) / 1e9)
            self.change(*self.next)
            self.next = next(self.due, None)

    def change(self, at_ns, place, line):
        """Have tc carry out a line; it answers the one after it when that is done."""
        tc, begin_ns = self.tc[place[0]], time.time_ns() - self.epoch_ns
        try:
            tc.stdin.write(f"{line}\nqdisc show dev lo\n".encode())
            tc.stdin.flush()
        except BrokenPipeError:
            pass  # it has said why
        if not tc.stdout.readline():
            raise Failed(f"tc: {line}: {tc.stderr.read().decode().strip()}")
        done = {"t_ns": time.time_ns() - self.epoch_ns, "begin_ns": begin_ns, "at_ns": at_ns}
        self.log.write(json.dumps(done | {"node": place[0], "interface": place[1]}) + "\n")

    def end(self):
        """End every tc."""
        for tc in self.tc.values():
            tc.communicate()
        if self.log:
            self.log.close()


def run_flows(net, programs, endpoints, cell):
    """Start captures and endpoints, wait for the end, let the network drain, end the captures."""
    epoch_ns = cell["epoch_ns"] = time.time_ns() + LEAD_NS
    start_captures(net, programs, endpoints, epoch_ns)
    start_endpoint(
        programs, subprocess.Popen, endpoints, "monitor", "monitor", epoch_ns, MONITOR
    )
    for name, node, role, description in SERVERS + CLIENTS:
        start_endpoint(programs, net[node].popen, endpoints, name, role, epoch_ns, description)
    changes = Changes(net, epoch_ns)
    if time.time_ns() > epoch_ns:
        raise Failed("this machine is too slow: the programs were not started before the epoch")

    servers, clients = [name for name, *_ in SERVERS], [name for name, *_ in CLIENTS]
    cell["ended_by"] = wait_for_end(programs, servers, clients, epoch_ns, changes)
    cell["ended_ns"] = time.time_ns() - epoch_ns

    programs.signal(clients, signal.SIGTERM)
    programs.wait(servers + clients, DRAIN_NS)
    programs.signal(servers, signal.SIGTERM)
    late = programs.wait(servers + clients, 2_000_000_000)
    cell["notes"] += [f"{name} did not end when it was told to" for name in late]
    time.sleep(DRAIN_NS / 1e9)
    programs.signal(["monitor"], signal.SIGTERM)
    programs.wait(["monitor"], 2_000_000_000)
    changes.end()
    stop_captures(programs)


def wait_for_end(programs, servers, clients, epoch_ns, changes):
    """Return what ended the cell; raise Failed when a program fails before that."""
    limits = [(DEADLINE_NS, "deadline")]
    if DURATION_NS is not None:
        limits.insert(0, (DURATION_NS, "duration"))
    limit_ns, limit_name = min(limits)
    active = set(clients)
    others = ["monitor"]
    while time.time_ns() < epoch_ns + limit_ns:
        changes.carry_out(epoch_ns + limit_ns)
        until_ns = changes.wake_ns(epoch_ns + limit_ns)
        for name in programs.wait_any([*others, *servers, *clients], until_ns):
            if programs.status[name] != 0 or name in others:
                status = programs.status[name]
                raise Failed(f"{name} ended with exit status {status}: {last_words(name)}")
            active.discard(name)
        if time.time_ns() < epoch_ns + limit_ns:
            if STOP == "first" and len(active) < len(clients):
                return "first"
            if not active and DURATION_NS is None:
                return "finished"
    return limit_name


# ---- The cell --------------------------------------------------------------------------------


def run(programs, cell, before):
    """Run the cell in the current folder; `before` receives the parameters to be written back."""
    endpoints = find_program("fairc-endpoints")
    tie_children_to_this_process()
    Mininet.inited = True  # or it would raise limits of the whole machine
    numCores.ncores = os.cpu_count()  # or it would start a program that counts them
    net = build(Mininet(controller=None, host=NamespaceNode, link=Cable, build=False))
    system = versions() | configure(net)
    system["modules"] = set_modules(before)
    system["pacing"] = "internal to TCP (no fq on any interface)"
    write_json("system.json", system)
    write_json("ping.json", ping_all(net))
    cell["notes"] += seeds_in_force(write_queues(net, "qdisc-before.json"))
    run_flows(net, programs, endpoints, cell)
    write_queues(net, "qdisc-after.json")


def stopped(number, frame):
    """Turn a signal into a failure, so that everything is cleaned up."""
    raise Failed(f"stopped by {signal.Signals(number).name}")


def main():
    """Run the cell; whatever happens, end what was started and say in cell.json how it went."""
    if os.geteuid() != 0:
        sys.exit("this program creates network namespaces: run it as root")
    outdir = sys.argv[1] if len(sys.argv) > 1 else CELL
    os.makedirs(outdir, exist_ok=True)
    os.chdir(outdir)
    programs, before = Programs(), []
    cell = {"id": CELL, "epoch_ns": 0, "ended_ns": 0, "ended_by": "", "processes": {}, "notes": []}
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stopped)
    try:
        run(programs, cell, before)
    except (Failed, OSError, subprocess.SubprocessError) as error:
        cell["ended_by"] = "failed"
        cell["notes"].append(str(error))
        print(error, file=sys.stderr)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    programs.kill()
    cell["notes"] += restore_modules(before)
    cell["processes"] = programs.status
    write_json("cell.json", cell)
    sys.exit(1 if cell["ended_by"] == "failed" else 0)


if __name__ == "__main__":
    main()
