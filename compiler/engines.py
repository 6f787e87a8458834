"""Profiles of engines: the features that each lacks, and the cost of a cell.

Costs are wall seconds on one core of docs/trust/benchmarks.md's machine, captures and analysis
included.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairc.dsl.core.features import Feature
from fairc.mechanisms.links.registry import LINKS

OWN_CODE = Feature(
    "programs of your own",
    "program",
    "runs programs of your own",
    "run (only uml does)",
    "with another workload in place of `program`",
)
BPF = Feature(
    "CCAs in BPF",
    "bpf",
    "uses a BPF congestion controller",
    "load",
    "with another CCA in place of `bpf`",
)
MODULE = Feature(
    "CCAs and queues as kernel modules",
    "module",
    "loads a kernel module",
    "load (only uml compiles it)",
    "with another CCA or queue in place of `module`",
)
IMAGE = Feature(
    "images of the Docker engine", "image", "runs the image `{image}`", "run", "without the image"
)
BROWSER = Feature(
    "loads in a browser",
    "chromium",
    "loads pages in a browser",
    "start",
    "with `client: plain` in place of a browser",
)
PARAMETERS = Feature(
    "parameters of the kernel's CCAs",
    "",
    "sets parameters of its CCA for the whole kernel",
    "do",
    "with the kernel's defaults as parameters of its CCAs",
)
MPTCP = Feature("Multipath TCP", "mptcp", "runs over MPTCP", "offer", "over `tcp`")
SYSCALL_COST = Feature(
    "`syscall_cost`",
    "syscall_cost",
    "set `syscall_cost`",
    "do (only uml can)",
    "without `syscall_cost`",
)
OWN_KERNEL = Feature(
    "custom kernels",
    "kernel",
    "have a kernel of their own",
    "boot (only uml does)",
    "with `kernel = standard`",
)
SPINNING = Feature(
    "`bytes` of iperf3 over TCP",
    "bytes",
    "ends after `bytes`, for which its program spins on memory",
    "wait out: its clock stands still meanwhile",
    "with `time` in place of `bytes`",
)
WIFI_JITTER = Feature(
    "jitter of Wi-Fi",
    "wifi",
    "has the jitter of Wi-Fi",
    "draw (tc has no such table)",
    "with another `jitter`",
)
ENTERING = Feature(
    "changes upon a state",
    "enters",
    "changes upon a state of a flow",
    "learn (only uml runs a cell twice alike)",
    "with a time in place of `enters`",
)
_OF_LINKS = tuple(feature for each in LINKS for feature in each.features)
ONLY_UML = (MODULE, OWN_CODE, SYSCALL_COST, OWN_KERNEL, *_OF_LINKS, ENTERING)


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of a cell on an engine, s: the sum of these.

    fixed_s: per cell. per_virtual_s: per virtual second; per_flow_s: in addition, per flow, whose
    connection is sampled every 100 ms. per_packet_s: per data packet, including its ack and
    captures; per_quic_packet_s: in addition, per QUIC packet; per_record_s: in addition, to analyse
    and pack a captured packet; per_device_packet_s: in addition, per packet that the program of a
    device forwards, including the check of its decision.
    browser_load_s, browser_per_byte_s: per page load in a browser, and per byte of it.
    image_s: per third-party image, whose server gets time before the first client begins.
    parallel: whether several cells may run at once. memory_mib, browser_memory_mib: of a job that
    runs one cell, MiB, and in addition where a browser loads pages.
    """

    fixed_s: float
    per_virtual_s: float
    per_flow_s: float = 0.0
    per_packet_s: float = 0.0
    per_quic_packet_s: float = 0.0
    per_record_s: float = 0.0
    per_device_packet_s: float = 0.0
    browser_load_s: float = 0.0
    browser_per_byte_s: float = 0.0
    image_s: float = 0.0
    parallel: bool = True
    memory_mib: int = 3072
    browser_memory_mib: int = 2048


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of an engine, for the compiler.

    lacks: what it cannot do. costs: of its cells.
    """

    lacks: tuple[Feature, ...]
    costs: Costs


# CPU seconds on an idle machine whose speed is in the middle between docs/trust/benchmarks.md and
# another one (two flows for 20 s at 10 Mbit/s in 0.31 and 0.62, at 100 Mbit/s in 1.14 and 2.40).
# Fitted to 24 cells: 1 to 20 flows over TCP at 1 to 100 Mbit/s, 1 to 10 over QUIC at 10 to 50
# Mbit/s, of seven studies and of their own, for 20 to 140 s. QUIC took 22 to 37 us for a packet,
# and is at 35: whole suites, two cells at a time, took up to 1.5 times what single cells do.
# A load in a browser: midpoints of 8 to 14 CPU seconds for three of 11 kB, 14.5 to 35 for three of
# 5.3 MB. Memory: 512 MiB of guest (2 GiB with a browser), a cell's artefacts (1 GiB), fairc's
# analysis (1 GiB). A device: runs with and without a policer (docs/learn/links/policers.md), 21 to
# 34 us of CPU time for a packet.
UML = Costs(
    fixed_s=0.2,
    per_virtual_s=0.0005,
    per_flow_s=0.0007,
    per_packet_s=5.5e-6,
    per_quic_packet_s=3.0e-5,
    per_record_s=1.25e-6,
    per_device_packet_s=2.8e-5,
    browser_load_s=3.3,
    browser_per_byte_s=0.9e-6,
    memory_mib=2560,
    browser_memory_mib=1536,
)

# Fitted to docs/trust/benchmarks.md; QUIC: 10 MB over TCP and 10 MB over QUIC sharing a link. A
# load in a browser: docs/learn/pages.md, "What a load costs": 18 to 20 s for 11 kB, 36 to 48 s for
# 5.3 MB, of which its packets are 1.3 s. Memory: the guest's, the file through which it hands over
# results (a memory file system may hold it; runtime/vm has both), 1 GiB for fairc's analysis; with
# a browser 1 GiB of guest more, and as much for QEMU's translated code.
# A device's program: the ratio to other packets is that of uml.
VM = Costs(
    fixed_s=1.85,
    per_virtual_s=0.013,
    per_packet_s=0.00036,
    per_quic_packet_s=0.00033,
    per_device_packet_s=0.00032,
    browser_load_s=19.0,
    browser_per_byte_s=4e-6,
)

# In real time, one cell at a time. Start-up and tear-down: docs/trust/benchmarks.md; those of
# Mininet's nodes have not been measured; those of containers are assumed.
DOCKER = Costs(2.7, 1.0, image_s=8.0, parallel=False)
MININET = Costs(2.7, 1.0, parallel=False)

PROFILES: dict[str, Profile] = {
    "uml": Profile((BPF, IMAGE, SPINNING), UML),
    "vm": Profile((IMAGE, *ONLY_UML), VM),
    "mininet": Profile((BPF, IMAGE, MPTCP, WIFI_JITTER, *ONLY_UML), MININET),
    "docker": Profile((BPF, BROWSER, PARAMETERS, MPTCP, WIFI_JITTER, *ONLY_UML), DOCKER),
}


def profile(engine: str) -> Profile:
    """Return the profile of an engine; an unknown one, such as a plug-in's, lacks nothing, and its
    cells cost what those of the virtual machine do.
    """
    return PROFILES.get(engine, Profile((), VM))
