"""Devices of a network: what the declaration of one says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairc.dsl.core.entries import Entry, Parameter, Use
from fairc.dsl.core.registry import Registry
from fairc.dsl.model import LinkDevice, Misplaced, Proxies


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The common part of the declarations of all devices.

    noun: what it is called, and the keyword of its block.
    summary, example: of its block.
    modes: what it may be.
    block: the keys of its block, of which `mode` is what it does.
    no_link: where no link is.
    twice: where another one is.
    """

    noun: str
    summary: str
    example: str
    modes: Registry[Entry]
    block: Registry[Parameter[Any]]
    mode: Parameter[Any]
    no_link: Misplaced
    twice: Misplaced


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceEntry(Declaration):
    """A kind of device that stands in front of the queue of one direction of a link.

    key: of a link that has one.
    at, to: keys of its block, the routers between which it stands.
    read: returns one of a mode, by its name; None where it does nothing.
    between_proxies: where proxies split what it reads.
    does, is_done: verbs of messages.
    """

    key: Parameter[Any]
    at: Parameter[Any]
    to: Parameter[Any]
    read: Callable[[Use[Entry], str], LinkDevice | None]
    between_proxies: Misplaced
    does: str
    is_done: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxiesEntry(Declaration):
    """A kind of proxies at both ends of a link, which split TCP connections.

    terminal, gateway: keys of its block, the routers at the clients' and at the servers' end.
    none: the mode that splits nothing.
    cca: parameter of the other modes, the CCA between the two.
    read: returns a pair of a mode, from what all kinds have.
    """

    terminal: Parameter[Any]
    gateway: Parameter[Any]
    none: Entry
    cca: Parameter[Any]
    read: Callable[[Use[Entry], Proxies], Proxies]
