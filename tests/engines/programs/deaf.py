#!/usr/bin/env python3
"""Send datagrams for ever, deaf to SIGTERM: `deaf.py PORT alone | family | orphan | hears`.

family: two children send as well. orphan: the parent ends on SIGTERM, its children do not.
hears: asks `server`, and receives until SIGTERM.
"""

import os
import signal
import socket
import sys
import time

port, how = int(sys.argv[1]), sys.argv[2]
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if how == "hears":
    link.sendto(b"!", ("server", port))
    while True:
        link.recv(2000)
link.bind(("", port))
peer = link.recvfrom(100)[1]
signal.signal(signal.SIGTERM, signal.SIG_IGN)
parent = os.getpid()
for _ in range(0 if how == "alone" else 2):
    if os.getpid() == parent:
        os.fork()
if how == "orphan" and os.getpid() == parent:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pause()
while True:
    link.sendto(bytes(1000), peer)
    time.sleep(0.02)
