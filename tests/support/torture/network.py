"""The specs that are run: small, of few cells, and between them with every kind of thing that a
plan holds.
"""

from __future__ import annotations

from pathlib import Path

# Four cells of two flows: every engine in virtual time runs it within a second or two.
TINY = """fexp 1
experiment tiny {
  topology = bottleneck(rate: rate, rtt: 20ms, queue: fifo(2bdp))
  sweep { rate = [2Mbit/s, 4Mbit/s] }
  flow a { cca = cubic   workload = file(60kB) }
  flow b { cca = bbr     workload = file(60kB) }
  repeat  = 2
  measure = [fairness, goodput]
}
"""

# No loss and no delay: a host without netem can run it, too.
PAIR = """fexp 1
topology pair() {
  node s  router r  node c
  link s -- r { rate = 20Mbit/s }
  link r -- c { rate = 4Mbit/s  queue = fifo(20pkt) }
}
experiment pair {
  topology = pair()
  flow f { from = s  to = c  cca = cubic  workload = file(20kB) }
  repeat  = 2
  measure = [goodput]
}
"""

# What `TINY` has not: links that change and lose, users, other transports and workloads, figures.
RICH = """fexp 1
topology line() {
  node s  router r  node c
  link s -- r { rate = 100Mbit/s  delay = 1ms  duplicate = 1% }
  link r -- c {
    rate = 2Mbit/s  delay = 20ms  jitter = 3ms
    loss = gilbert_elliott(p: 1%, r: 30%)
    queue = red(80pkt)
    at 1s { rate = 1Mbit/s }
  }
}
experiment rich {
  title = "What a plan may hold"
  topology = line()
  flow q { from = s  to = c  over = quic  cca = cubic(connections: 2)  workload = file(20kB) }
  flow t { from = s  to = c  cca = cubic(hystart: off)  workload = file(20kB)  initial_window = 30pkt }
  flow a { from = s  to = c  cca = cubic(hystart: off)  workload = requests(size: 2pkt, every: 1s)  initial_window = 30pkt }
  flow u { from = s  to = c  over = udp  workload = onoff(rate: 1Mbit/s, on: exponential(1s), off: exponential(1s)) }
  duration = 3s
  repeat  = 2
  measure = [goodput, rtt]
  report { boxplot(goodput, by: flow)  cdf(rtt) }
}
"""

POLICED = """fexp 1
topology line() {
  node s  router r  node c
  link s -- r { rate = 100Mbit/s  delay = 1ms }
  link r -- c { rate = 2Mbit/s  delay = 20ms  queue = red(80pkt, ecn: on) }
  policer gate { at = r  to = c  mode = conex(5pkt/s, 45pkt, feedback: accurate) }
}
experiment policed {
  topology = line()
  flow a { from = s  to = c  cca = cubic  workload = bulk }
  flow b { from = s  to = c  cca = reno  workload = bulk }
  duration = 3s
  measure = [policing]
}
"""

PAGES = """fexp 1
experiment pages {
  topology = bottleneck(rate: 4Mbit/s, rtt: 20ms, queue: fifo(2bdp))
  flow w { cca = cubic  workload = load(page(html: 10kB, objects: 4 of 5kB), client: plain, http: h2) }
  duration = 5s
  measure = [plt]
}
"""

SPECS = {"tiny": TINY, "pair": PAIR, "rich": RICH, "policed": POLICED, "pages": PAGES}


def write(name: str, folder: Path) -> Path:
    """Write a spec into a folder; return its path."""
    path = folder / f"{name}.fexp"
    path.write_text(SPECS[name], encoding="utf-8")
    return path
