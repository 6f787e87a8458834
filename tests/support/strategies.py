"""Hypothesis strategies: values, whole experiments as text, and ways of breaking text."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from fairc.dsl.core.units import SHOWN, Dimension

RUNNING_CCAS = ("cubic", "bbr", "reno", "vegas")

names = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).map("n_".__add__)
"""Identifiers that are neither keywords nor words of a registry."""

dimensions: st.SearchStrategy[Dimension] = st.sampled_from(sorted(SHOWN))

numbers = st.fractions(
    min_value=Fraction(-(10**9)), max_value=Fraction(10**9), max_denominator=10**6
)

times = st.builds("{}{}".format, st.integers(1, 999), st.sampled_from(["us", "ms", "s"]))
rates = st.builds("{}{}".format, st.integers(1, 999), st.sampled_from(["kbit/s", "Mbit/s"]))
sizes = st.builds("{}{}".format, st.integers(4, 999), st.sampled_from(["kB", "KiB", "MB"]))
shares = st.builds("{}%".format, st.integers(0, 99))
queue_sizes = (
    sizes | times | st.builds("{}{}".format, st.integers(2, 99), st.sampled_from(["pkt", "bdp"]))
)


def _listed(values: list[str]) -> str:
    return f"[{', '.join(values)}]"


@dataclass(frozen=True)
class Spec:
    """A generated experiment: its text, the values of each axis, and its repetitions."""

    text: str
    axes: dict[str, list[str]]
    repeat: int


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """Draw an experiment without errors that runs already, and what it should come to."""
    axes: dict[str, list[str]] = {}

    def value(strategy: st.SearchStrategy[str]) -> str:
        """Draw a value, or sweep a new name over several of them."""
        if len(axes) < 4 and draw(st.booleans()):
            name = f"x{len(axes)}"
            axes[name] = draw(st.lists(strategy, min_size=1, max_size=4, unique=True))
            return name
        return draw(strategy)

    rate, rtt, loss, queue = value(rates), value(times), value(shares), value(queue_sizes)
    flows = [
        f"flow f{i} {{ cca = {value(st.sampled_from(RUNNING_CCAS))}  "
        f"count = {draw(st.integers(1, 5))}  workload = file({value(sizes)}) }}"
        for i in range(draw(st.integers(1, 3)))
    ]
    repeat = draw(st.integers(1, 8))
    swept = "\n".join(f"    {name} = {_listed(values)}" for name, values in axes.items())
    body = "\n  ".join(
        [
            f"sweep {{\n{swept}\n  }}" if axes else "# nothing is swept",
            f"topology = bottleneck(rate: {rate}, rtt: {rtt}, loss: {loss}, queue: fifo({queue}))",
            *flows,
            f"repeat = {repeat}",
            "measure = [goodput]",
        ]
    )
    return Spec(f"fexp 1\n\nexperiment e {{\n  {body}\n}}\n", axes, repeat)


_SIGNS = ("{", "}", "(", ")", "[", "]", ",", "=", ":", "..", "-", "--", "->", '"', "#", "%")
_WORDS = ("sweep", "flow", "topology", "link", "not", "per", "ms", "bdp", "$(reboot)", "let a = a")
_NUMBERS = ("0", "1e9", "99999999999")
_STRANGE = ("\0", "\t", "\r", "\n", " ", "\u201c", "\u202e", "\u0430")
_INSERTS = st.sampled_from((*_SIGNS, *_WORDS, *_NUMBERS, *_STRANGE))


@st.composite
def mutations(draw: st.DrawFn, texts: list[str]) -> str:
    """Draw one of the texts, broken in a few places."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 0, 1, 2, 5, 20]))
        part = text[start : start + length]
        kind = draw(st.sampled_from(["delete", "insert", "double", "move"]))
        if kind == "delete":
            text = text[:start] + text[start + length :]
        elif kind == "insert":
            text = text[:start] + draw(_INSERTS) + text[start + length :]
        elif kind == "double":
            text = text[:start] + part * 2 + text[start + length :]
        else:
            other = draw(st.integers(0, len(text)))
            text = text[:other] + part + text[other:]
    return text
