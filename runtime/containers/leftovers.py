"""Whose a container or a network is, and how those whose owner has gone are removed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from docker.errors import APIError, NotFound

from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.host.supervisor import mark, namespace, owner_runs

from .client import Client, connect, translated

LABEL = "org.fairc.run"
# What the engine answers while somebody else is removing the same thing, or the containers of a
# network.
UNDER_WAY = ("already in progress", "has active endpoints")
PATIENCE_S = 20.0
AT_ONCE = 4  # half the work of creating or removing a container is waiting


def place() -> str:
    """Return what identifies this boot and this process namespace: marks are valid only there."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{namespace()}"


def label() -> dict[str, str]:
    """Return the label of everything that this fairc creates."""
    return {LABEL: f"{mark()}@{place()}"}


def is_left(value: str) -> bool:
    """Return whether the fairc that created something has gone; False if that cannot be determined
    here.
    """
    owner, _, where = value.partition("@")
    if where == place():
        return not owner_runs(owner)
    here, there = place().partition("/")[0], where.partition("/")[0]
    return bool(there) and there != here  # the machine was rebooted


def remove(client: Client, doomed: Callable[[str], bool]) -> list[str]:
    """Remove containers and networks by the value of their label; return a description of each.

    Raises EngineUnavailable.
    """
    chosen = {"filters": {"label": LABEL}}
    with translated(), ThreadPoolExecutor(AT_ONCE) as pool:
        found = client.containers.list(all=True, ignore_removed=True, **chosen)
        containers = [c for c in found if doomed(c.labels[LABEL])]
        ends = [partial(c.remove, force=True, v=True) for c in containers]
        list(pool.map(_unless_gone, ends))
        found = client.networks.list(**chosen)
        networks = [n for n in found if doomed(n.attrs["Labels"][LABEL])]
        list(pool.map(_unless_gone, [n.remove for n in networks]))
    return [*(f"container {c.name}" for c in containers), *(f"network {n.name}" for n in networks)]


def sweep(client: Client) -> list[str]:
    """Remove what killed runs have left behind; return a description of each.

    Raises EngineUnavailable.
    """
    return remove(client, is_left)


def sweep_if_there() -> Iterator[str]:
    """Remove what killed runs have left behind if this user has a Docker engine; yield a
    description of each.
    """
    try:
        client = connect()
    except EngineUnavailable:
        return
    try:
        yield from sweep(client)
    finally:
        client.close()


def _unless_gone(remove: Callable[[], None]) -> None:
    """Remove something that somebody else may be removing at the same time; return when it is
    gone.
    """
    give_up = time.monotonic() + PATIENCE_S
    while True:
        try:
            remove()
            return
        except NotFound:
            return
        except APIError as error:
            others = any(phrase in str(error) for phrase in UNDER_WAY)
            if not others or time.monotonic() > give_up:
                raise
        time.sleep(0.1)
