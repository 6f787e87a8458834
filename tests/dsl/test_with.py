"""`with`: topologies with changes of their links, and with more nodes and links."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from specs import experiment_of

from fairc.dsl import Diagnostics, Source, load
from fairc.dsl.expressions.evaluate import Scope, evaluate
from fairc.dsl.model import Configuration, Direction
from fairc.dsl.text.parser import parse_expression
from fairc.mechanisms.devices.pep.declaration import Pep
from fairc.mechanisms.devices.policer.declaration import Policer

from .conftest import text_of

Build = Callable[..., list[Configuration]]
Check = Callable[..., Diagnostics]

OWN = """
topology own(loss, trip = 10ms) {
  node server, client
  router left, right
  link server -- left, right -- client { rate = 1Gbit/s }
  link left -- right { rate = 10Mbit/s  delay = trip  loss = loss  at 1s { loss = 3% } }
}
"""


def ways(configuration: Configuration) -> dict[tuple[str, str], Direction]:
    """Return the directions of all links by their ends."""
    links = configuration.scenario.network.links
    return {
        ends: way
        for link in links
        for ends, way in (((link.a, link.b), link.forward), ((link.b, link.a), link.backward))
    }


def losses(way: Direction) -> list[tuple[int, float]]:
    """Return the loss after each change of a direction."""
    return [(e.begin_ns, float(e.loss.arguments["value"])) for e in way.events if e.loss]


def test_a_direction_of_a_preset_is_changed_and_keeps_the_rest(build: Build) -> None:
    (found,) = build(
        "topology = geo(pep: split) with {"
        " link gateway -> terminal { loss = 1%  at 10s { rate = 5Mbit/s } } }",
        "flow a { cca = cubic  workload = bulk }",
        "duration = 20s",
    )
    (plain,) = build("topology = geo(pep: split)")
    way, before = ways(found)["gateway", "terminal"], ways(plain)["gateway", "terminal"]
    ((at_ns, rate),) = [(event.begin_ns, event.rate) for event in way.events]
    assert (way.impairment.loss, at_ns) == (0.01, 10**10)
    assert rate is not None and rate.arguments["value"] == 5_000_000
    assert (way.rate_bps, way.delay_ns) == (before.rate_bps, before.delay_ns)
    assert way.queue.size.canonical == before.queue.size.canonical
    assert ways(found)["terminal", "gateway"].impairment.loss == 0
    assert len(found.scenario.network.proxies) == 1


def test_both_directions_nested_over_a_topology_of_the_file(build: Build) -> None:
    (found,) = build(
        "let lossy = own(1%, trip: rtt) with { link left -- right { jitter = rtt / 5 } }",
        "let rtt = 10ms",
        "topology = (lossy with { link right -> left { loss = 2%  at 2s { loss = 4% } } })"
        " with { link left -> right { delay = 2 * rtt } }",
        before=OWN,
    )
    there, back = (ways(found)[ends] for ends in (("left", "right"), ("right", "left")))
    assert (there.delay_ns, back.delay_ns) == (20_000_000, 10_000_000)
    assert (there.impairment.loss, back.impairment.loss) == (0.01, 0.02)
    assert losses(back) == [(10**9, 0.03), (2 * 10**9, 0.04)]
    assert losses(there) == [(10**9, 0.03)]
    assert there.impairment.jitter_ns == back.impairment.jitter_ns == 2_000_000


def test_names_are_looked_up_where_with_stands(build: Build) -> None:
    """`loss` is a parameter of `own`, and swept here: the latter is meant."""
    found = build(
        "sweep { loss = [1%, 2%] }",
        "topology = own(5%) with { link left -> right { loss = loss } }",
        before=OWN,
    )
    both = (("left", "right"), ("right", "left"))
    lost = [tuple(ways(c)[ends].impairment.loss for ends in both) for c in found]
    assert lost == [(0.01, 0.05), (0.02, 0.05)]


def test_further_nodes_links_and_devices(build: Build) -> None:
    (found,) = build(
        "topology = bottleneck(rate: 10Mbit/s, rtt: 20ms) with {"
        "  let slow = 1Mbit/s"
        "  node probe  router edge"
        "  link right -- edge, edge -- probe { rate = slow  delay = 1ms }"
        "  pep half { terminal = edge  gateway = right  mode = split }"
        " }",
        "flow a { cca = cubic  workload = file(1MB) }",
        "flow b { cca = cubic  workload = file(1MB)  to = probe }",
    )
    assert [node.name for node in found.scenario.network.nodes] == [
        *("server", "client", "left", "right"),
        *("probe", "edge"),
    ]
    assert ways(found)["edge", "probe"].rate_bps == 1_000_000
    assert [pep.name for pep in found.scenario.network.proxies] == ["half"]


def test_the_text_of_a_swept_topology_has_the_values_of_its_names(build: Build) -> None:
    found = build(
        "sweep { loss = [1%, 2%]  net = [geo, geo with {  # less\n"
        " link gateway -> terminal { loss = loss / 2 } }] }",
        "topology = net",
    )
    assert [c.bindings["net"] for c in found] == [
        "geo",
        "geo with { link gateway -> terminal { loss = 1% / 2 } }",
        "geo",
        "geo with { link gateway -> terminal { loss = 2% / 2 } }",
    ]
    assert [ways(c)["gateway", "terminal"].impairment.loss for c in found] == [0, 0.005, 0, 0.01]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ("link left -> rigth { loss = 1% }", "unknown-node"),
        ("link left -> right { los = 1% }", "unknown-key"),
        ("link left -> right { loss = 1Mbit/s }", "wrong-dimension"),
        ("link left -> right { loss = 1% }  link left -- right { loss = 2% }", "duplicate-link"),
        ("node server", "duplicate-node"),
        ("router more  link left -> more", "one-way-link"),
        ("link left -> right { at 1s { loss = 2% } }", "duplicate-change"),
        ("link left -> right { jitter = 1s }", "jitter-above-delay"),
    ],
)
def test_what_with_refuses(check: Check, changes: str, code: str) -> None:
    found = check(f"topology = own(1%) with {{ {changes} }}", before=OWN)
    assert [d.code for d in found.errors] == [code]


@pytest.mark.parametrize("base", ["3", "[geo]", "geos"])
def test_only_topologies_have_changes(check: Check, base: str) -> None:
    found = check(f"topology = {base} with {{ link gateway -> terminal {{ loss = 1% }} }}")
    expected = "unknown-topology" if base == "geos" else "wrong-type"
    assert [d.code for d in found.errors] == [expected]


PAIRS = (
    "flow even { cca = cubic  workload = bulk }",
    "flow f[i] for i in 1..2 { cca = cubic  workload = bulk }",
    "duration = 5s",
)


def test_hosts_of_flows_have_links_of_their_own(build: Build) -> None:
    """Of one flow, of all with an index, of one of these; other hosts keep theirs."""
    (found,) = build(
        "topology = dumbbell(rate: 10Mbit/s, rtt: 20ms) with {"
        "  link server[even] -> left { delay = 1ms  at 1s { delay = 2ms } }"
        "  link client[f[2]] -- right { loss = 1% }"
        "  link client[f] -- right { rate = 50Mbit/s }"
        "  link server -- left { rate = 900Mbit/s }"
        " }",
        *PAIRS,
    )
    links = ways(found)
    even = links["even-server", "left"]
    assert (even.delay_ns, [e.begin_ns for e in even.events]) == (1_000_000, [10**9])
    assert links["left", "even-server"].delay_ns == links["f-1-server", "left"].delay_ns == 0
    assert {way.rate_bps for (a, _), way in links.items() if "-server" in a} == {900_000_000}
    clients = {
        a: (w.rate_bps, w.impairment.loss) for (a, _), w in links.items() if a.endswith("-client")
    }
    assert clients == {
        "even-client": (100_000_000, 0),
        "f-1-client": (50_000_000, 0),
        "f-2-client": (50_000_000, 0.01),
    }


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ("link server[odd] -> left { delay = 1ms }", "unknown-flow"),
        ("link server[f[3]] -> left { delay = 1ms }", "unknown-flow"),
        ("link server[even] -> right { delay = 1ms }", "unknown-link"),
        ("link left[even] -> right { delay = 1ms }", "unknown-node"),
        ("link left -> client[even] { policer = conex(5pkt/s, 45pkt) }", "unknown-link"),
        ("link right -> client[even] { policer = conex(5pkt/s, 45pkt) }", "impossible-pair"),
    ],
)
def test_what_hosts_of_flows_refuse(check: Check, changes: str, code: str) -> None:
    network = f"topology = dumbbell(rate: 10Mbit/s, rtt: 20ms) with {{ {changes} }}"
    assert [d.code for d in check(network, *PAIRS).errors] == [code]


def test_only_presets_with_pairs_of_hosts_have_them(check: Check) -> None:
    network = (
        "topology = bottleneck(rate: 1Mbit/s) with { link server[even] -> left { loss = 1% } }"
    )
    assert [d.code for d in check(network, *PAIRS).errors] == ["unknown-node"]


@pytest.mark.parametrize("name", ["bottleneck", "dumbbell", "access", "parking_lot", "geo", "4g"])
def test_a_preset_takes_what_a_link_takes(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.trace").write_text("1\n2\n3\n4\n100\n200\n")
    rate = "down" if name in ("geo", "4g") else "rate"
    network = f'{name}({rate}: trace("a.trace"), loss: gilbert_elliott(p: 1%, r: 10%))'
    text = text_of(f"topology = {network}")
    made, found = load(Source(str(tmp_path / "file.fexp"), text))
    assert [d.message for d in found.errors] == [] and made is not None
    (configuration,) = made.configurations()
    slow = [way for way in ways(configuration).values() if way.trace and way.impairment.bursts]
    assert slow and {way.rate_bps for way in slow} == {6 * 1514 * 8 * 5}


@pytest.mark.parametrize("name", ["bottleneck", "dumbbell", "access", "parking_lot", "geo", "4g"])
def test_delay_and_loss_of_a_preset_follow_a_recording(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.csv").write_text("time [s],delay [ms],loss [%]\n0,20,1\n1,30,2\n")
    delay = "hop" if name == "parking_lot" else "delay"
    rate = "down" if name in ("geo", "4g") else "rate"
    network = f'{name}({rate}: 5Mbit/s, {delay}: trace("a.csv"), loss: trace("a.csv"))'
    text = text_of(f"topology = {network}")
    made, found = load(Source(str(tmp_path / "file.fexp"), text))
    assert [d.message for d in found.errors] == [] and made is not None
    (configuration,) = made.configurations()
    links = [way for way in ways(configuration).values() if way.recordings.delay]
    assert {way.delay_ns for way in links} == {20_000_000}
    assert [way.impairment.loss for way in links].count(0.01) == len(links) / 2


@pytest.mark.parametrize(
    ("call", "names"),
    [
        ("bottleneck(rate: 1Mbit/s, rtt: 20ms, delay: 5ms)", ["rtt"]),
        ("bottleneck(rate: 1Mbit/s, up: 1Mbit/s, down: 1Mbit/s, access: 1Gbit/s)", ["rate"]),
        ("bottleneck(rate: 1Mbit/s, up: 1Mbit/s, down: 1Mbit/s)", []),
        ("geo(home: 2ms, delay: 300ms, rtt: 600ms)", ["rtt"]),
    ],
)
def test_an_argument_of_a_preset_that_changes_nothing_is_a_warning(
    check: Check, call: str, names: list[str]
) -> None:
    found = check(f"topology = {call}")
    messages = [d.message for d in found if d.code == "no-effect"]
    assert messages == [f"`{name}` changes nothing here" for name in names]


def test_access_links_are_ten_times_as_fast_as_the_peak_of_a_trace(tmp_path: Path) -> None:
    """Five packets in the first of two bins of 100 ms: 605,600 bit/s."""
    (tmp_path / "a.trace").write_text("1\n2\n3\n4\n100\n200\n")
    text = text_of('topology = bottleneck(down: trace("a.trace"), up: 20Mbit/s, rtt: 40ms)')
    made = experiment_of(text, str(tmp_path / "file.fexp"))
    (configuration,) = made.configurations()
    assert ways(configuration)["server", "left"].rate_bps == 200_000_000
    assert canonical_of(tmp_path, 'peak(trace("a.trace"))') == "605600bit/s"
    assert canonical_of(tmp_path, "peak(3Mbit/s)") == "3Mbit/s"


def canonical_of(folder: Path, text: str) -> str:
    """Return the canonical text of an expression in a file of a folder."""
    return evaluate(parse_expression(Source(str(folder / "file.fexp"), text)), Scope({})).canonical


DEVICES = """
topology policed(mode) {
  node server, client
  router left, right
  link server -- left, right -- client { rate = 1Gbit/s }
  link left -- right { rate = 10Mbit/s  delay = 10ms  queue = fifo(1bdp) }
  policer strict { at = left  to = right  mode = mode }
  pep half { terminal = right  gateway = left }
}
"""


def test_settings_of_proxies_are_changed_and_the_others_kept(build: Build) -> None:
    found = build(
        "sweep { window = [1MB, 2MB] }",
        "topology = geo(pep: none) with { pep satellite { mode = split(window: window) } }",
    )
    peps = [cast("Pep", pair) for c in found for pair in c.scenario.network.proxies]
    assert [(p.name, p.terminal, p.gateway, p.window.canonical) for p in peps] == [
        ("satellite", "terminal", "gateway", "1MB"),
        ("satellite", "terminal", "gateway", "2MB"),
    ]


def test_settings_of_devices_are_changed_again_by_the_outer_with(build: Build) -> None:
    """Each key is looked up where it is written; what nobody changes stays."""
    inner = "policed(conex(5pkt/s, 20pkt)) with { pep half { mode = none }  policer strict"
    (found,) = build(
        f"topology = ({inner} {{ mode = conex(50pkt/s, 10pkt) }} }}) with"
        " { policer strict { at = right  to = left } }",
        before=DEVICES,
    )
    policers = {ends: way.device for ends, way in ways(found).items() if way.device}
    assert [*policers] == [("right", "left")]
    (policer,) = policers.values()
    assert isinstance(policer, Policer) and (policer.name, policer.rate) == ("strict", 50)
    assert not found.scenario.network.proxies


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ("policer strikt { mode = none }", ["missing-key", "missing-key"]),
        ("policer strict { mood = none }", ["unknown-key"]),
        ("policer strict { mode = none }  policer strict { at = left }", ["duplicate-name"]),
        ("policer strict { to = client }", ["no-policer-link"]),
        ("pep half { mode = split(window: 1s) }", ["wrong-dimension"]),
    ],
)
def test_what_devices_refuse(check: Check, changes: str, codes: list[str]) -> None:
    topology = f"topology = policed(none) with {{ {changes} }}"
    found = check(topology, before=DEVICES).errors
    assert [d.code for d in found] == codes
    if codes[0] == "missing-key":
        assert all(d.note == "did you mean `strict`?" for d in found)


def test_a_mistake_below_is_told_once(check: Check) -> None:
    """A link that is wrong in the topology is none that a `with` looks for in vain."""
    wrong = OWN.replace("loss = loss ", "los = loss ")
    changes = "link left -> right { loss = 1% }"
    found = check(f"topology = own(1%) with {{ {changes} }}", before=wrong)
    assert [d.code for d in found.errors] == ["unknown-key"]
