"""The devices of the language, from their folders."""

from __future__ import annotations

from fairc.mechanisms import load

from .device import Declaration, DeviceEntry, ProxiesEntry

_EVERY: tuple[Declaration, ...] = tuple(each.DECLARATION for each in load("devices", "declaration"))

DEVICES = tuple(each for each in _EVERY if isinstance(each, DeviceEntry))
"""Those in front of queues."""

PROXIES = tuple(each for each in _EVERY if isinstance(each, ProxiesEntry))
"""Those at both ends of a link."""
