"""Kernel modules of the user's own: compiled from C for the kernel that loads them, in a machine of
the engine `uml`, cached.

The machine's disk is what the build of that kernel left for this (modules.sh): its headers and its
compiler. So a module is the same bytes on every host, and what the compiler reads and does is
confined as a cell is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairc.cell.modules import QUEUE_PREFIX, KernelModule
from fairc.compiler.files import sha256_of
from fairc.dsl.core.cache import cache_directory
from fairc.dsl.core.diagnostics import CompileError, Diagnostic
from fairc.dsl.core.source import Source, Span, printable
from fairc.runtime.host import bounds
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.vm.image import Image

from . import confinement, kept, machine
from .kernel import MODULES, Kernel

HERE = Path(__file__).parent
SCRIPT, GLUE = HERE / "compile.sh", HERE / "glue.c"
FOLDER = "modules"
OBJECT, SAID = "module.ko", ("compiler", "glue", "linker", "modpost")
CODE = "bad-module"
# A page of C takes 2 s of CPU; what takes this long is no module, whatever it includes.
LIMITS = bounds.Limits(virtual_s=3600.0, cpu_s=120.0)
ROOM_BYTES = 16 << 20
MOST_SAID, MOST_OBJECT = 1 << 20, 8 << 20
MOST_ERRORS = 20
NO_MODULES = (
    "`fairc image rm`, then `fairc image build` here compiles this kernel together with what its"
    " modules need"
)
_UNDEFINED = re.compile(r"symbol '(\w+)' undefined")
_NOT_GPL = re.compile(r"GPL-incompatible module (?:\S+ )?uses GPL-only symbol '(\w+)'")
_MODPOST = re.compile(r"^ERROR: modpost: (?:\S+\.(?:ko|o): )?(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Module:
    """A compiled module. content: the file to load."""

    content: bytes

    @property
    def sha256(self) -> str:
        """The hash of its file."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, slots=True)
class Target:
    """A kernel that modules are compiled for.

    disk: the file system with what compiles them. compiler: its hash. digest: of the kernel.
    """

    disk: Path
    compiler: str
    digest: str


def target_of(kernel: Kernel) -> Target:
    """Return a kernel as a target. Raises EngineUnavailable."""
    disk = kernel.folder / MODULES
    if not disk.is_file():
        raise EngineUnavailable(
            (f"the kernel in {kernel.folder} came without what modules are compiled with",),
            NO_MODULES,
        )
    return Target(disk, sha256_of(disk), kernel.digest)


def versions(target: Target, loaded: Mapping[str, Module]) -> dict[str, str]:
    """Return what the lock records of modules, by name, and of their compiler."""
    found = {f"module {name}": module.sha256 for name, module in loaded.items()}
    return found | {"module compiler": target.compiler}


def files(loaded: Mapping[str, Module]) -> dict[str, bytes]:
    """Return the files from which a guest loads modules (`cell/kernel.py`)."""
    return {f"{name}.ko": module.content for name, module in loaded.items()}


def identity(machine: str, loaded: Mapping[str, Module]) -> str:
    """Return the identity of a machine that loads modules, by name."""
    if not loaded:
        return machine
    hashes = {name: module.sha256 for name, module in loaded.items()}
    return hashlib.sha256(json.dumps([machine, hashes], sort_keys=True).encode()).hexdigest()


def compiled(
    target: Target,
    kernel: Kernel,
    root: Image,
    name: str,
    wanted: KernelModule,
    progress: Callable[[str], None] = lambda _: None,
) -> Module:
    """Return a module that registers what it has as `name`, from the cache or compiled now; a queue
    without the prefix of `name`.

    kernel, root: what the compiling machine boots, and the image with its busybox. progress: is
    called when compilation begins. Raises CompileError for what the compiler refuses, with its
    place in the user's file, and EngineUnavailable.
    """
    place = cache_directory() / FOLDER / f"{_key(target, name, wanted)}.ko"
    if (found := kept.read(place)) is not None:
        return Module(found)
    progress(f"compiling {wanted.file}")
    source = zlib.decompress(base64.b64decode(wanted.source)).decode()
    answer = _compile(target, kernel, root, name, wanted, source)
    if OBJECT not in answer:
        raise CompileError(list(_faults(answer, Source(wanted.file, source))))
    kept.write(place, answer[OBJECT])
    return Module(answer[OBJECT])


