"""A page in Chromium in the virtual machine: equal twice, over the HTTP versions that were asked
for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from specs import only_cell_of

from fairc.compiler import Cell
from fairc.runtime.engines.base import Engine, RawResult
from fairc.runtime.engines.guest_job import variant_of
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.vm import recipe

SPEC = """fexp 1
experiment browser {
  topology = 4g
  flow web {
    cca      = CCA
    workload = load(page(7kB, 2kB, 2kB), client: CLIENT, http: h3, loads: 2, idle: uniform(5s, 6s))
  }
  measure = [goodput]
}
"""


def cell(client: str, cca: str = "bbr") -> Cell:
    return only_cell_of(SPEC.replace("CLIENT", client).replace("CCA", cca))


def events(result: RawResult) -> list[dict[str, Any]]:
    (log,) = result.artefacts.glob("web*.client.ndjson")
    return [json.loads(line) for line in log.read_text().splitlines()]


def runs(engine: Engine, folder: Path, names: tuple[str, ...], cca: str = "bbr") -> list[RawResult]:
    """Run the cell with a browser once per name."""
    engine.prepare()
    results = []
    for name in names:
        (folder / name).mkdir()
        results.append(engine.run(cell("chromium", cca), folder / name))
    engine.close()
    assert [result.error for result in results] == [""] * len(names)
    return results


def test_a_page_load_in_chromium_is_equal_twice(tmp_path: Path) -> None:
    results = runs(UmlEngine(), tmp_path, ("first", "second"))
    assert results[0].sha256 == results[1].sha256
    judge(results[0])


def test_the_load_without_a_network_has_the_cca_of_the_others(tmp_path: Path) -> None:
    """Each CCA over QUIC has parameters of its own."""
    (result,) = runs(UmlEngine(), tmp_path, ("only",), "cubic")
    judge(result)


def test_a_page_load_in_chromium_where_computing_takes_time(tmp_path: Path) -> None:
    (result,) = runs(VmEngine(), tmp_path, ("only",))
    judge(result)


STEP_NS = 100_000
"""Chromium's times are cut off at multiples of 0.1 ms, so a difference of two can be less by as
much.
"""


def judge(result: RawResult) -> None:
    """Check two loads and the one without a network."""
    first, second, own, done = events(result)
    assert (done["event"], done["loads"], own["event"]) == ("done", 2, "own-time")
    assert [load["error"] for load in (first, second, own)] == ["", "", ""]
    assert [load["protocol"] for load in (first, second, own)] == ["h2", "h3", "h3"]
    for load, round_trips in ((first, 2), (second, 1)):
        # TCP and TLS 1.3 take a round trip each before the request, QUIC one for both.
        connecting_ns = load["connect_end_ns"] - load["connect_start_ns"] + STEP_NS
        assert round_trips * 80_000_000 <= connecting_ns < round_trips * 80_000_000 + 60_000_000
        assert load["response_start_ns"] - load["request_start_ns"] + STEP_NS >= 80_000_000
        assert load["fcp_ns"] > load["response_start_ns"]
        assert load["resources"][0]["path"] == "/"
    assert 5_000_000_000 <= second["begin_ns"] - first["t_ns"] < 6_100_000_000
    plt_ns = [load["load_event_end_ns"] - load["connect_start_ns"] for load in (second, own)]
    # Connection, document, objects: three round trips, during which the browser computes, too.
    assert plt_ns[1] < plt_ns[0] - 2 * 80_000_000


def test_only_a_load_in_chromium_needs_the_machine_with_a_browser() -> None:
    assert variant_of(cell("chromium"), recipe.UML) is recipe.BROWSER
    assert variant_of(cell("plain"), recipe.UML) is recipe.UML


def test_an_image_that_is_not_there_is_named_with_what_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    engine = VmEngine()

    with pytest.raises(EngineUnavailable) as raised:
        engine.identity_for(cell("chromium"))

    assert raised.value.missing == ("the virtual machine's image (browser) has not been built",)
    build = (
        "fairc image build --browser; for one that other machines have too: fairc image load FILE"
    )
    assert raised.value.remedy == build
