"""`fairc image packages`, and the example that runs nginx and curl from its image."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fairc import dsl
from fairc.compiler import compile
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.measurement import load
from fairc.runtime.uml import package_images
from fairc.runtime.validity import judge

EXAMPLE = Path(__file__).parents[2] / "examples" / "nginx"


@pytest.mark.full
def test_nginx_and_curl_run_twice_with_equal_bytes(tmp_path: Path) -> None:
    place = tmp_path / "nginx"
    shutil.copytree(EXAMPLE, place, ignore=shutil.ignore_patterns("*.tar"))
    steps = list[str]()
    versions = package_images.build(["nginx-light", "curl"], place / "web.tar", steps.append)
    assert versions.keys() == {"nginx-light", "curl"}
    assert any("fetching packages" in step for step in steps)
    experiment, found = dsl.load(dsl.read(place / "nginx.fexp"))
    assert experiment is not None, found
    cell = next(c for c in compile(experiment).cells() if len(c.flows) == 2)
    engine = UmlEngine()
    engine.allow_programs, engine.program_files = True, place
    engine.prepare()
    contents = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        raw = engine.run(cell, tmp_path / name)
        assert raw.error == ""
        assert judge(load(cell, raw.artefacts)) == ("valid", ())
        paths = sorted(raw.artefacts.iterdir())
        contents.append({path.name: path.read_bytes() for path in paths if path.is_file()})
    engine.close()
    assert contents[0] == contents[1]
    assert b"median whole file, s: 0." in contents[0]["web.client.file.fetches"]


@pytest.mark.full
def test_a_package_that_debian_lacks(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        package_images.build(["no-such-package"], tmp_path / "web.tar", lambda _: None)
    assert "Unable to locate package no-such-package" in str(caught.value)
    assert list(tmp_path.iterdir()) == []
