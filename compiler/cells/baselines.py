"""Baselines: the cells in which flows are alone, with which values of others are compared.

A baseline is a configuration without some of its flows. Those that are equal are one, whatever the
flows were that are missing, so its configuration is named after what it is, and its bindings are
those of the first configuration, in file order, that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fairc.cell.seeds import canonical
from fairc.dsl.core.diagnostics import Diagnostic
from fairc.dsl.experiment import Experiment
from fairc.dsl.model import Flow, Scenario
from fairc.dsl.model.metric_names import request_label
from fairc.dsl.model.names import called
from fairc.dsl.model.requests import Harm

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
        for name, harms in self._asked(scenario.flows).items():
            flows = [flow for flow in scenario.flows if name in called(flow)]
            if 0 < len(flows) < len(scenario.flows) and self._ends(name, flows, scenario, harms):
                windows = self._windows(harms, lowered.shared.bindings)
                found[name] = lowered.alone({flow.name for flow in flows}, windows)
        return found

    def _asked(self, flows: Iterable[Flow]) -> dict[str, list[Harm]]:
        """Return what of the flows is compared, by the names of those that are alone together."""
        found: dict[str, list[Harm]] = {}
        for harm in self._experiment.requests.harms:
            for name in harm.flows or dict.fromkeys(flow.declared or flow.label for flow in flows):
                found.setdefault(name, []).append(harm)
        return found

    def _windows(self, harms: Sequence[Harm], bindings: Mapping[str, str]) -> str:
        """Return the windows that depend on the configuration, as text."""
        requests = {request.label: request for request in self._experiment.requests.metrics}
        found = {}
        for harm in harms:
            window = requests[request_label(harm.metric)].window
            ends = (window.begin, window.end) if window is not None else ()
            numbers = [end.of(bindings) for end in ends if end is not None and end.names]
            if numbers:
                found[harm.name] = numbers
        return canonical(found) if found else ""

    def _ends(
        self, name: str, flows: Sequence[Flow], scenario: Scenario, harms: Sequence[Harm]
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
                self._experiment.measured_at[request_label(harms[0].name)],
                note=f"`{endless.workload.kind}` sends for as long as the flow lasts, and what"
                " ends the cell is another flow",
                help="give the experiment a `duration`, or the flow a `stop`",
            )
        )
        return False
