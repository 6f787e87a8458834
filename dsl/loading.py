"""Loading: parses and checks a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from .core import plugins
from .core.diagnostics import CompileError, Diagnostic, Diagnostics, warning
from .core.source import Source

if TYPE_CHECKING:
    from .experiment import Experiment
    from .text import syntax

EXPERIMENT_LIMIT = 100
"""A file has at most this many experiments."""

OF_EACH = frozenset({"absent-flow", "no-effect", "nothing-to-measure"})
"""Warnings that something is in vain: of what several experiments have in common, each must say
so.
"""

_NOTHING: Mapping[str, str] = MappingProxyType({})


def load(
    source: Source, settings: Mapping[str, str] = _NOTHING, name: str | None = None
) -> tuple[Experiment | None, Diagnostics]:
    """Parse and check a file with one experiment, or one experiment of a file.

    settings: `--set NAME=EXPR` as name -> text. Returns the experiment, or None if there are
    errors, and everything that was found. Raises nothing, whatever the text is.
    """
    experiments, found = load_all(source, settings, name)
    if len(experiments) < 2:
        return (experiments[0] if experiments else None), found
    names = ", ".join(experiment.name for experiment in experiments)
    one = Diagnostic(
        "several-experiments",
        "one experiment is needed here, and this file has several",
        None,
        help=f"name one of them, as in `{source.base_name}:{experiments[0].name}`: {names}",
    )
    return None, Diagnostics([*found, one])


def load_all(
    source: Source, settings: Mapping[str, str] = _NOTHING, name: str | None = None
) -> tuple[tuple[Experiment, ...], Diagnostics]:
    """Parse and check a file; return its experiments in file order, and everything that was found.

    settings: as for `load`; a name need not occur in every experiment. name: only this experiment.
    There are no experiments if there are errors in any of them. Raises nothing.
    """
    from .checker import Checker
    from .grid.settings import Overrides
    from .text.recovery import read

    try:
        Overrides(settings)
    except CompileError as error:
        return (), Diagnostics(error.diagnostics)
    read_file = read(source)
    if read_file.file is None:
        return (), Diagnostics(read_file.found)
    names = [name] if name is not None else _names(read_file.file) or [None]
    if len(names) > EXPERIMENT_LIMIT:
        return (), Diagnostics([_too_many(read_file.file)])
    experiments = []
    found: dict[Diagnostic, None] = {}
    checked: list[Diagnostics] = []
    for each in names:
        others = [other for other in names if other not in (None, each)]
        checker = Checker(read_file.file, Overrides(settings), each, others)
        experiment = checker.check()
        if experiment is not None:
            experiments.append(experiment)
        checker.diagnostics.update(map(_failed, plugins.failed()))
        found.update(dict.fromkeys(checker.diagnostics))
        checked.append(checker.diagnostics)
    diagnostics = in_common(found, checked, is_whole=name is None)
    if read_file.found:
        kept = filter(read_file.is_independent, diagnostics)
        return (), Diagnostics([*read_file.found, *kept])
    if len(names) == 1:
        return tuple(experiments), diagnostics
    whole = experiments if len(experiments) == len(names) else []
    return tuple(whole), diagnostics


def in_common(
    found: Iterable[Diagnostic], checked: Sequence[Diagnostics], *, is_whole: bool
) -> Diagnostics:
    """Return what was found, but warnings that something is in vain only where they hold for every
    experiment that inherits it.

    checked: what was found in each experiment. is_whole: whether these are all of the file; of
    others nothing is known.
    """

    def is_of_use(one: Diagnostic) -> bool:
        if one.code not in OF_EACH or not one.experiments:
            return False
        return not is_whole or not all(one in each for each in checked if each.inherits(one.span))

    return Diagnostics(one for one in found if not is_of_use(one))


def _names(file: syntax.File) -> list[str | None]:
    """Return the names of the experiments in a file, templates left out."""
    from .text import syntax

    kind = syntax.Experiment
    found = (d for d in file.declarations if isinstance(d, kind) and not d.is_template)
    return list(dict.fromkeys(experiment.name.text for experiment in found))


def _too_many(file: syntax.File) -> Diagnostic:
    return Diagnostic(
        "too-many",
        f"a file has at most {EXPERIMENT_LIMIT} experiments",
        file.declarations[-1].span,
        help="sweep over what differs, or split the file",
    )


def _failed(plugin: plugins.Plugin) -> Diagnostic:
    return warning(
        "plugin-failed",
        f"the plug-in {plugin} cannot be used",
        None,
        notes=(plugin.why,),
        help="`fairc doctor` lists all plug-ins; fix the package, or uninstall it",
    )
