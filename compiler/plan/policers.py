"""Congestion policing: who is policed, and by which rule."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Model


class Policed(Model):
    """A flow that is policed: all packets of its TCP connections from its server's port.

    bucket: number of its bucket.
    """

    flow: str
    bucket: Annotated[int, Field(ge=0)]


class Policer(Model):
    """A congestion policer with a token bucket for each user (definition: docs/policing.md).

    name: of its artefact, `NAME.policer.ndjson`. node: the hop where it stands; what comes in at
    `ingress` leaves by `egress`, in front of its queue, or is dropped.
    rate: fill rate, packets/s; depth: packets. buckets: the host that each is of. seed: of its
    random numbers.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$", max_length=200)]
    node: str
    ingress: str
    egress: str
    rate: Annotated[float, Field(gt=0, le=1e9)]
    depth: Annotated[float, Field(ge=1, le=1e9)]
    harshness: Literal["soft", "mild", "strict"]
    feedback: Literal["none", "classic", "accurate"]
    charge: Literal["forwarded", "arrived"]
    buckets: tuple[str, ...]
    policed: tuple[Policed, ...]
    seed: int = 0
    source: str
