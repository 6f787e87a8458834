"""Declaration of `program`, and what its files and images have to be."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from fairc.cell.image import ENTRY_POINT
from fairc.cell.workloads import MOST_IMAGE_BYTES, MOST_PROGRAM_BYTES, ProgramFile, ProgramImage
from fairc.dsl.core.attachments import Contents, attached
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import Lists, Quantities, Texts, refuse
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, TIME
from fairc.dsl.core.values import Quantity, Symbol, Text, Value
from fairc.dsl.model import Flow, Input, Refusal, Workload
from fairc.mechanisms.workloads.workload import WorkloadEntry
from fairc.words import container_images

from .cell import (
    CCA,
    CCAS_OFFERED,
    MOST_MOVED_BYTES,
    PLACEHOLDERS,
    InteropWorkload,
    ProgramWorkload,
)

HERE = "./"
"""Arguments with this prefix name files in the folder of the experiment."""

ELF, X86_64 = b"\x7fELF", 62
ARCHITECTURES = {3: "32-bit x86", 40: "32-bit ARM", 183: "64-bit ARM", 243: "RISC-V"}
"""e_machine of an ELF file (elf.h)."""

_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*")
_INTERPRETER = re.compile(r"python[\d.]*|sh|bash|perl|node|ruby")
_SCRIPT = re.compile(r"(?!\.\.?/)[\w.-]+(?:/[\w.-]+)*\.(?:py|sh|pl|js|rb)")
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True)
class CommandWords:
    """The kind "a word of a command": a string, a number, or a word that is swept."""

    phrase: str = "a string or a number"

    def take(self, value: Value, use: str, at: Span | None = None) -> Text:
        """Return the word. Raises CompileError for any other value."""
        if isinstance(value, Quantity) and value.dimension == NUMBER:
            return Text(value.canonical, value.span)
        if isinstance(value, Quantity):
            refuse(self, value, use, at, "divide by a unit for a number: `size / 1kB`")
        if isinstance(value, Symbol) and not _is_written(value.span, at):
            return Text(value.name, value.span)  # a word of a sweep, such as a CCA
        if not isinstance(value, Text):
            return Texts().take(value, use, at)
        return value


def _is_written(span: Span, at: Span | None) -> bool:
    """Whether a value is written where it is used, and not in a sweep or a `let`."""
    return at is None or (span.source is at.source and at.start <= span.start < at.end)


_COMMAND = Lists(CommandWords())
SERVER = Parameter("server", _COMMAND, "its command, on the host `from`", required=True)
CLIENT = Parameter("client", _COMMAND, "its command, on the host `to`", required=True)
FILES = Parameter("files", Lists(Texts()), "further files of both", otherwise="none")
SERVER_IMAGE = Parameter(
    "server_image",
    Texts(),
    "a container image in a tar, which the server finds as its file system",
    otherwise="the hosts' own",
)
CLIENT_IMAGE = Parameter(
    "client_image",
    Texts(),
    "the same for the client",
    otherwise="the hosts' own",
)
READY = Parameter(
    "ready",
    Texts(),
    "what the server prints when it is ready",
    otherwise="it listens on its port",
)
CPU = Parameter(
    "cpu",
    Quantities((TIME,), low=1, high=3600),
    "how long one may compute without a system call, on the host's processor",
    "30s",
)


@dataclass(frozen=True)
class Program(Workload):
    """The workload `program`."""

    part: ProgramWorkload
    noun = "a program"
    only_in_packets = "a program"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Its files."""
        found = [(each.path, each.sha256) for each in self.part.files]
        found += [(each.path, each.sha256) for each in self.part.images]
        return tuple(Input(path=path, sha256=sha256) for path, sha256 in dict.fromkeys(found))

    def refused(self, flow: Flow, given: Collection[str]) -> Iterator[Refusal]:
        """Yield what a program decides by itself."""
        if flow.transport == "quic":
            yield Refusal(
                "over" if "over" in given else "cca",
                "a program brings its own QUIC",
                "write `over = udp`, and leave `cca` out",
            )
        itself = "a program does that by itself: leave it out, or give it a word of its command"
        for key in ("count", "rate", "window", "pacing", "fast_open"):
            if key in given and not (key == "count" and flow.connections == 1):
                yield Refusal(key, f"`{key}` does not apply to a program", itself)
        if flow.send_buffer_bytes or flow.receive_buffer_bytes:
            yield Refusal(
                "workload",
                "a program does not use the buffers of `hosts`: it sets those of its sockets",
                "leave them out of `hosts`; Linux sizes the buffers of sockets that set none",
            )


