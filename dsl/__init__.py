"""Text to a checked experiment: the front end. Knows nothing of engines.

In order of control flow:

core          sources and spans, diagnostics, units, values, kinds, registries, seeds: what
              everything else builds on
text          a file's bytes to a syntax tree, and the canonical layout of `fairc fmt`
loading       source to experiment: what `load` does; imports: what other files declare
inheritance   an experiment with what it inherits (`extends`)
checker       tree to experiment, part by part, collecting every error
grid          axes, cross product, `exclude`, `sample`, `order`, `--where`, `--set`
expressions   expressions to values, with exact arithmetic
blocks        the settings of a block, checked against its keys
scenarios     one configuration to its scenario
network       a topology to nodes, links, losses, changes, proxies, devices, tunnels, users
traffic       a flow to its transport, CCA, options, workload, pages
results       `measure`, `report` and `claim`
experiment    the result; its parts are described in model
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .core.diagnostics import CompileError, Diagnostic, Diagnostics, Label, Severity
    from .core.render import render_concise, render_full, render_github, render_json, runnable
    from .core.source import Source, Span
    from .grid.conditions import condition
    from .loading import in_common, load, load_all
    from .text.reading import SIZE_LIMIT, decoded, read

__all__ = [
    "SIZE_LIMIT",
    "CompileError",
    "Diagnostic",
    "Diagnostics",
    "Label",
    "Severity",
    "Source",
    "Span",
    "condition",
    "decoded",
    "in_common",
    "load",
    "load_all",
    "read",
    "render_concise",
    "render_full",
    "render_github",
    "render_json",
    "runnable",
]

_HOMES = {
    **dict.fromkeys(
        ("CompileError", "Diagnostic", "Diagnostics", "Label", "Severity"), "core.diagnostics"
    ),
    **dict.fromkeys(
        ("render_concise", "render_full", "render_github", "render_json", "runnable"), "core.render"
    ),
    **dict.fromkeys(("Source", "Span"), "core.source"),
    "condition": "grid.conditions",
    **dict.fromkeys(("in_common", "load", "load_all"), "loading"),
    **dict.fromkeys(("SIZE_LIMIT", "decoded", "read"), "text.reading"),
}


def __getattr__(name: str) -> object:
    """Return what the package offers; on demand, since who reads results needs the model of a
    checked experiment, and nothing that reads text.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
