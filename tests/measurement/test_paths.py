"""Routes of a plan, and max-min fair shares."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from madecell import MS, QUEUE, made_cell

from fairc.runtime.measurement.paths import PathError, Paths, max_min


def test_the_way_of_data_and_back() -> None:
    cell = made_cell(loss=0.1)
    paths, flow = Paths(cell), cell.flows[1]
    assert paths.of(flow) == (("s2", "s2-eth0"), QUEUE, ("h", "h-eth1"), ("r2", "r2-eth1"))
    assert paths.back(flow) == (
        ("c2", "c2-eth0"),
        ("r2", "r2-eth2"),
        ("h", "h-eth0"),
        ("r1", "r1-eth1"),
    )
    assert paths.before(QUEUE, flow) == (("s2", "s2-eth0"),)
    assert paths.behind(QUEUE, flow) == (("h", "h-eth1"), ("r2", "r2-eth1"))
    behind = paths.impairment_behind(QUEUE)
    assert behind is not None
    assert behind.loss == pytest.approx(0.1)
    assert paths.loss(paths.back(flow)) == 0
    assert paths.delay_s(paths.of(flow)) == pytest.approx(25 * MS / 1e9)


def test_a_node_does_not_send_to_itself() -> None:
    assert Paths(made_cell()).egress("c1", int(IPv4Address("10.0.11.1"))) is None


def test_the_longest_prefix_wins() -> None:
    paths = Paths(made_cell())
    assert paths.egress("h", int(IPv4Address("10.0.1.1"))) == "h-eth0"
    assert paths.egress("h", int(IPv4Address("10.0.12.1"))) == "h-eth1"


def test_a_loop_is_an_error() -> None:
    with pytest.raises(PathError, match=r"no route to 192\.0\.2\.1"):
        Paths(made_cell()).to("s1", int(IPv4Address("192.0.2.1")))


def test_a_queue_that_a_flow_does_not_pass_is_an_error() -> None:
    cell = made_cell()
    with pytest.raises(PathError, match="does not pass h/h-eth0"):
        Paths(cell).behind(("h", "h-eth0"), cell.flows[0])


X, Y, Z = ("x", "0"), ("y", "0"), ("z", "0")


def test_one_bottleneck_is_shared_equally() -> None:
    assert max_min({"a": [X], "b": [X]}, {X: 10.0}) == {"a": 5.0, "b": 5.0}


def test_what_one_cannot_use_goes_to_the_other() -> None:
    """Bertsekas and Gallager: a is held to 2 by Y, so b gets the 8 that are left of X."""
    assert max_min({"a": [X, Y], "b": [X]}, {X: 10.0, Y: 2.0}) == {"a": 2.0, "b": 8.0}


def test_a_parking_lot() -> None:
    shares = max_min({"long": [X, Y], "one": [X], "two": [Y]}, {X: 20.0, Y: 12.0})
    assert shares == {"long": 6.0, "two": 6.0, "one": 14.0}


def test_a_session_without_a_bottleneck_has_no_limit() -> None:
    assert max_min({"a": [X], "b": [Z]}, {X: 1.0}) == {"a": 1.0, "b": float("inf")}


LINKS = st.sampled_from([X, Y, Z])


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # of a busy machine
@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.sets(LINKS, min_size=1)),
    st.fixed_dictionaries({link: st.floats(1, 100) for link in (X, Y, Z)}),
)
def test_no_link_is_overfull_and_everybody_has_a_full_one(
    paths: dict[str, set[tuple[str, str]]], rates: dict[tuple[str, str], float]
) -> None:
    """The defining property: each session crosses a full link on which none gets more than it."""
    shares = max_min({name: sorted(path) for name, path in paths.items()}, rates)
    assert shares.keys() == paths.keys()
    load = {link: sum(shares[n] for n, p in paths.items() if link in p) for link in rates}
    assert all(load[link] <= rates[link] * (1 + 1e-9) for link in rates)
    for name, path in paths.items():
        assert any(
            load[link] >= rates[link] * (1 - 1e-9)
            and all(shares[n] <= shares[name] * (1 + 1e-9) for n, p in paths.items() if link in p)
            for link in path
        )


def test_a_session_that_wants_less_leaves_the_rest() -> None:
    """Of 10, a wants 0.2; b and c share 9.8. b's 3 are less than that share, c's 50 more."""
    paths = {"a": [X], "b": [X], "c": [X]}
    shares = max_min(paths, {X: 10.0}, {"a": 0.2})
    assert shares == pytest.approx({"a": 0.2, "b": 4.9, "c": 4.9})
    shares = max_min(paths, {X: 10.0}, {"a": 0.2, "b": 3.0, "c": 50.0})
    assert shares == pytest.approx({"a": 0.2, "b": 3.0, "c": 6.8})
    assert max_min({"a": [Z]}, {X: 1.0}, {"a": 2.0}) == {"a": 2.0}
