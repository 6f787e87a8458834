"""The text types of a plan, restricted so that no text can turn into code, options or paths.

A plan may come from a stranger, and its texts end up in programs that run as root, in file names
and on terminals. Every type here is a pattern that pydantic checks in compiled code; no free text
contains a control character or one that reorders what a reader sees (as in the language:
dsl/text/syntax_errors.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a text must match, and its greatest length in characters (None: any): an annotation, as
    Range is.
    """

    pattern: str
    max_length: int | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return pydantic's description of the type, with the pattern."""
        length = {} if self.max_length is None else {"max_length": self.max_length}
        return handler(source) | {"pattern": self.pattern} | length


_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DOMAIN = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?:\.[A-Za-z0-9-]+)*(?::[0-9]+)?"
IMAGE = (
    rf"(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
"""The name of an image (github.com/distribution/reference, its grammar)."""
LONGEST_IMAGE = 255

VISIBLE = r"[^\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
"""A character that a reader sees, and that does not reorder what is seen."""

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_ADDRESS = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_LENGTH = r"(?:3[0-2]|[12]?[0-9])"

Text = Annotated[str, Pattern(rf"^{VISIBLE}*$", 10_000)]
"""One line of human-readable text: a title, a value, a unit, what varies."""

Document = Annotated[str, Pattern(rf"^(?:{VISIBLE}|[\t\r\n])*$", 1_000_000)]
"""The text of a file."""

Line = Annotated[str, Pattern(rf"^{VISIBLE}*$", 400)]
"""`file:line` of a statement."""

FileName = Annotated[str, Pattern(r"^[^/\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$", 255)]
"""The name of a file without its folders."""

Word = Annotated[str, Pattern(r"^[A-Za-z_][A-Za-z0-9_]*$", 80)]
"""A name of the language: of an experiment, a swept value, an option, a group."""

EngineName = Annotated[str, Pattern(r"^[a-z][a-z0-9-]{0,31}$")]
"""An engine: `uml`, `vm-half`."""

NodeName = Annotated[str, Pattern(r"^[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*$", 200)]
"""A node, and a container, and a part of file names: `r1`, `heavy-1-server`, `left-right`."""

FlowName = Annotated[str, Pattern(r"^[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*$", 100)]
"""A flow or a proxy, and the beginning of file names: `cubic`, `heavy-1`."""

InterfaceName = Annotated[str, Pattern(r"^[A-Za-z_][A-Za-z0-9_-]*$", 15)]
"""A network interface as Linux takes it."""

Place = tuple[NodeName, InterfaceName]
"""An interface: node name, interface name."""

CaptureName = Annotated[
    str,
    Pattern(r"^[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*$", 245),
]
"""A capture, and the beginning of its file's name: point, node, interface."""

MetricName = Annotated[str, Pattern(r"^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?$", 80)]
"""A metric, or one of its values: `fairness.F`."""

CcaName = Annotated[str, Pattern(r"^[a-z][a-z0-9_]*$", 15)]
"""The kernel's name of a CCA, part of the name of its module."""

ParameterName = Annotated[str, Pattern(r"^[a-z][a-z0-9_]*$", 40)]
"""A parameter of a CCA: the name of a file below /sys/module/tcp_NAME/parameters."""

VariableName = Annotated[str, Pattern(r"^[A-Za-z_][A-Za-z0-9_]*$", 100)]
"""A variable of the environment."""

SourceName = Annotated[str, Pattern(r"^[A-Za-z0-9_][A-Za-z0-9_.-]*\.c$", 64)]
"""The name of a C file without its folders."""

ModuleWord = Annotated[str, Pattern(r"^[A-Za-z0-9_.:/+-]+$", 60)]
"""A word as the value of a module's parameter."""

Address = Annotated[str, Pattern(rf"^{_ADDRESS}$")]
"""An IPv4 address in dotted-decimal form."""

InterfaceAddress = Annotated[str, Pattern(rf"^{_ADDRESS}/{_LENGTH}$")]
"""An IPv4 address and the length of its prefix: `10.0.0.1/30`."""

Identity = Annotated[str, Pattern(r"^[0-9a-f]{16}$")]
"""The first digits of a SHA-256, which name cells and configurations."""

Sha256 = Annotated[str, Pattern(r"^[0-9a-f]{64}$")]
"""A complete SHA-256."""

Base64 = Annotated[str, Pattern(r"^[A-Za-z0-9+/]*={0,2}$", 400_000)]
"""Bytes as text; a BPF object has at most 256 KiB."""

ObjectPath = Annotated[str, Pattern(r"^/(?:[0-9]{1,4}\.[a-z0-9]{1,5})?$")]
"""The path of a page's object on its server: `/`, `/7.png`."""

MimeType = Annotated[
    str,
    Pattern(r"^(?:application|audio|font|image|text|video)/[a-z0-9][a-z0-9.+-]{0,60}$"),
]
"""The type of an object of a page."""

ImageName = Annotated[str, Pattern(f"^(?:{IMAGE})$", LONGEST_IMAGE)]
"""The name of a container image, as `docker images` shows it."""

CommandWord = Annotated[str, Pattern(rf"^{VISIBLE}*$", 1000)]
"""A word of the command of a user's own program."""

ProgramPath = Annotated[
    str, Pattern(r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*$", 200)
]
"""The path of a file of such a program, from the folder of its experiment."""

DisciplineName = Annotated[str, Pattern(r"^[a-z][a-z0-9_]{0,14}$")]
"""The name of a queueing discipline in tc and the kernel, part of the name of its module."""

ArgumentName = Annotated[str, Pattern(r"^[a-z][a-z0-9_-]{0,39}$")]
"""The name of an argument of tc."""

ArgumentWord = Annotated[str, Pattern(r"^[a-z0-9][a-z0-9_.%/-]{0,39}$")]
"""The value of an argument of tc that is not a whole number: `5ms`, `2.5%`."""

Nothing = Literal[""]
"""No name."""
