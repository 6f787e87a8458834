"""The hosts' processing time per packet: as the cell's program set it up, and as tc reported it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairc.compiler.plan import Cell, Impairment
from fairc.compiler.targets.processing import Nic, nics

from .artefacts import ArtefactError, Artefacts

Place = tuple[str, str]
QDISCS = "qdisc-before.json"


@dataclass(frozen=True, slots=True)
class Netem:
    """A netem as tc shows it; seed: None where the kernel or tc does not know seeds."""

    delay_ns: int
    jitter_ns: int
    limit_packets: int
    seed: int | None
    in_order: bool


@dataclass(frozen=True, slots=True)
class Processing:
    """The hosts' delays of packets, uniform in [0, bound_ns]; bound_ns is 0 where there are none.

    expected: the interfaces below those of the hosts. found: the netem at each of them.
    """

    bound_ns: int
    expected: tuple[Nic, ...] = ()
    found: Mapping[Place, Netem] = field(default_factory=dict)

    def delay_of(self, host: str, interface: str) -> Impairment | None:
        """Return what happens to packets that leave a host through an interface."""
        for nic in self.expected:
            if (nic.node, nic.upper.name) == (host, interface):
                return nic.impairment
        return None


OFF = Processing(0)


def load(artefacts: Artefacts, cell: Cell) -> Processing:
    """Read the processing from `system.json` and `qdisc-before.json`. Raises ArtefactError."""
    if not (artefacts.folder / "system.json").exists():
        return OFF
    document = artefacts.json("system.json")
    given = document.get("processing") if isinstance(document, dict) else None
    if given is None:
        return OFF
    if not isinstance(given, dict) or not isinstance(given.get("bound_ns"), int):
        raise ArtefactError("system.json has a processing without an integer bound_ns")
    bound_ns: int = given["bound_ns"]
    expected = nics(cell.model_copy(update={"processing_ns": bound_ns}))
    places = {(nic.node, nic.name) for nic in expected.values()}
    found = {
        (node, entry["dev"]): _netem(entry)
        for node, entries in artefacts.json(QDISCS).items()
        for entry in entries
        if entry.get("kind") == "netem" and (node, entry.get("dev")) in places
    }
    return Processing(bound_ns, tuple(expected.values()), found)


def _netem(entry: Mapping[str, Any]) -> Netem:
    """Read what `tc -j qdisc show` says; its times are in s."""
    options = entry.get("options")
    try:
        if not isinstance(options, dict):
            raise TypeError("no options")
        delay = options.get("delay", {})
        return Netem(
            delay_ns=round(delay.get("delay", 0) * 1e9),
            jitter_ns=round(delay.get("jitter", 0) * 1e9),
            limit_packets=int(options["limit"]),
            seed=options.get("seed"),
            in_order="rate" in options,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ArtefactError(f"{QDISCS} has a netem that is not as documented: {error!r}") from None
