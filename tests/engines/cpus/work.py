#!/usr/bin/env python3
"""Computes what Python and its libraries have other code for on other CPUs, with threads, and says
when it was done.
"""

import hashlib
import json
import math
import random
import threading
import time
import zlib

found: list[float] = []


def part(number: int) -> None:
    found.append(math.fsum(math.exp(-i * 0.013) + math.sin(i * 0.7 + number) for i in range(2000)))


threads = [threading.Thread(target=part, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
data = bytes(i * 31 % 251 for i in range(100_000))
for name in ("sha256", "sha512", "blake2b", "md5"):
    print(name, hashlib.new(name, data).hexdigest())
print([sum.hex() for sum in found], zlib.crc32(zlib.compress(data)))
print(json.dumps([random.random() for _ in range(20)]), {str(i) for i in range(50)})
print(time.time_ns())
