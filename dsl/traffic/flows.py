"""From a flow block to a flow: every key is evaluated and checked, and refused if it cannot run
yet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from fairc.dsl import model
from fairc.dsl.blocks import Block, Settings
from fairc.dsl.core.diagnostics import Diagnostic, Label
from fairc.dsl.core.entries import Use
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.values import Quantity
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.text import syntax
from fairc.words.blocks import flow as keys
from fairc.words.ccas import Setting
from fairc.words.distributions import distribution
from fairc.words.workloads import Bulk, Iperf3, Load
from fairc.words.workloads.bulk import WINDOW

from .images import check_image
from .iperf3 import check_iperf3
from .load import INITIAL_WINDOW_PACKETS, check_load, control_of_load, remark
from .transports import Control, check_workload, control_of, options_of


def build_flow(
    flow: syntax.Flow, scope: Scope, hosts: Settings, report: Callable[[Diagnostic], None]
) -> model.Flow:
    """Return the flow with every name resolved.

    hosts: the settings of `hosts`. report: takes warnings. Raises CompileError with
    everything wrong in it, `not-yet` included.
    """
    return _Building(flow, scope, hosts, report).flow()


class _Building:
    """A flow being built: each step adds the errors it finds, and later ones do without what
    failed.
    """

    def __init__(
        self,
        flow: syntax.Flow,
        scope: Scope,
        hosts: Settings,
        report: Callable[[Diagnostic], None],
    ) -> None:
        self._gather = Gather()
        self._name, self._span = flow.name.text, flow.name.span
        self._hosts, self._report = hosts, report
        block = Block(self._span, flow.settings.items, keys.FLOW, "a flow")
        with self._gather.attempt():
            block.checked()
        self._settings = block.read(scope, self._gather)
        self._use = self._settings.given(keys.WORKLOAD)
        self._workload: model.Workload | None = None
        self._control: Control | None = None
        self._quic: Mapping[str, Setting] = {}
        self._options: model.Options | None = None

    def flow(self) -> model.Flow:
        """Return the flow. Raises CompileError."""
        attempt, settings = self._gather.attempt, self._settings
        with attempt():
            self._workload = self._use.entry.build(self._use) if self._use else None
        with attempt():
            self._choose_control()
        with attempt():
            if isinstance(self._workload, Load):
                check_load(self._workload, settings)
        with attempt():
            self._take_window()
        with attempt():
            if self._control is not None and self._control.image is not None and self._use:
                check_image(self._use, settings)
        with attempt():
            self._choose_options()
        with attempt():
            self._check_workload()
        with attempt():
            self._check_order()
        self._gather.finish()
        return self._built()

    def _choose_control(self) -> None:
        """Set the transport and the CCA; those of a page load follow from its HTTP version."""
        if self._settings.failed(keys.OVER, keys.CCA):
            return
        over, cca = self._settings.given(keys.OVER), self._settings.given(keys.CCA)
        if isinstance(self._workload, Load):
            self._control, self._quic = control_of_load(self._workload, cca, self._span)
        elif self._use is None or self._use.entry.name != Load.kind:
            self._control = control_of(over, cca, self._span)

    def _take_window(self) -> None:
        """Use the window of `bulk(window: ...)` as the flow's; refuse a second one."""
        argument = None
        if self._use is not None and isinstance(self._workload, Bulk):
            argument = self._use.given(WINDOW)
        if argument is None:
            return
        if keys.WINDOW in self._settings:
            fail(
                "duplicate-key",
                "the receive window is given twice",
                self._settings[keys.WINDOW].span,
                labels=(Label(argument.span, "given here, too"),),
                help="keep one of them",
            )
        self._settings.typed[keys.WINDOW.name] = argument

    def _choose_options(self) -> None:
        if self._control is not None:
            packets = INITIAL_WINDOW_PACKETS if isinstance(self._workload, Load) else 10
            self._options = options_of(self._control, self._settings, self._hosts, packets)

    def _check_workload(self) -> None:
        if self._control is None or self._use is None:
            return
        with self._gather.attempt():
            check_workload(self._control, self._use, self._settings.given(keys.RATE), self._span)
        if isinstance(self._workload, Iperf3) and self._options is not None:
            check_iperf3(self._workload.plan, self._control, self._options, self._settings)

    def _check_order(self) -> None:
        start, stop = self._settings.given(keys.START), self._settings.given(keys.STOP)
        begin = start.number if isinstance(start, Quantity) else 0
        if stop is not None and stop.number <= begin:
            fail(
                "out-of-range",
                f"the flow `{self._name}` stops before it starts",
                stop.span,
                note=f"this is {stop.canonical}",
                help="`stop` is counted from the start of the cell, like `start`",
            )

    def _built(self) -> model.Flow:
        """Return the flow, once all of its parts are valid."""
        control, workload, settings = self._control, self._workload, self._settings
        assert control is not None and workload is not None and self._options is not None
        if isinstance(workload, Load) and self._use is not None:
            remark(workload, self._use.span, self._report)
        start, stop = settings.given(keys.START), settings.given(keys.STOP)
        rate, users = settings.given(keys.RATE), settings.given(keys.USERS)
        return model.Flow(
            name=self._name,
            server=settings[keys.FROM].name,
            client=settings[keys.TO].name,
            connections=settings[keys.COUNT].whole,
            cca=control.cca,
            workload=workload,
            start_ns=start.ns if isinstance(start, Quantity) else None,
            stop_ns=None if stop is None else stop.ns,
            span=self._span,
            random_start=distribution(start) if isinstance(start, Use) else None,
            declared=self._name,
            users=None if users is None else users.name,
            transport=control.transport,
            cca_parameters=control.parameters,
            own_cca=control.own,
            options=self._options,
            rate_bps=None if rate is None else max(1, round(rate.number)),
            extra_rtt_ns=settings[keys.RTT].ns,
            quic_parameters=self._quic,
            image=control.image,
            ecn_given=settings.span(keys.ECN) or self._hosts.span(keys.ECN),
        )


