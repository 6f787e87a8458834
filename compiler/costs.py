"""What cells cost on each engine: coefficients that `estimate` works with, and where they come from.

All are wall seconds on one core of docs/benchmarks.md's machine, captures and analysis included.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """What a cell takes on an engine, s: all of these are added up.

    fixed_s: whatever it does. per_virtual_s: for every second of it. per_packet_s: for every data
    packet with its ack and captures; per_quic_packet_s: beyond that for one over QUIC;
    per_policed_packet_s: beyond that for one that a policer forwards, computed again included.
    browser_load_s, browser_per_byte_s: for every load of a page in a browser, and for its bytes.
    image_s: for a third-party image, whose server gets time before the first client begins.
    parallel: whether several cells may run at once. memory_mib, browser_memory_mib: of a job that
    runs one cell, MiB, and beyond that where a browser loads pages.
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


# Of UML as a prototype, today's emitted program with captures, middles of what was seen: 20 s at 10
# Mbit/s in 1.5 s, at 100 Mbit/s in 6.3 s, 168 virtual seconds at 1 Mbit/s in 1.8 s. A load in a
# browser: middles of 8 to 14 CPU seconds for three of 11 kB, 14.5 to 35 for three of 5.3 MB. QUIC has
# not been measured there: the vm engine's ratio of its packets to TCP's is taken. Memory: 512 MiB of
# guest (2 GiB with a browser), what a cell leaves behind (1 GiB), fairc's analysis (1 GiB).
# A policer: runs with and without one (docs/policing.md), 21 to 34 us of CPU time for a packet.
UML = Costs(
    1.0, 0.001, 3.2e-5, 2.9e-5, 2.8e-5, 3.3, 0.9e-6, memory_mib=2560, browser_memory_mib=1536
)

# Fitted to docs/benchmarks.md; QUIC: 10 MB over TCP and 10 MB over QUIC sharing a link. A load in a browser:
# docs/browser.md, "What a load costs": 18 to 20 s for 11 kB, 36 to 48 s for 5.3 MB, of which its
# packets are 1.3 s. Memory: the guest's, the file through which it hands over results (a memory file
# system may hold it; runtime/vm has both), 1 GiB for fairc's analysis; with a browser 1 GiB of guest
# more, and as much for QEMU's translated code.
# A policer: the fast engine's ratio to other packets is taken.
VM = Costs(1.85, 0.013, 0.00036, 0.00033, 0.00032, 19.0, 4e-6)

# In real time, one cell at a time. Start-up and tear-down: docs/benchmarks.md; those of Mininet's
# nodes have not been measured and are taken to be the containers'.
DOCKER = Costs(2.7, 1.0, image_s=8.0, parallel=False)
MININET = Costs(2.7, 1.0, parallel=False)

COSTS: dict[str, Costs] = {"uml": UML, "vm": VM, "mininet": MININET, "docker": DOCKER}


def costs_of(engine: str) -> Costs:
    """Return what cells cost on an engine; one of the tests' own counts as the virtual machine."""
    return COSTS.get(engine, VM)
