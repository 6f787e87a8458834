"""The names of the paths of Multipath TCP."""

from __future__ import annotations

import pytest
from specs import only_cell_of

TEXT = """fexp 1
experiment e {{
  topology {{
    node server, client
    router wifi, mobile, core
    link {links}, wifi -- client, mobile -- client {{ rate = 5Mbit/s  delay = 5ms }}
  }}
  flow f {{ over = mptcp  cca = cubic  workload = bulk }}
  duration = 5s
  measure = [goodput.subflow]
}}
"""


@pytest.mark.parametrize(
    ("links", "names"),
    [
        ("server -- core, core -- wifi, core -- mobile", ["wifi", "mobile"]),
        ("server -- wifi, server -- mobile", ["wifi", "mobile"]),
        (
            "server -- wifi, server -- mobile, wifi -- core, mobile -- core",
            ["wifi-wifi", "mobile-wifi", "wifi-mobile", "mobile-mobile"],
        ),
    ],
)
def test_a_path_is_named_after_the_end_that_tells_it_from_others(
    links: str, names: list[str]
) -> None:
    (flow,) = only_cell_of(TEXT.format(links=links)).flows
    assert sorted(one.name for one in flow.subflows) == sorted(names)
