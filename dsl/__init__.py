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
scenarios     one configuration to its scenario; timing: when its cell ends
network       a topology to nodes, links, losses, changes, proxies, devices, tunnels, users
traffic       a flow to its transport, CCA, options, workload, pages
results       `measure`, `report` and `claim`
experiment    the result; its parts are described in model
"""

from typing import TYPE_CHECKING

from fairc.dsl.core.on_demand import on_demand

if TYPE_CHECKING:
    from .core.diagnostics import CompileError as CompileError
    from .core.diagnostics import Diagnostic as Diagnostic
    from .core.diagnostics import Diagnostics as Diagnostics
    from .core.diagnostics import Label as Label
    from .core.diagnostics import Severity as Severity
    from .core.render import render_concise as render_concise
    from .core.render import render_full as render_full
    from .core.render import render_github as render_github
    from .core.render import render_json as render_json
    from .core.render import runnable as runnable
    from .core.source import Source as Source
    from .core.source import Span as Span
    from .grid.conditions import condition as condition
    from .loading import in_common as in_common
    from .loading import load as load
    from .loading import load_all as load_all
    from .text.reading import SIZE_LIMIT as SIZE_LIMIT
    from .text.reading import decoded as decoded
    from .text.reading import read as read

__getattr__ = on_demand(
    __name__,
    {
        ".core.diagnostics": "CompileError Diagnostic Diagnostics Label Severity",
        ".core.render": "render_concise render_full render_github render_json runnable",
        ".core.source": "Source Span",
        ".grid.conditions": "condition",
        ".loading": "in_common load load_all",
        ".text.reading": "SIZE_LIMIT decoded read",
    },
)
"""Who reads results needs the model of a checked experiment, and nothing that reads text."""
