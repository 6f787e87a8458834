"""Links that vary until the end of a cell: ramps, what comes again, what is down, what is drawn."""

from __future__ import annotations

from itertools import pairwise

import pytest
from specs import compilation_of, only_cell_of

from fairc.compiler import Cell
from fairc.compiler.plan import Change, Interface
from fairc.dsl.core.diagnostics import CompileError

S = 10**9
END_S = 30


def cells_of(link: str, extra: str = "duration = 30s", sweep: str = "") -> list[Cell]:
    """The cells of an experiment with one link from server to client."""
    text = f"""fexp 1
    experiment e {{
      {sweep}
      topology {{
        node server, client
        link server -> client {{ {link} }}
        link client -> server {{ rate = 10Mbit/s  delay = 10ms }}
      }}
      flow a {{ cca = {"cca" if sweep else "cubic"}  workload = file(1MB) }}
      {extra}
      measure = [goodput]
    }}
    """
    return list(compilation_of(text).cells())


def ends(cell: Cell) -> tuple[Interface, Interface]:
    """The shaped end of the link, and the end of its hop that packets leave by."""
    nodes = {node.name: node for node in cell.nodes}
    hop = nodes.get("server-client")
    shaped = nodes["server"].interfaces[0]
    return shaped, hop.interfaces[1] if hop else shaped


def rates(link: str) -> list[tuple[float, float]]:
    """When the rate changes, s, and to what, Mbit/s."""
    (cell,) = cells_of(link)
    return [(c.at_ns / S, (c.rate_bps or 0) / 1e6) for c in ends(cell)[0].changes]


def states(link: str, **how: str) -> list[tuple[float, float, float]]:
    """When delay or loss change, s, and to what: ms, probability."""
    cell, *_ = cells_of(link, **how)
    return [
        (c.at_ns / S, c.impairment.delay_ns / 1e6, c.impairment.loss)
        for c in ends(cell)[1].changes
        if c.impairment
    ]


def bits(changes: tuple[Change, ...], first_bps: int, begin_ns: int, end_ns: int) -> float:
    """How much a link with these rates carries between two times."""
    borders = [(0, first_bps), *((c.at_ns, c.rate_bps or 0) for c in changes), (END_S * S, 0)]
    return sum(
        rate * max(0, min(after, end_ns) - max(at, begin_ns)) / S
        for (at, rate), (after, _) in pairwise(borders)
    )


