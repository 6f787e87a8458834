"""Raising one diagnostic, and gathering those of several attempts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from .diagnostics import CompileError, Diagnostic, Label, Severity
from .source import Span


def fail(
    code: str,
    message: str,
    span: Span | None,
    note: str = "",
    *,
    labels: tuple[Label, ...] = (),
    notes: tuple[str, ...] = (),
    help: str | None = None,
) -> NoReturn:
    """Raise a CompileError with this one error."""
    raise CompileError([Diagnostic(code, message, span, note, labels, notes, help)])


def not_yet(what: str, span: Span, instead: str | None = None) -> Diagnostic:
    """Describe a construct of the language that cannot run yet.

    A warning, until `runnable` makes it an error; whoever meets it must not build the scenario.
    """
    return Diagnostic(
        "not-yet",
        f"{what} cannot run yet",
        span,
        note="understood, but not built yet",
        help=instead,
        severity=Severity.WARNING,
    )


class Gather:
    """Collects the diagnostics of several attempts, so that one error does not hide the next."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Keep what a CompileError inside the block carries, each once, and go on."""
        try:
            yield
        except CompileError as error:
            known = set(self.found)
            self.found.extend(d for d in error.diagnostics if d not in known)

    def finish(self) -> None:
        """Raise everything that was found."""
        if self.found:
            raise CompileError(self.found)
