"""Records of devices: what the rest of the measurement asks of each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fairc.runtime.arrays import Bools

if TYPE_CHECKING:
    from .record import FlowRecord, Measurement

Place = tuple[str, str]


class DeviceRecord:
    """The record of a device, as the `load` of its `record.py` reads it (mechanisms/devices)."""

    @property
    def dropped_packets(self) -> Mapping[str, Bools]:
        """The packets that never got past it, by the name of the capture of its arrivals."""
        return {}

    def held_s(self, place: Place) -> float:
        """Return the longest that it held a packet in front of the queue of an interface, s."""
        return 0.0

    def passed(self, measurement: Measurement, flow: FlowRecord) -> float:
        """Return the share of a flow's packets that get past it while the cell is measured."""
        return 1.0
