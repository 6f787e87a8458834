"""The files that a cell leaves behind, opened and checked; a bad one is an ArtefactError."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic_core import from_json

from . import pcap

NS = 1e-9
"""A nanosecond in seconds: from the files' unit to that of measurements."""
US = 1e-6
"""A microsecond in seconds."""


class ArtefactError(Exception):
    """A raw artefact is missing or broken; the message names the file and says what is wrong."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Content of `cell.json`; ended_ns is after the epoch, processes maps names to exit status."""

    id: str
    epoch_ns: int
    ended_ns: int
    ended_by: str
    processes: Mapping[str, int]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaptureCounts:
    """The counters of a capture: packets written, and packets that it lost."""

    captured: int
    dropped: int


class Artefacts:
    """The folder of one cell. Every method raises ArtefactError for a missing or broken file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def content(self, name: str) -> bytes:
        """Return the bytes of a file."""
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            raise ArtefactError(f"{name} is missing") from None
        except OSError as error:
            raise ArtefactError(f"{name} cannot be read: {error.strerror}") from None

    def text(self, name: str) -> str:
        """Return a text file; bytes that are not UTF-8 are replaced."""
        return self.content(name).decode("utf-8", "replace")

    def json(self, name: str) -> Any:
        """Return a JSON document."""
        try:
            return json.loads(self.content(name))
        except (ValueError, RecursionError) as error:
            raise ArtefactError(f"{name} is not JSON: {error}") from None

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the objects of an NDJSON file, each with an integer `t_ns`."""
        try:
            with (self.folder / name).open("rb") as file:  # an hour of samples is 500 MB
                for number, line in enumerate(file, 1):
                    yield self._record(name, number, line)
        except FileNotFoundError:
            raise ArtefactError(f"{name} is missing") from None
        except OSError as error:
            raise ArtefactError(f"{name} cannot be read: {error.strerror}") from None

    @staticmethod
    def _record(name: str, number: int, line: bytes) -> dict[str, Any]:
        try:
            record = from_json(line)
        except ValueError as error:
            raise ArtefactError(f"{name}, line {number} is not JSON: {error}") from None
        if not isinstance(record, dict) or not isinstance(record.get("t_ns"), int):
            raise ArtefactError(f"{name}, line {number} is not an object with t_ns")
        return record

    def ending(self) -> Ending:
        """Return `cell.json`."""
        document = self.json("cell.json")
        try:
            return Ending(
                id=str(document["id"]),
                epoch_ns=int(document["epoch_ns"]),
                ended_ns=int(document["ended_ns"]),
                ended_by=str(document["ended_by"]),
                processes={str(k): int(v) for k, v in document["processes"].items()},
                notes=tuple(map(str, document.get("notes", ()))),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArtefactError(f"cell.json is not as documented: {error!r}") from None

    def capture(
        self, name: str, headers: pcap.Headers = MappingProxyType({}), summed: bool = False
    ) -> pcap.Capture:
        """Return the packets of `<name>.pcap`. headers: of tunnels. summed: look for damaged ones
        by their checksums.
        """
        try:
            return pcap.parse(self.content(f"{name}.pcap"), headers, summed)
        except pcap.PcapError as error:
            raise ArtefactError(f"{name}.pcap is not a capture: {error}") from None

    def capture_counts(self, name: str) -> CaptureCounts | None:
        """Return the counts in `<name>.ndjson`, or None where it ended without writing them."""
        file = f"{name}.ndjson"
        for record in self.lines(file):
            if record.get("event") == "captured":
                return CaptureCounts(field(record, "packets", file), field(record, "dropped", file))
        return None


def field(record: Mapping[str, Any], key: str, file: str) -> int:
    """Return an integer of an endpoint's event. Raises ArtefactError when it is not there."""
    value = record.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        event = record.get("event", "line")
        raise ArtefactError(f"{file}: a {event} at t_ns {record['t_ns']} has no integer {key!r}")
    return value
