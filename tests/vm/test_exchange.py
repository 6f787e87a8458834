"""The exchange: what goes in comes out, and nothing that the guest says is believed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairc.runtime.vm import exchange

SIZE = 8 << 20
FILES = st.dictionaries(
    st.text("abcdefgh.-_0123456789", min_size=1, max_size=12).filter(
        lambda n: n not in (".", "..")
    ),
    st.binary(max_size=5000),
    max_size=5,
)


@given(files=FILES)
@settings(max_examples=30, deadline=None)
def test_files_come_back_as_they_went_in(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    folder = tmp_path_factory.mktemp("exchange")
    exchange.create(folder / "device", {"kind": "job"}, files, SIZE)
    out = folder / "out"
    out.mkdir()

    exchange.extract(folder / "device", out)

    assert files == {path.name: path.read_bytes() for path in out.iterdir()}


def test_the_file_is_sparse(tmp_path: Path) -> None:
    exchange.create(tmp_path / "device", {}, {"a": b"x"}, 1 << 30)

    stat = (tmp_path / "device").stat()

    assert stat.st_size == 1 << 30
    assert stat.st_blocks * 512 < 2 << 20


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", ".", "..", "a/b", "a\0b"])
def test_a_name_that_is_not_a_plain_file_name_is_refused(tmp_path: Path, name: str) -> None:
    exchange.create(tmp_path / "device", {}, {name: b"x"}, SIZE)
    out = tmp_path / "out"
    out.mkdir()

    with pytest.raises(ValueError, match="name"):
        exchange.extract(tmp_path / "device", out)
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("size", [-1, SIZE])
def test_a_size_that_the_device_does_not_hold_is_refused(tmp_path: Path, size: int) -> None:
    device = tmp_path / "device"
    exchange.create(device, {}, {}, SIZE)
    with device.open("r+b") as file:
        file.write(exchange.pack_header({"kind": "result", "files": [["a", size]]}))

    with pytest.raises(ValueError, match="size"):
        exchange.extract(device, tmp_path)


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, exchange.MAGIC + b"\xff" * 100])
def test_a_broken_header_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "device").write_bytes(content)

    with pytest.raises(ValueError):
        exchange.read_header(tmp_path / "device")


def test_the_guests_side_reads_the_job_and_writes_the_result(tmp_path: Path) -> None:
    device = tmp_path / "device"
    job = {"script.py": b"print()" * 1000, "b": b""}
    exchange.create(device, {"seed": "00"}, job, SIZE)
    result = tmp_path / "big"
    result.write_bytes(bytes(range(256)) * 10_000)  # more than two chunks
    out = tmp_path / "out"
    out.mkdir()

    guest = exchange.Device(str(device))
    header, files = guest.read_job()
    guest.write_result({"kind": "result"}, [str(result)])
    exchange.extract(device, out)

    assert ("00", job) == (header["seed"], files)
    assert exchange.read_header(device)["kind"] == "result"
    assert result.read_bytes() == (out / "big").read_bytes()


def test_results_that_do_not_fit_are_an_error(tmp_path: Path) -> None:
    device = tmp_path / "device"
    exchange.create(device, {}, {}, 2 << 20)
    (tmp_path / "big").write_bytes(b"x" * (2 << 20))

    with pytest.raises(OSError, match="larger than the exchange"):
        exchange.Device(str(device)).write_result({}, [str(tmp_path / "big")])
