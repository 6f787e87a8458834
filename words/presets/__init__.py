"""The topologies that ship with fairc: the `.fexp` files of this folder, each an ordinary file of
its name.

A file's first comment, up to a colon, a full stop or a bracket, says what the topology is; a
comment after a parameter gives its kind and its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from typing import Any

from fairc.dsl.core.entries import Entry, Parameter
from fairc.dsl.core.kinds import A_COUNT, A_RATE, A_TIME, PACKET_COUNT, Kind
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Source
from fairc.dsl.text import syntax
from fairc.dsl.text.parser import parse
from fairc.mechanisms.devices.registry import DEVICES, PROXIES
from fairc.mechanisms.queues.registry import A_QUEUE
from fairc.words.losses import A_LOSS
from fairc.words.packet_sizes import A_MTU, A_TRANSMISSION
from fairc.words.trace import A_LINK_RATE, Traced

KINDS: Mapping[str, Kind[Any]] = {
    "count": A_COUNT,
    "rate": A_RATE,
    "link rate": A_LINK_RATE,
    "time": A_TIME,
    "link delay": Traced(A_TIME),
    "packets": PACKET_COUNT,
    "loss": Traced(A_LOSS),
    "queue": A_QUEUE,
    "mtu": A_MTU,
    "transmission": A_TRANSMISSION,
    **{device.noun: device.key.kind for device in DEVICES},
    **{proxies.noun: proxies.mode.kind for proxies in PROXIES},
}
_SUMMARY = re.compile(r"^# (.+?)(?::| \(|\.$|\. )", re.MULTILINE)
_ALIAS = re.compile(r"^# .*`(\w+)` is the same", re.MULTILINE)
_PARAMETER = re.compile(r"^  (\w+) *= (.+),  # ([\w ]+): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Preset(Entry):
    """A topology that ships with fairc.

    declares: the name of the topology in its file. text: the file.
    """

    declares: str = ""
    text: str = ""

    @cached_property
    def declaration(self) -> syntax.Topology:
        """The declarations of its file."""
        source = Source(f"<preset {self.declares}>", self.text)
        (found,) = (
            declaration
            for declaration in parse(source).declarations
            if isinstance(declaration, syntax.Topology) and declaration.name.text == self.declares
        )
        return found


def _presets() -> Iterator[Preset]:
    files = (
        file
        for file in resources.files("fairc.words.presets").iterdir()
        if file.name.endswith(".fexp")
    )
    for file in sorted(files, key=lambda file: file.name):
        text, name = file.read_text(encoding="utf-8"), file.name.removesuffix(".fexp")
        summary, alias = _SUMMARY.search(text), _ALIAS.search(text)
        assert summary is not None, f"{file.name} does not say what it is"
        found = _PARAMETER.findall(text)
        if any(kind not in KINDS for _, _, kind, _ in found):
            continue  # it needs a mechanism that is not here
        parameters = tuple(
            Parameter[Any](key, KINDS[kind], meaning, otherwise=default)
            for key, default, kind, meaning in found
        )
        preset = Preset(name, summary[1], parameters, runs=True, declares=name, text=text)
        yield preset
        if alias:
            yield replace(preset, name=alias[1], summary=f"The same as `{name}`")


TOPOLOGIES: Registry[Preset] = Registry("topology", "topology", _presets())
