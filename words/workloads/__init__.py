"""The workloads: each has the name of one of the plan (cell/workloads.py), and is the `WORKLOAD` of
the module of that name.

workload  what a workload is: its entry, and what most have in common
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from typing import get_args

from fairc.cell import workloads
from fairc.dsl.core.registry import Registry

from .bulk import Bulk
from .file import File
from .iperf3 import Iperf3
from .load import Load
from .onoff import OnOff
from .ping import Ping
from .program import Program
from .requests import Requests
from .video import Video
from .workload import WorkloadEntry


def _entries() -> Iterator[WorkloadEntry]:
    for planned in get_args(workloads.Workload):
        name = next(field.default for field in fields(planned) if field.name == "kind")
        yield import_module(f".{name}", __name__).WORKLOAD


_CONSTANT = (
    "a constant bit rate is `bulk` over UDP with a rate: `over = udp  rate = 64kbit/s  workload ="
    " bulk(packet: 200B)`"
)

_VIDEO = "a video is `workload = video(bitrate: 3Mbit/s, length: 60s)`"

WORKLOADS: Registry[WorkloadEntry] = Registry(
    "workload",
    "workload",
    _entries(),
    misplaced={
        "cbr": _CONSTANT,
        "page": (
            "a page is what `load` loads: `workload = load(page(html: 30kB, objects: 40 of 20kB))`"
        ),
        "voip": _CONSTANT,
        **dict.fromkeys(("youtube", "netflix", "dash", "streaming"), _VIDEO),
    },
)

__all__ = [
    "WORKLOADS",
    "Bulk",
    "File",
    "Iperf3",
    "Load",
    "OnOff",
    "Ping",
    "Program",
    "Requests",
    "Video",
    "WorkloadEntry",
]
