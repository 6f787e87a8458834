"""Custom kernels, as their builds describe them: `hosts { kernel = NAME }`.

`fairc image build --name NAME` asks the kernel that it has built for its CCAs, their parameters
and its queueing disciplines, and writes them into the kernel's manifest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fairc.cell.model import OwnKernel
from fairc.dsl.core.cache import cache_directory
from fairc.dsl.core.kinds import refuse
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry, suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Symbol, Value

from .bpf import BPF
from .cca import Cca, flag, whole
from .kernel import KERNEL
from .module import MODULE

STANDARD = "standard"
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
BUILD = "fairc image build --name {name} [--kernel SOURCE] [--patch FILE] [--config FILE]"
INTEGER = (-(2**31), 2**32 - 1)

_CCA = re.compile(r"[a-z][a-z0-9_]{0,14}")
_PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,39}")
_QDISC = re.compile(r"[a-z][a-z0-9_]{0,14}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class KernelWords:
    """The features of a custom kernel.

    sha256: of its program. qdiscs: its queueing disciplines. parameters: CCA -> parameter -> its
    default: of those that can be set.
    """

    name: str
    sha256: str
    version: str
    qdiscs: frozenset[str]
    parameters: Mapping[str, Mapping[str, int | bool]]

    @property
    def planned(self) -> OwnKernel:
        """Its part of a plan."""
        return OwnKernel(self.name, self.sha256)

    @cached_property
    def ccas(self) -> Registry[Cca]:
        """Its CCAs: those of the language that it has, `bpf`, `module`, and its own."""
        usual = {cca.name: cca for cca in KERNEL}
        found = [usual[name] for name in self.parameters if name in usual]
        own = (self._own(name) for name in self.parameters if name not in usual)
        return Registry(f"CCA of the kernel `{self.name}`", "cca", [*found, *own, BPF, MODULE])

    def _own(self, name: str) -> Cca:
        return Cca(
            name=name,
            summary=f"of the kernel `{self.name}`",
            parameters=tuple(
                flag(parameter, "of its module", initial)
                if isinstance(initial, bool)
                else whole(parameter, "of its module", initial, *INTEGER)
                for parameter, initial in self.parameters[name].items()
            ),
        )


def folder() -> Path:
    """Return where the custom kernels are, each in a folder of its name."""
    return cache_directory() / "kernels" / "own"


def build_command(name: str) -> str:
    """Return the command that builds a kernel."""
    return BUILD.format(name=name)


def find(name: str) -> KernelWords | None:
    """Return a kernel that has been built here; None: there is none, or a damaged one."""
    if not NAME.fullmatch(name):
        return None
    try:
        return _checked(name, json.loads((folder() / name / "manifest.json").read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def built() -> Iterator[KernelWords]:
    """Yield the kernels that have been built here, by name."""
    for name in sorted(path.name for path in folder().iterdir()) if folder().is_dir() else ():
        if (kernel := find(name)) is not None:
            yield kernel


def with_cca(name: str) -> list[str]:
    """Return the names of the kernels that have been built here with a CCA."""
    return [kernel.name for kernel in built() if name in kernel.parameters]


def _checked(name: str, document: dict[str, object]) -> KernelWords:
    sha256, version = document["sha256"], document["kernel"]
    qdiscs, ccas = document["qdiscs"], document["ccas"]
    if not (isinstance(sha256, str) and _SHA256.fullmatch(sha256) and isinstance(version, str)):
        raise ValueError("no program")
    if not isinstance(qdiscs, list) or not all(_QDISC.fullmatch(each) for each in qdiscs):
        raise ValueError("no queueing disciplines")
    if not isinstance(ccas, dict):
        raise TypeError("no CCAs")
    for cca, parameters in ccas.items():
        named = all(map(_PARAMETER.fullmatch, parameters))
        if not (_CCA.fullmatch(cca) and named):
            raise ValueError("a CCA without a name")
        if not all(isinstance(value, int) for value in parameters.values()):
            raise TypeError("a parameter that is no number")
    return KernelWords(name, sha256, version, frozenset(qdiscs), ccas)


@dataclass(frozen=True)
class AnyKernel:
    """The kind "a kernel": `standard`, or one that has been built here."""

    phrase: str = f"`{STANDARD}` or the name of your own kernel"

    def take(self, value: Value, use: str, at: Span | None = None) -> KernelWords | None:
        """Return the kernel; None: the standard one. Raises CompileError unless it is here."""
        if not isinstance(value, Symbol):
            refuse(self, value, use, at)
        if value.name == STANDARD:
            return None
        found = find(value.name)
        if found is None:
            here = [kernel.name for kernel in built()]
            near = suggest(value.name, [*here, STANDARD])
            fail(
                "unknown-kernel",
                f"no kernel `{value.name}` has been built here",
                value.span,
                note=f"did you mean `{near}`?" if near else "",
                notes=("`fairc image info` lists those that have been",),
                help=build_command(value.name)
                if NAME.fullmatch(value.name)
                else "names of kernels are words in lower case: `l4s`",
            )
        return found
