#!/usr/bin/env python3
"""One cell of a network experiment in containers: what each of them runs, written by `fairc compile`.

    docker compose up    # beside compose.yaml

Each node is a container that starts programs and calls functions as the conductor says, a container
of its own. Both are this file: `cell.py node NAME` and `cell.py`. This folder, which they share,
receives packet captures, the endpoints' logs, queue statistics and, last, cell.json.
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
import contextlib

HERE = os.path.dirname(os.path.abspath(__file__))
CELL = '2722bcd835cb2da2'
DURATION_NS = 60000000000  # a fixed length, or None
DEADLINE_NS = 61000000000  # the latest end
STOP = 'all'  # the cell ends with the `first` flow, or when `all` have ended
DRAIN_NS = 238000000  # after the end: time for what still waits in queues
LEAD_NS = 600000000  # from the start of the first program to the epoch


# The nodes, and of each interface: its address on the container engine's network, by which it is
# found; its name; its MAC address.
NODES = {
    'c1': [
        ('198.18.0.2', 'c1-eth0', '02:00:0a:00:00:01'),
    ],
    'c2': [
        ('198.18.0.18', 'c2-eth0', '02:00:0a:00:00:09'),
    ],
    'c3': [
        ('198.18.0.50', 'c3-eth0', '02:00:0a:00:00:19'),
    ],
    's1': [
        ('198.18.0.66', 's1-eth0', '02:00:0a:00:00:21'),
    ],
    's2': [
        ('198.18.0.34', 's2-eth0', '02:00:0a:00:00:11'),
    ],
    's3': [
        ('198.18.0.82', 's3-eth0', '02:00:0a:00:00:29'),
    ],
    'r1': [
        ('198.18.0.11', 'r1-eth0', '02:00:0a:00:00:06'),
        ('198.18.0.27', 'r1-eth1', '02:00:0a:00:00:0e'),
        ('198.18.0.107', 'r1-eth2', '02:00:0a:00:00:36'),
    ],
    'r2': [
        ('198.18.0.43', 'r2-eth0', '02:00:0a:00:00:16'),
        ('198.18.0.59', 'r2-eth1', '02:00:0a:00:00:1e'),
        ('198.18.0.98', 'r2-eth2', '02:00:0a:00:00:31'),
        ('198.18.0.114', 'r2-eth3', '02:00:0a:00:00:39'),
    ],
    'r3': [
        ('198.18.0.75', 'r3-eth0', '02:00:0a:00:00:26'),
        ('198.18.0.91', 'r3-eth1', '02:00:0a:00:00:2e'),
        ('198.18.0.123', 'r3-eth2', '02:00:0a:00:00:3e'),
    ],
    'c1-r1': [
        ('198.18.0.3', 'c1-r1-eth0', '02:00:0a:00:00:02'),
        ('198.18.0.10', 'c1-r1-eth1', '02:00:0a:00:00:05'),
    ],
    'c2-r1': [
        ('198.18.0.19', 'c2-r1-eth0', '02:00:0a:00:00:0a'),
        ('198.18.0.26', 'c2-r1-eth1', '02:00:0a:00:00:0d'),
    ],
    's2-r2': [
        ('198.18.0.35', 's2-r2-eth0', '02:00:0a:00:00:12'),
        ('198.18.0.42', 's2-r2-eth1', '02:00:0a:00:00:15'),
    ],
    'c3-r2': [
        ('198.18.0.51', 'c3-r2-eth0', '02:00:0a:00:00:1a'),
        ('198.18.0.58', 'c3-r2-eth1', '02:00:0a:00:00:1d'),
    ],
    's1-r3': [
        ('198.18.0.67', 's1-r3-eth0', '02:00:0a:00:00:22'),
        ('198.18.0.74', 's1-r3-eth1', '02:00:0a:00:00:25'),
    ],
    's3-r3': [
        ('198.18.0.83', 's3-r3-eth0', '02:00:0a:00:00:2a'),
        ('198.18.0.90', 's3-r3-eth1', '02:00:0a:00:00:2d'),
    ],
    'r2-r1': [
        ('198.18.0.99', 'r2-r1-eth0', '02:00:0a:00:00:32'),
        ('198.18.0.106', 'r2-r1-eth1', '02:00:0a:00:00:35'),
    ],
    'r2-r3': [
        ('198.18.0.115', 'r2-r3-eth0', '02:00:0a:00:00:3a'),
        ('198.18.0.122', 'r2-r3-eth1', '02:00:0a:00:00:3d'),
    ],
}


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


# ---- Nodes -----------------------------------------------------------------------------------

CONTROL = os.path.join(HERE, "control")  # where the nodes call the conductor
CALL_S = 60.0  # how long they may take for that
MESSAGE_BYTES = 200_000


def serve(name):
    """Be a node: do what the conductor says until it has gone."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    control, running, poller = call_conductor(name), {}, select.poll()
    poller.register(control, select.POLLIN)
    while True:
        for descriptor, _ in poller.poll():
            if descriptor == control.fileno():
                message, theirs, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 4)
                if not message:
                    return  # the container ends, and with it all that runs here
                control.send(json.dumps(obey(json.loads(message), theirs, running)).encode())
                for ended in running:
                    poller.register(ended, select.POLLIN)
            else:
                poller.unregister(descriptor)
                process, status = running.pop(descriptor)
                with contextlib.suppress(BrokenPipeError):
                    os.write(status, str(process.wait()).encode())
                os.close(status)
                os.close(descriptor)