@pytest.mark.parametrize(("over", "steps"), [("3s", 100), ("200ms", 20), ("1ms", 1)])
def test_a_ramp_carries_what_a_straight_line_does(over: str, steps: int) -> None:
    (cell,) = cells_of(f"rate = 8Mbit/s  delay = 1ms  at 10s over {over} {{ rate = 2Mbit/s }}")
    shaped, _ = ends(cell)
    length_ns = {"3s": 3 * S, "200ms": S // 5, "1ms": S // 1000}[over]
    assert len(shaped.changes) == steps + 1
    assert (shaped.changes[0].at_ns, shaped.changes[-1].at_ns) == (10 * S, 10 * S + length_ns)
    assert shaped.changes[-1].rate_bps == 2_000_000
    whole = bits(shaped.changes, 8_000_000, 10 * S, 10 * S + length_ns)
    assert whole == pytest.approx(5e6 * length_ns / S, rel=1e-6)
    half = bits(shaped.changes, 8_000_000, 10 * S, 10 * S + length_ns // 2)
    if steps > 1:
        assert half == pytest.approx(6.5e6 * length_ns / 2 / S, rel=1e-6)


def test_a_change_within_a_ramp_ends_it_where_it_is() -> None:
    link = "rate = 8Mbit/s  delay = 1ms  at 10s over 4s { delay = 41ms }  at 11s over 1s { delay = 1ms }"
    found = states(link)
    before = [delay for at, delay, _ in found if 10 <= at < 11]
    after = [delay for at, delay, _ in found if 11 <= at < 12]
    assert before == sorted(before) and max(before) < 11
    assert after[0] == pytest.approx(11 - 0.05)
    assert found[-1] == (12, 1, 0)


def test_a_ramp_of_losses_draws_anew_in_each_step() -> None:
    (cell,) = cells_of("rate = 8Mbit/s  delay = 1ms  at 10s over 1s { loss = 10% }")
    found = [c.impairment for c in ends(cell)[1].changes if c.impairment]
    assert len({each.seed for each in found}) == len(found) == 101
    assert found[0].loss == pytest.approx(0.0005) and found[-1].loss == 0.1


def test_what_comes_again_comes_until_the_end() -> None:
    found = rates("rate = 8Mbit/s  delay = 1ms  every 10s from 3s for 2s { rate = 2Mbit/s }")
    assert found == [(3, 2), (5, 8), (13, 2), (15, 8), (23, 2), (25, 8)]


def test_what_comes_again_for_good_holds_until_the_next() -> None:
    link = "rate = 8Mbit/s  delay = 1ms  every 20s { rate = 2Mbit/s }  every 20s from 10s { rate = 4Mbit/s }"
    assert rates(link) == [(0, 2), (10, 4), (20, 2)]


def test_what_holds_for_a_while_lies_above_the_rest() -> None:
    """A change below it shows when it has ended; of two, the one written last."""
    link = (
        "rate = 8Mbit/s  delay = 1ms  at 11s { rate = 6Mbit/s }"
        "  every 100s from 10s for 4s { rate = 1Mbit/s }"
        "  every 100s from 12s for 4s { rate = 2Mbit/s }"
    )
    assert rates(link) == [(10, 1), (11, 1), (12, 2), (14, 2), (16, 6)]


def test_a_link_that_is_down_for_good() -> None:
    assert states("rate = 8Mbit/s  delay = 1ms  down from 20s") == [(20, 1, 1)]


def test_a_link_that_is_down_again_and_again() -> None:
    found = states("rate = 8Mbit/s  delay = 1ms  loss = 1%  down every 10s from 5s for 500ms")
    assert found == [
        (at + after, 1, loss) for at in (5, 15, 25) for after, loss in ((0, 1), (0.5, 0.01))
    ]


def test_random_streams_are_never_the_same_twice() -> None:
    (cell,) = cells_of("rate = 8Mbit/s  delay = 1ms  loss = 5%  every 1s for 500ms { delay = 9ms }")
    found = [c.impairment.seed for c in ends(cell)[1].changes if c.impairment]
    assert len(found) == len(set(found)) == 60


DRAWN = "rate = 8Mbit/s  delay = 1ms  every 10s { rate = uniform(2Mbit/s, 4Mbit/s)  delay = uniform(5ms, 9ms) }"


def test_what_is_drawn_is_drawn_anew_and_alike_for_all_configurations() -> None:
    cells = cells_of(DRAWN, "duration = 30s  repeat = 2", "sweep { cca = [cubic, bbr] }")
    drawn = {
        (cell.repetition, cell.bindings["cca"]): [c.rate_bps for c in ends(cell)[0].changes]
        for cell in cells
    }
    assert drawn[1, "cubic"] == drawn[1, "bbr"] != drawn[2, "cubic"] == drawn[2, "bbr"]
    values = [rate or 0 for each in drawn.values() for rate in each]
    assert all(2_000_000 <= rate <= 4_000_000 for rate in values)
    assert len(set(values)) == 6


def test_one_statement_draws_once_for_both_ways() -> None:
    text = """fexp 1
    experiment e {
      topology {
        node server, client  router middle
        link server -- middle, middle -- client { rate = 8Mbit/s  every 10s { delay = uniform(5ms, 9ms) } }
      }
      flow a { cca = cubic  workload = bulk }
      duration = 30s
      measure = [goodput]
    }
    """
    cell = only_cell_of(text)
    hops = [node for node in cell.nodes if node.kind == "hop"]
    drawn = [
        [[c.impairment.delay_ns for c in end.changes if c.impairment] for end in hop.interfaces]
        for hop in hops
    ]
    assert all(there == back for there, back in drawn)
    assert drawn[0] != drawn[1], "links draw on their own"


def test_own_draws_where_the_file_says_so() -> None:
    cells = cells_of(DRAWN, "duration = 30s  draws = own", "sweep { cca = [cubic, bbr] }")
    one, other = ([c.rate_bps for c in ends(cell)[0].changes] for cell in cells)
    assert one != other


def test_outages_at_random_follow_each_other() -> None:
    """Up first, then down and up in turns, until the end; each repetition has others."""
    link = "rate = 5Mbit/s  delay = 10ms  down every exponential(2s) for exponential(500ms)"
    first, second = cells_of(link, extra="duration = 30s  repeat = 2")
    found = [
        [c.impairment.loss for c in ends(cell)[1].changes if c.impairment]
        for cell in (first, second)
    ]
    for losses in found:
        assert losses[:2] == [1.0, 0.0]
        assert all(a != b for a, b in pairwise(losses))
    assert ends(first)[1].changes != ends(second)[1].changes


def test_outages_of_random_lengths_at_a_distance_merge() -> None:
    link = "rate = 5Mbit/s  delay = 10ms  down every 1s for uniform(1500ms, 1600ms)"
    found = states(link)
    assert all(loss == 1.0 for at_s, _, loss in found if at_s < 29)


def test_what_only_one_draws_leaves_other_draws_alone() -> None:
    """A loss chain in time is drawn for each direction, first in the list of events; the names of
    other random streams contain the position of their statement.
    """
    (cell,) = cells_of(
        "rate = 5Mbit/s  delay = 10ms  loss = gilbert_elliott(good: 1s, bad: 100ms, h: 50%, k: 99%)"
    )
    losses = {round(c.impairment.loss, 9) for c in ends(cell)[1].changes if c.impairment}
    assert losses == {0.5, 0.01}
    first = ends(cell)[1].impairment
    assert first is not None and first.loss == pytest.approx(0.01) and first.bursts is None


def test_endless_outages_at_random_are_refused() -> None:
    with pytest.raises(CompileError) as caught:
        cells_of(
            "rate = 5Mbit/s  delay = 10ms  down every exponential(1us) for exponential(1us)",
        )
    assert caught.value.diagnostics[0].code == "too-many"
