"""The program that runs one cell of an experiment: standard library only, nothing of fairc.

It runs next to an emitted program, in a container, and in the guest of an engine in virtual time.
Its lowest Python is 3.11, that of Debian 12. In order of control flow:

    part           what a part of a plan is
    numbers, text  the types of fields, with the bounds that a plan from outside must keep
    frames         sizes of packets and frames
    queues, links  what all queues have in common (each is in mechanisms/queues), and impairments:
                   as the plan holds them, and what tc takes for them
    effects        what else links do to packets (each is in mechanisms/effects)
    medium         what transmits in place of a shaper, and what repairs losses
    workloads      what the connections of a flow transfer
    devices        what stands in the way of packets (each is in mechanisms/devices)
    model          a cell, typed: network, flows, captures
    diffserv       how hosts give packets their code points
    batch          lines for `ip -batch` and `tc -batch`: the one border where they are written
    hosts          what flows need of the kernel of their hosts: sysctls, routes
    reading        how often captures are read, and what they hold until then
    roles          the arguments of the programs of a flow
    network        nodes, addresses, routes, queues as plain data
    expansion      an experiment, and all that follows from it, as a document
    document       the types of that document: plain data, the same as JSON
    nodes          what a node can do, wherever it is: the protocol
    namespaces     nodes that are network namespaces of this machine; netlink: such that one program
                   sets up
    summary        what an emitted Mininet program says of flows and captures
    mininet        options of such a program, and `run`: its flows in the network that Mininet made
    containers     nodes that are containers; node_agent: what each of them runs
    image          third-party QUIC stacks
    clock          real or virtual time
    conductor      configure, start, observe, change, end, collect
    configuration, kernel   what is set in each node, and in the kernel for all of them
    programs, processes     what is started in the nodes, and how it ends
    schedule       what changes while the flows run
    timed          starts and stops a program of others at times of the plan
    certificates   what third-party QUIC stacks serve with
    observation    pings and queue statistics
"""
