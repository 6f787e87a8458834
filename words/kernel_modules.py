"""Kernel modules of the user's own: the C source, the name that it registers, its parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from fairc.cell.modules import KernelModule, packed
from fairc.dsl.core.attachments import attached
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import Texts, refuse
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER
from fairc.dsl.core.values import Quantity, Symbol, Text, Value

LIMIT_BYTES = 256 << 10
SUFFIX = ".c"
# The kernel keeps 16 bytes of a name, the last one zero.
_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")
_TEXT = re.compile(r"[A-Za-z0-9_.:/+-]{1,60}")
_WORD = re.compile(r"[a-z][a-z0-9_]{0,39}")
# module_param(NAME, TYPE, MODE), module_param_named(NAME, VARIABLE, ...), _cb, _unsafe, _array.
_PARAMETER = re.compile(r"\bmodule_param(?:_[a-z_]+)?\s*\(\s*(\w+)\s*,")


@dataclass(frozen=True)
class ModuleSettings:
    """The kind "a value of a module's parameter"."""

    phrase: str = "a whole number, `on` or `off`, or a word in quotes"

    def take(self, value: Value, use: str, at: Span | None = None) -> int | bool | str:
        """Return the value. Raises CompileError."""
        if isinstance(value, Quantity) and value.dimension == NUMBER:
            number = int(value.number)
            if number == value.number and abs(number) < 2**63:
                return number
        elif isinstance(value, Symbol) and value.name in ("on", "off"):
            return value.name == "on"
        elif isinstance(value, Text) and _TEXT.fullmatch(value.value):
            return value.value
        return refuse(self, value, use, at)


SOURCE = Parameter("source", Texts(), "its C file, in the experiment's folder", required=True)


def name_parameter(prefix: str) -> Parameter[Text]:
    """Return the parameter for the name that a module registers; prefix: usual in file names."""
    return Parameter(
        "name",
        Texts(),
        "the name that it registers",
        otherwise=f"the file's name without `{prefix}` and `{SUFFIX}`",
    )


def read_module(use: Use[Any], name: Parameter[Text], prefix: str, what: str) -> KernelModule:
    """Return the module that is written.

    name: the parameter that `name_parameter` made for this prefix. what: what it registers, and
    where the source names it: `a CCA name` and `tcp_congestion_ops` with a blank between.
    Raises CompileError.
    """
    written = use[SOURCE]
    content = attached(written, LIMIT_BYTES)
    file = PurePosixPath(written.value).name
    if not file.endswith(SUFFIX) or not _FILE.fullmatch(file):
        fail(
            "bad-module",
            f"`{written.value}` is not the C source of a module",
            written.span,
            note="its name must end with `.c`",
            help="docs/learn/modules.md shows an example",
        )
    try:
        text = content.decode()
    except UnicodeDecodeError:
        fail("bad-module", f"`{written.value}` is not text in UTF-8", written.span)
    called = use.given(name)
    registers = called.value if called else file.removesuffix(SUFFIX).removeprefix(prefix)
    if not _NAME.fullmatch(registers):
        kind, _, structure = what.rpartition(" ")
        fail(
            "bad-module",
            f"`{registers}` is not {kind}",
            called.span if called else written.span,
            note="at most 15 lower-case letters, digits and underscores",
            help=f'give the name in its {structure}: `module("file.c", name: "mine")`',
        )
    return KernelModule(
        file=file,
        source=packed(content),
        registers=registers,
        parameters=_settings(use, text),
    )


def variant(name: str, number: int) -> str:
    """Return the name of one of several modules that register the same one; at most 15 letters."""
    return f"{name[: 14 - len(str(number))]}_{number}"


def _settings(use: Use[Any], text: str) -> dict[str, int | bool | str]:
    """Return the parameters of a module that are given; refuse one that its source lacks."""
    declared = sorted(set(_PARAMETER.findall(text)))
    found: dict[str, int | bool | str] = {}
    for name, value in use.further.items():
        if name not in declared or not _WORD.fullmatch(name):
            near = suggest(name, declared)
            fail(
                "unknown-argument",
                f"the module has no parameter `{name}`",
                use.places[name],
                note=f"did you mean `{near}`?" if near else "",
                help=f"it declares with `module_param`: {', '.join(declared)}"
                if declared
                else f"it declares none: `module_param({name}, int, 0444);`",
            )
        assert isinstance(value, int | str)
        found[name] = value
    return found
