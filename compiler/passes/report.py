"""The report of a pass: errors and warnings of a configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairc.dsl.core.diagnostics import Diagnostic, Label, Severity
from fairc.dsl.core.source import Span


class Report:
    """Takes the findings of the passes, which go on after an error as far as they can.

    reject, warn: report an error or a warning.
    failed: whether there was an error, in this configuration or in an earlier one.
    """

    def __init__(self, take: Callable[[Diagnostic], None]) -> None:
        self.failed = False
        self._take = take
        self.reject = _Reporting(self, Severity.ERROR)
        self.warn = _Reporting(self, Severity.WARNING)

    def __call__(self, diagnostic: Diagnostic) -> None:
        """Report a diagnostic."""
        self.failed = self.failed or diagnostic.severity is Severity.ERROR
        self._take(diagnostic)


@dataclass(frozen=True, slots=True)
class _Reporting:
    """Reports findings of one severity."""

    report: Report
    severity: Severity

    def __call__(
        self,
        code: str,
        message: str,
        span: Span,
        why: str = "",
        help: str | None = None,
        *,
        note: str = "",
        labels: tuple[Label, ...] = (),
        about: Span | None = None,
    ) -> None:
        """Report what is wrong, where, why, and what to do about it."""
        notes = (why,) if why else ()
        self.report(
            Diagnostic(code, message, span, note, labels, notes, help, self.severity, about)
        )
