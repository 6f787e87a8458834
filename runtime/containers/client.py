"""The Docker engine of this machine, and its errors as messages."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import docker
from docker import errors
from requests.exceptions import RequestException

from fairc.runtime.host.faults import EngineUnavailable, to_install

# The Docker SDK has no types.
Client = Any

HOST = "DOCKER_HOST"
DEFAULT_HOST = "unix:///var/run/docker.sock"
TIMEOUT_S = 60.0
INSTEAD = "`--engine uml` needs no Docker"

# Phrases in an engine's refusal -> what they mean, what to do.
REFUSALS = (
    (
        ("pool overlaps", "address already in use", "conflicts with network"),
        "an address range is in use by another network",
        "`docker network ls` shows them; `docker network prune` removes unused ones",
    ),
    (
        ("no space left", "disk quota exceeded"),
        "the disk of the Docker engine is full",
        "free space in the Root Dir that `docker info` shows (`docker system df`)",
    ),
    (
        ("operation not permitted", "permission denied", "read-only file system"),
        "the Docker engine lacks a permission that containers need",
        f"use an engine that runs as root (not a rootless one); or {INSTEAD}",
    ),
    (
        ("disable_ipv6: no such file",),
        "this kernel runs without IPv6, so that no container can turn it off for itself",
        f"start it without `ipv6.disable=1`; or {INSTEAD}",
    ),
    (
        ("no such file or directory: unknown", "sysctl"),
        "this kernel lacks an option that the containers' network needs",
        f"a newer kernel; or {INSTEAD}",
    ),
)


def address() -> str:
    """Return the engine's address. Raises EngineUnavailable for one on another machine."""
    host = os.environ.get(HOST) or DEFAULT_HOST
    if not host.startswith("unix://"):
        raise EngineUnavailable(
            (f"{HOST} names {host}, and containers share a folder with fairc",),
            f"let {HOST} name the socket of this machine's engine (unix://...), or unset it",
        )
    return host


def connect() -> Client:
    """Return a client of the engine. Raises EngineUnavailable if there is none for this user."""
    host = address()
    try:
        with socket.socket(
            socket.AF_UNIX
        ) as probe:  # which the SDK would leave open after an error
            probe.connect(host.removeprefix("unix://"))
    except OSError as error:
        raise explain(error) from error
    with translated():
        return docker.DockerClient(base_url=host, timeout=TIMEOUT_S, version="auto")


@contextmanager
def translated() -> Iterator[None]:
    """Turn whatever the Docker SDK raises into EngineUnavailable."""
    try:
        yield
    except (errors.DockerException, RequestException) as error:
        raise explain(error) from error


def explain(error: Exception) -> EngineUnavailable:
    """Return what an error of the SDK means, and what helps."""
    if isinstance(error, errors.APIError):
        explanation = " ".join(str(error.explanation or error).split())
        for signs, meaning, remedy in REFUSALS:
            if any(word in explanation.lower() for word in signs):
                return EngineUnavailable((f"{meaning}: {explanation}",), remedy)
        return EngineUnavailable(
            (f"the Docker engine refuses: {explanation}",), f"see its log; or {INSTEAD}"
        )
    where = (os.environ.get(HOST) or DEFAULT_HOST).removeprefix("unix://")
    cause = _os_error(error)
    if cause is not None and cause.errno in (errno.EACCES, errno.EPERM):
        return EngineUnavailable(
            (f"this user may not talk to the Docker engine at {where}",),
            f"sudo usermod -aG docker $USER, and log in again; or use sudo; or {INSTEAD}",
        )
    if cause is not None and cause.errno in (errno.ENOENT, errno.ECONNREFUSED):
        return EngineUnavailable(
            (f"no Docker engine runs at {where}",),
            f"{to_install('docker.io')}, then `sudo systemctl start docker`; or {INSTEAD}",
        )
    return EngineUnavailable(
        (f"the Docker engine at {where} does not answer: {error}",), f"see its log; or {INSTEAD}"
    )


def _os_error(error: BaseException | None) -> OSError | None:
    """Return the operating system's error inside one of the SDK, which wraps it several times."""
    waiting: list[object] = [error]
    while waiting:
        found = waiting.pop()
        if isinstance(found, OSError) and found.errno is not None:
            return found
        if isinstance(found, BaseException):
            waiting += [*found.args, found.__cause__, found.__context__]
    return None
