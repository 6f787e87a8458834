"""Metrics as they are named: `goodput`, `rtt.p95(ping, from: 5s)`, or one of the file's own.

An instance is a metric with its flows, its options and its window. The first of a metric in
`measure` has the metric's own names; the names of any other end with what makes it another one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from fairc.dsl.blocks import Block
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entry, Use, bind, signature
from fairc.dsl.core.kinds import A_TIME
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import Registry, listed, refuse_unknown, suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import in_si
from fairc.dsl.core.values import Applied, Quantity, Symbol, Value
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.grid.sampling import Bindings
from fairc.dsl.model.expressions import Amount
from fairc.dsl.model.metric_names import metric_of, request_label
from fairc.dsl.model.names import base
from fairc.dsl.model.requests import Comparison, MetricRequest, Window
from fairc.dsl.text import syntax
from fairc.words.blocks.experiment import DURATION, WARMUP
from fairc.words.metric_entry import FROM, TO, WINDOW, MetricEntry
from fairc.words.metrics import METRICS

from .amounts import Row, Sweep, amount

Option = float | str | Amount


@dataclass(frozen=True)
class Instance:
    """A metric as it is named in one place.

    value: its name and that of a sub-value, `rtt.p95`. given: its options and its window as text,
    each with its name.
    """

    entry: MetricEntry
    value: str
    sessions: tuple[str, ...]
    options: Mapping[str, Option]
    window: Window | None
    given: tuple[str, ...]
    span: Span

    @property
    def identity(self) -> tuple[object, ...]:
        """The key that instances share which are computed together."""
        entry, flows = self.entry, self.sessions
        if not entry.of_cell:  # a single flow is compared with all others
            flows = () if entry.of_each or len(flows) < 2 else tuple(sorted(flows))
        return (entry.name, flows, self.given)

    @property
    def is_bare_value(self) -> bool:
        """Whether it is a sub-value that is named without arguments."""
        return "." in self.value and not self.given and not self.sessions

    @property
    def is_plain(self) -> bool:
        """Whether it is named without anything that makes it another one."""
        return not self.given and not (self.entry.of_cell and self.sessions)

    @property
    def mark(self) -> str:
        """The end of its values' names, unless it has the metric's own."""
        told = (*self.sessions, *self.given) if self.entry.of_cell else self.given
        return f"({', '.join(told)})" if told else ""

    def request(self, *, marked: bool) -> MetricRequest:
        """Return what is computed of it."""
        return MetricRequest(
            name=self.entry.name,
            sessions=self.sessions,
            options={k: v for k, v in self.options.items() if not isinstance(v, Amount)},
            varied={k: v for k, v in self.options.items() if isinstance(v, Amount)},
            values=(self.value,),
            window=self.window,
            mark=self.mark if marked else "",
        )


class Namer:
    """Reads the names of metrics in an experiment, and keeps what has to be computed for them.

    metrics: the built-in ones, and the file's own once they are known. flows: every name that
    stands for flows. at: the experiment. block: its settings, which say when a cell ends.
    places: where each request is written, by its label. unasked: label and flows of those that
    only something else needs, and that may have no values.
    """

    def __init__(self, flows: Collection[str], sweep: Sweep, block: Block, at: Span) -> None:
        self.metrics: Registry[MetricEntry] = METRICS
        self.flows = flows
        self.sweep = sweep
        self._block = block
        self._at = at
        self._measured: list[tuple[Instance, MetricRequest]] = []
        self._implied: dict[tuple[str, tuple[str, ...]], MetricRequest] = {}
        self._named: list[tuple[Instance, MetricRequest]] = []
        self.places: dict[str, Span] = {}
        self.unasked: set[tuple[str, tuple[str, ...]]] = set()

    # what a name means

    def read(self, node: syntax.Expr, use: str) -> Instance:
        """Return the metric that an expression names. Raises CompileError."""
        given = node.arguments if isinstance(node, syntax.Call) else ()
        keyed = [argument.value for argument in given if argument.key is not None]
        if not self.sweep.used(keyed):
            bound, value = self._bound(node, self._scope({}), use)
            found: Mapping[Row, Use[MetricEntry]] = {(): bound}
        else:
            pairs = self.sweep.each(keyed, lambda b: self._bound(node, self._scope(b), use))
            found = {row: bound for row, (bound, _) in pairs.items()}
            value = next(iter(pairs.values()))[1]
        first = next(iter(found.values()))
        options = {
            name: self._option(name, found, keyed)
            for name in first.arguments
            if name not in {p.name for p in first.entry.parameters if p.repeated}
        }
        bounds = WINDOW if first.entry.takes_window else ()
        ends = {p: options.pop(p.name, (None, "")) if p in bounds else (None, "") for p in WINDOW}
        begin, end = (_amount(*ends[p]) for p in WINDOW)
        window = Window(begin=begin, end=end) if begin or end else None
        if window is not None:
            self._check_window(first, value, node)
        return Instance(
            first.entry,
            value,
            tuple(v.name for v in first.repeated if isinstance(v, Symbol)) or first.entry.flows,
            {name: option for name, (option, _) in options.items()},
            window,
            tuple(
                f"{name}: {text}"
                for name, text in (
                    *((name, text) for name, (_, text) in options.items()),
                    *((p.name, text) for p, (_, text) in ends.items() if text),
                )
            ),
            node.span,
        )

    @property
    def scope(self) -> Scope:
        """The scope of what no swept name changes."""
        return self._scope({})

    def _scope(self, bound: Bindings) -> Scope:
        """Return a scope in which flows take precedence over other things of their names."""
        lets = self.sweep.lets
        flows = {n: Symbol(n, self._at) for n in self.flows if n in lets or n in bound}
        scope = Scope(flows, lets, self.sweep.grid.scope(bound) if bound else None)
        scope.dotted = True
        return scope

    def _bound(self, node: syntax.Expr, scope: Scope, use: str) -> tuple[Use[MetricEntry], str]:
        """Return the checked use of a metric, and its name with that of its sub-value."""
        item, name = self._parted(self._placed(evaluate(node, scope), node))
        if isinstance(item, Applied) and item.name in self.metrics:
            self._check_arguments(self.metrics[item.name], item)
        bound = bind(self.metrics, item, use)
        self._check_flows(bound)
        return bound, name or bound.entry.name

    def _placed(self, item: Value, node: syntax.Expr) -> Value:
        """Return an item; a metric with the name of a flow (`goodput`) is where it is written."""
        if isinstance(item, Symbol) and item.span == self._at:
            return Symbol(item.name, node.span)
        return item

    def _parted(self, item: Value) -> tuple[Value, str]:
        """Return a metric without its sub-value, and both together: `queue_delay`,
        `queue_delay.p95`.
        """
        if not isinstance(item, Symbol | Applied):
            return item, ""
        whole = item.name_span
        self._require_call(item.name, whole)
        if "." not in item.name:
            return item, ""
        name, *rest = item.name.split(".")
        span = whole.first(len(name))
        check_sub_values(self.metrics.get(name, span), rest, whole)
        if isinstance(item, Applied):
            return replace(item, name=name, name_span=span), item.name
        return Symbol(name, span), item.name

    def _require_call(self, name: str, at: Span) -> None:
        """Raise CompileError for `goodput[a]` and `a.goodput`, as other languages write a flow."""
        metric, _, rest = name.partition("[")
        flow, _, value = name.partition(".")
        if rest and metric in self.metrics:
            called = f"{metric}({rest.removesuffix(']')})"
        elif flow in self.flows and flow not in self.metrics and value in self.metrics:
            called = f"{value}({flow})"
        else:
            return
        fail(
            "unknown-metric",
            f"no metric is called `{name}`",
            at,
            note="a flow stands in parentheses behind a metric",
            help=f"write `{called}`",
        )

    def _check_arguments(self, entry: MetricEntry, item: Applied) -> None:
        """Raise CompileError for a window of a metric that has none, and for options without a
        name.
        """
        bare = next((a for a in item.arguments if a.key is None), None)
        if bare is not None and not any(p.repeated for p in entry.parameters):
            fail(
                "too-many-arguments",
                f"`{entry.name}` takes no argument without a name",
                bare.place,
                help=signature(entry.name, [p.name for p in entry.parameters]),
            )
        own = {p.name for p in entry.parameters}
        bounds = {FROM.name, TO.name} - own
        asked = next((a for a in item.arguments if a.key in bounds), None)
        if asked is not None and not entry.takes_window:
            windowed = ", ".join(m.name for m in self.metrics if m.takes_window)
            fail(
                "no-window",
                f"`{entry.name}` cannot be measured in a part of a cell's time",
                asked.place,
                note="it is no rate, level or share over time",
                help=f"metrics with a window: {windowed}",
            )

    def _check_flows(self, use: Use[MetricEntry]) -> None:
        """Raise CompileError for flows that do not exist, or occur twice."""
        gather = Gather()
        met: dict[str, Span] = {}
        for session in use.repeated:
            if not isinstance(session, Symbol):
                continue
            with gather.attempt():
                if session.name in met:
                    fail(
                        "duplicate-argument",
                        f"`{session.name}` is given twice",
                        session.span,
                        labels=(Label(met[session.name], "given here first"),),
                    )
            met.setdefault(session.name, session.span)
            if session.name not in self.flows:
                with gather.attempt():
                    refuse_flow(session.name, session.span, self.flows)
        gather.finish()

    def _option(
        self, name: str, found: Mapping[Row, Use[MetricEntry]], keyed: Sequence[syntax.Expr]
    ) -> tuple[Option, str]:
        """Return an option, which may depend on the configuration, and its text."""
        values = {row: use.arguments[name] for row, use in found.items()}
        first = next(iter(values.values()))
        if len({value.canonical for value in values.values()}) == 1:
            return _plain(first), first.canonical
        numbers = {row: _plain(value) for row, value in values.items()}
        text = first.span.one_line
        if any(isinstance(number, str) for number in numbers.values()):
            fail(
                "wrong-type",
                f"`{name}` is one word for all configurations",
                first.span,
                help="write two metrics: `metric NAME = ...`",
            )
        known = {row: number for row, number in numbers.items() if isinstance(number, float)}
        return amount(text, self.sweep.used(keyed), known), text

    def _check_window(self, use: Use[MetricEntry], value: str, node: syntax.Expr) -> None:
        """Raise CompileError for a window that is empty, or beyond the end of a cell."""
        given = node.arguments if isinstance(node, syntax.Call) else ()
        named = {a.key.text: a.value for a in given if a.key is not None}
        ends = {p.name: named[p.name] for p in WINDOW if p.name in named}
        if value.partition(".")[2] in use.entry.outside_windows:
            fail(
                "no-window",
                f"`{value}` cannot be measured in a part of a cell's time",
                use.places[next(iter(ends))],
                note="it is of the whole cell",
                help=f"leave the window out: `{value}`",
            )
        block = self._block
        keys = [
            block.settings[key.name].value
            for key in (DURATION, WARMUP)
            if key.name in block.settings
        ]

        def check(bound: Bindings) -> None:
            scope = self.sweep.grid.scope(bound)
            begin, end = (
                A_TIME.take(evaluate(ends[p.name], scope), f"`{p.name}`")
                if p.name in ends
                else None
                for p in WINDOW
            )
            lasts = block.given(DURATION, scope)
            first = begin or block.get(WARMUP, scope)
            last = end or lasts
            where = ", ".join(f"{name} = {found.canonical}" for name, found in bound.items())
            here = f" where {where}" if where else ""
            if last is not None and last.number <= first.number:
                fail(
                    "empty-window",
                    f"this window is empty{here}",
                    (end or begin or last).span,
                    note=f"{first.canonical} to {last.canonical}",
                    help="it begins at `from`, else after the warm-up, and ends at `to`, else with"
                    " the cell",
                )
            if end is not None and lasts is not None and end.number > lasts.number:
                fail(
                    "empty-window",
                    f"this window ends after the cell{here}",
                    end.span,
                    note=f"{end.canonical}, and the cell lasts {lasts.canonical}",
                    help="times are those of the cell, from its start; leave `to` out for its end",
                )

        self.sweep.each([*ends.values(), *keys], check)

    # what is computed

    def measure(self, found: Sequence[Instance]) -> tuple[MetricRequest, ...]:
        """Return the requests of `measure`, whatever the order of its items; instances of one
        identity are one request.

        Raises CompileError with everything wrong.
        """
        gather = Gather()
        together: dict[tuple[object, ...], list[Instance]] = {}
        for instance in found:
            with gather.attempt():
                meant = _meant(instance, found)
                together.setdefault(meant.identity, []).append(meant)
        requests = []
        for instances in together.values():
            with gather.attempt():
                requests.append((instances[0], _one_request(instances)))
        with gather.attempt():
            _check_marks([instance for instance, _ in requests])
        gather.finish()
        windowless: dict[str, int] = {}
        for instance, _ in requests:
            if instance.window is None:
                name = instance.entry.name
                windowless[name] = windowless.get(name, 0) + 1
        for instance, request in requests:
            own = instance.window is None and windowless[instance.entry.name] == 1
            mark = "" if own else instance.mark
            values = () if request.values == (request.name,) else request.values
            request = request.model_copy(update={"values": values, "mark": mark})
            self._measured.append((instance, request))
            self.places.setdefault(request.label, instance.span)
        return tuple(request for _, request in self._measured)

    def name(self, instance: Instance, *, is_drawn: bool = False) -> str:
        """Return the name of the value that an instance means, which is computed from now on.

        is_drawn: by a figure, which may need what a metric of `measure` has besides its values.
        Raises CompileError where `measure` has several and none is meant.
        """
        entry, tail = instance.entry, instance.value
        own = [(i, r) for i, r in self._measured if i.entry.name == entry.name]
        for other, request in own:
            if other.identity == instance.identity:
                if is_drawn and request.window is not None:
                    self._imply(instance, request, is_drawn=True)
                return self._of(instance, request)
        if instance.is_plain or (not entry.of_cell and not instance.given):
            unmarked = [r for _, r in own if not r.mark]
            if unmarked:
                return self._of(instance, unmarked[0])
        if instance.is_plain:
            several = [r.label for i, r in own if i.window is None]
            if len(several) > 1:
                fail(
                    "several-metrics",
                    f"`{entry.name}` is measured more than once, and this could be any of them",
                    instance.span,
                    help=f"name one: {', '.join(f'`{label}`' for label in several)}",
                )
        drawn = is_drawn and not (own and instance.window is None) and not entry.is_own
        self._imply(instance, is_drawn=drawn)
        return f"{tail}{instance.mark}"

    def _of(self, instance: Instance, request: MetricRequest) -> str:
        """Return the name of a value of a request; flows that it leaves out are implied.

        Raises CompileError where their values would be of something else.
        """
        self._named.append((instance, request))
        known, entry = set(request.sessions), instance.entry
        left_out = [f for f in instance.sessions or self.flows if known.isdisjoint({f, base(f)})]
        if known and left_out and not (entry.of_cell or entry.is_own):
            if entry.of_each or len(request.sessions) < 2:
                self._imply(instance, request)
            elif instance.sessions:
                fail(
                    "unknown-flow",
                    f"`{entry.name}` is measured of {', '.join(request.sessions)} together, without"
                    f" `{left_out[0]}`",
                    instance.span,
                    help=f"name one of these, or add `{left_out[0]}` in `measure`",
                )
        return f"{instance.value}{request.mark}"

    def _imply(
        self, instance: Instance, like: MetricRequest | None = None, *, is_drawn: bool = False
    ) -> None:
        """Compute an instance that `measure` does not name; like: a request with its options."""
        request = instance.request(marked=True).model_copy(update={"is_drawn": is_drawn})
        if like is not None:
            update = {"options": like.options, "varied": like.varied, "mark": like.mark}
            request = request.model_copy(update=update)
        key = request.label, request.sessions
        before = self._implied.get(key)
        if before is not None:
            values = tuple(dict.fromkeys((*before.values, *request.values)))
            drawn = before.is_drawn or is_drawn
            request = request.model_copy(update={"values": values, "is_drawn": drawn})
        self._implied[key] = request
        self.places.setdefault(request.label, instance.span)

    def comparisons(self) -> tuple[Comparison, ...]:
        """Return the values that follow from a cell and its baselines, as far as anything names
        them; what they follow from is computed from now on. Raises CompileError with everything
        wrong.
        """
        gather = Gather()
        asked = [(i.entry, r, i.span) for i, r in self._measured]
        for i, r in self._named:
            update = {"sessions": i.sessions or r.sessions, "values": (i.value,)}
            asked.append((i.entry, r.model_copy(update=update), i.span))
        asked += [
            (self.metrics[r.name], r, self.places[r.label]) for r in [*self._implied.values()]
        ]
        found: dict[str, Comparison] = {}
        for entry, request, span in asked:
            with gather.attempt():
                for value in self._compared(entry, request):
                    path = f"{entry.name}.{value}{request.mark}"
                    metric = self._base(entry, value, request, span)
                    before = found.get(path)
                    flows = (*before.flows, *request.sessions) if before else request.sessions
                    everyone = not request.sessions or (before is not None and not before.flows)
                    found[path] = Comparison(
                        name=path,
                        metric=metric,
                        flows=() if everyone else tuple(dict.fromkeys(flows)),
                    )
        for one in found.values():
            if METRICS[metric_of(one.name)].alone is None:
                with gather.attempt():
                    self._refuse_nested(one)
        gather.finish()
        return tuple(found.values())

    def _compared(self, entry: MetricEntry, request: MetricRequest) -> list[str]:
        """Return which values of a request follow from baselines: those that it names, or all
        that have values in its window, where the metric has no others.
        """
        named = [value.partition(".")[2] for value in request.values or (request.name,)]
        if all(named) or not entry.only_compares:
            return [value for value in named if value in entry.compared]
        outside = entry.outside_windows if request.window is not None else frozenset[str]()
        return [value for value in entry.compared if value not in outside]

    def _base(self, entry: MetricEntry, value: str, request: MetricRequest, span: Span) -> str:
        """Return the name of what a value follows from, which is computed from now on."""
        of = METRICS[entry.compared[value]]
        sessions = request.sessions if entry.alone is None else ()
        window = request.window
        ends = (window.begin, window.end) if window is not None else (None, None)
        given = tuple(
            f"{parameter.name}: {end.text}"
            for parameter, end in zip(WINDOW, ends, strict=True)
            if end is not None
        )
        plain = Instance(of, of.name, sessions, {}, window, given, span)
        known = {*self._implied}
        name = self.name(plain)
        if (
            f"{entry.name}.{value}" not in request.values
        ):  # nobody has asked for this one in particular
            self.unasked |= {*self._implied} - known
        return name

    def _refuse_nested(self, comparison: Comparison) -> None:
        """Raise CompileError where flows are alone with others, and by themselves as well."""
        for flow in comparison.flows:
            if base(flow) != flow and base(flow) in comparison.flows:
                fail(
                    "duplicate-argument",
                    f"`{flow}` is one of `{base(flow)}`, so it would be alone twice",
                    self.places[request_label(comparison.name)],
                    help="name each flow once: the group, or those of its flows that matter",
                )

    @property
    def own(self) -> list[str]:
        """The metrics of the file's own that are computed besides `measure`."""
        return [r.name for r in self._implied.values() if self.metrics[r.name].is_own]

    @property
    def implied(self) -> tuple[MetricRequest, ...]:
        """The metrics that are computed besides `measure`."""
        return tuple(self._implied.values())


