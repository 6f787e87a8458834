"""The passes over one configuration: `lower` lists them in order, `draft` is what they work on.

wiring      nodes, cables, hops, interface names, addresses; dynamics: rates and losses over time
routing     static routes; the path and base RTT of every flow; extra_rtts: extra delay of some
            flows
packets     path MTUs, and flows whose packets do not fit
flows       bottlenecks, socket buffers, the deadline
ports       the ports of every flow
queues      limits in bytes or packets; each queue as a part of the plan (words/queues)
policers    policers, and their buckets; peps: proxies that split connections
captures    where packets are captured
physics     warnings
freeze      nodes and cables as parts of the plan; transmitters: where a link's frames are sent
"""
