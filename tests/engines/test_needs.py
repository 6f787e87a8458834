"""What a cell needs of a host's kernel is named; what it does not need is not asked for."""

from __future__ import annotations

from collections.abc import Collection

import middleboxes
import pytest
from specs import dumbbell, only_cell_of

from fairc.runtime.engines import host

MATCHALL = "filters of packets (modules cls_matchall"
FLOWER = "filters of packets (modules cls_flower"


def lacking(spec: str, modules: Collection[str]) -> set[str]:
    """Return what a kernel without some modules of filters lacks for a cell."""

    def has_filter(text: str) -> bool:
        return not any(text.startswith(each) or f"{each} " in text for each in modules)

    kernel = host.Kernel(
        lambda: True, lambda _: True, lambda _: True, lambda _: True, lambda: True, has_filter
    )
    found = [what for what, there in host.needs(only_cell_of(spec), kernel) if not there]
    assert len(found) == len(set(found)), "something is named twice"
    return {*found}


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ([], set[str]()),
        (
            ["flower"],
            {f"{FLOWER})", f"{FLOWER}, act_pedit, act_csum)"},  # of `prio`; of flows
        ),
        (["police"], {f"{MATCHALL}, act_police)"}),
        (["skbmod"], {f"{MATCHALL}, act_skbmod)"}),
        (
            ["pedit"],
            {f"{MATCHALL}, act_pedit, act_csum)", f"{FLOWER}, act_pedit, act_csum)"},
        ),
    ],
)
def test_filters_that_a_kernel_lacks_are_named(modules: list[str], expected: set[str]) -> None:
    assert lacking(middleboxes.SPEC, modules) == expected


def test_a_cell_without_filters_needs_none() -> None:
    assert lacking(dumbbell(1), ["matchall", "flower"]) == set()