def check_sub_values(metric: Entry, rest: Sequence[str], at: Span) -> None:
    """Raise CompileError unless a metric has the values after its name; at: the whole path."""
    if len(rest) > 1 and rest[0] in metric.values:
        one, further = f"{metric.name}.{rest[0]}", ".".join(rest[1:])
        fail(
            "unknown-value",
            f"`{one}` is one value, and has none called `{further}`",
            Span(at.source, at.end - len(further), at.end),
            help=f"write `{one}`",
        )
    for part in rest:
        if part not in metric.values or len(rest) > 1:
            near = suggest(part, metric.values)
            fail(
                "unknown-value",
                f"the metric `{metric.name}` has no value called `{part}`",
                Span(at.source, at.end - len(part), at.end),
                note=f"did you mean `{near}`?" if near else "",
                help=f"it has: {', '.join(metric.values)}"
                if metric.values
                else "it has a single value",
            )


def _meant(instance: Instance, among: Sequence[Instance]) -> Instance:
    """Return an item of `measure`; a sub-value without arguments (`fairness.jain_slots`) is one
    value more of the item with arguments, if there is one of its metric.

    Raises CompileError where there are several.
    """
    entry = instance.entry
    if not instance.is_bare_value:
        return instance
    others = [o for o in among if o.entry.name == entry.name and not o.is_bare_value]
    found = {o.identity: o for o in others if o.window is None}
    again = any(o.value == instance.value for o in others if o.window is None)
    if not found or again or instance.identity in found:
        return instance
    if len(found) > 1:
        first, *more = found.values()
        fail(
            "several-metrics",
            f"`{entry.name}` is measured more than once, and `{instance.value}` could be of any"
            " of them",
            instance.span,
            labels=tuple(Label(o.span, "this one?") for o in (first, *more)),
            help=f"write which: `{instance.value}{first.mark}`",
        )
    (one,) = found.values()
    sessions = () if entry.of_each else one.sessions
    return replace(instance, sessions=sessions, options=one.options, given=one.given)


