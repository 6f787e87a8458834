"""Workloads: the declaration of one, and what several have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairc.dsl.core.entries import Entry, Parameter, Use
from fairc.dsl.core.problems import fail
from fairc.dsl.core.values import Symbol, Text
from fairc.dsl.model import Distribution, Input, Workload
from fairc.words.distributions import mean

NS = 10**9

Quantify = Callable[[float, str], str]
"""Writes a number with its unit, for people."""

SHORTEST_MEAN_S = Fraction(1, 10**6)
"""Below this a program would do nothing but draw times."""


@dataclass(frozen=True, kw_only=True)
class WorkloadEntry(Entry):
    """A workload.

    build: raises CompileError for what no program could do.
    over_udp: whether it makes sense over UDP, where nothing is requested or acknowledged.
    only_over_udp: whether it makes sense nowhere else; its flows need no `over`.
    has_rate: whether it sets its own rate.
    over_mptcp: whether its programs speak MPTCP.
    by_images: whether third-party images can move it. in_tar: returns what moves it, with an image
    in a tar and a CCA that this offers (None: its own); it is another workload's to know.
    needs_tcp: why its CCA must exist over TCP, whatever `over` says; empty: it need not.
    initial_window_packets: the default of its flows.
    sentence: returns how the report describes its part of the plan; None: by its name.
    """

    build: Callable[[Use[WorkloadEntry]], Workload]
    over_udp: bool = False
    only_over_udp: bool = False
    has_rate: bool = False
    over_mptcp: bool = False
    by_images: bool = False
    in_tar: Callable[[Workload, Text, Symbol | None], Workload] | None = None
    needs_tcp: str = ""
    initial_window_packets: int = 10
    sentence: Callable[[Any, Quantify], str] | None = None
    runs: bool = True


def check_lasting(random: Distribution, use: Use[Entry], parameter: Parameter[Any]) -> None:
    """Refuse times with a mean below SHORTEST_MEAN_S. Raises CompileError."""
    if mean(random) < SHORTEST_MEAN_S:
        fail(
            "out-of-range",
            f"`{parameter.name}` of `{use.entry.name}` must last 1us or more on average",
            use.span_of(parameter),
        )


def inputs_of(*drawn: Distribution) -> tuple[Input, ...]:
    """Return the files that distributions come from."""
    return tuple(one.file for one in drawn if one.file is not None)
