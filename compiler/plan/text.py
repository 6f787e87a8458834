"""The text types of a plan, restricted so that no text can turn into code, options or paths.

A plan may come from a stranger, and its texts end up in programs that run as root, in file names and
on terminals. Every type here is a pattern that pydantic checks in compiled code; no free text contains a
control character or one that reorders what a reader sees (as in the language: dsl/text/slips.py).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DOMAIN = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?:\.[A-Za-z0-9-]+)*(?::[0-9]+)?"
IMAGE = (
    rf"(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
"""The name of an image (github.com/distribution/reference, its grammar)."""
LONGEST_IMAGE = 255

_SEEN = r"[^\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_ADDRESS = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_LENGTH = r"(?:3[0-2]|[12]?[0-9])"

Text = Annotated[str, Field(pattern=rf"^{_SEEN}*$", max_length=10_000)]
"""One line of human-readable text: a title, a value, a unit, what varies."""

Document = Annotated[str, Field(pattern=rf"^(?:{_SEEN}|[\t\r\n])*$", max_length=1_000_000)]
"""The text of a file."""

Line = Annotated[str, Field(pattern=rf"^{_SEEN}*$", max_length=400)]
"""`file:line` of a statement."""

FileName = Annotated[str, Field(pattern=r"^[^/\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$", max_length=255)]  # fmt: skip
"""The name of a file without its folders."""

Word = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=80)]
"""A name of the language: of an experiment, a swept value, an option, a group."""

EngineName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
"""An engine: `uml`, `vm-half`."""

NodeName = Annotated[
    str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*$", max_length=200)
]
"""A node, and a container, and a part of file names: `r1`, `heavy-1-server`, `left-right`."""

FlowName = Annotated[
    str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*$", max_length=100)
]
"""A flow or a proxy, and the beginning of file names: `cubic`, `heavy-1`."""

InterfaceName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$", max_length=15)]
"""A network interface as Linux takes it."""

Place = tuple[NodeName, InterfaceName]
"""An interface: node name, interface name."""

CaptureName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*$",
        max_length=245,
    ),
]
"""A capture, and the beginning of its file's name: point, node, interface."""

MetricName = Annotated[
    str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?$", max_length=80)
]
"""A metric, or one of its values: `fairness.F`."""

CcaName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=15)]
"""The kernel's name of a CCA, part of the name of its module."""

ParameterName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
"""A parameter of a CCA: the name of a file below /sys/module/tcp_NAME/parameters."""

Address = Annotated[str, Field(pattern=rf"^{_ADDRESS}$")]
"""An IPv4 address in dotted-decimal form."""

InterfaceAddress = Annotated[str, Field(pattern=rf"^{_ADDRESS}/{_LENGTH}$")]
"""An IPv4 address and the length of its prefix: `10.0.0.1/30`."""

Identity = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
"""The first digits of a SHA-256, which name cells and configurations."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A complete SHA-256."""

Base64 = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]*={0,2}$", max_length=400_000)]
"""Bytes as text; a BPF object has at most 256 KiB."""

ObjectPath = Annotated[str, Field(pattern=r"^/(?:[0-9]{1,4}\.[a-z0-9]{1,5})?$")]
"""The path of a page's object on its server: `/`, `/7.png`."""

MimeType = Annotated[
    str,
    Field(pattern=r"^(?:application|audio|font|image|text|video)/[a-z0-9][a-z0-9.+-]{0,60}$"),
]
"""The type of an object of a page."""

ImageName = Annotated[str, Field(pattern=f"^(?:{IMAGE})$", max_length=LONGEST_IMAGE)]
"""The name of a container image, as `docker images` shows it."""

DisciplineName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,14}$")]
"""The name of a queueing discipline in tc and the kernel, part of the name of its module."""

ArgumentName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
"""The name of an argument of tc."""

ArgumentWord = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.%/-]{0,39}$")]
"""The value of an argument of tc that is not a whole number: `5ms`, `2.5%`."""

Nothing = Literal[""]
"""No name."""


def _below(path: str) -> str:
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError("a path from the experiment's folder, without `..`")
    return path


Below = Annotated[Text, AfterValidator(_below)]
"""The path of a file in or below the folder of the experiment."""
