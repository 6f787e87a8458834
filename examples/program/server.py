#!/usr/bin/env python3
"""Answers each request, a number and a newline, by as many bytes."""

import socket
import sys

listening = socket.create_server(("", int(sys.argv[1])))
while True:
    peer, _ = listening.accept()
    with peer, peer.makefile() as requests:
        for request in requests:
            peer.sendall(bytes(int(request)))
