"""`bpf`: a user-defined CCA for the guest's kernel."""

from __future__ import annotations

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import Texts

from .knobs import Cca

OBJECT = Parameter("object", Texts(), "its file, in the experiment's folder", required=True)
NAME = Parameter("name", Texts(), "its own name", otherwise="the file's name up to the first dot")

BPF = Cca(
    name="bpf",
    summary="Your own CCA: a BPF struct_ops object, loaded in the guest",
    parameters=(OBJECT, NAME),
)