def call_conductor(name):
    """Return the connection to the conductor, which may start later than this."""
    give_up = time.monotonic() + CALL_S
    while True:
        control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            control.connect(CONTROL)
            control.send(name.encode())
            return control
        except (FileNotFoundError, ConnectionError):
            control.close()
        if time.monotonic() > give_up:
            sys.exit("the conductor is not there")
        time.sleep(0.02)


def obey(order, descriptors, running):
    """Carry out an order of the conductor; return the answer.

    running: receives a descriptor that tells the end of a started process, the process, and where to
    write its exit status.
    """
    try:
        if "call" in order:
            return {"value": globals()[order["call"]](*order["arguments"])}
        if "signal" in order:
            for process, _ in running.values():
                if process.pid == order["process"]:
                    process.send_signal(order["signal"])
            return {}
        *streams, status = descriptors
        try:
            process = subprocess.Popen(order["start"], **dict(zip(("stdin", "stdout", "stderr"), streams)))
        finally:
            for descriptor in streams:
                os.close(descriptor)
        running[os.pidfd_open(process.pid)] = (process, status)
        return {"process": process.pid}
    except (Failed, OSError, subprocess.SubprocessError) as error:
        return {"failed": str(error)}


class RemoteNode:
    """A node, as the conductor sees it."""

    def __init__(self, name, control):
        self.name, self.control = name, control

    def intfNames(self):
        """Return the names of its interfaces."""
        return [name for _, name, _ in NODES[self.name]]

    def ask(self, order, descriptors=()):
        """Have an order carried out; return the answer, raise Failed when there is none."""
        try:
            socket.send_fds(self.control, [json.dumps(order).encode()], descriptors)
            answer = self.control.recv(MESSAGE_BYTES)
        except OSError as error:
            raise Failed(f"{self.name}: {error}") from None
        if not answer:
            raise Failed(f"the container of {self.name} has ended")
        answer = json.loads(answer)
        if "failed" in answer:
            raise Failed(f"{self.name}: {answer['failed']}")
        return answer

    def call(self, function, *arguments):
        """Call a function in the node."""
        return self.ask({"call": function.__name__, "arguments": arguments})["value"]

    def popen(self, command, **streams):
        """Start a program in the node."""
        return RemoteProcess(self, command, **streams)

    def run(self, command, lines=()):
        """Run a command in the node, feed it lines, return what it prints."""
        files = [open(os.memfd_create(name), "w+") for name in ("in", "out", "err")]
        with files[0] as given, files[1] as out, files[2] as err:
            given.writelines(f"{line}\n" for line in lines)
            given.seek(0)
            if self.popen(command, stdin=given, stdout=out, stderr=err).wait() != 0:
                err.seek(0)
                raise Failed(f"{self.name}: {' '.join(command)}: {explain(err.read(), lines)}")
            out.seek(0)
            return out.read()


