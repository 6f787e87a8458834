#!/usr/bin/env python3
"""Asks for small answers one after the other, and writes how long their first bytes took, in ms."""

import json
import pathlib
import socket
import statistics
import sys
import time

host, port, requests, size = sys.argv[1], *map(int, sys.argv[2:])
waits = []
with socket.create_connection((host, port)) as peer:
    for _ in range(requests):
        begin = time.monotonic()
        peer.sendall(b"%d\n" % size)
        received = len(peer.recv(65536))
        waits.append(1000 * (time.monotonic() - begin))
        while received < size:
            received += len(peer.recv(65536))
        time.sleep(0.1)
found = {"first_byte": {"median": statistics.median(waits), "all": waits}}
pathlib.Path("waits.json").write_text(json.dumps(found))
