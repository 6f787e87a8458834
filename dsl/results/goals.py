"""`precision`: which values end a range of repetitions, and how precise they have to be."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fairc.dsl.blocks import Block
from fairc.dsl.core.diagnostics import Diagnostics, Label, warning
from fairc.dsl.core.kinds import A_POSITIVE_SHARE, Quantities, Words
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, PACKETS, SHARE, TIME, in_si
from fairc.dsl.core.values import Quantity, Value
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.expressions.names import used_names
from fairc.dsl.grid.grid_checks import swept_names
from fairc.dsl.grid.sampling import Bindings
from fairc.dsl.model.requests import Goal, Precision
from fairc.dsl.text import syntax
from fairc.words.blocks.experiment import REPEAT
from fairc.words.metric_entry import MetricEntry
from fairc.words.repetitions import LEAST, Repeat

from .amounts import amount
from .facts import Facts
from .instances import Namer, check_sub_values
from .measures import dimension_of

EXAMPLE = "precision { goodput = 5% }"

CLAIMS = "claims"
"""The name in `precision` for all claims of the experiment; no metric has this name."""

DECIDED = Words("value of `claims`", ("decided",))


def check_precision(
    statements: Sequence[syntax.Node],
    settings: Block,
    repeat: Repeat | None,
    facts: Facts,
    overridden: Collection[str],
    found: Diagnostics,
) -> Precision | None:
    """Return what ends a range of repetitions; None for a fixed number, or on errors, which go to
    `found`.

    Whether claims can end it is checked with the claims (claims.py).

    statements: of the experiment. repeat: None if it is itself wrong, which has been reported.
    overridden: the names that `--set` replaces.
    """
    setting = settings.settings.get(REPEAT.name)
    at = setting.value.span if setting else None
    blocks = [s for s in statements if isinstance(s, syntax.Precision)]
    repeat = repeat or Repeat(LEAST, LEAST, is_range=bool(blocks))
    fixed_by_hand = not repeat.is_range and REPEAT.name in overridden
    gather, precision = Gather(), None
    with gather.attempt():
        _refuse_second(blocks)
    if repeat.is_range:
        with gather.attempt():
            _refuse_excluded_repetitions(statements, facts.lets)
        if not blocks:
            with gather.attempt():
                _refuse_range_alone(
                    repeat, at, any(isinstance(s, syntax.Claim) for s in statements)
                )
    if blocks and fixed_by_hand:
        message = f"`repeat = {repeat.most}` is not a range, so nothing ends at a precision"
        help = "a range, such as `--set repeat=8..30`, ends when `precision` says so"
        found.add(warning("precision-ignored", message, at, help=help))
    elif blocks:
        with gather.attempt():
            precision = build_precision(blocks[0], repeat, at, facts)
        with gather.attempt():
            _refuse_nothing_claimed(blocks[0], statements)
    found.update(gather.found)
    return precision


def build_precision(
    block: syntax.Precision,
    repeat: Repeat,
    at: Span | None,
    facts: Facts,
) -> Precision:
    """Return what ends a range of repetitions. Raises CompileError with everything wrong.

    at: where `repeat` is given.
    """
    gather = Gather()
    measured = [request.label for request in facts.measured or ()]
    static = Scope({}, facts.lets)
    head = block.span.first(len("precision"))
    with gather.attempt():
        _check_range(repeat, head, at)
    if not block.goals:
        with gather.attempt():
            fail(
                "empty-precision",
                "`precision` names no value",
                block.span,
                note="it is empty",
                help=f"name a value of `measure`, such as `{EXAMPLE}`, or `claims = decided`",
            )
    goals: list[Goal] = []
    seen: dict[str, Span] = {}
    for goal in block.goals:
        with gather.attempt():
            name = goal.key.text
            if name == CLAIMS:
                DECIDED.take(evaluate(goal.value, static), "`claims`", goal.value.span)
            else:
                goals.append(_goal(name, goal, measured, facts.namer, static))
            if name in seen:
                fail(
                    "duplicate-key",
                    f"`{name}` is given twice",
                    goal.key.span,
                    labels=(Label(seen[name], "given here first"),),
                    help="keep one of them",
                )
            seen[name] = goal.key.span
    per: tuple[str, ...] = ()
    with gather.attempt():
        per = swept_names(block.per, facts.grid, "per")
        if block.per is not None and CLAIMS in seen:
            fail(
                "claims-per",
                "claims are decided together, so all configurations stop together",
                block.per.span,
                "no part of them can stop on its own",
                labels=(Label(seen[CLAIMS], "stops the repetitions when all claims are decided"),),
                help="leave out `per`",
            )
    gather.finish()
    return Precision(least=repeat.least, goals=tuple(goals), per=per, claims=CLAIMS in seen)


def _check_range(repeat: Repeat, head: Span, at: Span | None) -> None:
    """Raise CompileError if `repeat` is no range, or one too short for an interval."""
    if not repeat.is_range:
        fail(
            "precision-without-range",
            "`precision` needs a range of repetitions, but `repeat` is one number",
            head,
            labels=(Label(at, "a fixed number"),) if at else (),
            help="for example `repeat = 8..30`",
        )
    if repeat.most < LEAST:
        fail(
            "unreachable-precision",
            f"this precision cannot be reached: {repeat.most} repetitions give no interval",
            head,
            labels=(Label(at, f"at most {repeat.most}"),) if at else (),
            help=f"an interval that is valid at every interim analysis needs {LEAST} values:"
            " `repeat = 8..30`",
        )


def _goal(
    name: str,
    goal: syntax.Setting,
    measured: Collection[str],
    namer: Namer,
    static: Scope,
) -> Goal:
    span = goal.key.span
    first, *rest = name.split(".")
    metric = namer.metrics.get(first, span.first(len(first)))
    check_sub_values(metric, rest, span)
    if first not in measured:  # then it is measured as well
        namer.name(namer.read(syntax.Name(span, first, tuple(rest)), "a precision"))
    sweep = namer.sweep
    if not sweep.used([goal.value]):
        number, relative = _within(metric, name, evaluate(goal.value, static))
        return Goal(metric=name, within=number, relative=relative)

    def within(bound: Bindings) -> tuple[float, bool]:
        return _within(metric, name, evaluate(goal.value, sweep.grid.scope(bound)))

    found = sweep.each([goal.value], within)
    kinds = {relative for _, relative in found.values()}
    if len(kinds) > 1:
        fail(
            "wrong-dimension",
            f"the precision of `{name}` is relative in some configurations only",
            goal.value.span,
            help="give percentages everywhere, or nowhere",
        )
    numbers = {row: number for row, (number, _) in found.items()}
    half = amount(goal.value.span.one_line, sweep.used([goal.value]), numbers)
    return Goal(metric=name, within=half, relative=kinds.pop())


def _within(metric: MetricEntry, name: str, value: Value) -> tuple[float, bool]:
    """Return the half-width that a goal allows, and whether it is relative. Raises CompileError."""
    if isinstance(value, Quantity) and value.dimension == SHARE:
        return _relative(metric, name, value), True
    return _absolute(metric, name, value), False


def _relative(metric: MetricEntry, name: str, value: Quantity) -> float:
    """Return a goal in per cent of the value. Raises CompileError if that is meaningless."""
    within = A_POSITIVE_SHARE.take(value, f"the precision of `{name}`")
    if name in metric.signed:
        unit = dimension_of(metric.unit_of(name.partition(".")[2]))
        example = {NUMBER: "0.02", TIME: "1ms", PACKETS: "1pkt"}.get(unit or NUMBER, "0.02")
        fail(
            "unreachable-precision",
            f"`{name}` can be zero or negative, so its precision cannot be relative",
            value.span,
            note="no number of repetitions is precise relative to zero",
            help=f"write the half-width of its interval, such as `{name} = {example}`",
        )
    return float(within.number)


def _absolute(metric: MetricEntry, name: str, value: Value) -> float:
    """Return a goal in the unit of the value. Raises CompileError for any other quantity."""
    dimension = dimension_of(metric.unit_of(name.partition(".")[2]))
    dimensions = (SHARE,) if dimension is None else (dimension, SHARE)
    taken = Quantities(dimensions, open_low=True).take(value, f"the precision of `{name}`")
    (number,), _ = in_si([taken.number], taken.dimension)
    return number


def _refuse_nothing_claimed(block: syntax.Precision, statements: Sequence[syntax.Node]) -> None:
    """Raise CompileError if claims are to end the range and there are none."""
    if any(isinstance(statement, syntax.Claim) for statement in statements):
        return
    for goal in block.goals:
        if goal.key.text == CLAIMS:
            fail(
                "nothing-claimed",
                "`claims = decided` is to end this range, but the experiment has no claims",
                goal.key.span,
                note="nothing to decide",
                help='add one, such as `claim "fair" { holds = median(fairness.jain_session) >'
                " 90% }`",
            )


def _refuse_range_alone(repeat: Repeat, at: Span | None, claims: bool) -> None:
    """Raise CompileError for a range of repetitions that nothing ends.

    claims: whether there are claims.
    """
    decided = ", `precision { claims = decided }`" if claims else ""
    fail(
        "range-without-precision",
        "a range of repetitions needs a `precision` that ends it",
        at,
        note="how many of these?",
        help=f"add `{EXAMPLE}`{decided}, or write one number: `repeat = {repeat.most}`",
    )


def _refuse_second(blocks: Sequence[syntax.Precision]) -> None:
    """Raise CompileError if `precision` is given more than once."""
    for extra in blocks[1:]:
        fail(
            "duplicate-key",
            "`precision` is given twice",
            extra.span,
            labels=(Label(blocks[0].span, "given here first"),),
            help="put all values into one",
        )


def _refuse_excluded_repetitions(
    statements: Sequence[syntax.Node], lets: Mapping[str, syntax.Expr]
) -> None:
    """Raise CompileError for an `exclude` that leaves out repetitions of a range."""
    for exclude in statements:
        if isinstance(exclude, syntax.Exclude) and "repetition" in used_names(
            [exclude.condition], lets
        ):
            fail(
                "excluded-repetitions",
                "an `exclude` cannot leave out repetitions of a range",
                exclude.condition.span,
                note="it depends on `repetition`",
                help="`precision` decides how many there are; write a fixed `repeat`, or leave"
                " `repetition` out of the condition",
            )
