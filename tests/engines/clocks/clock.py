#!/usr/bin/env python3
"""What waiting takes: sleep, wake, poll, busy, yield, in us."""

import os
import select
import threading
import time

NS = time.monotonic_ns


def say(name: str, since_ns: int) -> None:
    print(name, (NS() - since_ns) // 1000)


t = NS()
time.sleep(0.02)
say("sleep", t)

t = NS()
told = threading.Event()
threading.Timer(0.02, told.set).start()
told.wait()
say("wake", t)

t = NS()
select.epoll().poll(0.03)
say("poll", t)

t = NS()
while NS() - t < 5_000_000:
    pass
say("busy", t)

t = NS()
spun: list[int] = []
threading.Timer(0.005, spun.append, [1]).start()
while not spun:
    os.sched_yield()
say("yield", t)