def _build(use: Use[WorkloadEntry]) -> Program:
    gather, files = Gather(), dict[str, ProgramFile]()
    commands = {parameter.name: use[parameter] for parameter in (SERVER, CLIENT)}
    for command in commands.values():
        with gather.attempt():
            _check_script(command)
        for number, word in enumerate(command):
            with gather.attempt():
                _check_braces(word)
            if word.value.startswith(HERE) or (not number and word.value.startswith("../")):
                with gather.attempt():
                    _attach(word, files, is_program=not number)
    for name in use.given(FILES) or ():
        with gather.attempt():
            _attach(name, files)
    images = dict[str, ProgramImage]()
    for parameter in (SERVER_IMAGE, CLIENT_IMAGE):
        if (tar := use.given(parameter)) is not None:
            with gather.attempt():
                images[parameter.name], _ = _image(tar)
    gather.finish()
    if sum(file.bytes for file in files.values()) > MOST_PROGRAM_BYTES:
        most = f"{MOST_PROGRAM_BYTES >> 20} MiB"
        fail("too-large", f"the files of a flow's programs have more than {most}", use.span)
    ready = use.given(READY)
    if ready is not None and not ready.value:
        fail("bad-program", "a server that is ready prints at least one character", ready.span)
    plan = ProgramWorkload(
        server=tuple(word.value for word in commands[SERVER.name]),
        client=tuple(word.value for word in commands[CLIENT.name]),
        files=tuple(files[path] for path in sorted(files)),
        ready="" if ready is None else ready.value,
        compute_ns=use[CPU].ns,
        server_image=images.get(SERVER_IMAGE.name),
        client_image=images.get(CLIENT_IMAGE.name),
    )
    return Program(plan)


def _check_script(command: Sequence[Text]) -> None:
    """Refuse an interpreter with a script in the folder in which programs start, which is empty.
    Raises CompileError.
    """
    if not _INTERPRETER.fullmatch(command[0].value.rpartition("/")[2]):
        return
    script = next((word for word in command[1:] if not word.value.startswith("-")), None)
    if script is not None and _SCRIPT.fullmatch(script.value):
        fail(
            "bad-program",
            f"there is no `{script.value}` where programs start: their folder is empty",
            script.span,
            help=f"a file next to the experiment is `{HERE}{script.value}`",
        )


def _check_braces(word: Text) -> None:
    """Refuse braces that are no placeholder. Raises CompileError."""
    for found in _BRACES.finditer(word.value):
        if found[0] in ("{{", "}}") or found[1] in PLACEHOLDERS:
            continue
        near = suggest(found[1] or "", PLACEHOLDERS)
        fail(
            "bad-program",
            f"`{found[0]}` is no placeholder",
            word.span,
            note=f"did you mean `{{{near}}}`?" if near else "",
            help=f"there are {', '.join(f'`{{{name}}}`' for name in PLACEHOLDERS)};"
            " a brace itself is written twice, `{{`",
        )


def _attach(name: Text, files: dict[str, ProgramFile], is_program: bool = False) -> None:
    """Read a file. Raises CompileError.

    is_program: whether it is started, and not only read.
    """
    content = attached(name, MOST_PROGRAM_BYTES, "a file of a program is next to the experiment")
    path = _path(name)
    if is_program:
        _check_program(name, content)
    sha256 = hashlib.sha256(content).hexdigest()
    files[path] = ProgramFile(path=path, sha256=sha256, bytes=len(content))


def _path(name: Text) -> str:
    """Return a file's path as a plan has it. Raises CompileError."""
    path = PurePosixPath(name.value).as_posix()
    if not _PATH.fullmatch(path) or len(path) > 200:
        fail(
            "bad-program",
            f"`{name.value}` has a character that a file of a program cannot have",
            name.span,
            help="use letters, digits, `_`, `.`, `+` and `-`",
        )
    return path


