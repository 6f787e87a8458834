"""Bytes are apportioned to slots by serialisation time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairc.runtime.measurement.slots import apportion, edges


def spread(packets: list[tuple[float, float, float]], borders: list[float]) -> list[float]:
    start, length, amount = np.array(packets, np.float64).reshape(-1, 3).T
    return [float(x) for x in apportion(start, length, amount, np.array(borders, np.float64))]


def test_a_packet_on_a_border_is_split() -> None:
    """12 ms from 0.096 s on: a third before 0.1 s."""
    assert spread([(0.096, 0.012, 1500)], [0, 0.1, 0.2]) == pytest.approx([500, 1000])


def test_a_packet_longer_than_a_slot_fills_it() -> None:
    assert spread([(0.05, 0.2, 400)], [0, 0.1, 0.2, 0.3]) == pytest.approx([100, 200, 100])


def test_a_packet_that_ends_on_a_border_is_not_in_the_next_slot() -> None:
    assert spread([(0.5, 0.5, 8)], [0, 1, 2]) == [8, 0]


def test_a_packet_without_length_is_in_the_slot_that_begins_with_it() -> None:
    assert spread([(1.0, 0.0, 8)], [0, 1, 2]) == [0, 8]


def test_what_lies_outside_is_not_counted() -> None:
    assert spread([(-0.5, 1.0, 8), (1.75, 0.5, 8), (5, 1, 8), (-3, 1, 8)], [0, 1, 2]) == [4, 4]


def test_packets_may_overlap_and_come_in_any_order() -> None:
    assert spread([(1.5, 1, 10), (0.5, 1, 10), (1.5, 1, 2)], [0, 1, 2, 3]) == [5, 11, 6]


def test_no_packets() -> None:
    assert spread([], [0, 1, 2]) == [0, 0]


TIME = st.floats(0, 9.9).map(lambda t: round(t, 3))


@given(
    st.lists(st.tuples(TIME, st.floats(0, 3).map(lambda t: round(t, 3)), st.integers(1, 1514))),
    st.integers(1, 150),
)
def test_bytes_are_conserved(packets: list[tuple[float, float, int]], slots: int) -> None:
    borders = np.linspace(0, 13, slots + 1).tolist()
    per_slot = spread([(t, s, float(b)) for t, s, b in packets], borders)
    assert sum(per_slot) == pytest.approx(sum(b for *_, b in packets))
    assert min(per_slot) >= 0


@given(st.lists(st.tuples(TIME, st.just(0.012), st.integers(1, 1514)), min_size=1))
def test_slots_add_up_to_longer_slots(packets: list[tuple[float, float, int]]) -> None:
    fine = spread([(t, s, float(b)) for t, s, b in packets], [i / 10 for i in range(121)])
    coarse = spread([(t, s, float(b)) for t, s, b in packets], list(range(13)))
    assert np.array(fine).reshape(12, 10).sum(axis=1) == pytest.approx(coarse, abs=1e-6)


@pytest.mark.parametrize(
    ("end_s", "count"), [(0, 1), (0.05, 1), (0.1, 1), (0.100001, 2), (80, 800), (0.3, 3)]
)
def test_edges_cover_the_time(end_s: float, count: int) -> None:
    borders = edges(0.1, end_s)
    assert len(borders) == count + 1
    assert borders[-1] == count * 0.1
