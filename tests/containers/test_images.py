"""Images of others: a stack that is not fairc's, by the contract of quic-interop-runner."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import dpkt
import pytest
import quic_image
from real_time import undisturbed
from waiting import completed

from fairc.compiler import Cell, Compilation, emit
from fairc.compiler.plan import MetricRequest, Requests
from fairc.dsl.core.diagnostics import CompileError
from fairc.runtime.containers.client import Client
from fairc.runtime.engines.docker import DockerEngine
from fairc.runtime.host.faults import EngineUnavailable

Compiled = Callable[..., Compilation]
COMPOSE = "docker-compose"
NAME = "localhost/fairc-test-quic"
BYTES = 1_000_000
RATE_BPS = 2_000_000  # of the bottleneck


def of_image(compiled: Compiled, tag: str, more: str = "") -> Cell:
    """Compile a cell whose flow runs an image."""
    flow = f'over = quic(image: "{NAME}:{tag}")  workload = file(1MB)'
    (only,) = compiled(flow, more).cells()
    return only


def left_the_queue(artefacts: Path, end_s: float) -> int:
    """Return the bytes of frames with UDP that left the bottleneck's queue, from its capture.

    end_s: since the cell's start.
    """
    epoch_s = json.loads((artefacts / "cell.json").read_text())["epoch_ns"] / 1e9
    (path,) = artefacts.glob("exit.r.r-eth1.pcap")
    with path.open("rb") as file:
        frames = [(t, dpkt.ethernet.Ethernet(frame)) for t, frame in dpkt.pcap.Reader(file)]
    return sum(
        len(dpkt.ethernet.Ethernet()) + frame.data.len
        for t, frame in frames
        if isinstance(frame.data, dpkt.ip.IP) and isinstance(frame.data.data, dpkt.udp.UDP)
        if float(t) <= epoch_s + end_s
    )


@pytest.fixture
def engine(client: Client) -> Iterator[DockerEngine]:
    """An engine that may run images of others."""
    lacking = quic_image.missing()
    if lacking:
        pytest.skip(f"this machine lacks: {lacking}")
    made = DockerEngine()
    made.prepare()
    made.allow_images = True
    yield made
    made.close()


def test_a_file_over_another_stack(
    client: Client, engine: DockerEngine, compiled: Compiled, tmp_path: Path
) -> None:
    quic_image.build(client, f"{NAME}:good")
    cell = of_image(compiled, "good")
    names = ("goodput", "fct", "cwnd", "throughput")
    requests = Requests(measure=tuple(MetricRequest(name=name) for name in names))
    raw, found = undisturbed(engine, cell, requests, tmp_path)
    assert found.verdict != "invalid", found.reasons
    (flow,) = found.flows
    assert flow.completed and flow.bytes == BYTES and flow.cca is None
    assert flow.goodput_bps is not None and flow.end_s is not None
    values = {value.metric: value for value in found.metrics}
    throughput = values["throughput"].value
    assert throughput is not None and throughput == pytest.approx(
        8 * left_the_queue(raw.artefacts, flow.end_s) / (flow.end_s - flow.start_s), rel=1e-3
    )
    # The stack leaves the link idle while it computes its handshake: a tenth, on a busy host.
    assert 0.9 * RATE_BPS < throughput < 1.001 * RATE_BPS
    # A datagram of aioquic is at most 1280 bytes of IP.
    assert 0.9 * RATE_BPS < flow.goodput_bps < 1240 / 1294 * RATE_BPS
    assert {c.value for c in found.conditions if c.condition == "pacing"} == {"the image's own"}
    assert values["cwnd.mean"].value is None
    assert "a third-party image" in str(values["cwnd.mean"].reason)
    logs = {path.name for path in raw.artefacts.rglob("*") if path.is_file()}
    assert "keys.log" in logs and any(name.endswith(".qlog") for name in logs)
    assert not list(raw.artefacts.rglob("www")) and not list(raw.artefacts.rglob("downloads"))


def test_a_test_case_that_an_image_does_not_support(
    client: Client, engine: DockerEngine, compiled: Compiled, tmp_path: Path
) -> None:
    quic_image.build(client, f"{NAME}:other", ONLY="handshake")
    raw = engine.run(of_image(compiled, "other"), tmp_path)
    assert "the image does not support the test case" in raw.error


def test_an_image_that_crashes(
    client: Client, engine: DockerEngine, compiled: Compiled, tmp_path: Path
) -> None:
    quic_image.build(client, f"{NAME}:crash", CRASH="client")
    raw = engine.run(of_image(compiled, "crash"), tmp_path)
    assert "its image ended with status 1: it has no idea what to do" in raw.error


def test_the_identity_is_that_of_the_image(
    client: Client, engine: DockerEngine, compiled: Compiled
) -> None:
    quic_image.build(client, f"{NAME}:changed", ONLY="transfer")
    cell = of_image(compiled, "changed")
    before = engine.identity_for(cell)
    assert before != engine.identity
    assert engine.versions[f"image {NAME}:changed"].startswith("sha256:")
    quic_image.build(client, f"{NAME}:changed", ONLY="transfer", MORE="1")
    later = DockerEngine()
    later.prepare()
    later.allow_images = True
    assert later.identity == engine.identity
    assert later.identity_for(cell) != before
    later.close()


def test_an_image_that_is_not_there(engine: DockerEngine, compiled: Compiled) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        engine.identity_for(of_image(compiled, "nowhere"))
    assert "is not on this machine" in str(caught.value)
    assert f"docker pull {NAME}:nowhere" in caught.value.remedy


def test_an_image_that_is_not_allowed(
    engine: DockerEngine, compiled: Compiled, tmp_path: Path
) -> None:
    engine.allow_images = False
    with pytest.raises(EngineUnavailable, match="has not been allowed"):
        engine.run(of_image(compiled, "good"), tmp_path)


@pytest.mark.skipif(shutil.which(COMPOSE) is None, reason=f"this machine lacks: {COMPOSE}")
def test_the_compose_file_runs_by_itself(
    client: Client, engine: DockerEngine, compiled: Compiled, tmp_path: Path
) -> None:
    quic_image.build(client, f"{NAME}:good")
    flow = f'over = quic(image: "{NAME}:good")  workload = file(1MB)'
    emit(compiled(flow), tmp_path / "plan", ["containers"])
    (compose,) = (tmp_path / "plan/cells").glob("*/compose.yaml")

    def call(*arguments: str) -> str:
        command = [COMPOSE, *arguments]
        done = completed(command, cwd=compose.parent, timeout=120)
        return done.stdout + done.stderr

    try:
        said = call("up")
    finally:
        call("down")
    ended = json.loads((compose.parent / "results/cell.json").read_text())
    assert (ended["ended_by"], ended["notes"]) == ("finished", []), said


def test_other_targets_refuse_images(compiled: Compiled, tmp_path: Path) -> None:
    made = compiled(f'over = quic(image: "{NAME}:good")  workload = file(1MB)')
    for name in ("mininet", "kubernetes", "slurm"):
        with pytest.raises(CompileError, match="cannot run the image"):
            emit(made, tmp_path / "plan", [name])
    emit(made, tmp_path / "plan", ["json"])
