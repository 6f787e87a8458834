"""A stranger's series.npz: no pickle is loaded, and the file does not decide how much memory is
taken.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairc.runtime.measurement import series
from fairc.runtime.measurement.artefacts import ArtefactError
from fairc.runtime.measurement.series import Series


def npy(array: Any, pickled: bool = False) -> bytes:
    """Return an array as a member of an npz file."""
    made = io.BytesIO()
    np.lib.format.write_array(made, np.asarray(array), allow_pickle=pickled)
    return made.getvalue()


def npz(path: Path, method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", method) as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return path


class Evil:
    """What runs a command when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = str(canary)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        return open, (self.canary, "w")


def header(shape: str, descr: str = "'<f8'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def test_a_pickle_is_not_loaded(tmp_path: Path) -> None:
    evil = np.array([Evil(tmp_path / "canary")], dtype=object)
    path = npz(tmp_path / "a.npz", slot_s=npy(evil, pickled=True))
    with pytest.raises(ArtefactError, match="is not an array"):
        Series.open(path)
    path.write_bytes(pickle.dumps(Evil(tmp_path / "canary")))
    with pytest.raises(ArtefactError, match="is no zip file"):
        Series.open(path)
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize(
    "content",
    [
        *(header("(100000000000000,)"), header("(10, 10)") + bytes(8)),
        *(header("(1,)", "'|O'"), header("(-1,)"), header("((((1))))"), header("(" * 90)),
        *(header("'x'"), header("(1,)", "[('a', '<f8'"), b"\x93NUMPY\x09\x00", b"text", b""),
    ],
)
def test_a_header_that_is_not_what_save_writes(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ArtefactError, match="is not a cell's series"):
        Series.open(npz(tmp_path / "a.npz", slot_s=content))


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "MOST_BYTES", 1 << 20)
    path = npz(tmp_path / "a.npz", slot_s=npy(np.zeros(1 << 20)))
    with pytest.raises(ArtefactError, match="unpacks to more than"):
        Series.open(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_save_does_not_use(tmp_path: Path, method: int) -> None:
    with pytest.raises(ArtefactError, match="another method"):
        Series.open(npz(tmp_path / "a.npz", method, slot_s=npy([1.0])))


def test_an_array_that_is_no_npz(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(npy([1.0]))
    with pytest.raises(ArtefactError, match="is no zip file"):
        Series.open(tmp_path / "a.npz")
