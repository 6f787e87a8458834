"""Units and dimensions: every quantity is an exact fraction of SI base units (bits for data)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple


class Dimension(NamedTuple):
    """The exponents of a quantity's base units. `percent` marks a dimensionless share."""

    data: int = 0
    time: int = 0
    packet: int = 0
    bdp: int = 0
    percent: int = 0

    def __str__(self) -> str:
        """Name the dimension in a message."""
        if self in PHRASES:
            return PHRASES[self]
        bases = zip(("bit", "s", "pkt", "bdp"), self, strict=False)
        return "a quantity in " + " * ".join(f"{b}^{e}" for b, e in bases if e)

    def times(self, other: Dimension, sign: int = 1) -> Dimension:
        """Return the dimension of a product (sign 1) or a quotient (sign -1)."""
        exponents = [a + sign * b for a, b in zip(self[:4], other[:4], strict=True)]
        share = self.percent or other.percent if sign > 0 else self.percent and not other.percent
        data, time, packet, bdp = exponents
        return Dimension(data, time, packet, bdp, int(bool(share) and not any(exponents)))


NUMBER = Dimension()
SHARE = Dimension(percent=1)
TIME = Dimension(time=1)
DATA = Dimension(data=1)
RATE = Dimension(data=1, time=-1)
PACKETS = Dimension(packet=1)
PACKET_RATE = Dimension(packet=1, time=-1)
BDP = Dimension(bdp=1)
FREQUENCY = Dimension(time=-1)

SIZES = (BDP, PACKETS, DATA)
"""Amounts of data: numbers of bytes once path and MTU are known. A time is one at a link's rate."""

PHRASES = {
    NUMBER: "a number without a unit",
    SHARE: "a percentage",
    TIME: "a time",
    DATA: "a size",
    RATE: "a rate",
    PACKETS: "a number of packets",
    PACKET_RATE: "a packet rate",
    BDP: "a multiple of the BDP",
    FREQUENCY: "a frequency",
}

EXAMPLES = {
    NUMBER: "3",
    SHARE: "1%",
    TIME: "50ms",
    DATA: "10MB",
    RATE: "1Mbit/s",
    PACKETS: "10pkt",
    PACKET_RATE: "10pkt/s",
    BDP: "2bdp",
    FREQUENCY: "10/s",
}


SI = {
    NUMBER: "1",
    SHARE: "1",
    TIME: "s",
    DATA: "B",
    RATE: "bit/s",
    PACKETS: "pkt",
    PACKET_RATE: "pkt/s",
    BDP: "bdp",
    FREQUENCY: "1/s",
}
"""The unit of each dimension's numbers in a plan; a share is a number."""


class Unit(NamedTuple):
    """A unit: how many base units it is, and of what. `shown`: whether canonical text uses it."""

    factor: Fraction
    dimension: Dimension
    shown: bool = True


def _units() -> dict[str, Unit]:
    prefixes = (("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12))
    units = {"": Unit(Fraction(1), NUMBER)}
    for prefix, exponent in prefixes:
        units[f"{prefix}bit/s"] = Unit(Fraction(10) ** exponent, RATE)
    for prefix, exponent in prefixes:
        units[f"{prefix}B"] = Unit(8 * Fraction(10) ** exponent, DATA)
    for power, prefix in ((1, "Ki"), (2, "Mi"), (3, "Gi")):
        units[f"{prefix}B"] = Unit(8 * Fraction(1024) ** power, DATA, shown=False)
    units["pkt"] = Unit(Fraction(1), PACKETS)
    units["bdp"] = Unit(Fraction(1), BDP)
    for name, exponent in (("ns", -9), ("us", -6), ("ms", -3), ("s", 0)):
        units[name] = Unit(Fraction(10) ** exponent, TIME)
    units["min"] = Unit(Fraction(60), TIME, shown=False)
    units["h"] = Unit(Fraction(3600), TIME, shown=False)
    units["%"] = Unit(Fraction(1, 100), SHARE)
    units["pkt/s"] = Unit(Fraction(1), PACKET_RATE)
    units["/s"] = Unit(Fraction(1), FREQUENCY)
    return units


UNITS = _units()

SHOWN: dict[Dimension, list[tuple[str, Fraction]]] = {}
for _name, _unit in UNITS.items():
    if _unit.shown:
        SHOWN.setdefault(_unit.dimension, []).append((_name, _unit.factor))

MISSPELT = {
    "Mbps": "Mbit/s",
    "kbps": "kbit/s",
    "Kbps": "kbit/s",
    "Gbps": "Gbit/s",
    "bps": "bit/s",
    "Mb/s": "Mbit/s",
    "kb/s": "kbit/s",
    "Gb/s": "Gbit/s",
    "Kbit/s": "kbit/s",
    "mbit/s": "Mbit/s",
    "gbit/s": "Gbit/s",
    "Mbit": "Mbit/s",
    "kbit": "kbit/s",
    "Gbit": "Gbit/s",
    "KB": "kB",
    "mb": "MB",
    "b": "B",
    "bytes": "B",
    "byte": "B",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
    "second": "s",
    "msec": "ms",
    "usec": "us",
    "m": "ms",
    "minutes": "min",
    "mins": "min",
    "hours": "h",
    "hour": "h",
    "packets": "pkt",
    "packet": "pkt",
    "pkts": "pkt",
    "p": "pkt",
    "BDP": "bdp",
    "percent": "%",
    "Hz": "/s",
    "MB/s": "Mbit/s",
    "kB/s": "kbit/s",
    "GB/s": "Gbit/s",
}
"""Common other spellings of units.

`MB/s` also needs a factor of 8, and `m` may mean minutes: see expressions/evaluate.
"""


def in_si(numbers: Iterable[Fraction], dimension: Dimension) -> tuple[tuple[float, ...], str]:
    """Return numbers of base units as a plan holds them, and their unit: bytes for sizes."""
    factor = 8 if dimension == DATA else 1
    return tuple(float(number / factor) for number in numbers), SI.get(dimension, str(dimension))


def canonical(number: Fraction, dimension: Dimension) -> str:
    """Return the one canonical text of a quantity, which parses back to it.

    The shortest decimal among the units in which it is at least 1; an integer, then the larger
    unit, wins a tie. A value without a finite decimal becomes a quotient.
    """
    units = SHOWN.get(dimension)
    if units is None:  # a product such as bit*s has no unit of its own
        return f"{number.numerator}/{number.denominator} {dimension}"
    if number < 0:
        return f"-{canonical(-number, dimension)}"
    if number == 0:
        return f"0{next(name for name, factor in units if factor == 1 or name in ('%', 'B'))}"
    best: tuple[int, bool, Fraction, str] | None = None
    smallest = min(factor for _, factor in units)
    for name, factor in units:
        amount = number / factor
        text = _decimal(amount)
        if text is None or (amount < 1 and factor != smallest):
            continue
        long = len(text) + len(name) + (amount >= 10**6)
        candidate = (long, "." in text, -factor, text + name)
        best = min(best, candidate) if best else candidate
    if best:
        return best[3]
    name, factor = min(units, key=lambda unit: unit[1])
    amount = number / factor
    return f"{amount.numerator}{name}/{amount.denominator}"


def _decimal(value: Fraction) -> str | None:
    """Write a fraction as an exact decimal, or return None if that takes more than 15 places."""
    scaled = value * 10**15
    if scaled.denominator != 1:
        return None
    whole, rest = divmod(scaled.numerator, 10**15)
    return f"{whole}.{rest:015d}".rstrip("0").rstrip(".")
