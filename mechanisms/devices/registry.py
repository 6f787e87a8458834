"""The devices of the language that stand in front of queues, from their folders."""

from __future__ import annotations

from fairc.mechanisms import load

from .device import DeviceEntry

DEVICES: tuple[DeviceEntry, ...] = tuple(
    found.DECLARATION for found in load("devices", "declaration")
)
