"""The workloads of the language, from their folders."""

from __future__ import annotations

from fairc.dsl.core.registry import Registry
from fairc.mechanisms import load

from .workload import WorkloadEntry

_CONSTANT = (
    "a constant bit rate is `bulk` over UDP with a rate: `over = udp  rate = 64kbit/s  workload ="
    " bulk(packet: 200B)`"
)

_SHORT = (
    "short transfers that arrive at random are `workload = requests(size: 30kB, every:"
    " exponential(100ms))`"
)

_VIDEO = "a video is `workload = video(bitrate: 3Mbit/s, length: 60s)`"

WORKLOADS: Registry[WorkloadEntry] = Registry(
    "workload",
    "workload",
    (found.DECLARATION for found in load("workloads", "declaration")),
    misplaced={
        "page": (
            "a page is what `load` loads: `workload = load(page(html: 30kB, objects: 40 of 20kB))`"
        ),
        **dict.fromkeys(
            ("cbr", "cbr_udp", "constant", "constant_rate", "game", "gaming", "udp", "voip"),
            _CONSTANT,
        ),
        **dict.fromkeys(("mice", "poisson", "short", "short_flows", "web"), _SHORT),
        **dict.fromkeys(("youtube", "netflix", "dash", "streaming"), _VIDEO),
    },
)
