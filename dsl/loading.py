"""Loading: parses and checks a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from .core import plugins
from .core.diagnostics import CompileError, Diagnostic, Diagnostics, Severity
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
        for plugin in plugins.failed():
            checker.diagnostics.add(_failed(plugin))
        found.update(dict.fromkeys(checker.diagnostics))
        checked.append(checker.diagnostics)
    found = {each: None for each in found if not _is_of_use(each, checked, name)}
    if read_file.found:
        kept = filter(read_file.is_independent, found)
        return (), Diagnostics([*read_file.found, *kept])
    if len(names) == 1:
        return tuple(experiments), Diagnostics(found)
    whole = experiments if len(experiments) == len(names) else []
    return tuple(whole), Diagnostics(found)


def _is_of_use(found: Diagnostic, checked: Sequence[Diagnostics], name: str | None) -> bool:
    """Return whether a warning that something is in vain does not hold for every experiment that
    inherits it.

    name: the only one that is checked, so that of others nothing is known.
    """
    if found.code not in OF_EACH or not found.experiments:
        return False
    heirs = [each for each in checked if each.inherits(found.span)]
    return name is not None or not all(found in each for each in heirs)


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
    return Diagnostic(
        "plugin-failed",
        f"the plug-in {plugin} cannot be used",
        None,
        notes=(plugin.why,),
        help="`fairc doctor` lists all plug-ins; fix the package, or uninstall it",
        severity=Severity.WARNING,
    )
