"""The table of limits: what held flows back, other than the network and their congestion control."""

from __future__ import annotations

from functools import partial

from .schema import CELL, FLOW, Column, Table, of_result

LIMITS = Table(
    "limits",
    "what limited a flow, other than the network and its congestion control (metric `limited`);"
    " limits that the sender does not report have no row",
    (
        CELL,
        FLOW,
        Column(
            "held_by", "VARCHAR", "", "`window_cap`, `receiver`, `send_buffer` or `application`"
        ),
        Column("share", "DOUBLE", "1", "share of the flow's time after the warm-up"),
    ),
    partial(of_result, held_by="limit"),
)
