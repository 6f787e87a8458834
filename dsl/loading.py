"""Loading: parses and checks a source."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from .core import plugins
from .core.diagnostics import CompileError, Diagnostic, Diagnostics, Severity
from .core.source import Source

if TYPE_CHECKING:
    from .experiment import Experiment

_NOTHING: Mapping[str, str] = MappingProxyType({})


def load(
    source: Source, settings: Mapping[str, str] = _NOTHING
) -> tuple[Experiment | None, Diagnostics]:
    """Parse and check a file.

    settings: `--set NAME=EXPR` as name -> text. Returns the experiment, or None if there are
    errors, and everything that was found. Raises nothing, whatever the text is.
    """
    from .checker import Checker
    from .grid.settings import Overrides
    from .text.recovery import read

    try:
        overrides = Overrides(settings)
    except CompileError as error:
        return None, Diagnostics(error.diagnostics)
    read_file = read(source)
    if read_file.file is None:
        return None, Diagnostics(read_file.found)
    checker = Checker(read_file.file, overrides)
    experiment = checker.check()
    for plugin in plugins.failed():
        checker.diagnostics.add(
            Diagnostic(
                "plugin-failed",
                f"the plug-in {plugin} cannot be used",
                None,
                notes=(plugin.why,),
                help="`fairc doctor` lists all plug-ins; fix the package, or uninstall it",
                severity=Severity.WARNING,
            )
        )
    if not read_file.found:
        return experiment, checker.diagnostics
    return None, Diagnostics(
        [*read_file.found, *filter(read_file.is_independent, checker.diagnostics)]
    )
