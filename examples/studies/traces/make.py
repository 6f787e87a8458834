"""Synthetic recordings for `cellular.fexp` and `starlink.fexp`: `python make.py` writes them anew.

Nothing here was recorded. The studies' own recordings are not ours to ship; these have the names
that the specs give them, so whoever has the originals puts them in their place. Standard library
only, seeded: the files are the same on every machine (tests/dsl/test_traces_of_studies.py).

Cellular links (Mahimahi's format: the time of each chance to send 1500 bytes, ms; it repeats after
its last line). The chances are a Poisson process whose rate varies (a Cox process), as in the model
of a cellular link by Winstein et al. (Sprout, NSDI 2013, section 3.1):

    rate(t) = mean * exp(s z(t) - s^2 / 2),   s^2 = ln(1 + cv^2)

z is an Ornstein-Uhlenbeck process, standard normal, correlated by exp(-t / 8 s); their Brownian
motion would wander without bound. Outages begin at `outages` per minute and last exponentially,
1 s on average (their escape rate of 1/s). The whole is scaled to the mean. Means, variation over
1 s and outages are near those of the recordings that come with Mahimahi
(github.com/ravinet/mahimahi, traces; those of Verizon's LTE from the short ones); the courses have
nothing in common with them.

The dish (CSV): every 15 s from 12 s, as Mohan et al. (WWW 2024) found them, a reconfiguration.
Each period has a rate of its own, uniform in 50 to 250 Mbit/s (up: 5 to 25), and a one-way delay,
uniform in 15 to 35 ms, the same both ways. Within it, rows 100 ms apart follow first-order
autoregressions (correlation exp(-t / 1 s)): 10 % of the rate, 1 ms of the delay. A fifth of the
packets is lost in the first 100 ms of a period, one in a thousand later. The numbers are ours.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

SECONDS = 120
PACKET_BITS = 1500 * 8

CELLULAR = {
    # name: mean rate, bit/s; variation of its means over 1 s; outages per minute
    "Verizon-LTE-driving.down": (5.0e6, 0.64, 0.4),
    "Verizon-LTE-driving.up": (6.0e6, 0.53, 0.4),
    "Verizon-EVDO-driving.down": (0.5e6, 0.89, 8.6),
    "Verizon-EVDO-driving.up": (0.85e6, 0.42, 3.8),
    "ATT-LTE-driving.down": (5.2e6, 0.56, 2.7),
    "ATT-LTE-driving.up": (0.85e6, 0.49, 2.7),
    "TMobile-UMTS-driving.down": (2.0e6, 0.78, 5.0),
    "TMobile-UMTS-driving.up": (0.95e6, 0.46, 3.6),
}

CORRELATION_S = 8.0
OUTAGE_S = 1.0

DISH_SECONDS = 300
DISH_HEADER = "time [s], rate [bit/s], delay [ms], loss [%], up_rate [bit/s], up_delay [ms]"


def autoregression(draw: random.Random, step_s: float, correlation_s: float) -> Iterator[float]:
    """Yield a stationary standard normal process, one value per step."""
    kept = math.exp(-step_s / correlation_s)
    value = draw.gauss(0, 1)
    while True:
        yield value
        value = kept * value + math.sqrt(1 - kept * kept) * draw.gauss(0, 1)


def outages(draw: random.Random, per_minute: float) -> list[bool]:
    """Return for each ms whether nothing gets across."""
    out = [False] * (SECONDS * 1000)
    at = draw.expovariate(per_minute / 60)
    while at < SECONDS:
        end = at + draw.expovariate(1 / OUTAGE_S)
        for ms in range(int(at * 1000), min(int(end * 1000), len(out))):
            out[ms] = True
        at = end + draw.expovariate(per_minute / 60)
    return out


def chances(name: str) -> list[int]:
    """Return the times at which a cellular link may send a packet, ms, ascending."""
    mean_bps, variation, per_minute = CELLULAR[name]
    draw = random.Random(name)
    spread = math.sqrt(math.log(1 + variation * variation))
    course = autoregression(draw, 0.001, CORRELATION_S)
    out = outages(draw, per_minute)
    rates = [0.0 if gone else math.exp(spread * next(course)) for gone in out]
    per_ms = mean_bps / PACKET_BITS * SECONDS / sum(rates)
    times = list[int]()
    owed, due = 0.0, draw.expovariate(1)
    for ms, rate in enumerate(rates, 1):
        owed += rate * per_ms
        while owed >= due:
            times.append(ms)
            due += draw.expovariate(1)
    return times


def dish() -> list[str]:
    """Return the lines of the recording of a dish."""
    draw = random.Random("starlink")
    down, up, late = (autoregression(draw, 0.1, 1.0) for _ in range(3))
    lines = [f"# synthetic: made by {Path(__file__).name}, not recorded", DISH_HEADER]
    rate_bps, up_bps, delay_ms = 150e6, 15e6, 25.0
    for row in range(DISH_SECONDS * 10):
        begins = row % 150 == 120
        if begins:
            rate_bps, up_bps = draw.uniform(50e6, 250e6), draw.uniform(5e6, 25e6)
            delay_ms = draw.uniform(15, 35)
        delay = max(delay_ms + next(late), 1.0)
        values = (
            f"{row / 10:.1f}",
            f"{rate_bps * math.exp(0.1 * next(down)) / 1e6:.1f}e6",
            f"{delay:.1f}",
            "20" if begins else "0.1",
            f"{up_bps * math.exp(0.1 * next(up)) / 1e6:.2f}e6",
            f"{delay:.1f}",
        )
        lines.append(",".join(values))
    return lines


def recordings() -> Iterator[tuple[str, str]]:
    """Yield each file's name and its text."""
    for name in CELLULAR:
        yield name, "".join(f"{time}\n" for time in chances(name))
    yield "starlink.csv", "".join(f"{line}\n" for line in dish())


if __name__ == "__main__":
    for name, text in recordings():
        (Path(__file__).parent / name).write_text(text, encoding="ascii", newline="\n")
