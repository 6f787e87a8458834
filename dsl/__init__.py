"""Text to a checked experiment: the front end. Knows nothing of engines.

In order of control flow:

reading       a file's bytes to a `Source`
source        texts, and spans in them
parser        text to syntax tree, by grammar.lark
layout        the canonical layout, for `fairc fmt`; with pieces: tokens and comments
slips         syntax errors in the user's words
syntax        the nodes of the tree
loading       source to experiment: what `load` does
checker       tree to experiment, part after part, every error collected
imports       what other files declare
settings      `--set`
sweeps        the grid: axes, cross product, `exclude`; sampling: `sample` and `order`;
              grid_checks: what is drawn, and excluded in vain
scenarios     one configuration to its scenario
networks      a topology to nodes and links; losses; impairments: jitter, reordering, duplicates;
              dynamics: `at` and `down`; traces: a recorded rate; packet_sizes: the MTU; peps: proxies
flows         a flow block to a flow; transports: with its CCA and options; workloads; sharing:
              what flows of one cell must agree on; pages: what is loaded, with web_objects;
              har: recorded pages; loads: what page loads run over
groups        `users` to plain nodes, links and flows
measures      `measure`; figures: `report`
keys          the keys of each block
evaluate      expressions to values; with literals, arithmetic, functions, names, values, units
kinds         what a value may be; entries: words with typed parameters
*_words       the registries: cca, network, random, report, topology, traffic
library       the presets
reference     the tables of docs/language.md; manual: a page of each word, for `fairc show`
experiment    the result; its parts are described in model
conditions    `--where`
diagnostics   what is wrong, as data; problems: raising it; render: as text
"""

from .conditions import Condition, condition
from .diagnostics import CompileError, Diagnostic, Diagnostics, Label, Severity
from .library import preset_text
from .loading import load
from .reading import read
from .render import render_concise, render_full, render_json, runnable
from .source import Source, Span

__all__ = [
    "CompileError",
    "Condition",
    "Diagnostic",
    "Diagnostics",
    "Label",
    "Severity",
    "Source",
    "Span",
    "condition",
    "load",
    "preset_text",
    "read",
    "render_concise",
    "render_full",
    "render_json",
    "runnable",
]
