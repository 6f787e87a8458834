"""The table of policers: the bucket of each user over time."""

from __future__ import annotations

from .schema import CELL, Column, Table, of_records

BUCKETS = Table(
    "buckets",
    "the token bucket of a user at the end of a slot of 100 ms, and what happened in the slot"
    " (policing.md); none without a policer",
    (
        CELL,
        Column("policer", "VARCHAR", "", "name of the policer"),
        Column("user", "VARCHAR", "", "host of the user, or the source where there are no users"),
        Column("t_s", "DOUBLE", "s", "end of the slot after the epoch"),
        Column("level", "DOUBLE", "tokens", "level of the bucket at that time"),
        Column("packets", "BIGINT", "packets", "packets of the user that reached the policer"),
        Column("losses", "BIGINT", "packets", "of these, with a Re-Echo-Loss"),
        Column("marks", "BIGINT", "packets", "of these, with a Re-Echo-ECN"),
        Column("tokens", "BIGINT", "tokens", "tokens that they took"),
        Column("dropped", "BIGINT", "packets", "of these, dropped by the policer"),
    ),
    of_records,
)
