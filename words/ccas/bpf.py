"""`bpf`: a CCA of the user's own, a BPF struct_ops object for the guest's kernel."""

from __future__ import annotations

import re
import struct
from pathlib import PurePosixPath

from fairc.cell.modules import packed
from fairc.dsl.core.attachments import attached
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import Texts
from fairc.dsl.core.problems import fail
from fairc.dsl.core.values import Text

from .cca import Cca
from .kernel import KERNEL

LIMIT_BYTES = 256 << 10
EM_BPF = 247  # a value of e_machine (elf.h)
CCA_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")  # the kernel keeps 16 bytes, with the last one zero

COMPILE = "compile it with `clang -target bpf -O2 -g -c`: docs/learn/congestion.md"

OBJECT = Parameter("object", Texts(), "its file, in the experiment's folder", required=True)
NAME = Parameter("name", Texts(), "its own name", otherwise="the file's name up to the first dot")

BPF = Cca(
    name="bpf",
    summary="Your own CCA: a BPF struct_ops object, loaded in the guest",
    parameters=(OBJECT, NAME),
)


def own_object(name: Text, called: Text | None) -> tuple[str, str]:
    """Return the CCA in the object file `name`, and the object as the plan has it.

    called: its name in the kernel; without one, the file's name up to its first dot. Raises
    CompileError.
    """
    content = attached(
        name, LIMIT_BYTES, f"{COMPILE}; for that of an example: `make -C examples/bpf`"
    )
    if len(content) < 20 or content[:4] != b"\x7fELF" or _machine(content) != EM_BPF:
        fail(
            "bad-object",
            f"`{name.value}` is not a BPF object",
            name.span,
            help=COMPILE,
        )
    if b".struct_ops" not in content:
        fail(
            "bad-object",
            f"`{name.value}` holds no `tcp_congestion_ops`",
            name.span,
            note="it has no section `.struct_ops`",
            help="docs/learn/congestion.md shows what a CCA looks like",
        )
    word = called.value if called else PurePosixPath(name.value).name.partition(".")[0]
    where = called.span if called else name.span
    if not CCA_NAME.fullmatch(word):
        fail(
            "bad-object",
            f"`{word}` is not a CCA name",
            where,
            note="at most 15 lower-case letters, digits and underscores",
            help='give its name: `bpf("file.bpf.o", name: "mine")`',
        )
    if word in (BPF.name, *(cca.name for cca in KERNEL)):
        fail(
            "bad-object",
            f"the kernel already has a CCA called `{word}`",
            where,
            note="without `name`, a CCA is assumed to be named after its file",
            help='if it has another name, give it: `bpf("file.bpf.o", name: "mine")`;'
            " otherwise compile it with another name",
        )
    return word, packed(content)


def _machine(content: bytes) -> int:
    """Return the machine of an ELF file; byte 5 is the byte order."""
    order = ">" if content[5] == 2 else "<"
    (machine,) = struct.unpack_from(f"{order}H", content, 18)
    return int(machine)
