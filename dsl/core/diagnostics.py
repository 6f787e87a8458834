"""Diagnostics as data: what is wrong, where, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

from .source import Span


class Severity(Enum):
    """The severity of a diagnostic: an error stops the compilation, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Label:
    """A second place in the source, and its relation to a diagnostic."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    code: stable and greppable, such as `unknown-cca`.
    message: stands alone on one line.
    span: the locus, as specific as possible; None when it is about a whole file.
    note: a few words at the caret.
    labels: other places that explain it.
    notes: why.
    help: what to do.
    about: what it is about, if other places can say the same of it; reported once for each, at the
    first place.
    experiments: in which it arises, if they inherit what it is about.
    """

    code: str
    message: str
    span: Span | None = None
    note: str = ""
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    severity: Severity = Severity.ERROR
    about: Span | None = None
    experiments: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, int, str]:
        """The key of a finding, the same wherever it arises."""
        span = self.about or self.span
        name, start = (span.source.name, span.start) if span else ("", 0)
        return self.code, name, start, self.message

    @property
    def remarks(self) -> tuple[str, ...]:
        """Why, and which experiments inherit what it is about."""
        if not self.experiments:
            return self.notes
        names = ", ".join(f"`{name}`" for name in self.experiments)
        inherit = "inherits" if len(self.experiments) == 1 else "inherit"
        return (*self.notes, f"in {names}, which {inherit} this")


warning = partial(Diagnostic, severity=Severity.WARNING)
"""Make a warning; the parameters are those of `Diagnostic`."""


class CompileError(Exception):
    """The file is wrong; carries every diagnostic that was found."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("; ".join(d.message for d in self.diagnostics[:10]))


class Diagnostics:
    """A collection that sorts itself by place and drops repeats."""

    def __init__(self, items: Iterable[Diagnostic] = ()) -> None:
        self._items: dict[tuple[str, str, int, str], Diagnostic] = {}
        self._heir, self._inherited = "", tuple[Span, ...]()
        self.update(items)

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep a diagnostic, unless the same one is already there for the same place; of that, add
        the experiments in which it arises.
        """
        added = self.attributed(diagnostic)
        kept = self._items.setdefault(added.key, added)
        experiments = tuple(dict.fromkeys((*kept.experiments, *added.experiments)))
        if experiments != kept.experiments:
            self._items[added.key] = replace(kept, experiments=experiments)

    def update(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add several."""
        for diagnostic in diagnostics:
            self.add(diagnostic)

    def remove(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Forget diagnostics that are there."""
        for diagnostic in list(diagnostics):
            del self._items[diagnostic.key]

    def inherit(self, experiment: str, bases: Iterable[Span]) -> None:
        """From now on attribute what is found in the text of its bases to an experiment."""
        self._heir, self._inherited = experiment, tuple(bases)

    def extended(self, found: Iterable[Diagnostic]) -> Diagnostics:
        """Return these and others, attributed to the same experiment."""
        extended = Diagnostics(self)
        extended.inherit(self._heir, self._inherited)
        extended.update(found)
        return extended

    def attributed(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return a diagnostic with the experiment in which it arises if that inherits it."""
        if diagnostic.experiments or not self.inherits(diagnostic.span):
            return diagnostic
        return replace(diagnostic, experiments=(self._heir,))

    def inherits(self, span: Span | None) -> bool:
        """Return whether a place is in the text of a base."""
        return span is not None and any(
            base.source is span.source and base.start <= span.start < base.end
            for base in self._inherited
        )

    def __contains__(self, diagnostic: object) -> bool:
        return isinstance(diagnostic, Diagnostic) and diagnostic.key in self._items

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(sorted(self._items.values(), key=_place))

    def __len__(self) -> int:
        return len(self._items)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that stop the compilation."""
        found = (d for d in self._items.values() if d.severity is Severity.ERROR)
        return tuple(sorted(found, key=_place))

    def raise_if_errors(self) -> None:
        """Raise a CompileError with every diagnostic if one of them is an error."""
        if self.errors:
            raise CompileError(self)


def _place(diagnostic: Diagnostic) -> tuple[str, int, str]:
    span = diagnostic.span
    return (span.source.name, span.start, diagnostic.code) if span else ("", -1, diagnostic.code)
