"""Networks from topologies as written.

In order of control flow:

arguments     what a topology is called with
networks      nodes, and links with both directions
impairments   delay, jitter, reordering, duplicates; dynamics: `at`, `every` and `down`
devices       what stands in the way of packets, and the nodes that it names; link_devices: in front
              of queues; proxies: at both ends of a link; tunnels: packets in packets
groups        groups of users, as copies of the client's side
paths         what `bdp` and `pkt` are on the paths of flows
"""
