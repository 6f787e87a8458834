"""Page loads and split connections on their way into the plan, by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from documents import program, proxies

from fairc.compiler import Cell, compile
from fairc.compiler.engines import VM
from fairc.compiler.estimate import Estimate, beside_s, length
from fairc.compiler.plan import PageObject
from fairc.dsl.model import Distribution, Page
from fairc.mechanisms.devices.pep.declaration import Pep
from fairc.mechanisms.workloads.load.cell import LoadWorkload
from fairc.mechanisms.workloads.load.declaration import Load

NS = 10**9


def page(make: Any, *sizes: int) -> Page:
    document = PageObject(path="/", bytes=sizes[0], type="text/html", parent=None)
    pictures = [
        PageObject(path=f"/{n}.png", bytes=size, type="image/png", parent=0)
        for n, size in enumerate(sizes[1:], 1)
    ]
    return Page((document, *pictures), make.span(9))


def web(make: Any, **options: Any) -> Any:
    """A flow that loads a page of 100 kB, three times."""
    given: dict[str, Any] = {
        "page": page(make, 60_000, 20_000, 20_000),
        "client": "plain",
        "http": "h2",
        "loads": 3,
        "idle": Distribution("uniform", {"low": Fraction(5), "high": Fraction(15)}),
        "timeout_ns": None,
    } | options
    first: Any = "h2" if given["http"] == "h3" else given["http"]
    part = LoadWorkload(
        page=given["page"].objects,
        client=given["client"],
        protocols=(first, *[given["http"]] * (given["loads"] - 1)),
        idle_ns=(0,) * given["loads"],
        timeout_ns=NS,
    )
    workload = Load(part, given["page"], given["http"], given["idle"], given["timeout_ns"])
    return replace(make.flow("web", cca="bbr"), workload=workload, transport="web")


def loads_of(cell: Cell) -> LoadWorkload:
    workload = cell.flows[0].workload
    assert isinstance(workload, LoadWorkload)
    return workload


def one(make: Any, **options: Any) -> Cell:
    made: Cell = make.cell(make.scenario(make.dumbbell(flows=1), [web(make, **options)]))
    return made


def test_pauses_are_drawn_and_the_first_load_has_none(make: SimpleNamespace) -> None:
    first, second, third = loads_of(one(make)).idle_ns
    assert first == 0
    assert 5 * NS <= second <= 15 * NS and 5 * NS <= third <= 15 * NS and second != third


def test_pauses_have_a_stream_of_their_own(make: SimpleNamespace) -> None:
    scene = make.scenario(make.dumbbell(), [web(make), make.flow("other", "s2", "c2")])
    (beside,) = compile(make.experiment(scene)).cells()
    assert loads_of(beside).idle_ns == loads_of(one(make)).idle_ns
    repeated = list(compile(make.experiment(scene, repeat=2)).cells())
    assert loads_of(repeated[0]).idle_ns != loads_of(repeated[1]).idle_ns
    assert (
        "the pauses between the loads of a page: one stream per flow"
        in compile(make.experiment(scene)).plan.varied
    )


def test_protocols(make: SimpleNamespace) -> None:
    assert loads_of(one(make)).protocols == ("h2", "h2", "h2")
    assert loads_of(one(make, http="h3")).protocols == ("h2", "h3", "h3")
    assert loads_of(one(make, http="h3", loads=1)).protocols == ("h2",)


def test_a_load_may_take_ten_times_what_it_needs(make: SimpleNamespace) -> None:
    """800 kbit at 1 Mbit/s, and six round trips of 50 ms are 1.1 s, so a minute it is."""
    assert loads_of(one(make)).timeout_ns == 60 * NS
    large = page(make, 1_000_000)
    assert loads_of(one(make, page=large)).timeout_ns == 10 * (8 * NS + 5 * 50_000_000)
    assert loads_of(one(make, timeout_ns=7)).timeout_ns == 7


def test_the_deadline_leaves_time_for_every_load_to_fail(make: SimpleNamespace) -> None:
    cell = one(make, timeout_ns=60 * NS)
    pauses_ns = sum(loads_of(cell).idle_ns)
    assert cell.deadline_ns > cell.flows[0].start_ns + 3 * 60 * NS + pauses_ns


def test_what_arrives_at_the_client_is_captured(make: SimpleNamespace) -> None:
    (seen,) = (c for c in one(make).captures if c.point == "client")
    assert (seen.name, seen.node, seen.interface, seen.direction) == (
        "client.c1.c1-eth0",
        "c1",
        "c1-eth0",
        "in",
    )
    plain = make.cell(make.scenario(make.dumbbell(flows=1), [make.flow("a")]))
    assert not [c for c in plain.captures if c.point == "client"]


def test_the_estimate_counts_pauses_bytes_and_the_browser(make: SimpleNamespace) -> None:
    cell = one(make)
    pauses_s = sum(loads_of(cell).idle_ns) / NS
    assert 2.4 < length(cell) - cell.flows[0].start_ns / NS - pauses_s < 4.5
    slower = one(make, client="chromium")
    assert length(slower) > length(cell) + 3


@pytest.mark.parametrize(
    ("sizes", "least_s", "most_s"),
    [((7_000, 2_000, 2_000), 18, 20), ((5_300_000,), 36, 48)],
)
def test_the_estimate_of_loads_in_chromium_is_what_they_took(
    make: SimpleNamespace, sizes: tuple[int, ...], least_s: float, most_s: float
) -> None:
    """docs/learn/pages.md, "What a load costs"; repetition 1 has one load more, from the client
    itself.
    """

    def wall_s(repetition: int, loads: int) -> float:
        cell = one(make, client="chromium", page=page(make, *sizes), loads=loads)
        estimate = Estimate(jobs=1)
        estimate.add(replace(cell, repetition=repetition))
        assert estimate.longest_s == estimate.wall_s
        return estimate.wall_s

    assert least_s < (wall_s(1, 2) - VM.fixed_s) / 3 < most_s
    assert least_s < wall_s(1, 2) - wall_s(2, 2) < most_s


def test_the_estimate_of_cells_with_images_is_real_time_one_after_the_other(
    make: SimpleNamespace,
) -> None:
    cell = one(make)
    image = replace(cell.flows[0], image="localhost/quic:1")
    estimate = Estimate(jobs=4, engine="docker")
    estimate.add(replace(cell, flows=(image,)), times=3)
    assert estimate.wall_s > 3 * (length(cell) + 8)


def test_the_estimate_has_one_more_load_per_configuration(make: SimpleNamespace) -> None:
    cell = one(make, client="chromium")
    once, ten = Estimate(jobs=1), Estimate(jobs=1)
    once.add(cell)
    ten.add(cell, 10)
    load_s = beside_s(VM, cell)
    assert load_s > 18
    assert ten.wall_s == pytest.approx(10 * (once.wall_s - load_s) + load_s)


def test_programs(make: SimpleNamespace) -> None:
    cell = one(make, http="h3")
    (flow,) = cell.flows
    role, told = program(cell, flow, "server")
    assert (role, told["cca"], told["quic"]) == (
        "web-server",
        "bbr",
        {"name": "bbr", "parameters": {}},
    )
    role, told = program(cell, flow, "client")
    assert role == "web-client"
    assert told.keys() == {
        "flow",
        "address",
        "port",
        "workload",
        "options",
        "buffer_bytes",
        "starts_ns",
        "stop_ns",
        "progress_every_ns",
        "name",
    }
    browser = one(make, client="chromium")
    assert program(browser, browser.flows[0], "client")[0] == "browser"
    assert program(browser, browser.flows[0], "server")[1]["quic"] is None


def test_no_page_is_at_a_port_that_browsers_refuse(make: SimpleNamespace) -> None:
    flows = [replace(web(make), name=f"f{n}", declared=f"f{n}") for n in range(62)]
    cell = make.cell(make.scenario(make.dumbbell(flows=1), flows))
    ports = [flow.port for flow in cell.flows]
    assert ports[58:61] == [5059, 5062, 5063]


def satellite(make: Any, *, rate_bps: int | None = 10_000_000, window: Any = None) -> Any:
    """s1 - r1 = r2 - c1 with proxies at r1 and r2; 10 Mbit/s down, 2 up, 500 ms."""
    net = make.dumbbell(flows=1)
    slow = make.link(
        "r1", "r2", make.way(rate_bps, 250), make.way(2_000_000 if rate_bps else None, 250)
    )
    window = window or make.size(1, "bdp")
    pep = Pep(
        kind="pep",
        name="sat",
        terminal="r2",
        gateway="r1",
        cca="cubic",
        cca_parameters={},
        connections=8,
        window=window,
        span=make.span(12),
    )
    return replace(net, links=(*net.links[:-1], slow), proxies=(pep,))


def test_proxies_of_a_link(make: SimpleNamespace) -> None:
    cell = make.cell(make.scenario(satellite(make), [make.flow("a")]))
    (pep,) = cell.devices
    assert (pep.terminal, pep.gateway, pep.ports, pep.port) == ("r2", "r1", (5001,), 5002)
    assert pep.rate_bps == (10_000_000, 2_000_000)
    assert (
        pep.window_bytes == 625_000 * 1500 // 1514
    )  # 10 Mbit/s x 500 ms, less the frames' headers
    assert pep.buffer_bytes >= 2 * 625_000


def test_the_window_may_be_given(make: SimpleNamespace) -> None:
    given = satellite(make, window=make.size(50_000, "B"))
    (pep,) = make.cell(make.scenario(given, [make.flow("a")])).devices
    assert pep.window_bytes == 50_000


def test_proxies_stand_before_the_queue(make: SimpleNamespace) -> None:
    """So what they send is seen to enter it."""
    cell = make.cell(make.scenario(satellite(make), [make.flow("a")]))
    assert cell.flows[0].bottleneck[0] == "r1-modem"
    assert cell.flows[0].base_rtt_ns == 500_000_000
    assert [c.node for c in cell.captures] == ["r1-modem", "r1-modem", "r1-r2", "s1"]
    shaped = {
        n.name for n in cell.nodes for i in n.interfaces if i.shaper and i.shaper.rate_bps < 10**8
    }
    assert shaped == {"r1-modem", "r2-modem"}


def test_every_node_between_proxies_has_a_way_to_both(make: SimpleNamespace) -> None:
    cell = make.cell(make.scenario(satellite(make), [make.flow("a")]))
    (pep,) = cell.devices
    routes = {n.name: {r.destination for r in n.routes} for n in cell.nodes}
    assert {n for n, to in routes.items() if f"{pep.terminal_address}/32" in to} == {
        "r1",
        "r1-modem",
        "r1-r2",
    }
    assert {n for n, to in routes.items() if f"{pep.gateway_address}/32" in to} == {
        "r2",
        "r2-modem",
        "r1-r2",
    }


def test_what_proxies_are_told(make: SimpleNamespace) -> None:
    cell = make.cell(make.scenario(satellite(make), [make.flow("a")]))
    (pep,) = cell.devices
    told = {
        p["name"].rpartition(".")[2]: (p["node"], p["role"], p["description"]) for p in proxies(pep)
    }
    assert {name: words[:2] for name, words in told.items()} == {
        "terminal": ("r2", "pep-terminal"),
        "gateway": ("r1", "pep-gateway"),
    }
    assert told["gateway"][2]["rate_bps"] == 10_000_000 * 1500 // 1514
    assert told["terminal"][2]["rate_bps"] == 2_000_000 * 1500 // 1514


def test_flows_over_udp_and_from_the_other_side_are_not_split(make: SimpleNamespace) -> None:
    upwards = make.flow("up", "c1", "s1")
    datagrams = replace(make.flow("udp"), transport="udp", cca=None, rate_bps=10**6)
    scene = make.scenario(satellite(make), [make.flow("a"), upwards, datagrams])
    (pep,) = make.cell(scene).devices
    assert pep.ports == (5001,)
    assert pep.port == 5004
    idle = make.scenario(satellite(make), [upwards])
    assert "idle-pep" in make.found(idle)
    assert make.cell(idle).devices == ()


def test_a_link_of_proxies_needs_a_rate(make: SimpleNamespace) -> None:
    scene = make.scenario(satellite(make, rate_bps=None), [make.flow("a")])
    assert "pep-without-rate" in make.found(scene)


@pytest.mark.parametrize("count", [0, 1])
def test_proxies_are_part_of_a_cell_s_identity_where_there_are_some(
    make: SimpleNamespace, count: int
) -> None:
    net = satellite(make)
    cells = [
        make.cell(make.scenario(replace(net, proxies=net.proxies[:count]), [make.flow("a")])),
        make.cell(make.scenario(satellite(make, window=make.size(1, "B")), [make.flow("a")])),
    ]
    assert len({cell.id for cell in cells}) == 2
