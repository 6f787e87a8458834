"""Find each packet of one capture point again at the next one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .digests import absorb
from .pcap import Packets

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Fields that no router changes (it does change TTL, checksums and ECN bits). Together they identify a packet: a
# TCP retransmission has another IP id, and where ids repeat, sequence number or timestamps differ.
# Linux gives UDP datagrams that must not be fragmented the id 0, so their payload identifies them: QUIC
# encrypts every packet under its own packet number (RFC 9001, section 5.3).
_IDENTITY = (
    "source",
    "destination",
    "protocol",
    "ip_id",
    "fragment",
    "ip_bytes",
    "source_port",
    "destination_port",
    "sequence",
    "acknowledgement",
    "flags",
    "ts_value",
    "ts_echo",
    "payload_digest",
)


@dataclass(frozen=True, slots=True)
class Matching:
    """Which packets were found again.

    found: shape (upstream,), index of the same packet downstream, or -1. pending: those not
    found that were still in transit when the capture ended. lost: the others that were not
    found. strangers: shape (downstream,), packets that were never seen upstream.
    """

    found: Int64s
    pending: Bools
    lost: Bools
    strangers: Bools


def match(upstream: Packets, downstream: Packets, waiting: int) -> Matching:
    """Match packets by identity; equal packets in order, the nth upstream with the nth downstream.

    waiting: how many packets were in transit between the two points when the capture ended. Of the
    missing packets after the last one found, that many, the latest, are pending and not lost.
    """
    found = np.full(len(upstream), -1, np.int64)
    strangers = np.ones(len(downstream), np.bool_)
    keys, split = _identities(upstream, downstream), len(upstream)
    up, up_rank = _ranked(keys[:split])
    down, down_rank = _ranked(keys[split:])
    _, i, j = np.intersect1d(
        _pair(keys[:split][up], up_rank),
        _pair(keys[split:][down], down_rank),
        assume_unique=False,
        return_indices=True,
    )
    source, target = up[i], down[j]
    # A packet cannot arrive before it left: then two packets share an identity.
    forward = downstream.time_ns[target] >= upstream.time_ns[source]
    found[source[forward]] = target[forward]
    strangers[target[forward]] = False
    missing = found < 0
    last = np.flatnonzero(~missing).max(initial=-1)
    after = np.flatnonzero(missing & (np.arange(split) > last))
    pending = np.zeros(split, np.bool_)
    pending[after[max(0, len(after) - waiting) :]] = True
    return Matching(found, pending, missing & ~pending, strangers)


def _identities(upstream: Packets, downstream: Packets) -> Int64s:
    """Number the distinct packets of both captures, shape (upstream + downstream,)."""
    digest = np.zeros(len(upstream) + len(downstream), np.uint64)
    for name in _IDENTITY:  # one at a time: a long cell has millions of packets
        row = np.concatenate([getattr(upstream, name), getattr(downstream, name)])
        digest = absorb(digest, row.astype(np.uint64))
    numbers: Int64s = np.unique(digest, return_inverse=True)[1].astype(np.int64)
    return numbers


def _ranked(keys: Int64s) -> tuple[Int64s, Int64s]:
    """Return an order that groups equal keys, and the rank of each key within its group."""
    order = np.argsort(keys, kind="stable").astype(np.int64)
    ordered = keys[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    sizes = np.diff(starts, append=len(ordered))
    rank = np.arange(len(ordered)) - np.repeat(starts, sizes)
    return order, rank.astype(np.int64)


def _pair(keys: Int64s, rank: Int64s) -> Int64s:
    return keys << 32 | rank
