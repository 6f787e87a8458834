"""An engine that runs nothing."""

from __future__ import annotations

from collections.abc import Callable

from fairc.api import EngineKind


class ExampleEngine:
    """Shows where a class of another package is found."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self.report = report


ENGINE = EngineKind("example", "an engine of another package", f"{__name__}:ExampleEngine")
