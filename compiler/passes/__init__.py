"""The passes over one configuration: functions that `compiler/cells/lowering.py` calls in order.

From the network, and from who talks to whom:

unrolling   what varies over time, until the end of the cell
extra_rtts  extra delay of some flows
wiring      nodes, cables, interface names, addresses; delay_nodes: loss and delay as a netem;
            dynamics: what changes over time
routing     static routes with path MTUs; the path, base RTT and bottleneck of every flow; ways:
            of a flow's own; multipath: of its subflows; rerouting: around links that are down
queues      limits in bytes or packets; each queue as a part of the plan (words/queues)
flows       socket buffers, the deadline
bottlenecks where data can wait and be dropped
captures    where packets are captured
entering    changes that wait for a state of a flow
nodes       nodes as parts of the plan: shapers, and where frames are transmitted

From workloads and times:

packets     flows whose packets do not fit; offload: hosts whose interfaces segment
ports       the ports of every flow
devices     what stands in the way of packets; tunnels
physics     warnings

report      where they report what is wrong
"""
