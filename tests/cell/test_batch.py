"""The border where lines of `ip` and `tc` are made: words, or a refusal."""

from __future__ import annotations

from typing import Any

import pytest
from specs import only_cell_of

from fairc.cell.batch import cable_lines, divided, duration, line, node_lines, percent, word
from fairc.cell.document import End, Node
from fairc.cell.links import Impairment, Interface, Shaper, bucket_bytes, egress_lines
from fairc.mechanisms.queues.fifo.cell import Fifo


@pytest.mark.parametrize(
    "text",
    ["", " ", "a  b", "a\nb", "a\rb", "a\tb", "a;b", "a\\b", 'a"b', "a#b", "a\x00", "ä", " a"],
)
def test_a_line_of_a_batch_is_words(text: str) -> None:
    with pytest.raises(ValueError, match="not a line"):
        line(text)
    assert line("route add 10.0.0.0/8 via 10.0.0.2") == "route add 10.0.0.0/8 via 10.0.0.2"


def test_an_interface_is_one_word() -> None:
    with pytest.raises(ValueError, match="not one word"):
        word("eth0 netns")


def node(**changed: Any) -> Node:
    made: dict[str, Any] = {
        "name": "h",
        "sysctls": {},
        "interfaces": [
            {
                "name": "h-eth0",
                "address": "10.0.0.1/30",
                "mac": "m",
                "mtu": 1500,
                "lower": None,
                "segments": 1,
            }
        ],
        "neighbours": [{"address": "10.0.0.2", "mac": "02:00:0a:00:00:02", "interface": "h-eth0"}],
        "routes": [
            {
                "destination": "10.0.0.0/8",
                "via": "10.0.0.2",
                "mtu": 1280,
                "initcwnd": 4,
                "rto_min": 20,
            }
        ],
        "rules": [{"interface": "h-eth0", "side": "dport", "port": 80, "table": 100}],
        "qdiscs": [],
    }
    return made | changed  # type: ignore[return-value]


def test_the_lines_of_a_node() -> None:
    assert list(node_lines(node())) == [
        "link set dev lo up",
        "link set dev h-eth0 mtu 1500 gso_max_segs 1 up",
        "address add 10.0.0.1/30 dev h-eth0",
        "neighbour add 10.0.0.2 lladdr 02:00:0a:00:00:02 dev h-eth0 nud permanent",
        "rule add iif h-eth0 ipproto tcp dport 80 lookup 100",
        "route add 10.0.0.0/8 via 10.0.0.2 mtu 1280 initcwnd 4 rto_min 20ms",
    ]


@pytest.mark.parametrize(
    "changed",
    [
        {"routes": [{"destination": "10.0.0.0/8", "via": "10.0.0.2\nnetns add x"}]},
        {"neighbours": [{"address": "10.0.0.2", "mac": "$(id)", "interface": "h-eth0"}]},
        {"rules": [{"interface": "x;y", "side": "dport", "port": 80, "table": 100}]},
        {
            "interfaces": [
                {"name": "e", "address": "a\nb", "mac": "m", "mtu": 1, "lower": None, "segments": 1}
            ]
        },
    ],
)
def test_nothing_of_a_document_adds_a_line(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a line"):
        list(node_lines(node(**changed)))


def test_a_cable() -> None:
    ends = (
        End(node="a", interface="a-eth0", mac="m1"),
        End(node="b", interface="b-eth0", mac="m2"),
    )
    paths = {"a": "/proc/1/fd/3", "b": "/proc/1/fd/4"}
    (text,) = cable_lines([ends], paths)
    assert text == (
        "link add name a-eth0 address m1 netns /proc/1/fd/3 type veth"
        " peer name b-eth0 address m2 netns /proc/1/fd/4"
    )
    with pytest.raises(ValueError, match="not one word"):
        cable_lines([(ends[0], End(node="b", interface="x up", mac="m"))], paths)


def test_an_egress_has_nothing_but_words() -> None:
    bucket = Interface("e0", "10.0.0.1/30", Shaper(1_000_000, None), Fifo(limit_packets=10))
    assert egress_lines(bucket, slack_ns=100_000) == [
        "qdisc add dev e0 root handle 1: tbf rate 1000000bit burst 1526 limit 15140",
        "qdisc add dev e0 parent 1:1 handle 2: pfifo limit 10",
    ]
    words = "htb rate 1000000bit ceil 1000000bit"
    for slack_ns, burst in ((100_000, "12"), (20_000, "2"), (1_000, "1000ns")):
        shaped = Interface("e0", "10.0.0.1/30", Shaper(1_000_000, "below"), Fifo(limit_packets=10))
        assert egress_lines(shaped, slack_ns) == [
            "qdisc add dev e0 root handle 1: htb default 1",
            (
                f"class add dev e0 parent 1: classid 1:1 {words} burst {burst} cburst {burst}"
                f" quantum 1514"
            ),
            "qdisc add dev e0 parent 1:1 handle 2: pfifo limit 10",
        ]
    strange: Any = "x\ny"
    for broken in (
        Interface("e0 up", "10.0.0.1/30", Shaper(1_000_000, None), Fifo(limit_packets=10)),
        Interface(
            "e0", "10.0.0.1/30", impairment=Impairment(jitter_ns=1, jitter_distribution=strange)
        ),
        Interface("e0", "10.0.0.1/30", Shaper(1_000_000, "hop"), Fifo(limit_bytes="1; id")),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match=r"not one word|not a line of a batch"):
            egress_lines(broken, slack_ns=1000)


def test_numbers_for_tc() -> None:
    assert [duration(ns) for ns in (25_000_000, 1_500_000, 7)] == ["25ms", "1500us", "7ns"]
    assert [percent(p) for p in (0.5, 1e-9, 1.0)] == ["50", "0.0000001", "100"]
    # One frame, 20 us of the link, under two frames.
    rates = (10**6, 10**8, 10**10)
    assert [bucket_bytes(rate, 1514, slack_ns=0) for rate in rates] == [1516, 1764, 3027]
    assert [bucket_bytes(rate, 1514, slack_ns=100_000) for rate in rates] == [1526, 2764, 103_027]


@pytest.mark.parametrize(
    ("beyond", "ours"),
    [(set(), ["root b instant"]), ({"new"}, ["root new", "parent 1: fifo", "root b instant"])],
)
def test_lines_for_the_endpoints_program(beyond: set[str], ours: list[str]) -> None:
    """Of an interface whose first discipline tc does not know, all; names of no discipline count
    as little as those that no part of the cell has.
    """
    texts = ["a root new", "a parent 1: fifo", "newer root fifo", "c root b instant"]
    lines = [f"qdisc add dev {text}" for text in texts]
    found = divided(lines, beyond)[1]
    assert [text.split(" ", 4)[4] for text in found] == ours


@pytest.mark.parametrize(
    ("topology", "beyond"),
    [
        ("bottleneck(rate: 10Mbit/s, rtt: 20ms)", set()),
        ("bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: dualpi2)", {"dualpi2"}),
        ("wifi(down: 20Mbit/s, up: 10Mbit/s, rtt: 20ms)", {"radio", "arq"}),
    ],
)
def test_the_disciplines_that_tc_does_not_know_are_the_parts(
    topology: str, beyond: set[str]
) -> None:
    text = f"""fexp 1
experiment e {{
  topology = {topology}
  flow f {{ cca = cubic  workload = bulk }}
  duration = 1s
  measure = [goodput]
}}
"""
    assert only_cell_of(text).beyond_tc == beyond