def named_ends(flow: syntax.Flow, built: model.Flow, hosts: Collection[str]) -> model.Flow:
    """Return a flow whose `from` and `to` are nodes, even if something else has the same name.

    `to = c1` means the node `c1` even if `c1` is also swept, when its value is not a node.
    """
    ends = {"from": built.server, "to": built.client}
    for setting in flow.settings.items:
        key, value = setting.key.text, setting.value
        bare = isinstance(value, syntax.Name) and not value.rest
        if key in ends and ends[key] not in hosts and bare and value.span.text in hosts:
            ends[key] = value.span.text
    if (ends["from"], ends["to"]) == (built.server, built.client):
        return built
    return replace(built, server=ends["from"], client=ends["to"])


def check_ends(flow: syntax.Flow, built: model.Flow, network: model.Network) -> None:
    """Raise CompileError unless the ends of a flow are two different hosts of the network."""
    gather = Gather()
    hosts = {node.name for node in network.nodes if node.kind == "host"}
    for key, default, name in (("from", "server", built.server), ("to", "client", built.client)):
        setting = next((s for s in flow.settings.items if s.key.text == key), None)
        span = setting.value.span if setting else flow.name.span
        with gather.attempt():
            if name in hosts:
                continue
            router = any(node.name == name for node in network.nodes)
            if setting is None:
                fail(
                    "missing-key",
                    f"the flow `{flow.name.text}` needs `{key}`: this topology has no node "
                    f"called `{default}`",
                    span,
                    help=f"nodes: {', '.join(sorted(hosts))}",
                )
            fail(
                "unknown-node",
                f"`{name}` is a router; flows start and end at nodes"
                if router
                else f"this topology has no node called `{name}`",
                span,
                help=f"nodes: {', '.join(sorted(hosts))}",
            )
    if built.server == built.client and not gather.found:
        with gather.attempt():
            fail(
                "same-ends",
                f"the flow `{flow.name.text}` goes from `{built.server}` to itself",
                flow.name.span,
                note="traffic inside a host takes no time: a virtual clock would stand still",
                help="data that never leaves a host measures no network: give it another `to`",
            )
    gather.finish()
