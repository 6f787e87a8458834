"""Limits of flows other than the network and congestion control, and connections that ended by
themselves: shown next to the answer.

A flow of a configuration is named where the median over the cells that count is above `NOTABLE`, 5
%. Windows are sampled every 100 ms, and a flow's first and last round trips cannot be attributed to
a limit: in a transfer of 10 s they are a few percent, so smaller shares cannot be distinguished
from them. (The buffers of hosts have a sharper rule: the kernel counts their time to the
microsecond, and above 1 % a cell is flagged; measurement.md, rule 7.)
"""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from fairc.dsl.model.names import label_of
from fairc.runtime.formatting import counted, listed, one_line

from .run import Run

NOTABLE = 0.05

NAMES = {
    "window_cap": "the cap of its congestion window",
    "receiver": "its receive window",
    "send_buffer": "its send buffer",
    "application": "its application",
}


def limits(run: Run) -> tuple[str, ...]:
    """Return a sentence on flows that something else limited, and one on those limited by their
    workload.
    """
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell, flow, limit, share in run.rows(
        "SELECT cell, flow, held_by, share FROM limits ORDER BY ALL"
    ):
        outcome = run.outcomes.get(cell)
        if outcome is not None and outcome.counts:
            found[flow, limit][outcome.configuration].append(share)
    held, asked = [], []
    places = {flow: place for place, flow in enumerate(run.flows)}
    order = list(NAMES)

    def place(key: tuple[str, str]) -> tuple[int, int, tuple[str, str]]:
        flow, limit = key
        return places.get(flow, len(places)), order.index(limit) if limit in NAMES else 9, key

    for flow, limit in sorted(found, key=place):
        medians = [median(shares) for shares in found[flow, limit].values()]
        notable = [share for share in medians if share > NOTABLE]
        if not notable:
            continue
        much = _much(notable, len(medians))
        if limit == "application" and not _greedy(run, flow):
            asked.append(f"{one_line(flow)} ({much})")
        else:
            what = NAMES.get(limit, one_line(limit))
            held.append(f"{one_line(flow)} by {what}{_of(run, flow, limit)} ({much})")
    sentences = []
    if held:
        sentences.append(
            "Limited by something other than the network and congestion control for more than"
            f" {_percent(NOTABLE)} of the time: {listed(held)}."
        )
    if asked:
        sentences.append(f"Idle because their workloads had nothing to send: {listed(asked)}.")
    return tuple(sentences)


def _much(shares: list[float], of: int) -> str:
    """Return the share of the time as text; with the number of configurations, where there are
    several.
    """
    low, high = min(shares), max(shares)
    first, last = _percent(low), _percent(high)
    time = last if first == last else f"{first} to {last}"
    if of == 1:
        return f"{time} of its time"
    return f"{time} of its time in {len(shares)} of {counted(of, 'configuration')}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _greedy(run: Run, name: str) -> bool:
    """Whether a flow always has data to send until everything has been sent."""
    flows = (flow for scene in run.scenes.values() for flow in scene.flows)
    return all(flow.workload.greedy for flow in flows if label_of(flow) == name)


def _of(run: Run, name: str, limit: str) -> str:
    """Describe a cap with its size."""
    if limit != "window_cap":
        return ""
    flows = [f for scene in run.scenes.values() for f in scene.flows if label_of(f) == name]
    caps = {
        cap
        for f in flows
        for parameters in (f.cca_parameters, getattr(f.workload, "quic_parameters", {}))
        if (cap := parameters.get("max_window_packets")) is not None
    }
    return f" of {listed([f'{cap:g}' for cap in sorted(caps)])} packets" if caps else ""


def given_up(run: Run) -> tuple[str, ...]:
    """Return a sentence on the connections that their transports gave up, if there are any.

    Of each flow the first one is told; cells that do not count are left out.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for cell, flow, ends in run.rows(
        "SELECT cell, flow, given_up FROM flows WHERE len(given_up) > 0 ORDER BY ALL"
    ):
        outcome = run.outcomes.get(cell)
        if outcome is not None and outcome.counts:
            found[flow] += ends
    if not found:
        return ()
    flows = [f"{one_line(flow)}, {one_line(ends[0])}{_more(ends)}" for flow, ends in found.items()]
    return (f"Connections that ended by themselves: {listed(flows)}.",)


def _more(ends: list[str]) -> str:
    return f" (and {len(ends) - 1} more)" if ends[1:] else ""
