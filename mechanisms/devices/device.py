"""Devices in front of the queue of a link: what one declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairc.dsl.core.entries import Entry, Parameter, Use
from fairc.dsl.core.registry import Registry
from fairc.dsl.model import LinkDevice, Misplaced


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceEntry:
    """A kind of device that stands in front of the queue of one direction of a link.

    noun: what it is called, and the keyword of its block. summary, example: of its block. modes:
    what it may be. key: of a link that has one. block: the keys of its block, of which `at` and
    `to` are the routers between which it stands, `mode` is what it does. read: returns one of a
    mode, by its name; None where it does nothing. no_link: where no link goes. twice: where another
    one is. between_proxies: where proxies split what it reads. does, is_done: verbs of messages.
    """

    noun: str
    summary: str
    example: str
    modes: Registry[Entry]
    key: Parameter[Any]
    block: Registry[Parameter[Any]]
    at: Parameter[Any]
    to: Parameter[Any]
    mode: Parameter[Any]
    read: Callable[[Use[Entry], str], LinkDevice | None]
    no_link: Misplaced
    twice: Misplaced
    between_proxies: Misplaced
    does: str
    is_done: str
