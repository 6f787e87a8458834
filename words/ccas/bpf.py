"""`bpf`: a CCA of one's own for the guest's kernel."""

from __future__ import annotations

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import Texts

from .knobs import Cca

OBJECT = Parameter("object", Texts(), "its file, beside the experiment", required=True)
NAME = Parameter(
    "name", Texts(), "what it calls itself", otherwise="the file's name up to the first dot"
)

BPF = Cca(
    name="bpf",
    summary="A CCA of one's own: a BPF struct_ops object, loaded in the guest",
    parameters=(OBJECT, NAME),
)
