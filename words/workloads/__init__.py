"""The workloads: a file each, and this list of them.

workload  what a workload is: its entry, and what most have in common
"""

from __future__ import annotations

from fairc.dsl.core.registry import Registry

from . import bulk, file, iperf3, load, onoff, ping, requests, video
from .bulk import Bulk
from .file import File
from .iperf3 import Iperf3
from .load import Load
from .onoff import OnOff
from .ping import Ping
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
        ping.PING,
        iperf3.IPERF3,
    ],
    slips={
        "cbr": (
            "a constant bit rate is `bulk` over UDP with a rate: `over = udp  rate = 64kbit/s"
            "  workload = bulk(packet: 200B)`"
        ),
        "page": (
            "a page is what `load` loads: `workload = load(page(html: 30kB, objects: 40 of 20kB))`"
        ),
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
    "Requests",
    "Video",
    "WorkloadEntry",
]
