"""What the report's headline says of workloads."""

from __future__ import annotations

import pytest
from specs import only_cell_of

from fairc.compiler import plan
from fairc.mechanisms.workloads.onoff.cell import OnOffWorkload
from fairc.mechanisms.workloads.registry import WORKLOADS
from fairc.mechanisms.workloads.video.cell import VideoWorkload
from fairc.runtime.formatting import quantity
from fairc.runtime.report.description import _TRAITS, _network, _ranges


def sentence(part: plan.Workload) -> str:
    made = WORKLOADS[part.kind].sentence
    assert made is not None
    return made(part, quantity)


def test_a_video_and_a_source_in_words() -> None:
    video = VideoWorkload(
        bitrate_bps=1_128_000,
        length_ns=300 * 10**9,
        burst_ns=0,
        chunk_bytes=1,
        factor=1.25,
        play_ns=0,
        stall_ns=0,
        send_buffer_bytes=1,
    )
    assert sentence(video) == "300 s video of 1.13 Mbit/s"
    always = plan.Distribution(kind="constant", parameters={"value": 1.0})
    source = OnOffWorkload(rate_bps=500_000, on=always, off=always, packet_bytes=1500, seed=1)
    assert sentence(source) == "0.5 Mbit/s on and off"


def test_what_links_do_beyond_rate_and_delay() -> None:
    steady = plan.Impairment(delay_ns=1000, jitter_ns=10)
    moved = plan.Impairment(delay_ns=2000, jitter_ns=10)
    link = plan.Interface(
        name="a-eth0",
        address="10.0.0.1/30",
        impairment=steady,
        changes=(plan.Change(at_ns=5, impairment=moved),),
        arriving_ecn="bleach",
    )
    found = [text for text, has in _TRAITS.items() if has(link)]
    assert found == ["a delay that changes with time", "jitter", "ECN bleached on the way"]


def test_a_link_that_goes_down_has_outages_and_no_losses_that_change() -> None:
    up, down = plan.Impairment(delay_ns=1000), plan.Impairment(delay_ns=1000, loss=1)
    lossy = plan.Impairment(delay_ns=1000, loss=0.5)
    for after, traits in (
        (up, ["outages"]),
        (lossy, ["outages", "losses that change with time"]),
    ):
        changes = (plan.Change(at_ns=5, impairment=down), plan.Change(at_ns=9, impairment=after))
        link = plan.Interface(name="e", address="10.0.0.1/30", impairment=up, changes=changes)
        assert [text for text, has in _TRAITS.items() if has(link)] == traits


TWO_PATHS = """fexp 1
experiment two {{
  topology {{
    node server, client
    router core, wifi, mobile
    link server -- core {{ rate = 1Gbit/s }}
    link core -- wifi {{ rate = 8Mbit/s  delay = 10ms  {wifi} }}
    link core -- mobile {{ rate = 2Mbit/s  delay = 40ms  {mobile} }}
    link wifi -- client, mobile -- client {{ rate = 1Gbit/s }}
  }}
  flow f {{ over = mptcp  cca = cubic  workload = bulk }}
  duration = 10s
  measure  = [goodput]
}}
"""


@pytest.mark.parametrize(
    ("wifi", "mobile", "losses"),
    [
        ("loss = 0.5%", "loss = 1%", ", random loss 0.5 % to 1 %"),
        ("", "loss = 1%", ", random loss 1 %"),
        ("", "", ""),
    ],
)
def test_every_path_and_every_loss_is_in_the_description(
    wifi: str, mobile: str, losses: str
) -> None:
    """Of Multipath TCP, both round trips; of links that lose packets, all shares."""
    cell = only_cell_of(TWO_PATHS.format(wifi=wifi, mobile=mobile))
    for text in (_network(cell), _ranges([cell])):
        assert "a base RTT of 20 ms to 80 ms" in text
        assert losses.strip(", ") in text
        assert ("loss" in text) == bool(losses)