def _one_request(instances: Sequence[Instance]) -> MetricRequest:
    """Return one request for all instances of one identity. Raises CompileError for one that is
    there twice.
    """
    met: dict[tuple[str, frozenset[str]], Instance] = {}
    for instance in instances:
        first = met.setdefault((instance.value, frozenset(instance.sessions)), instance)
        if first is not instance:
            fail(
                "duplicate-metric",
                f"`{instance.value}` is measured twice",
                instance.span,
                labels=(Label(first.span, "first occurrence"),),
                help="request each metric once, so that its values have one name; list any number"
                " of its sub-values",
            )
    named = tuple(dict.fromkeys(name for instance in instances for name in instance.sessions))
    entry = instances[0].entry
    sessions = named if all(instance.sessions for instance in instances) else ()
    if (
        len(sessions) > 1
        and not entry.of_cell
        and not entry.of_each
        and not instances[0].identity[1]
    ):
        sessions = ()  # of one flow among all, and of another
    if not sessions and entry.is_beside:
        # Whose baselines these are: everybody's of a statement together, and some by themselves.
        apart = [name for name in named if base(name) != name]
        sessions = (*apart, *dict.fromkeys(map(base, apart)))
    request = instances[0].request(marked=False)
    values = tuple(dict.fromkeys(instance.value for instance in instances))
    return request.model_copy(update={"sessions": sessions, "values": values})


