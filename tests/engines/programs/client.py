"""Receives what the server sends; writes what depends on seeds and on time."""

import ctypes
import json
import os
import pathlib
import socket
import sys
import time

host, port, over = sys.argv[1], int(sys.argv[2]), sys.argv[3]
begin = time.monotonic()
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if over == "udp" else socket.SOCK_STREAM)
peer.connect((host, port))
received = 0
if over == "udp":
    peer.send(b"!")
    peer.settimeout(0.5)
try:
    while data := peer.recv(65536):
        received += len(data)
except TimeoutError:
    pass
AT_RANDOM = 25
at = ctypes.CDLL(None).getauxval
at.restype = ctypes.c_void_p
found = {
    "bytes": received,
    "timings": {"all": [time.monotonic() - begin]},
    "drawn": [os.urandom(8).hex(), ctypes.string_at(at(AT_RANDOM), 16).hex()],
    "told": {k: v for k, v in sorted(os.environ.items()) if k.startswith("FAIRC")},
    "peer": socket.gethostbyname("server"),
    "cpu_s": time.process_time(),
}
pathlib.Path("client.json").write_text(json.dumps(found))
print("took", time.monotonic() - begin, "s for", received, "bytes")