_IMAGES = Contents[tuple[ProgramImage, str]]()


def _image(name: Text) -> tuple[ProgramImage, str]:
    """Read an image's documents; return it, and its working folder. Raises CompileError."""
    missing = f"write it there: `docker save IMAGE -o {name.value}`"
    content = attached(name, MOST_IMAGE_BYTES, missing)
    path = _path(name)

    def read(sha256: str) -> tuple[ProgramImage, str]:
        try:
            found = container_images.read(io.BytesIO(content))
        except (container_images.ImageError, IndexError, OverflowError) as error:
            # The last two are of tarfile, for headers that are cut off or have odd numbers.
            is_said = isinstance(error, container_images.ImageError)
            fail(
                "bad-program",
                f"`{name.value}` is no image that can be used",
                name.span,
                note=str(error) if is_said else "it cannot be read as a tar",
                help="`docker save IMAGE -o image.tar` writes one",
            )
        image = ProgramImage(
            path=path, sha256=sha256, bytes=len(content), environment=found.environment
        )
        return image, found.folder

    return _IMAGES.of(name, content, read)


def _check_program(name: Text, content: bytes) -> None:
    """Refuse what the guest's kernel cannot start. Raises CompileError."""
    if content.startswith(b"#!"):
        return
    if not content.startswith(ELF):
        fail(
            "bad-program",
            f"`{name.value}` is no program",
            name.span,
            note="it is neither an ELF file nor begins with `#!`",
            help="begin a script with `#!/usr/bin/env python3` or `#!/bin/sh`,"
            ' or write its interpreter before it: `["python3", "./server.py"]`',
        )
    little = content[5:6] == b"\x01"
    machine = int.from_bytes(content[18:20], "little" if little else "big")
    if content[4:5] != b"\x02" or machine != X86_64:
        what = ARCHITECTURES.get(machine, f"another processor (e_machine {machine})")
        fail(
            "bad-program",
            f"`{name.value}` is for {what}, and the hosts are x86-64",
            name.span,
            help="compile it for x86-64 Linux: `GOARCH=amd64 go build`, `gcc -m64`",
        )


@dataclass(frozen=True)
class Interop(Workload):
    """A file that an image in a tar moves, by the contract of quic-interop-runner."""

    part: InteropWorkload
    only_in_packets = "an image"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Its image."""
        (image, _) = self.part.images
        return (Input(path=image.path, sha256=image.sha256),)


def _in_tar(file: Workload, tar: Text, cca: Symbol | None) -> Interop:
    """Return how an image moves a file. Raises CompileError."""
    image, folder = _image(tar)
    if cca is not None:
        _check_offered(cca, image)
    size = file.part.total_bytes(1)
    assert size is not None, "a file has an end"
    if size > MOST_MOVED_BYTES:
        most = f"{MOST_MOVED_BYTES >> 20} MiB"
        fail("too-large", f"an image moves a file of at most {most}", tar.span)
    return Interop(
        InteropWorkload(
            server=(ENTRY_POINT,),
            client=(ENTRY_POINT,),
            compute_ns=30 * 10**9,
            server_image=image,
            client_image=image,
            bytes=size,
            folder=folder,
        )
    )


def _check_offered(cca: Symbol, image: ProgramImage) -> None:
    """Refuse a CCA that an image does not offer. Raises CompileError."""
    offered = dict(image.environment).get(CCAS_OFFERED, "").split()
    if cca.name not in offered:
        listed = ", ".join(offered)
        fail(
            "impossible-pair",
            f"the image does not offer the CCA `{cca.name}`",
            cca.span,
            note=f"it offers {listed}" if offered else f"it does not set {CCAS_OFFERED}",
            help="choose one of those"
            if offered
            else f'leave `cca` out; an image that heeds {CCA} says so: `ENV {CCAS_OFFERED}="reno"`',
        )


DECLARATION = WorkloadEntry(
    name="program",
    summary="A server and a client of your own, from files or images next to the experiment",
    parameters=(SERVER, CLIENT, FILES, SERVER_IMAGE, CLIENT_IMAGE, READY, CPU),
    build=_build,
    over_udp=True,
    has_rate=True,
    in_tar=_in_tar,
)