def _check_marks(instances: Sequence[Instance]) -> None:
    """Raise CompileError for values that would have one name and mean different things: those of
    flows that count together with different others.
    """
    gather = Gather()
    met: dict[tuple[str, str], Instance] = {}
    for instance in instances:
        first = met.setdefault((instance.entry.name, instance.mark), instance)
        if first is not instance:
            with gather.attempt():
                _refuse_others(instance, first)
    gather.finish()


def _refuse_others(instance: Instance, first: Instance) -> NoReturn:
    whose = ", ".join(first.sessions) or "all flows"
    fail(
        "duplicate-metric",
        f"`{instance.value}` is measured twice",
        instance.span,
        labels=(Label(first.span, "first occurrence"),),
        help=f"all values of `{instance.entry.name}` are of the same flows, here of {whose}; for"
        " others write your own metric, such as `metric part = goodput(a) / (goodput(a) +"
        " goodput(b))`",
    )


def refuse_flow(name: str, span: Span, known: Collection[str]) -> NoReturn:
    """Raise CompileError for an unknown flow. known: those that may be named."""
    group = [flow for flow in known if base(flow) == base(name) != flow]
    if group and name != base(name):
        fail(
            "unknown-flow",
            f"`{base(name)}` has no index `{name[len(base(name)) + 1 : -1]}`",
            span,
            help=f"there are {listed(group)}",
        )
    refuse_unknown("flow", "flow", name, known, span)


def _plain(value: Value) -> float | str:
    if isinstance(value, Quantity):
        return in_si([value.number], value.dimension)[0][0]
    return value.canonical


def _amount(number: Option | None, text: str) -> Amount | None:
    """Return the end of a window."""
    if isinstance(number, (int, float)):
        return Amount(text=text, numbers=(number,))
    assert not isinstance(number, str)
    return number
