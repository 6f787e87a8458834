"""The keys of each block, with the kind of their values; and the check of a block's settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label
from fairc.dsl.core.entries import Entries, Parameter
from fairc.dsl.core.kinds import (
    A_COUNT,
    A_PACKET_COUNT,
    A_POSITIVE_TIME,
    A_PROBABILITY,
    A_RATE,
    A_SWITCH,
    A_TIME,
    A_WHOLE,
    AnyName,
    Lists,
    Quantities,
    Texts,
    Words,
)
from fairc.dsl.core.problems import Gather, fail, not_yet
from fairc.dsl.core.registry import Registry, suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, RATE
from fairc.dsl.core.values import Symbol, Value
from fairc.dsl.expressions.evaluate import Scope, evaluate_with
from fairc.dsl.text import syntax

from .cca_words import AnyCca
from .network_words import A_JITTER, A_LINK_RATE, A_LOSS, A_QUEUE
from .packet_sizes import A_MTU
from .processing import A_PROCESSING, A_SYSCALL_COST
from .random_words import A_RANDOM_TIME
from .report_words import METRICS
from .topology_words import A_POLICER, PEPS, TOPOLOGIES
from .traffic_words import A_BUFFER, A_WINDOW, TRANSPORTS, WORKLOADS

P = Parameter

A_SAMPLE = Quantities((NUMBER,), low=1, high=1_000_000, whole=True)

EXPERIMENT: Registry[Parameter] = Registry(
    "experiment key",
    "key",
    [
        P("title", Texts(), "one line that says what is asked"),
        P("source", Texts(), "the publication that the experiment comes from"),
        P("topology", Entries(TOPOLOGIES), "the network"),
        P("duration", A_POSITIVE_TIME, "a fixed length of each cell"),
        P("warmup", A_TIME, "the start of each cell that metrics leave out", "0s"),
        P("stop", Words("value of `stop`", ("first", "all")), "whose end is the cell's end", "all"),
        P("deadline", A_POSITIVE_TIME, "the latest end of a cell", "10 times the fair share's"),
        P(
            "captures",
            Words("value of `captures`", ("full", "none")),
            "whether packets are captured",
            "full",
        ),
        P("repeat", Quantities((NUMBER,), low=1, high=10**6, whole=True), "repetitions", "1"),
        P("seed", A_WHOLE, "where all randomness comes from", "1"),
        P("paired", A_SWITCH, "the same losses for every value of the sweep", "off"),
        P(
            "order",
            Words("value of `order`", ("file", "shuffled")),
            "order in which configurations are run, in each repetition",
            "file",
        ),
        P("sample", A_SAMPLE, "how many configurations are drawn, in all or `per` some names"),
        P("measure", Lists(Entries(METRICS)), "the metrics"),
    ],
)

FLOW: Registry[Parameter] = Registry(
    "flow key",
    "key",
    [
        P("users", AnyName("users"), "runs on each of them"),
        P("from", AnyName("a node"), "node that sends the data", "server"),
        P("to", AnyName("a node"), "node that receives the data", "client"),
        P("count", A_COUNT, "parallel connections, each with the whole workload", "1"),
        P("over", Entries(TRANSPORTS), "transport", "that of the CCA, tcp first"),
        P("cca", AnyCca(), "congestion control algorithm; none over udp"),
        P("start", A_RANDOM_TIME, "start after the cell's begin", "0 plus a seeded offset"),
        P("stop", A_TIME, "end after the cell's begin"),
        P("workload", Entries(WORKLOADS), "what the flow transfers", required=True),
        P("rate", A_RATE, "limit of the sending rate (IP bytes)", "none; udp needs one"),
        P("rtt", A_TIME, "extra round-trip time of this flow", "0s"),
        P("initial_window", A_PACKET_COUNT, "initial congestion window", "10pkt; 32pkt for `load`"),
        P("window", A_WINDOW, "limit of the receive window", "none"),
        P("ecn", A_SWITCH, "Explicit Congestion Notification", "off"),
        P("sack", A_SWITCH, "selective acknowledgements", "on"),
        P("pacing", A_SWITCH, "spread packets over the round trip", "off; on for bbr and quic"),
        P("fast_open", A_SWITCH, "TCP Fast Open", "off"),
    ],
)

LINK: Registry[Parameter] = Registry(
    "link attribute",
    "key",
    [
        P("rate", A_LINK_RATE, "rate on the wire", "not limited"),
        P("delay", A_TIME, "one-way delay", "0s"),
        P("loss", A_LOSS, "random loss after the queue", "0%"),
        P("queue", A_QUEUE, "queue in front of the link", "fifo(1000pkt)"),
        P("jitter", A_JITTER, "random part of the delay", "0s"),
        P("reorder", A_PROBABILITY, "share of packets that skip the delay", "0%"),
        P("duplicate", A_PROBABILITY, "share of packets that arrive twice", "0%"),
        P("mtu", A_MTU, "largest IP packet, both ways", "1500B"),
        P("policer", A_POLICER, "policer in front of the queue", "none"),
    ],
)

CHANGE: Registry[Parameter] = Registry(
    "key of `at`",
    "key",
    [
        P("rate", Quantities((RATE,)), "rate from then on; zero: packets wait"),
        P("delay", A_TIME, "one-way delay from then on"),
        P("loss", A_LOSS, "random loss from then on"),
    ],
)

HOSTS: Registry[Parameter] = Registry(
    "host option",
    "key",
    [
        P("offload", Words("state", ("off", "on")), "super-packets of the sender", "off"),
        P("tcp_metrics_save", Words("state", ("off", "on")), "memory between connections", "off"),
        P("send_buffer", A_BUFFER, "send buffer of each connection", "limits nothing"),
        P("receive_buffer", A_BUFFER, "receive buffer of each connection", "limits nothing"),
        P("initial_window", A_PACKET_COUNT, "default of the flows", "10pkt; 32pkt for `load`"),
        P("ecn", A_SWITCH, "default of the flows", "off"),
        P("sack", A_SWITCH, "default of the flows", "on"),
        P("pacing", A_SWITCH, "default of the flows", "off; on for bbr and quic"),
        P("fast_open", A_SWITCH, "default of the flows", "off"),
        P(
            "processing",
            A_PROCESSING,
            "time that a host takes for each packet that it sends; gaps of constant-rate sources vary, too",
            "uniform(0us, 10us) where computing takes no time, else off",
        ),
        P(
            "syscall_cost",
            A_SYSCALL_COST,
            "virtual time that each system call takes, where computing takes none (engine uml)",
            "1us for page loads in Chromium, else nothing",
        ),
    ],
)

USERS: Registry[Parameter] = Registry(
    "key of users", "key", [P("count", A_COUNT, "number of hosts", required=True)]
)

PEP: Registry[Parameter] = Registry(
    "key of pep",
    "key",
    [
        P("terminal", AnyName("a router"), "router at the clients' end of the link", required=True),
        P("gateway", AnyName("a router"), "router at the servers' end of it", required=True),
        P("mode", Entries(PEPS), "what the proxies do", "split"),
    ],
)

POLICER: Registry[Parameter] = Registry(
    "key of policer",
    "key",
    [
        P("at", AnyName("a router"), "router that polices what it sends", required=True),
        P("to", AnyName("a node"), "to this neighbour", required=True),
        P("mode", A_POLICER, "what the policer does", required=True),
    ],
)


def sort_settings(
    settings: Iterable[syntax.Setting], keys: Registry[Parameter], block: str
) -> Mapping[str, syntax.Setting]:
    """Return settings by key. Raises CompileError for unknown and repeated keys.

    The error carries the good settings in `partial`, so that their values can still be checked.
    """
    gather = Gather()
    found: dict[str, syntax.Setting] = {}
    for setting in settings:
        name = setting.key.text
        with gather.attempt():
            if setting.per is not None and name != "sample":
                fail(
                    "syntax",
                    f"`per` belongs to `sample`, not to `{name}`",
                    setting.per.span,
                    help="for example `sample = 100 per (a, b)`",
                )
            if name not in keys:
                near = suggest(name, keys.names())
                fail(
                    "unknown-key",
                    f"{block} has no key `{name}`",
                    setting.key.span,
                    note=f"did you mean `{near}`?" if near else "",
                    help=f"known: {', '.join(keys.names())}" if keys.names() else None,
                )
            if name in found:
                fail(
                    "duplicate-key",
                    f"`{name}` is given twice",
                    setting.key.span,
                    labels=(Label(found[name].key.span, "given here first"),),
                    help="keep one of them",
                )
            found[name] = setting
    if gather.found:
        raise PartialError(gather.found, found)
    return found


class PartialError(CompileError):
    """Some settings of a block are wrong; `partial` holds the others."""

    def __init__(
        self, diagnostics: Iterable[Diagnostic], partial: Mapping[str, syntax.Setting]
    ) -> None:
        super().__init__(diagnostics)
        self.partial = partial


def _closed_word(node: syntax.Expr, key: Parameter) -> Symbol | None:
    """Return the word itself for a key with a few fixed words.

    `stop = first` means the word, also where a swept name is called `first`.
    """
    if not isinstance(node, syntax.Name) or not isinstance(key.kind, Words):
        return None
    return Symbol(node.text, node.span) if node.span.text in key.kind.choices else None


class Block:
    """The settings of one block, evaluated and checked on demand."""

    def __init__(
        self, span: Span, items: Iterable[syntax.Setting], keys: Registry[Parameter], what: str
    ) -> None:
        self.span = span
        self.keys = keys
        self.what = what
        self.problems: tuple[Diagnostic, ...] = ()
        try:
            self.settings = sort_settings(items, keys, what)
        except PartialError as error:
            self.settings, self.problems = error.partial, error.diagnostics

    def checked(self) -> None:
        """Raise what is wrong with the block itself: its keys, and those that are missing."""
        gather = Gather()
        gather.found.extend(self.problems)
        for key in self.keys:
            if key.required and key.name not in self.settings:
                with gather.attempt():
                    fail(
                        "missing-key",
                        f"{self.what} needs `{key.name}`",
                        self.span,
                        note=f"`{key.name}` is missing",
                        help=f"give {key.kind.words}: {key.summary}",
                    )
        gather.finish()

    def replace(self, setting: syntax.Setting) -> None:
        """Put a setting in the place of the one with its key, if there is one."""
        self.settings = {**self.settings, setting.key.text: setting}

    def value(self, name: str, scope: Scope) -> Value | None:
        """Return the value of a key, checked against its kind, or None if it is not given.

        Raises CompileError, also with `not-yet` for keys that cannot run.
        """
        setting = self.settings.get(name)
        if setting is None:
            return None
        key = self.keys.get(name, setting.key.span)

        def checked(value: Value) -> Value:
            key.kind.check(value, f"`{name}`", setting.value.span)
            return value

        gather = Gather()
        value: Value | None = _closed_word(setting.value, key)
        if value is None:
            with gather.attempt():
                value = evaluate_with(setting.value, scope, checked)
        if not key.runs:
            gather.found.append(not_yet(f"`{name}` of {self.what}", setting.span))
        gather.finish()
        return value

    def word(self, name: str, scope: Scope, default: str) -> str:
        """Return the value of a key that takes a word."""
        value = self.value(name, scope)
        return value.name if isinstance(value, Symbol) else default