class RemoteProcess:
    """A program in a node, as far as this file uses subprocess.Popen."""

    def __init__(self, node, command, **streams):
        self.node, self.returncode = node, None
        self.ended, status = os.pipe()
        theirs = []
        for name, mode in (("stdin", "wb"), ("stdout", "rb"), ("stderr", "rb")):
            stream, ours = streams[name], None
            if stream == subprocess.PIPE:
                ends = os.pipe()
                stream, ours = ends if mode == "wb" else ends[::-1]
                ours = open(ours, mode)
            elif stream == subprocess.DEVNULL:
                stream = os.open(os.devnull, os.O_RDWR)
            setattr(self, name, ours)
            theirs.append(stream if isinstance(stream, int) else os.dup(stream.fileno()))
        try:
            self.pid = node.ask({"start": command}, [*theirs, status])["process"]
        finally:
            for descriptor in (*theirs, status):
                os.close(descriptor)

    def wait(self):
        """Return its exit status as soon as it has ended; that of a kill, if the node is gone."""
        if self.returncode is None:
            self.returncode = int(os.read(self.ended, 16) or -signal.SIGKILL)
            os.close(self.ended)
        return self.returncode

    def send_signal(self, number):
        """Send it a signal, unless it has ended."""
        with contextlib.suppress(Failed):
            self.node.ask({"signal": number, "process": self.pid})

    def kill(self):
        """End it."""
        self.send_signal(signal.SIGKILL)

    def communicate(self):
        """Give it nothing more to read, and wait for its end."""
        self.stdin.close()
        self.wait()


class Network:
    """All nodes."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.hosts = [nodes[name] for name in NODES]

    def __getitem__(self, name):
        return self.nodes[name]


def gather():
    """Wait until every node has called; return the network."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(CONTROL)
    nodes, give_up = {}, time.monotonic() + CALL_S
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(CONTROL)
        listener.listen(len(NODES))
        while missing := NODES.keys() - nodes.keys():
            listener.settimeout(max(0.001, give_up - time.monotonic()))
            try:
                control, _ = listener.accept()
            except TimeoutError:
                raise Failed(f"not up after {CALL_S} s: {', '.join(sorted(missing))}") from None
            name = control.recv(MESSAGE_BYTES).decode()
            nodes[name] = RemoteNode(name, control)
    os.unlink(CONTROL)
    return Network(nodes)


def name_interfaces(interfaces):
    """Give the interfaces of this node the names and MAC addresses of the plan, and no IP address."""
    show = subprocess.run(["ip", "-j", "address", "show"], capture_output=True, text=True, check=True)
    found = {ip["local"]: link["ifname"] for link in json.loads(show.stdout) for ip in link["addr_info"]}
    lines = []
    for address, name, mac in interfaces:
        if address not in found:
            raise Failed(f"no interface has the address {address}, which is for {name}")
        lines.append(f"link set dev {found[address]} down")
        lines.append(f"address flush dev {found[address]}")
        lines.append(f"link set dev {found[address]} name {name} address {mac}")
    batch = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(["ip", "-batch", "-"], input=batch, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"ip: {explain(done.stderr, lines)}")


def lay_cables(net):
    """Turn the networks that the containers share into the cables of the plan."""
    for node in net.hosts:
        node.call(name_interfaces, NODES[node.name])


def watch(process):
    """Return a descriptor that can be read from as soon as a process has ended."""
    if isinstance(process, RemoteProcess):
        return os.dup(process.ended)
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
    """Return the kernel options of the node that are in force: the container engine has set them."""
    in_force = {}
    for name, value in settings.items():
        with open("/proc/sys/" + name.replace(".", "/")) as option:
            in_force[name] = " ".join(option.read().split())
        if in_force[name] != value:
            raise Failed(f"{name} is {in_force[name]}, not {value}")
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
    return {"kernel": os.uname().release, "tc": tc.stdout.strip()}


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
    program = [command, role]
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
    net = gather()
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
    os.chdir(HERE)
    if sys.argv[1:2] == ["node"]:
        sys.exit(serve(sys.argv[2]))
    with contextlib.suppress(FileNotFoundError):
        os.unlink("cell.json")
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
