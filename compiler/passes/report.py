"""Where the passes report what is wrong with a configuration."""

from __future__ import annotations

from collections.abc import Callable

from fairc.dsl.core.diagnostics import Diagnostic, Label, Severity
from fairc.dsl.core.source import Span


class Report:
    """Takes the findings of the passes, which go on after an error as far as they can.

    failed: whether there was an error, in this configuration or in an earlier one.
    """

    def __init__(self, take: Callable[[Diagnostic], None]) -> None:
        self.failed = False
        self._take = take

    def __call__(self, diagnostic: Diagnostic) -> None:
        """Report a diagnostic."""
        self.failed = self.failed or diagnostic.severity is Severity.ERROR
        self._take(diagnostic)

    def reject(
        self,
        code: str,
        message: str,
        span: Span,
        why: str = "",
        help: str | None = None,
        *,
        note: str = "",
        labels: tuple[Label, ...] = (),
        severity: Severity = Severity.ERROR,
        about: Span | None = None,
    ) -> None:
        """Report an error: what is wrong, where, why, and what to do about it."""
        notes = (why,) if why else ()
        self(Diagnostic(code, message, span, note, labels, notes, help, severity, about))

    def warn(
        self,
        code: str,
        message: str,
        span: Span,
        why: str = "",
        help: str | None = None,
        *,
        note: str = "",
        about: Span | None = None,
    ) -> None:
        """Report a warning; as `reject`."""
        warning = Severity.WARNING
        self.reject(code, message, span, why, help, note=note, severity=warning, about=about)
