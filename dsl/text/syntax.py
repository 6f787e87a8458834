"""The syntax tree: source-shaped nodes that keep text and spans, and mean nothing yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from fairc.dsl.core.source import Span


@dataclass(frozen=True, slots=True)
class Node:
    """Base of all nodes, with its place in the source."""

    span: Span

    def children(self) -> Iterator[Node]:
        """Yield the nodes directly inside this one, in the order of their fields."""
        for name in self.__match_args__:  # the names of all fields
            value = getattr(self, name)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Node):
                    yield item

    def walk(self) -> Iterator[Node]:
        """Yield this node and everything inside it, without recursion."""
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(list(node.children())))


@dataclass(frozen=True, slots=True)
class Word(Node):
    """An identifier where it is declared or used as a key."""

    text: str


@dataclass(frozen=True, slots=True)
class Reference(Node):
    """`name` or `name[index, ...]`, where it is declared and at the ends of links."""

    name: Word
    index: tuple[Expr, ...] = ()

    @property
    def text(self) -> str:
        """The name without its index."""
        return self.name.text


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """`for name in values`: what it follows is declared once for each value; of tuples, as
    `for (a, b) in values`.
    """

    names: tuple[Word, ...]
    values: Expr


# Expressions


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A number with its unit, as written; the unit may be empty."""

    digits: str
    unit: str


@dataclass(frozen=True, slots=True)
class Text(Node):
    """A string, without its quotes and escapes."""

    value: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name, with what follows its dots (`fairness.F` is `fairness` and `("F",)`), or with an
    index (`f[2]`).
    """

    text: str
    rest: tuple[str, ...] = ()
    index: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """An argument of a call; `key` is None for one given by position."""

    key: Word | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`name(arguments)`; the name of a metric's value has dots (`rtt.p95`)."""

    name: Word
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    """`[a, b]`."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class TupleOf(Node):
    """`(a, b)`."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Group(Node):
    """`(a)`."""

    inner: Expr


@dataclass(frozen=True, slots=True)
class Interval(Node):
    """`first..last`."""

    first: Expr
    last: Expr


@dataclass(frozen=True, slots=True)
class Several(Node):
    """`count of item`."""

    count: Expr
    item: Expr


@dataclass(frozen=True, slots=True)
class Prefix(Node):
    """`-a` or `not a`."""

    operator: Literal["-", "not"]
    inner: Expr


