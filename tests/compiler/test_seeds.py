"""Random streams: the same everywhere, and independent of what else a cell holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairc.cell.seeds import canonical, cell_seed, identity, stream_seed, uniform

SEEDS = st.integers(0, 2**63 - 1)


def test_values_that_must_never_change() -> None:
    """Published results depend on these numbers."""
    assert identity("fairc") == "681755f85949c0de"
    assert cell_seed(1, {"a": "1"}, 2, paired=False) == 7538885479643294703
    assert uniform(1, 1000, "start", "cubic") == 250


def test_the_order_of_bindings_does_not_matter() -> None:
    one = cell_seed(1, {"a": "1", "b": "2"}, 1, paired=False)
    other = cell_seed(1, {"b": "2", "a": "1"}, 1, paired=False)
    assert one == other


def test_paired_configurations_share_their_seed() -> None:
    unpaired = {cell_seed(1, {"cca": cca}, 1, paired=False) for cca in ("cubic", "bbr")}
    paired = {cell_seed(1, {"cca": cca}, 1, paired=True) for cca in ("cubic", "bbr")}
    assert (len(unpaired), len(paired)) == (2, 1)
    assert paired != {cell_seed(1, {"cca": "cubic"}, 2, paired=True)}


@given(SEEDS, st.lists(st.text(), min_size=1, max_size=3))
def test_a_seed_has_63_bits(seed: int, name: list[str]) -> None:
    assert 0 <= stream_seed(seed, *name) < 2**63


@given(SEEDS, st.integers(1, 10**12), st.text())
def test_a_draw_is_in_its_range(seed: int, bound: int, name: str) -> None:
    assert 0 <= uniform(seed, bound, name) < bound


def test_draws_cover_their_range_evenly() -> None:
    """1000 draws over ten classes: each within 5 standard deviations of 100."""
    counts = [0] * 10
    for seed in range(1000):
        counts[uniform(seed, 10, "start", "cubic")] += 1
    assert all(abs(count - 100) < 5 * 9.5 for count in counts)


def test_names_of_streams_are_not_glued_together() -> None:
    assert stream_seed(1, "ab", "c") != stream_seed(1, "a", "bc")


def test_canonical_json_has_one_form() -> None:
    assert canonical({"b": 1, "a": "ü"}) == '{"a":"ü","b":1}'