def _key(target: Target, name: str, wanted: KernelModule) -> str:
    """Return the hash of all that a module follows from."""
    parts = {
        "kernel": target.digest,
        "scripts": [path.read_text() for path in (SCRIPT, GLUE)],
        "name": name,
        "file": wanted.file,
        "registers": wanted.registers,
        "source": wanted.source,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _compile(
    target: Target, kernel: Kernel, root: Image, name: str, wanted: KernelModule, source: str
) -> dict[str, bytes]:
    """Return the files that a machine leaves that compiles a module. Raises EngineUnavailable."""
    is_queue = wanted.of == "queue"
    names = {
        "FILE": wanted.file,
        "MODULE": name.replace("-", "_") if is_queue else f"tcp_{name}",
        "REGISTERS": wanted.registers,
        "NAME": name.removeprefix(QUEUE_PREFIX),
        "WRAPS": "register_qdisc" if is_queue else "tcp_register_congestion_control",
        "WRAPS_QUEUE": str(int(is_queue)),
    }
    files = {
        "module/source.c": source.encode(),
        "module/glue.c": GLUE.read_bytes(),
        "module/names": "".join(f"{key}='{value}'\n" for key, value in names.items()).encode(),
    }
    ran = machine.run_script(
        kernel,
        root,
        SCRIPT.read_bytes(),
        LIMITS,
        arguments=machine.kernel_arguments(root.variant),
        disk=target.disk,
        files=files,
        room_bytes=ROOM_BYTES,
    )
    answer = ran.files(_is_wanted)
    if not answer:
        why = f"the compiler does not get to the end of `{wanted.file}`: {ran.reason}"
        raise CompileError([Diagnostic(CODE, why)])
    return answer


def _is_wanted(name: str, size: int) -> bool:
    return name in (OBJECT, *SAID) and size <= (MOST_OBJECT if name == OBJECT else MOST_SAID)


def _faults(answer: dict[str, bytes], source: Source) -> Iterator[Diagnostic]:
    """Yield what is wrong with a module, by what compiler and modpost said."""
    said = {name: answer.get(name, b"").decode(errors="replace") for name in SAID}
    found = [*_of_compiler(said["compiler"], source)]
    found += dict.fromkeys(_of_modpost(text, source) for text in _MODPOST.findall(said["modpost"]))
    if not found:
        words = " ".join((said["linker"] or said["glue"] or said["compiler"]).split())[:400]
        found.append(Diagnostic(CODE, f"`{source.name}` cannot be compiled: {words}"))
    yield from found[:MOST_ERRORS]


def _of_compiler(said: str, source: Source) -> Iterator[Diagnostic]:
    """Yield the errors that gcc has found (-fdiagnostics-format=json-stderr)."""
    try:
        found, _ = json.JSONDecoder().raw_decode(said, said.index("["))
    except (ValueError, RecursionError):
        return
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict) and each.get("kind") in ("error", "fatal error"):
            yield _of_gcc(each, source)


def _of_gcc(found: dict[str, Any], source: Source) -> Diagnostic:
    """Return an error of gcc at its place in the user's file; one in a header names it."""
    message = _line(found.get("message", ""))
    places = [_carets(each, source) for each in (found, *_children(found))]
    spans = [span for span, _ in places if span]
    elsewhere = [where for span, where in places[:1] if where and not span]
    notes = [f"in {where}" for where in elsewhere]
    notes += [_line(child.get("message", "")) for child in _children(found)]
    return Diagnostic(CODE, message, spans[0] if spans else None, notes=tuple(notes[:4]))


def _children(found: dict[str, Any]) -> list[dict[str, Any]]:
    children = found.get("children")
    listed = children if isinstance(children, list) else []
    return [child for child in listed if isinstance(child, dict)]


def _carets(found: dict[str, Any], source: Source) -> tuple[Span | None, str]:
    """Return where gcc points in the user's file, and the place as text."""
    try:
        (place, *_) = found["locations"]
        caret = place["caret"]
        file, line = str(caret["file"]), int(caret["line"])
        where = f"{_line(file)}:{line}"
        if Path(file).name != source.name or "/" in file:
            return None, where
        first, last = (place.get(end, caret) for end in ("start", "finish"))
        start = _offset(source, int(first["line"]), int(first["byte-column"]))
        end = _offset(source, int(last["line"]), int(last["byte-column"])) + 1
        same = int(first["line"]) == int(last["line"]) and end > start
        return Span(source, start, end if same else start + 1), where
    except (KeyError, ValueError, TypeError, IndexError):
        return None, ""


def _offset(source: Source, line: int, column: int) -> int:
    """Return the character at a column, which gcc counts in bytes. Raises IndexError."""
    text = source.text.split("\n")[line - 1]
    start = sum(len(each) + 1 for each in source.text.split("\n")[: line - 1])
    return start + len(text.encode()[: column - 1].decode(errors="replace"))


def _of_modpost(text: str, source: Source) -> Diagnostic:
    """Return what modpost has found, at the first use of the symbol."""
    if undefined := _UNDEFINED.search(text):
        symbol = undefined[1]
        return Diagnostic(
            CODE,
            f"the kernel exports no symbol `{symbol}`",
            _first(source, symbol),
            help="a module can use what the kernel exports with EXPORT_SYMBOL",
        )
    if _NOT_GPL.search(text):
        return Diagnostic(
            CODE,
            "the module is not under the GPL, which the kernel's functions for CCAs and queues"
            " require",
            _first(source, "MODULE_LICENSE"),
            help='write MODULE_LICENSE("GPL");',
        )
    if "MODULE_LICENSE" in text:
        return Diagnostic(CODE, "the module states no licence", help='write MODULE_LICENSE("GPL");')
    return Diagnostic(CODE, _line(text))


def _first(source: Source, word: str) -> Span | None:
    found = re.search(rf"\b{re.escape(word)}\b", source.text)
    return Span(source, found.start(), found.end()) if found else None


def _line(text: object) -> str:
    """Return a text of the guest as one printable line."""
    return printable(" ".join(str(text).split())[:400])


def require_allowed(names: Iterable[str], allowed: bool, engine: str) -> None:
    """Raise EngineUnavailable for modules that the user has not allowed; engine: which has them."""
    name = next(iter(names), "")
    if name and not allowed:
        raise EngineUnavailable(
            (f"the kernel module {name} is code that runs in the kernel of the engine {engine}",),
            "`--allow-module` lets it run, confined",
        )


def require_confined(names: Iterable[str]) -> None:
    """Raise EngineUnavailable for modules that this host would not confine on `uml`: they have the
    rights of the process that their kernel is.
    """
    name = next(iter(names), "")
    if name and (why := confinement.missing()):
        raise EngineUnavailable(
            (f"the kernel module {name} would not be confined on this machine: {why}",),
            confinement.remedy(),
        )
