"""Whose a container or a network is, and the end of those whose owner has gone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from docker.errors import APIError, NotFound

from fairc.runtime.clean import owner_runs
from fairc.runtime.engines.base import EngineUnavailable
from fairc.runtime.supervisor import mark

from .client import Client, connect, translated

LABEL = "org.fairc.run"


def place() -> str:
    """Return what tells this boot and this process namespace from others: marks hold only there."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{os.stat('/proc/self/ns/pid').st_ino}"


def label() -> dict[str, str]:
    """Return the label of everything that this fairc makes."""
    return {LABEL: f"{mark()}@{place()}"}


def is_left(value: str) -> bool:
    """Whether the fairc that made something has gone; False when that cannot be told from here."""
    owner, _, where = value.partition("@")
    if where == place():
        return not owner_runs(owner)
    here, there = place().partition("/")[0], where.partition("/")[0]
    return bool(there) and there != here  # the machine was started anew


def remove(client: Client, doomed: Callable[[str], bool]) -> list[str]:
    """Remove containers and networks by the value of their label; return what they were, in words.

    Raises EngineUnavailable.
    """
    removed = []
    with translated():
        chosen = {"filters": {"label": LABEL}}
        for found in client.api.containers(all=True, **chosen):
            if doomed(found["Labels"][LABEL]):
                _unless_gone(lambda: client.api.remove_container(found["Id"], force=True, v=True))  # noqa: B023
                removed.append(f"container {found['Names'][0].removeprefix('/')}")
        for found in client.api.networks(**chosen):
            if doomed(found["Labels"][LABEL]):
                _unless_gone(lambda: client.api.remove_network(found["Id"]))  # noqa: B023
                removed.append(f"network {found['Name']}")
    return removed


def sweep(client: Client) -> list[str]:
    """Remove what killed runs have left; return what it was, in words. Raises EngineUnavailable."""
    return remove(client, is_left)


def sweep_if_there() -> Iterator[str]:
    """Do it where there is a Docker engine for this user; say what was removed."""
    try:
        client = connect()
    except EngineUnavailable:
        return
    try:
        yield from sweep(client)
    finally:
        client.close()


def _unless_gone(act: Callable[[], None]) -> None:
    """Do something that somebody else may be doing at the same time."""
    try:
        act()
    except NotFound:
        pass
    except APIError as error:
        if "already in progress" not in str(error):
            raise
