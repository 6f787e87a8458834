"""The cost of cells on each engine: the coefficients that `estimate` uses, and their sources.

All are wall seconds on one core of docs/trust/benchmarks.md's machine, captures and analysis
included.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of a cell on an engine, s: the sum of these.

    fixed_s: per cell. per_virtual_s: per virtual second. per_packet_s: per data
    packet, including its ack and captures; per_quic_packet_s: in addition, per QUIC packet;
    per_policed_packet_s: in addition, per packet that a policer forwards, including the check of
    its decision.
    browser_load_s, browser_per_byte_s: per page load in a browser, and per byte of it.
    image_s: per third-party image, whose server gets time before the first client begins.
    parallel: whether several cells may run at once. memory_mib, browser_memory_mib: of a job that
    runs one cell, MiB, and in addition where a browser loads pages.
    """

    fixed_s: float
    per_virtual_s: float
    per_packet_s: float = 0.0
    per_quic_packet_s: float = 0.0
    per_policed_packet_s: float = 0.0
    browser_load_s: float = 0.0
    browser_per_byte_s: float = 0.0
    image_s: float = 0.0
    parallel: bool = True
    memory_mib: int = 3072
    browser_memory_mib: int = 2048


# Measured with the prototype of uml and today's emitted program with captures, midpoints of the
# results: 20 s at 10 Mbit/s in 1.5 s, at 100 Mbit/s in 6.3 s, 168 virtual seconds at 1 Mbit/s in
# 1.8 s. A load in a
# browser: midpoints of 8 to 14 CPU seconds for three of 11 kB, 14.5 to 35 for three of 5.3 MB. QUIC
# has not been measured there: the ratio of its packets to TCP's is that of the vm engine. Memory:
# 512 MiB of guest (2 GiB with a browser), a cell's artefacts (1 GiB), fairc's analysis (1 GiB).
# A policer: runs with and without one (docs/learn/links.md), 21 to 34 us of CPU time for a packet.
UML = Costs(
    1.0, 0.001, 3.2e-5, 2.9e-5, 2.8e-5, 3.3, 0.9e-6, memory_mib=2560, browser_memory_mib=1536
)

# Fitted to docs/trust/benchmarks.md; QUIC: 10 MB over TCP and 10 MB over QUIC sharing a link. A
# load in a browser: docs/learn/pages.md, "What a load costs": 18 to 20 s for 11 kB, 36 to 48 s for
# 5.3 MB, of which its packets are 1.3 s. Memory: the guest's, the file through which it hands over
# results (a memory file system may hold it; runtime/vm has both), 1 GiB for fairc's analysis; with
# a browser 1 GiB of guest more, and as much for QEMU's translated code.
# A policer: the ratio to other packets is that of uml.
VM = Costs(1.85, 0.013, 0.00036, 0.00033, 0.00032, 19.0, 4e-6)

# In real time, one cell at a time. Start-up and tear-down: docs/trust/benchmarks.md; those of
# Mininet's nodes have not been measured; those of containers are assumed.
DOCKER = Costs(2.7, 1.0, image_s=8.0, parallel=False)
MININET = Costs(2.7, 1.0, parallel=False)

COSTS: dict[str, Costs] = {"uml": UML, "vm": VM, "mininet": MININET, "docker": DOCKER}


def costs_of(engine: str) -> Costs:
    """Return the costs of cells on an engine; an unknown one, such as a test's, counts as the
    virtual machine.
    """
    return COSTS.get(engine, VM)