@dataclass(frozen=True, slots=True)
class Chain(Node):
    """Operands of one precedence, from left to right: `a + b - c`, `a * b / c`."""

    operands: tuple[Expr, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """`left == right` and its kin."""

    left: Expr
    operator: str
    right: Expr


@dataclass(frozen=True, slots=True)
class Within(Node):
    """`a in b..c` or `a in [b, c]`."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """`a and b and c`, or the same with `or`."""

    operator: Literal["and", "or"]
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class With(Node):
    """`base with { ... }`: a topology, amended."""

    base: Expr
    body: Body


Expr = (
    Number
    | Text
    | Name
    | Call
    | ListOf
    | TupleOf
    | Group
    | Interval
    | Several
    | Prefix
    | Chain
    | Compare
    | Within
    | Logic
    | With
)


# Statements


@dataclass(frozen=True, slots=True)
class Setting(Node):
    """`key = value`, and for `sample` what follows `per`."""

    key: Word
    value: Expr
    per: Expr | None = None


@dataclass(frozen=True, slots=True)
class Settings(Node):
    """A block of settings; its span includes the braces."""

    items: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class Version(Node):
    """`fexp 1`."""

    number: Number


@dataclass(frozen=True, slots=True)
class Import(Node):
    """`import "path.fexp"`."""

    path: Text


@dataclass(frozen=True, slots=True)
class Let(Node):
    """`let name = value`."""

    name: Word
    value: Expr


@dataclass(frozen=True, slots=True)
class Metric(Node):
    """`metric name = value`."""

    name: Word
    value: Expr


@dataclass(frozen=True, slots=True)
class Service(Node):
    """`service NAME { ... }`: settings that flows have in common."""

    name: Word
    settings: Settings


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """A parameter of a topology, perhaps with a default."""

    name: Word
    default: Expr | None


@dataclass(frozen=True, slots=True)
class Nodes(Node):
    """`node a, b` or `router a, b`."""

    kind: Literal["host", "router"]
    names: tuple[Reference, ...]
    loops: tuple[Loop, ...] = ()
    when: Expr | None = None


@dataclass(frozen=True, slots=True)
class Ends(Node):
    """`a -- b`, `a -> b` or `a <- b` in a link statement."""

    left: Reference
    arrow: Literal["--", "->", "<-"]
    right: Reference


@dataclass(frozen=True, slots=True)
class Change(Node):
    """`at TIME { ... }` in a link: what holds from then on; `over`: how long it takes."""

    time: Expr
    settings: Settings
    over: Expr | None = None


@dataclass(frozen=True, slots=True)
class Cycle(Node):
    """`every TIME from TIME for TIME { ... }` in a link; without `for`, it holds until the next."""

    period: Expr
    begin: Expr | None
    length: Expr | None
    settings: Settings


@dataclass(frozen=True, slots=True)
class Outage(Node):
    """`down from TIME to TIME` in a link; without `to`, for good."""

    begin: Expr
    end: Expr | None


@dataclass(frozen=True, slots=True)
class Outages(Node):
    """`down every TIME from TIME for TIME` in a link."""

    period: Expr
    begin: Expr | None
    length: Expr


@dataclass(frozen=True, slots=True)
class Attributes(Node):
    """The body of a link."""

    items: tuple[Setting, ...]
    changes: tuple[Change | Cycle | Outage | Outages, ...]


@dataclass(frozen=True, slots=True)
class Link(Node):
    """One or more links with the same attributes."""

    ends: tuple[Ends, ...]
    settings: Attributes | None
    loops: tuple[Loop, ...] = ()
    when: Expr | None = None


@dataclass(frozen=True, slots=True)
class Device(Node):
    """`pep NAME { ... }`, or another device, or a tunnel."""

    kind: str
    name: Reference
    settings: Settings
    loops: tuple[Loop, ...] = ()
    when: Expr | None = None


@dataclass(frozen=True, slots=True)
class Body(Node):
    """The body of a topology."""

    elements: tuple[Let | Nodes | Link | Device, ...]


@dataclass(frozen=True, slots=True)
class Topology(Node):
    """`topology NAME(parameters) { ... }`."""

    name: Word
    parameters: tuple[Parameter, ...]
    body: Body


@dataclass(frozen=True, slots=True)
class InlineTopology(Node):
    """`topology { ... }` inside an experiment."""

    body: Body


@dataclass(frozen=True, slots=True)
class Binding(Node):
    """`name = list` or `(a, b) = list` inside a sweep."""

    names: tuple[Word, ...]
    value: Expr
    is_tuple: bool


@dataclass(frozen=True, slots=True)
class Sweep(Node):
    """`sweep { ... }`."""

    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class Exclude(Node):
    """`exclude CONDITION`."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Precision(Node):
    """`precision { ... }`, perhaps with `per` and names; keys of its settings have dots
    (`fairness.F`).
    """

    per: Expr | None
    goals: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class Hosts(Node):
    """`hosts { ... }`."""

    settings: Settings


@dataclass(frozen=True, slots=True)
class Users(Node):
    """`users NAME { ... }`."""

    name: Reference
    settings: Settings
    loops: tuple[Loop, ...] = ()
    when: Expr | None = None


@dataclass(frozen=True, slots=True)
class Flow(Node):
    """`flow NAME { ... }` or `flow NAME = SERVICE { ... }`; `base`: the service."""

    name: Reference
    settings: Settings
    loops: tuple[Loop, ...] = ()
    when: Expr | None = None
    base: Expr | None = None


@dataclass(frozen=True, slots=True)
class Report(Node):
    """`report { ... }`."""

    figures: tuple[Call | Name, ...]


@dataclass(frozen=True, slots=True)
class Claim(Node):
    """`claim "TEXT" { ... }`."""

    text: Text
    settings: Settings


Statement = (
    Setting
    | Let
    | Metric
    | Service
    | Sweep
    | Exclude
    | Precision
    | Hosts
    | Users
    | Flow
    | Report
    | Claim
    | InlineTopology
)


@dataclass(frozen=True, slots=True)
class Experiment(Node):
    """`experiment NAME { ... }` or `template NAME { ... }`, perhaps with `extends`."""

    name: Word
    statements: tuple[Statement, ...]
    is_template: bool = False
    extends: Word | None = None


Declaration = Import | Let | Metric | Service | Topology | Experiment


@dataclass(frozen=True, slots=True)
class File(Node):
    """A whole file."""

    version: Version | None
    declarations: tuple[Declaration, ...]
