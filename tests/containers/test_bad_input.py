"""What a machine can lack: said with what to do, and nothing is left behind."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
import requests
from docker import errors
from docker.types import IPAMConfig, IPAMPool

from fairc.compiler import Cell, Compilation
from fairc.compiler.targets import containers as target
from fairc.dsl.core.diagnostics import CompileError
from fairc.runtime.containers import image, job
from fairc.runtime.containers.client import HOST, Client, connect, explain
from fairc.runtime.engines import docker, host
from fairc.runtime.engines.docker import DockerEngine
from fairc.runtime.host import faults
from fairc.runtime.host.faults import EngineUnavailable

Compiled = Callable[..., Compilation]


def refused(act: Callable[[], object]) -> EngineUnavailable:
    """Return how something is refused."""
    with pytest.raises(EngineUnavailable) as caught:
        act()
    assert caught.value.remedy
    return caught.value


def test_no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(HOST, f"unix://{tmp_path}/docker.sock")
    error = refused(DockerEngine().prepare)
    assert str(error) == f"no Docker engine runs at {tmp_path}/docker.sock"
    assert "docker.io" in error.remedy


def test_a_kernel_whose_connections_change_their_hash(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(docker, "HASH_OPTION", tmp_path / "txrehash")
    error = refused(DockerEngine().prepare)
    assert str(error) == "this kernel has no option net.core.txrehash"
    assert "5.18" in error.remedy


def test_an_engine_of_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOST, "tcp://192.0.2.1:2375")
    assert "share a folder" in str(refused(connect))


def test_a_user_without_rights(client: Client) -> None:
    if os.geteuid() != 0:
        pytest.skip("this machine lacks: root, to become a user without rights")
    os.seteuid(65534)
    try:
        error = refused(connect)
    finally:
        os.seteuid(0)
    assert "this user may not talk to the Docker engine" in str(error)
    assert "usermod -aG docker" in error.remedy


def test_no_image(client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "endpoints"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("FAIRC_ENDPOINTS", str(other))
    monkeypatch.setattr(image, "recipe_hash", lambda: "0" * 16)
    error = refused(DockerEngine().prepare)
    assert "has not been built" in str(error)
    assert error.remedy == image.BUILD_COMMAND


def test_a_kernel_without_netem(
    engine: DockerEngine, cell: Cell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(host.QDISCS, "tbf", "which no tc understands")
    error = refused(lambda: engine.run(cell, tmp_path))
    assert str(error) == "this kernel lacks the queueing discipline tbf (module sch_tbf)"
    assert "--engine uml" in error.remedy
    assert not list(tmp_path.iterdir())


@pytest.fixture
def taken(client: Client) -> Iterator[None]:
    """A network that has all addresses which containers tell their interfaces by."""
    pools = IPAMConfig(pool_configs=[IPAMPool(subnet=str(target.ADDRESSES))])
    made = client.api.create_network("fairc-test-taken", ipam=pools, options=target.BRIDGE_OPTIONS)
    yield
    client.api.remove_network(made["Id"])


def test_an_address_range_that_is_in_use(
    taken: None, engine: DockerEngine, cell: Cell, tmp_path: Path
) -> None:
    error = refused(lambda: engine.run(cell, tmp_path))
    assert "an address range is in use" in str(error) and "198.18.0.0/15" in str(error)
    assert "docker network ls" in error.remedy


def test_a_range_beside_those_in_use_is_taken(client: Client, cell: Cell) -> None:
    from fairc.runtime.containers.job import free_range

    pools = IPAMConfig(pool_configs=[IPAMPool(subnet="198.18.0.0/29")])
    made = client.api.create_network("fairc-test-one", ipam=pools, options=target.BRIDGE_OPTIONS)
    try:
        assert str(free_range(client, 2)) == "198.18.0.16"
        assert str(free_range(client, 3)) == "198.18.0.32"
        assert str(free_range(client, 1)) == "198.18.0.8"
    finally:
        client.api.remove_network(made["Id"])


def test_a_range_that_another_run_takes_meanwhile(
    client: Client,
    engine: DockerEngine,
    cell: Cell,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The second link of the first range is taken, so the first link's network has to go again.
    pools = IPAMConfig(pool_configs=[IPAMPool(subnet="198.18.0.8/29")])
    made = client.api.create_network("fairc-test-one", ipam=pools, options=target.BRIDGE_OPTIONS)
    ranges = ["198.18.0.0", "198.18.0.16"]
    monkeypatch.setattr(job, "free_range", lambda *_: IPv4Address(ranges.pop(0)))
    try:
        raw = engine.run(cell, tmp_path)
    finally:
        client.api.remove_network(made["Id"])
    assert raw.error == "" and ranges == []


def test_a_full_disk(engine: DockerEngine, compiled: Compiled, tmp_path: Path) -> None:
    (cell,) = compiled("cca = reno  workload = file(1MB)").cells()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "none", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lacks: the right to mount a small file system")
    try:
        error = engine.run(cell, tmp_path).error
        fault = faults.full([tmp_path])  # asked by the sweep, which believes no text of a cell's
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert "No space left on device" in error
    assert fault is not None and f"{tmp_path}: no space left on device" in str(fault)


def test_what_containers_cannot_have(
    engine: DockerEngine, compiled: Compiled, tmp_path: Path
) -> None:
    (cell,) = compiled("cca = cubic(hystart: off)  workload = file(1kB)").cells()
    assert "set for a whole kernel" in str(refused(lambda: engine.run(cell, tmp_path)))


def test_the_target_refuses_what_containers_cannot_have(compiled: Compiled, tmp_path: Path) -> None:
    from fairc.compiler import emit

    made = compiled("cca = cubic(hystart: off)  workload = file(1kB)")
    with pytest.raises(CompileError) as caught:
        emit(made, tmp_path / "plan", ["containers"])
    (diagnostic,) = caught.value.diagnostics
    (note,) = diagnostic.notes
    assert "flow `f` sets parameters of its CCA for the whole kernel" in note
    assert not (tmp_path / "plan").exists()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Pool overlaps with other one on this address space", "address range is in use"),
        ("write /var/lib/docker/x: no space left on device", "disk of the Docker engine is full"),
        ("failed to create: operation not permitted", "lacks a permission"),
        (
            "open /proc/sys/net/ipv6/conf/all/disable_ipv6: no such file or directory: unknown",
            "kernel runs without IPv6",
        ),
        ("open /proc/sys/net/x: no such file or directory: unknown", "lacks an option"),
        ("something else", "the Docker engine refuses: something else"),
    ],
)
def test_refusals_of_the_engine(said: str, words: str) -> None:
    error = explain(errors.APIError("500 Server Error", explanation=said))
    assert words in str(error) and said in str(error) and error.remedy


def test_every_error_of_the_library_has_words() -> None:
    arguments = {"container": "c", "exit_status": 1, "command": "x", "image": "i", "stderr": b""}
    found = 0
    for module in (errors, requests.exceptions):
        kinds: list[Any] = [kind for _, kind in inspect.getmembers(module, inspect.isclass)]
        for kind in kinds:
            if not issubclass(kind, errors.DockerException | requests.RequestException):
                continue
            if issubclass(kind, json.JSONDecodeError):
                assert explain(kind("reason", "", 0)).missing
                continue
            wanted = list(inspect.signature(kind.__init__).parameters)[1:]
            given = {
                name: arguments.get(name, "reason")
                for name in wanted
                if name not in ("args", "kwargs", "response", "request")
            }
            try:
                error = kind(**given)
            except TypeError:
                error = kind(*given.values())
            told = explain(error)
            assert told.missing and told.remedy, kind
            found += 1
    assert found > 30
