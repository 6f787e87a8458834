"""Raising one diagnostic, and gathering those of several attempts."""

from __future__ import annotations

from typing import NoReturn

from .diagnostics import CompileError, Diagnostic, Label, warning
from .source import Span


def fail(
    code: str,
    message: str,
    span: Span | None = None,
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

    A warning, until `runnable` makes it an error; a caller that gets it must not build the
    scenario.
    """
    return warning(
        "not-yet",
        f"{what} cannot run yet",
        span,
        note="understood, but not implemented yet",
        help=instead,
    )


MOST_FOUND = 200
"""The search for errors ends after this many: further ones repeat the pattern."""


class Gather:
    """Collects the diagnostics of several attempts, so that one error does not hide the next."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self._known: set[Diagnostic] = set()  # those hashed so far
        self._hashed = 0

    def attempt(self) -> Gather:
        """Keep each diagnostic of a CompileError inside the block once, and go on.

        For use with `with`. Large grids come here a hundred times per configuration, so this is
        not a generator.
        """
        return self

    def __enter__(self) -> None:
        """Begin an attempt."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> bool:
        """Keep a CompileError; let everything else through."""
        if not isinstance(error, CompileError):
            return False
        self._known.update(self.found[self._hashed :])  # others may have added to it
        self.found.extend(d for d in error.diagnostics if d not in self._known)
        self._hashed = len(self.found)
        self._known.update(error.diagnostics)
        return True

    def finish(self) -> None:
        """Raise everything that was found."""
        if self.found:
            raise CompileError(self.found)
