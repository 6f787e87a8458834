"""The workloads: a file each, and this list of them.

workload  what a workload is: its entry, and what most have in common
"""

from __future__ import annotations

from fairc.dsl.core.registry import Registry

from . import bulk, file, iperf3, load, onoff, requests, video
from .bulk import Bulk
from .file import File
from .iperf3 import Iperf3
from .load import Load
from .onoff import OnOff
from .requests import Requests
from .video import Video
from .workload import WorkloadEntry

WORKLOADS: Registry[WorkloadEntry] = Registry(
    "workload",
    "workload",
    [
        file.FILE,
        bulk.BULK,
        load.LOAD,
        video.VIDEO,
        requests.REQUESTS,
        onoff.ONOFF,
        iperf3.IPERF3,
    ],
    slips={
        "page": (
            "a page is what `load` loads: `workload = load(page(html: 30kB, objects: 40 of 20kB))`"
        )
    },
)

__all__ = [
    "WORKLOADS",
    "Bulk",
    "File",
    "Iperf3",
    "Load",
    "OnOff",
    "Requests",
    "Video",
    "WorkloadEntry",
]
