"""`fairc image packages`, and the example that runs nginx and curl from its image."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from twice import cells_of, equal_artefacts

from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.uml import package_images

EXAMPLE = Path(__file__).parents[2] / "examples" / "nginx"


@pytest.mark.full
def test_nginx_and_curl_run_twice_with_equal_bytes(tmp_path: Path) -> None:
    place = tmp_path / "nginx"
    shutil.copytree(EXAMPLE, place, ignore=shutil.ignore_patterns("*.tar"))
    steps = list[str]()
    versions = package_images.build(["nginx-light", "curl"], place / "web.tar", steps.append)
    assert versions.keys() == {"nginx-light", "curl"}
    assert any("fetching packages" in step for step in steps)
    cell = next(c for c in cells_of(place / "nginx.fexp") if len(c.flows) == 2)
    kept = equal_artefacts(cell, place, tmp_path)
    said = re.search(rb"median whole file, s: ([0-9.]+)", kept["web.client.file.fetches"])
    assert said is not None and 0.1 < float(said[1]) < 5


@pytest.mark.full
def test_a_package_that_debian_lacks(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        package_images.build(["no-such-package"], tmp_path / "web.tar", lambda _: None)
    assert "Unable to locate package no-such-package" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_test_of_the_kernel_passes_twice_with_equal_bytes(tmp_path: Path) -> None:
    place = tmp_path / "kernel-test"
    shutil.copytree(EXAMPLE.parent / "kernel-test", place)
    package_images.build(["iproute2", "python3-minimal"], place / "tools.tar", lambda _: None)
    kept = equal_artefacts(cells_of(place / "kernel-test.fexp")[0], place, tmp_path)
    assert b" cubic " in kept["tested.server.stdout"]
