"""The suite: its experiments by name, and what is read from each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from . import network, queueing, transfers, transport
from .reading import Read

FOLDER = Path(__file__).parent / "suite"


@dataclass(frozen=True, slots=True)
class Case:
    """An experiment of the suite (`suite/NAME.fexp`) and what is read from its cells.

    exact: what is read instead where computing takes no time. fast: whether all other engines are
    too slow for it.
    """

    name: str
    read: Read
    exact: Read | None = None
    fast: bool = False

    @property
    def file(self) -> Path:
        """The experiment's file."""
        return FOLDER / f"{self.name}.fexp"


CASES: tuple[Case, ...] = (
    Case("rate", network.rate, network.exact_rate),
    Case("delay", network.delay, network.exact_delay),
    Case("loss", network.loss),
    Case("buffer", network.buffer),
    Case("waits", queueing.link),
    Case("mixed", queueing.link),
    Case("drops", queueing.losses),
    Case("transfers", transfers.completion, transfers.exact_completion),
    Case("sawtooth", transport.sawtooth),
    Case("pftk", transport.timeouts),
    Case("red", transport.red_exponent),
    Case("reno", transport.square_root),
    Case("equal", transport.equal_flows),
    Case("unequal_rtts", transport.unequal_rtts),
    Case("slow_start", transport.slow_start),
    Case("many", network.trusted),
    Case("gigabit", network.rate, network.exact_rate, fast=True),
    Case("iperf3", transfers.iperf3),
)
