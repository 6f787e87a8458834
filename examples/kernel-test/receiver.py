#!/usr/bin/python3
"""Takes what comes."""

import os
import socket

with socket.create_connection((os.environ["FAIRC_SERVER"], int(os.environ["FAIRC_PORT"]))) as peer:
    while peer.recv(65536):
        pass
