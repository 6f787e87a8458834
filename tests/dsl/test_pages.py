"""`load(page(...))`: what pages become, over which protocols, and what goes with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fairc.dsl import Diagnostics, Source, load
from fairc.dsl.core.attachments import inside
from fairc.dsl.model import Configuration, Distribution, Flow
from fairc.mechanisms.workloads.load.declaration import Load

from .conftest import text_of

Check = Callable[..., Diagnostics]
Build = Callable[..., list[Configuration]]


def flow_of(build: Build, arguments: str, keys: str = "cca = bbr") -> Flow:
    statement = f"flow web {{ {keys}  workload = load({arguments}) }}"
    (configuration,) = build("topology = 4g", statement)
    (flow,) = configuration.scenario.flows
    return flow


def load_of(build: Build, arguments: str) -> Load:
    workload = flow_of(build, arguments).workload
    assert isinstance(workload, Load)
    return workload


def listed(made: Load) -> list[tuple[str, int, str, int | None]]:
    return [(o.path, o.bytes, o.type, o.parent) for o in made.page.objects]


def test_one_object_is_a_picture(build: Build) -> None:
    assert listed(load_of(build, "page(5.3MB)")) == [("/", 5_300_000, "image/png", None)]


def test_sizes_are_a_document_and_its_pictures(build: Build) -> None:
    assert listed(load_of(build, "page(7kB, 2kB, 3kB)")) == [
        ("/", 7000, "text/html", None),
        ("/1.png", 2000, "image/png", 0),
        ("/2.png", 3000, "image/png", 0),
    ]


def test_objects_are_dealt_to_the_levels(build: Build) -> None:
    made = load_of(build, "page(html: 30kB, objects: [5 of 5kB, 200kB, 1 of 1MB], depth: 3)")
    assert listed(made) == [
        ("/", 30_000, "text/html", None),
        ("/1.js", 5000, "text/javascript", 0),
        ("/2.js", 5000, "text/javascript", 1),
        ("/3.png", 5000, "image/png", 2),
        ("/4.png", 5000, "image/png", 0),
        ("/5.png", 5000, "image/png", 1),
        ("/6.png", 200_000, "image/png", 2),
        ("/7.png", 1_000_000, "image/png", 0),
    ]
    assert made.page.depth == 4


def test_a_page_of_a_document_alone(build: Build) -> None:
    assert listed(load_of(build, "page(html: 30kB)")) == [("/", 30_000, "text/html", None)]


def test_defaults(build: Build) -> None:
    flow = flow_of(build, "page(10kB)")
    pause = Distribution("constant", {"value": Fraction(0)})
    assert isinstance(flow.workload, Load)
    made, part = flow.workload, flow.workload.part
    assert (part.client, made.http, made.page_loads, made.idle) == ("chromium", "h2", 1, pause)
    assert (made.timeout_ns, part.protocols) == (None, ("h2",))
    assert (flow.transport, flow.connections, flow.options.initial_window_packets) == ("web", 1, 32)
    assert flow.quic_parameters == {}


def test_the_first_load_of_h3_learns_of_it(build: Build) -> None:
    flow = flow_of(build, "page(10kB), http: h3, loads: 3", "cca = cubic(hystart: off)")
    assert isinstance(flow.workload, Load)
    assert flow.workload.part.protocols == ("h2", "h3", "h3")
    assert set(flow.cca_parameters) == {"hystart"}
    assert flow.quic_parameters["connections"] == 1
    assert flow.quic_parameters["hystart"] is False


def test_browser_is_client(build: Build) -> None:
    assert load_of(build, "page(10kB), browser: chromium").part.client == "chromium"
    assert load_of(build, "page(10kB), client: plain").part.client == "plain"


def test_the_initial_window_of_hosts_comes_before_that_of_page_loads(build: Build) -> None:
    (configuration,) = build(
        "topology = 4g",
        "hosts { initial_window = 10pkt }",
        "flow web { cca = bbr  workload = load(page(1kB)) }",
    )
    assert configuration.scenario.flows[0].options.initial_window_packets == 10


def test_pages_versions_and_clients_are_swept(experiment: Callable[..., Any]) -> None:
    made = experiment(
        "sweep { p = [page(1kB), page(html: 2kB, objects: 3 of 1kB)]  v = [h1, h3]"
        "  c = [plain, chromium] }",
        "topology = 4g",
        "flow web { cca = bbr  workload = load(p, http: v, client: c, loads: 2) }",
    )
    assert made.count().configurations == 8
    assert made.axes[0].values == ("page(1kB)", "page(html: 2kB, objects: 3 of 1kB)")


@pytest.mark.parametrize(
    ("load", "code", "place"),
    [
        ("page()", "missing-argument", "page()"),
        ("page(1kB, html: 2kB)", "conflicting-parameters", "2kB"),
        ('page(html: 1kB, har: "x.har")', "conflicting-parameters", '"x.har"'),
        ("page(objects: 3 of 1kB)", "missing-argument", "3 of 1kB"),
        ("page(html: 1kB, depth: 2)", "missing-argument", "2"),
        ("page(html: 1kB, objects: 0 of 1kB)", "out-of-range", "0"),
        ("page(html: 1kB, objects: 1.5 of 1kB)", "out-of-range", "1.5"),
        ("page(html: 1kB, objects: 3 of 1ms)", "wrong-dimension", "1ms"),
        ("page(html: 1kB, objects: 3 of x)", "unknown-name", "x"),
        ("page(html: 1kB, objects: 3kB of 1kB)", "wrong-dimension", "3kB"),
        ("page(html: 1kB, objects: [])", "empty-list", "[]"),
        ("page(html: 9kB, objects: 3 of 1kB, depth: 4)", "out-of-range", "4"),
        ("page(html: 90kB, objects: [600 of 1kB, 500 of 1kB])", "too-many", "500"),
        ("page(html: 1kB, objects: 300 of 1kB)", "out-of-range", "1kB"),
        ("page(html: 100kB, objects: 40 of 200B, depth: 2)", "out-of-range", "40 of 200B"),
        ("page(2MB, 99MB)", "too-large", "page(2MB, 99MB)"),
        ("page(0.5B)", "out-of-range", "0.5B"),
        ("page(1kB), browser: firefox", "unknown-word", "firefox"),
        ("page(1kB), client: plain, browser: chromium", "duplicate-argument", "chromium"),
        ("page(1kB), http: h4", "unknown-word", "h4"),
        ("page(1kB), loads: 0", "out-of-range", "0"),
        ("page(1kB), loads: 101", "out-of-range", "101"),
        ("page(1kB), loads: 1.5", "out-of-range", "1.5"),
        ("page(1kB), timeout: 0s", "out-of-range", "0s"),
        ("5kB", "wrong-type", "5kB"),
        ('page(har: "../x.har")', "file-path", '"../x.har"'),
        ('page(har: "/etc/passwd")', "file-path", '"/etc/passwd"'),
        ('page(har: "nothing.har")', "unreadable", '"nothing.har"'),
    ],
)
def test_wrong_loads(check: Check, load: str, code: str, place: str) -> None:
    found = check("topology = 4g", f"flow web {{ cca = bbr  workload = load({load}) }}")
    assert [(d.code, d.span.text) for d in found if d.span] == [(code, place)]


@pytest.mark.parametrize("leads_to", ["loop.har", "../outside.har"])
def test_a_link_out_of_the_folder_or_to_itself(tmp_path: Path, leads_to: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "outside.har").write_text("{}")
    (folder / "loop.har").symlink_to(leads_to)
    assert inside("loop.har", folder, folder) is None


@pytest.mark.parametrize(
    ("keys", "arguments", "code", "place"),
    [
        ("cca = bbr  count = 2", "", "impossible-pair", "count = 2"),
        ("cca = bbr  rate = 1Mbit/s", "", "impossible-pair", "rate = 1Mbit/s"),
        ("cca = bbr  over = tcp", "", "impossible-pair", "over = tcp"),
        ("over = udp", "", "impossible-pair", "over = udp"),
        ("cca = bbr  window = 1MB", "", "impossible-pair", "window = 1MB"),
        ("cca = bbr  fast_open = on", "", "impossible-pair", "fast_open = on"),
        ("cca = pcc", "", "impossible-pair", "pcc"),
        ("cca = vegas", ", http: h3, loads: 2", "impossible-pair", "vegas"),
        ("cca = vegas(alpha: 4)", ", http: h3, loads: 2", "impossible-pair", "vegas(alpha: 4)"),
        ("cca = cubic(connections: 2)", "", "impossible-pair", "connections"),
    ],
)
def test_wrong_flows(check: Check, keys: str, arguments: str, code: str, place: str) -> None:
    flow = f"flow web {{ {keys}  workload = load(page(1kB){arguments}) }}"
    found = check("topology = 4g", flow)
    assert (code, place) in [(d.code, d.span.text) for d in found if d.span]


def test_a_client_without_a_browser_has_more_options(build: Build) -> None:
    keys = "cca = bbr  window = 1MB  fast_open = on"
    flow = flow_of(build, "page(1kB), client: plain", keys)
    assert flow.options.receive_window_bytes == 1_000_000
    assert flow.options.fast_open


# Recordings


def entry(url: str, size: int = 1000, kind: str = "image/png", at: float = 0, **more: Any) -> Any:
    response = {
        "status": more.pop("status", 200),
        "bodySize": size,
        "redirectURL": more.pop("redirect", ""),
        "content": {"size": size, "mimeType": kind} | more.pop("content", {}),
    }
    return {
        "startedDateTime": f"2026-01-01T00:00:{at:06.3f}+00:00",
        "request": {"method": more.pop("method", "GET"), "url": url},
        "response": response,
    } | more


SITE = "https://site.example"
HTML = entry(f"{SITE}/", 9000, "text/html; charset=UTF-8")


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., tuple[Load | None, Diagnostics]]:
    """Return a function from entries, or a text, to the load of such a recording."""

    def run(
        *entries: Any, text: str | bytes | None = None, which: str = ""
    ) -> tuple[Load | None, Diagnostics]:
        content = text if text is not None else json.dumps({"log": {"entries": entries}})
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / "x.har").write_bytes(data)
        flow = 'flow web { cca = bbr  workload = load(page(har: "x.har"WHICH)) }'
        flow = flow.replace("WHICH", which)
        source = Source(str(tmp_path / "file.fexp"), text_of(flow, "topology = 4g"))
        experiment, found = load(source)
        if found.errors or experiment is None:
            return None, found
        (configuration,) = experiment.configurations()
        made = configuration.scenario.flows[0].workload
        assert isinstance(made, Load)
        assert [i.path for i in configuration.scenario.inputs] == ["x.har"]
        return made, found

    return run


Recorded = Callable[..., tuple[Load | None, Diagnostics]]


def test_a_recording_in_the_order_of_its_times(recorded: Recorded) -> None:
    made, found = recorded(
        HTML,
        entry(f"{SITE}/b.png", 300, at=3),
        entry(
            f"{SITE}/a.css", 700, "text/css", at=1, _initiator={"type": "parser", "url": SITE + "/"}
        ),
        entry(f"{SITE}/f.woff2", 500, "font/woff2", at=2, _initiator={"url": f"{SITE}/a.css"}),
    )
    assert not list(found)
    assert made is not None and listed(made) == [
        ("/", 9000, "text/html", None),
        ("/1.css", 700, "text/css", 0),
        ("/2.woff2", 500, "font/woff2", 1),
        ("/3.png", 300, "image/png", 0),
    ]


def test_who_asked_is_the_nearest_frame_that_the_page_has(recorded: Recorded) -> None:
    frames = [{"url": "https://gone.example/x.js"}, {"url": f"{SITE}/old.js"}]
    stack = {"callFrames": [], "parent": {"callFrames": frames}}
    made, _ = recorded(
        HTML,
        entry(f"{SITE}/old.js", 0, "", at=1, status=302, redirect=f"{SITE}/new.js"),
        entry(f"{SITE}/new.js", 800, "application/x-javascript", at=1.1),
        entry(f"{SITE}/c.png", at=2, _initiator={"type": "script", "stack": stack}),
        entry(f"{SITE}/d.png", at=3, _initiator={"type": "other", "url": f"{SITE}/c.png"}),
    )
    assert made is not None
    assert [(o.type, o.parent) for o in made.page.objects] == [
        ("text/html", None),
        ("text/javascript", 0),
        ("image/png", 1),
        ("image/png", 0),  # a picture asks for nothing
    ]


def test_a_script_too_small_to_name_what_it_asked_for(recorded: Recorded) -> None:
    asked = {"url": f"{SITE}/a.js"}
    made, _ = recorded(
        HTML,
        entry(f"{SITE}/a.js", 50, "text/javascript", at=1),
        entry(f"{SITE}/b.png", at=2, _initiator=asked),
    )
    assert made is not None
    assert [o.parent for o in made.page.objects] == [None, 0, 0]


def test_what_is_left_out_is_said(recorded: Recorded) -> None:
    made, found = recorded(
        HTML,
        entry("data:image/png;base64,AA", at=1),
        entry(f"{SITE}/gone.png", at=2, status=404),
        entry(f"{SITE}/failed.png", at=3, status=0),
        entry(f"{SITE}/beacon", at=4, method="POST"),
        entry("https://cdn.example/p.png", -1, at=5, content={"size": 900, "compression": 100}),
    )
    assert made is not None
    assert [o.bytes for o in made.page.objects] == [9000, 800]
    (warning,) = found
    assert warning.code == "har-simplified"
    assert "4 of 6 entries are not objects of the page" in warning.message
    assert "2 hosts" in warning.message


def test_a_recording_may_have_several_pages(recorded: Recorded) -> None:
    entries = (
        HTML | {"pageref": "a"},
        entry(f"{SITE}/frame", 800, "text/html", at=1, pageref="a"),
        entry(f"{SITE}/next", 4000, "text/html", at=2, pageref="b"),
        entry(f"{SITE}/next.png", 900, at=3, pageref="b"),
        entry(f"{SITE}/late.png", 70, at=4, pageref="a"),
    )
    sizes = {"": [9000, 800, 70], ", page: 1": [9000, 800, 70], ", page: 2": [4000, 900]}
    for which, expected in sizes.items():
        made, found = recorded(*entries, which=which)
        assert made is not None and [o.bytes for o in made.page.objects] == expected
        said = [d.message for d in found if "the first of 2 pages is loaded" in d.message]
        assert len(said) == (which == ""), "an unnamed one of several is said"
    made, found = recorded(*entries, which=", page: 3")
    (error,) = found.errors
    assert made is None and error.code == "bad-har"
    assert "2 pages, and no page 3" in error.message


def changed(name: str, value: Any) -> Any:
    """Return the document's entry with one field changed, `response.status`."""
    made = json.loads(json.dumps(HTML))
    *path, last = name.split(".")
    holder = made
    for part in path:
        holder = holder[part]
    holder[last] = value
    return made


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([], "none of its 0 entries is a document"),
        ([entry(f"{SITE}/p.png")], "none of its 1 entries is a document"),
        ([HTML, entry("file:///etc/passwd")], "entry 2: `file:///etc/passwd` is not a web address"),
        ([HTML, entry("https://[::1/")], "entry 2: `https://[::1/` is not a web address"),
        ([HTML, entry("https://a\u2100b/")], "entry 2: `https://a\u2100b/` is not a web address"),
        ([HTML, entry("C:\\page\\a.png")], "entry 2: `C:\\page\\a.png` is not a web address"),
        ([HTML, 5], "entry 2: it is not an object"),
        ([changed("response.bodySize", 2**60)], "`bodySize` is not a whole number in range"),
        ([changed("response.bodySize", 3e8)], "an object of 300,000,000 bytes"),
        ([changed("response.bodySize", True)], "`bodySize` is not a whole number"),
        ([changed("response.bodySize", "9")], "`bodySize` is not a whole number"),
        ([changed("response.status", None)], "`status` is not a whole number"),
        ([changed("response", [])], "`response` is missing"),
        ([changed("request.url", None)], "`url` is missing"),
        ([changed("startedDateTime", "yesterday")], "`startedDateTime` is not a time"),
        ([changed("startedDateTime", "2026-01-01T00:00:00")], "has no time zone"),
        ([HTML] + [entry(f"{SITE}/{n}", 10, at=1) for n in range(1000)], "it has 1,001 objects"),
    ],
)
def test_wrong_entries(recorded: Recorded, entries: list[Any], words: str) -> None:
    made, found = recorded(*entries)
    assert made is None
    (error,) = found.errors
    assert error.code == "bad-har"
    assert words in error.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("[]", "no list `log.entries`"),
        ('{"log": {"entries": {}}}', "no list `log.entries`"),
        (b"\xff\xfe\x00", "not UTF-8 text"),
        ("[" * 100_000, "nested too deeply"),
        (f'{{"log": {"9" * 5000}}}', "thousands of digits"),
    ],
)
def test_rubbish(recorded: Recorded, text: str | bytes, words: str) -> None:
    made, found = recorded(text=text)
    assert made is None
    assert [(d.code, words in d.message) for d in found.errors] == [("bad-har", True)]
