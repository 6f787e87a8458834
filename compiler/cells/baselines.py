"""Baselines: the cells in which flows are alone, with which values of others are compared.

A baseline is a configuration without some of its flows. Those that are equal are one, whatever the
flows were that are missing, so its configuration is named after what it is, and its bindings are
those of the first configuration, in file order, that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fairc.cell.seeds import canonical
from fairc.dsl.core.diagnostics import Diagnostic
from fairc.dsl.experiment import Experiment
from fairc.dsl.model import Flow, Scenario
from fairc.dsl.model.metric_names import metric_of, request_label
from fairc.dsl.model.names import called
from fairc.dsl.model.requests import Comparison
from fairc.words.metrics import METRICS

from .grid import Blueprint

Key = tuple[str, ...]
"""The swept values of a configuration."""


@dataclass(slots=True)
class Baseline:
    """A baseline of some configurations.

    example: lowered for the first of them. repetitions: those that any of them has.
    """

    example: Blueprint
    bindings: Mapping[str, str]
    repetitions: set[int] = field(default_factory=set)


class Baselines:
    """The baselines of an experiment, as far as its configurations have been added.

    report: receives what prevents flows from being alone.
    """

    def __init__(self, experiment: Experiment, report: Callable[[Diagnostic], None]) -> None:
        self._experiment = experiment
        self._report = report
        self.found: dict[str, Baseline] = {}
        self._names: dict[Key, Mapping[str, str]] = {}

    @property
    def of_named_flows(self) -> Iterator[Comparison]:
        """The comparisons for which flows are alone because the file names them."""
        every = self._experiment.requests.comparisons
        return (one for one in every if METRICS[metric_of(one.name)].alone is None)

    def concern(self, scenario: Scenario) -> bool:
        """Whether anything in a configuration may follow from baselines."""
        return len(scenario.flows) > 1 and bool(self._asked(scenario.flows))

    @property
    def cells(self) -> int:
        """The number of their cells."""
        return sum(len(baseline.repetitions) for baseline in self.found.values())

    def add(self, key: Key, lowered: Blueprint) -> None:
        """Find the baselines of a configuration, whose swept values are the key."""
        names: dict[str, str] = {}
        for name, alone in self._alone(lowered).items():
            configuration = names[name] = alone.shared.configuration
            made = Baseline(alone, lowered.shared.bindings)
            self.found.setdefault(configuration, made).repetitions.update(lowered.repetitions)
        self._names[key] = names

    def attach(self, key: Key, lowered: Blueprint) -> None:
        """Give a configuration that has been added the baselines that it was found to have."""
        names = self._names.get(key, {})
        lowered.baselines = {
            configuration: alone.named(configuration, self.found[configuration].bindings)
            for name, alone in self._alone(lowered).items()
            if (configuration := names.get(name)) is not None
        }
        lowered.compare_with(names)

    def _alone(self, lowered: Blueprint) -> Mapping[str, Blueprint]:
        """Return the baselines of a configuration by what their flows are called together."""
        scenario = lowered.scenario
        found = {}
        for name, asked in self._asked(scenario.flows).items():
            flows = [flow for flow in scenario.flows if name in called(flow)]
            if 0 < len(flows) < len(scenario.flows) and self._ends(name, flows, scenario, asked):
                windows = self._windows(asked, lowered.shared.bindings)
                found[name] = lowered.alone({flow.name for flow in flows}, windows)
        return found

    def _asked(self, flows: Sequence[Flow]) -> dict[str, list[Comparison]]:
        """Return what follows from baselines, by the names of the flows that are alone in them."""
        found: dict[str, list[Comparison]] = {}
        for comparison in self._experiment.requests.comparisons:
            for name in _alone_for(comparison, flows):
                found.setdefault(name, []).append(comparison)
        return found

    def _windows(self, asked: Sequence[Comparison], bindings: Mapping[str, str]) -> str:
        """Return the windows that depend on the configuration, as text."""
        requests = {request.label: request for request in self._experiment.requests.metrics}
        found = {}
        for comparison in asked:
            window = requests[request_label(comparison.metric)].window
            ends = (window.begin, window.end) if window is not None else ()
            numbers = [end.of(bindings) for end in ends if end is not None and end.names]
            if numbers:
                found[comparison.name] = numbers
        return canonical(found) if found else ""

    def _ends(
        self, name: str, flows: Sequence[Flow], scenario: Scenario, asked: Sequence[Comparison]
    ) -> bool:
        """Whether flows by themselves come to an end; reports it where they do not."""
        ends = [flow.workload.ends or flow.stop_ns is not None for flow in flows]
        limited = scenario.duration_ns is not None or scenario.deadline_ns is not None
        if limited or all(ends) or (scenario.stop == "first" and any(ends)):
            return True
        endless = next(flow for flow, end in zip(flows, ends, strict=True) if not end)
        self._report(
            Diagnostic(
                "endless-baseline",
                f"alone, `{name}` would never end, so there is nothing to compare it with",
                self._experiment.measured_at[request_label(asked[0].name)],
                note=f"`{endless.workload.part.kind}` sends for as long as the flow lasts, and what"
                " ends the cell is another flow",
                help="give the experiment a `duration`, or the flow a `stop`",
            )
        )
        return False


def _alone_for(comparison: Comparison, flows: Sequence[Flow]) -> Iterable[str]:
    """Return the names of those flows of a configuration that are alone for a comparison."""
    alone = METRICS[metric_of(comparison.name)].alone
    if alone is None:
        return comparison.flows or dict.fromkeys(flow.declared or flow.label for flow in flows)
    named = not comparison.flows or any(called(flow) & {*comparison.flows} for flow in flows)
    return [flow.label for flow in flows if named and alone(flow)]
