"""Programs of container images on `uml`: an image made here, of busybox, in two layers."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from madeimages import docker, layer
from specs import compile_spec

from fairc.compiler import Cell
from fairc.dsl.core.diagnostics import CompileError
from fairc.runtime.engines.base import RawResult
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.measurement import load
from fairc.runtime.uml import image_roots
from fairc.runtime.validity import judge
from fairc.runtime.vm import image, recipe

TOOLS = ("cat", "chmod", "head", "id", "ls", "nc", "sh", "sleep", "test", "touch", "wc")
SERVE = b"""#!/bin/sh
echo "$GREETING from $FAIRC_SIDE: $(id -u), $(cat /note)"
touch /written /bin/x && chmod 700 /bin/sh && echo "its files are its own"
test -e /gone || echo "gone"
head -n 1 /etc/hosts
ls /dev/exchange /run/fairc 2> /dev/null || echo "nothing of the guest"
head -c 400000 /dev/zero | nc -l -p "$FAIRC_PORT"
"""
SPEC = """fexp 1
experiment x {{
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  {flows}
  flow beside {{ cca = cubic  start = 0s  workload = bulk }}
  duration = 3s
  measure  = [goodput]
}}
"""
FLOW = """flow {name} {{
    cca = bbr  start = 0s
    workload = program(
      server: ["{server}"], client: ["sh", "-c", "sleep 2 | nc {{server}} {{port}} | wc -c"]{images}
    )
  }}"""
BOTH = ', server_image: "server.tar", client_image: "client.tar"'


def images(folder: Path, *names: str) -> None:
    """Write images of busybox."""
    busybox = image.require(recipe.UML).busybox.read_bytes()
    entries = [("bin/busybox", busybox), *((f"bin/{tool}", "busybox") for tool in TOOLS)]
    first = layer([*entries, ("gone", b""), ("note", b"below")], "gzip")
    for name in names:
        second = layer([("note", name.encode()), (".wh.gone", b""), ("bin/serve", SERVE)])
        docker(folder / name, [first, second], ["PATH=/bin", "GREETING=hello"])


def compiled(folder: Path, *flows: str) -> Cell:
    spec = folder / "x.fexp"
    spec.write_text(SPEC.format(flows="\n  ".join(flows)))
    (cell,) = compile_spec(spec).cells()
    return cell


def engine(folder: Path) -> UmlEngine:
    found = UmlEngine()
    found.allow_programs, found.program_files = True, folder
    found.prepare()
    return found


def run(cell: Cell, folder: Path, name: str) -> RawResult:
    """Run a cell; name: of the folder of what it leaves."""
    (folder / name).mkdir()
    runs = engine(folder)
    runs.identity_for(cell)
    return runs.run(cell, folder / name)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    images(folder, "server.tar", "client.tar", "third.tar")
    return folder


def test_a_program_of_an_image(there: Path) -> None:
    cell = compiled(there, FLOW.format(name="own", server="serve", images=BOTH))
    result = run(cell, there, "first")
    assert result.error == "", result.error
    measured = load(cell, result.artefacts)
    assert judge(measured) == ("valid", ())
    files = measured.flows[0].endpoints.files
    server, client = files["server.stdout"], files["client.stdout"]
    assert server is not None and client is not None
    assert server.decode().splitlines() == [
        "hello from server: 10000, server.tar",
        "its files are its own",
        "gone",
        "127.0.0.1 localhost",
        "nothing of the guest",
    ]
    assert client.decode().strip() == "400000"
    again = run(cell, there, "second")
    assert again.artefacts.joinpath("own.server.ndjson").read_bytes() == (
        result.artefacts.joinpath("own.server.ndjson").read_bytes()
    )


def test_a_file_system_is_made_once_and_mended(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_roots, "cache_directory", lambda: tmp_path)
    runs, said = engine(there), list[str]()
    assert runs._kernel is not None
    tar, root = there / "third.tar", image.require(recipe.UML)
    sha256 = hashlib.sha256(tar.read_bytes()).hexdigest()

    def made() -> Path:
        assert runs._kernel is not None
        return image_roots.made(runs._kernel, root, sha256, tar, "third.tar", said.append)

    place = made()
    content = place.read_bytes()
    assert made() == place and said == ["unpacking third.tar"]
    place.write_bytes(content[:-1] + b"x")
    assert made().read_bytes() == content
    assert said == ["unpacking third.tar"] * 2
    with pytest.raises(EngineUnavailable, match="has changed since it was found"):
        image_roots.made(runs._kernel, root, "0" * 64, tar, "third.tar", said.append)
    assert [path.suffix for path in sorted((tmp_path / "roots").iterdir())] == [".ext2", ".sha256"]


def test_a_program_that_its_image_lacks(there: Path) -> None:
    cell = compiled(there, FLOW.format(name="own", server="nginx", images=BOTH))
    result = run(cell, there, "lacks")
    verdict, reasons = judge(load(cell, result.artefacts))
    assert verdict == "invalid"
    assert any("`nginx` is no program of its image" in reason for reason in reasons), reasons


def test_a_cell_has_two_images(there: Path) -> None:
    flows = [
        FLOW.format(name=f"f{n}", server="serve", images=f', server_image: "{name}.tar"')
        for n, name in enumerate(("server", "client", "third"))
    ]
    with pytest.raises(EngineUnavailable, match="3 container images, and uml runs two"):
        engine(there).identity_for(compiled(there, *flows))


def old_sparse() -> bytes:
    """Return a tar that ends where further headers of its sparse file would be."""
    member = tarfile.TarInfo("x")
    member.type = tarfile.GNUTYPE_SPARSE
    head = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    head[482], head[148:156] = 1, b" " * 8  # isextended, checksum
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def test_layers_with_odd_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_roots, "cache_directory", lambda: tmp_path)
    member, odd = tarfile.TarInfo("x"), io.BytesIO()
    member.pax_headers = {"mtime": "inf"}
    with tarfile.open(fileobj=odd, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(member)
    nobody: Any = None  # no machine is started for it
    for content in (odd.getvalue(), old_sparse()):
        docker(tmp_path / "odd.tar", [content], [])
        sha256 = hashlib.sha256((tmp_path / "odd.tar").read_bytes()).hexdigest()
        with pytest.raises(
            EngineUnavailable, match=r"`odd\.tar` cannot be used: it cannot be read"
        ):
            image_roots.made(nobody, nobody, sha256, tmp_path / "odd.tar", "odd.tar", print)


@pytest.mark.parametrize("content", [b"no tar", old_sparse()])
def test_what_is_no_image_is_shown_where_it_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "server.tar").write_bytes(content)
    one = FLOW.format(name="own", server="serve", images=', server_image: "server.tar"')
    with pytest.raises(CompileError, match=r"`server\.tar` is no image"):
        compiled(tmp_path, one)
