#!/usr/bin/python3
"""A test of the sender's TCP: it serves 500 kB of which the path loses two packets, and asks the
kernel what it did. Its exit status is the verdict.
"""

import os
import socket
import subprocess
import sys


def said(*command):
    """Return what a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def counter(name):
    """Return a counter of the host's kernel."""
    return next(int(line.split()[1]) for line in said("nstat", "-asz").splitlines() if name in line)


port = os.environ["FAIRC_PORT"]
with socket.create_server(("", int(port))) as listening:
    peer, _ = listening.accept()
before = counter("TcpRetransSegs")
with peer:
    peer.sendall(bytes(500_000))
    state = said("ss", "-tin", "sport", "=", port)
    peer.shutdown(socket.SHUT_WR)
    peer.recv(1)  # nothing, once the client has all
again, timeouts = counter("TcpRetransSegs") - before, counter("TcpExtTCPTimeouts")
print(state, said("ip", "route", "get", os.environ["FAIRC_CLIENT"]), said("tc", "-s", "qdisc"))
if "cubic" not in state:
    sys.exit("FAIL: the connection has another controller")
if (again, timeouts) != (2, 0):
    sys.exit(f"FAIL: {again} segments were sent again, after {timeouts} timeouts; 2 were lost")
