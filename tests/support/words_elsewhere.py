"""An experiment of one cell with words of links, hosts and calls, for engines that are not `uml`."""

SPEC = """fexp 1
topology words {
  node s, a, b, c, d, e
  router r, home, out, up, low, back
  link s -- r { rate = 100Mbit/s }
  link r -> a { rate = 4Mbit/s  delay = 10ms  framing = atm(overhead: 10B)  loss = loss(100%, above: 1300B) }
  link a -> r { rate = 4Mbit/s  delay = 10ms }
  link r -> b { rate = 4Mbit/s  delay = 10ms  corrupt = 1%  reorder = reorder(50%, gap: 20)  down every exponential(1s) for exponential(50ms) }
  link b -> r { rate = 4Mbit/s  delay = 10ms }
  link r -> home { rate = 4Mbit/s  transmit = bucket(burst: 15kB, peak: 20Mbit/s) }
  link home -> r { rate = 4Mbit/s  delay = 10ms  nat = rebind(2s) }
  link home -- c { rate = 100Mbit/s }
  link r -> d { rate = 4Mbit/s  delay = 10ms  queue = cake(200pkt, rate: 3Mbit/s, framing: docsis)  loss = loss(100%, of: ce) }
  link d -> r { rate = 4Mbit/s  delay = 10ms }
  link r -- out, back -- e { rate = 100Mbit/s }
  link out -- up, out -- low { rate = 4Mbit/s  delay = 10ms  framing = ethernet(38B) }
  link up -> back, low -> back { rate = 10Mbit/s  loss = gilbert_elliott(good: 600ms, bad: 16ms) }
  link back -> up, back -> low { rate = 10Mbit/s }
}
experiment words {
  topology = words()
  hosts { pmtu = discover  idle_restart = off }
  routes = ecmp(hash: ports)
  flow hole    { from = s  to = a  cca = cubic  min_rto = 20ms  workload = bulk }
  flow probes  { from = s  to = a  over = quic  cca = cubic  workload = bulk }
  flow damaged { from = s  to = b  cca = cubic  notsent_lowat = 32kB  workload = bulk }
  flow call    { from = s  to = b  over = udp  workload = media(audio: 80B, video: 300kbit/s, both: on) }
  flow inside  { from = s  to = c  over = quic  cca = cubic  workload = bulk }
  flow marked  { from = s  to = d  cca = cubic  ecn = on  workload = bulk }
  flow f[i] for i in 1..4 { from = s  to = e  cca = cubic  workload = bulk }
  flow pinned  { from = s  to = e  over = quic  cca = cubic  via = low  workload = bulk }
  duration = 5s
  measure  = [goodput]
}
"""
