"""Images of others run only where the user says so: an image is code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Fairc = Callable[..., Any]  # conftest.py

SPEC = """fexp 1
experiment others {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms)
  flow a { over = quic(image: "localhost/quic:1")  workload = file(100kB) }
  measure = [goodput]
}
"""


@pytest.fixture
def spec(fairc: Fairc, tmp_path: Path) -> str:
    """Write an experiment whose flow names an image."""
    (tmp_path / "others.fexp").write_text(SPEC)
    return "others.fexp"


def test_without_leave(fairc: Fairc, spec: str) -> None:
    called = fairc("run", spec, "--engine", "docker")
    assert called.status == 2
    assert "error: flows use third-party images, which are code: `localhost/quic:1`" in called.err
    assert "`--allow-image` lets them run" in called.err
    assert not Path("results/others/plan.json").exists()


@pytest.mark.parametrize("engine", ["vm", "mininet", "fake"])
def test_on_an_engine_without_containers(fairc: Fairc, spec: str, engine: str) -> None:
    called = fairc("run", spec, "--engine", engine, "--allow-image")
    assert called.status == 2
    assert f"the engine {engine} cannot run images: `localhost/quic:1`" in called.err
    assert "--engine docker --allow-image" in called.err


def test_a_cell_of_a_cluster(fairc: Fairc, spec: str) -> None:
    assert fairc("compile", spec, "-o", "plan", "--target", "json").status == 0
    called = fairc("cell", "plan", "--index", "0")
    assert called.status == 3
    assert "this engine cannot run the image `localhost/quic:1` of the flow `a`" in called.err


@pytest.mark.full
def test_leave_for_flows_without_images_is_no_error(fairc: Fairc) -> None:
    assert fairc("run", "tiny.fexp", "--allow-image", "--quiet").status == 0


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("--hook=touch", "No such option '--hook'"),
        ("curl;touch", "'curl;touch' is no name of a Debian package"),
        ("Curl", "'Curl' is no name of a Debian package"),
    ],
)
def test_what_is_no_package_reaches_no_program(fairc: Fairc, name: str, why: str) -> None:
    called = fairc("image", "packages", "curl", name, "-o", "web.tar")
    assert called.status == 2
    assert why in called.err
    assert not Path("web.tar").exists()


def test_an_image_of_packages_replaces_no_file(fairc: Fairc) -> None:
    Path("web.tar").write_text("mine")
    called = fairc("image", "packages", "curl", "-o", "web.tar")
    assert called.status == 2
    assert "web.tar exists" in called.err
    assert Path("web.tar").read_text() == "mine"
