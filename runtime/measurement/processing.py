"""Netems of hosts, transmitters and delay nodes, which packets pass besides queues, as tc reported
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairc.cell.expansion import lower
from fairc.cell.links import VIRTUAL_SLACK_NS
from fairc.compiler.plan import Cell, Impairment

from .artefacts import ArtefactError, Artefacts

Place = tuple[str, str]
QDISCS = "qdisc-before.json"


@dataclass(frozen=True, slots=True)
class Netem:
    """A netem as tc shows it; seed: None where the kernel or tc does not know seeds.

    rate_bps: in whole bytes/s, as the kernel has it; None: it sends what is due at once.
    """

    delay_ns: int
    jitter_ns: int
    limit_packets: int
    seed: int | None
    rate_bps: int | None


@dataclass(frozen=True, slots=True)
class Processing:
    """The hosts' delays of packets, uniform in [0, bound_ns]; bound_ns is 0 where there are none.

    slack_ns: how late the timers of the machine were taken to be, ns. expected: what packets pass
    below interfaces. found: every netem of the network, in the order in which packets pass those
    of an interface.
    """

    bound_ns: int
    slack_ns: int = 0
    expected: Mapping[Place, tuple[Impairment, ...]] = field(default_factory=dict)
    found: Mapping[Place, tuple[Netem, ...]] = field(default_factory=dict)

    @property
    def computing_is_free(self) -> bool:
        """Whether computing took no time on the cell's clock; not known without `slack_ns`."""
        return 0 < self.slack_ns <= VIRTUAL_SLACK_NS

    def delay_of(self, host: str, interface: str) -> Impairment | None:
        """Return how a host delays packets that leave it through an interface."""
        netems = self.expected.get((host, interface), ())
        return next((netem for netem in netems if netem.in_order), None)

    def most_ns(self, host: str, interface: str) -> int:
        """Return the longest that a host takes for a packet that leaves it through an interface."""
        delay = self.delay_of(host, interface)
        return 0 if delay is None else delay.delay_ns + delay.jitter_ns


NONE = Processing(0)


def load(artefacts: Artefacts, cell: Cell) -> Processing:
    """Read the processing from `system.json` and `qdisc-before.json`. Raises ArtefactError."""
    if not (artefacts.folder / "system.json").exists():
        return NONE
    document = artefacts.json("system.json")
    given = document.get("processing") if isinstance(document, dict) else None
    slack_ns = document.get("slack_ns", 0) if isinstance(document, dict) else 0
    if not isinstance(slack_ns, int):
        raise ArtefactError("system.json has a slack_ns that is not an integer")
    bound_ns = 0
    if given is not None:
        if not isinstance(given, dict) or not isinstance(given.get("bound_ns"), int):
            raise ArtefactError("system.json has a processing without an integer bound_ns")
        bound_ns = given["bound_ns"]
    expected = lower(replace(cell, processing_ns=bound_ns))
    found: dict[Place, list[tuple[str, Netem]]] = {}
    for node, entries in artefacts.json(QDISCS).items():
        for entry in entries:
            if entry.get("kind") == "netem" and entry.get("options"):
                netem = str(entry.get("handle", "")), _netem(entry)
                found.setdefault((node, str(entry.get("dev"))), []).append(netem)
    ordered = {
        place: tuple(netem for _, netem in sorted(netems, key=lambda each: each[0]))
        for place, netems in found.items()
    }
    return Processing(bound_ns, slack_ns, expected, ordered)


def _netem(entry: Mapping[str, Any]) -> Netem:
    """Read what `tc -j qdisc show` says; its times are in s, its rates in bytes/s."""
    options = entry.get("options")
    try:
        if not isinstance(options, dict):
            raise TypeError("no options")
        delay, rate = options.get("delay", {}), options.get("rate")
        return Netem(
            delay_ns=round(delay.get("delay", 0) * 1e9),
            jitter_ns=round(delay.get("jitter", 0) * 1e9),
            limit_packets=int(options["limit"]),
            seed=options.get("seed"),
            rate_bps=None if rate is None else 8 * int(rate["rate"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ArtefactError(f"{QDISCS} has a netem that is not as documented: {error!r}") from None
