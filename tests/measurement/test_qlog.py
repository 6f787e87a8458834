"""A qlog that is cut off, missing or no qlog is an error in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairc.runtime.measurement.artefacts import ArtefactError, Artefacts
from fairc.runtime.measurement.qlog import check

FILE, LOG = "q.server.sqlog", "q.server.ndjson"
HEADER = b'\x1e{"qlog_format":"JSON-SEQ","qlog_version":"0.3","trace":{}}\n'
EVENT = b'\x1e{"time":1.5,"name":"recovery:metrics_updated","data":{"congestion_window":14720}}\n'
WHOLE = HEADER + EVENT * 3


def checked(folder: Path, content: bytes, written: int | None = None) -> None:
    (folder / FILE).write_bytes(content)
    traced = {"t_ns": 1, "file": FILE, "bytes": len(content) if written is None else written}
    check(Artefacts(folder), FILE, [traced], LOG)


def test_a_whole_one(tmp_path: Path) -> None:
    checked(tmp_path, WHOLE)


@pytest.mark.parametrize("content", [HEADER + EVENT, WHOLE[:-10], b""])
def test_one_that_was_cut_off(tmp_path: Path, content: bytes) -> None:
    words = f"has {len(content)} bytes, and the server wrote {len(WHOLE)}"
    with pytest.raises(ArtefactError, match=words):
        checked(tmp_path, content, len(WHOLE))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"rubbish", "not a sequence of JSON texts"),
        (b"rubbish" + WHOLE, "not a sequence of JSON texts"),
        (EVENT + HEADER, "does not begin with the header"),
        (HEADER + b"\x1e{\n" + EVENT, "record 2 is not JSON"),
        (HEADER + b"\x1e[1]\n", "record 2 is not a whole object"),
        (HEADER + EVENT[:-1], "record 2 is not a whole object"),
        (HEADER + b"\x1e" + b"[" * 100_000, "record 2 is not JSON"),
    ],
)
def test_one_that_is_none(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(ArtefactError, match=words):
        checked(tmp_path, content)


def test_a_missing_one_and_one_whose_length_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=f"{FILE} is missing"):
        check(Artefacts(tmp_path), FILE, [], LOG)
    (tmp_path / FILE).write_bytes(WHOLE)
    with pytest.raises(ArtefactError, match="does not say how long it is"):
        check(Artefacts(tmp_path), FILE, [], LOG)
