"""Sends 500 kB to whoever connects; over UDP, 100 datagrams to whoever sends one."""

import socket
import sys
import time

port, over = int(sys.argv[1]), sys.argv[2]
if over == "udp":
    ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ours.bind(("", port))
    while True:
        asker = ours.recvfrom(100)[1]
        for _ in range(100):
            ours.sendto(bytes(1000), asker)
            time.sleep(0.01)
listening = socket.create_server(("", port))
print("I am ready", flush=True)
while True:
    peer, _ = listening.accept()
    peer.sendall(bytes(500_000))
    peer.close()
