"""What the flow of a page load runs over (TCP, and for HTTP/3 also QUIC), and its other keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairc.dsl.blocks import Settings
from fairc.dsl.core.diagnostics import Diagnostic, Severity
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Applied, Symbol
from fairc.words.blocks import flow as keys
from fairc.words.ccas import Setting
from fairc.words.workloads import Load

from .transports import Control, kernel_control, quic_settings

INITIAL_WINDOW_PACKETS = 32
"""Initial window of the servers of Thomas et al., and of large web servers today."""

NOT_FOR_BROWSERS: Mapping[Parameter[Any], str] = {
    keys.WINDOW: "a browser chooses its own receive window",
    keys.FAST_OPEN: "Chromium no longer supports TCP Fast Open",
}
SENSELESS: Mapping[Parameter[Any], str] = {
    keys.COUNT: "a client opens as many connections as it needs; for several clients write `users`",
    keys.RATE: "a web server sends as fast as its CCA lets it",
    keys.OVER: "`http` decides this: h1 and h2 are over TCP, h3 is over QUIC",
}


def control_of_load(
    load: Load, cca: Symbol | Applied | None, flow: Span
) -> tuple[Control, Mapping[str, Setting]]:
    """Return what a load's flow runs over, and all parameters of its CCA over QUIC if it needs
    QUIC.

    Raises CompileError for a CCA that does not exist on a side that is needed.
    """
    why = "every page starts over TCP: with `http: h3`, the first load learns of QUIC"
    control = kernel_control("web", cca, flow, f"a page needs a CCA over TCP; {why}")
    if load.http != "h3":
        return control, {}
    assert cca is not None
    return control, quic_settings(cca, "`http: h3` needs a CCA that exists over TCP and over QUIC")


def check_load(load: Load, settings: Settings) -> None:
    """Refuse keys of a flow that make no sense for its page load. Raises CompileError."""
    gather = Gather()
    for key, why in SENSELESS.items():
        if key in settings:
            place = settings.place(key)
            with gather.attempt():
                fail(
                    "impossible-pair", f"`{key.name}` does not apply to page loads", place, help=why
                )
    for key, why in NOT_FOR_BROWSERS.items():
        value = settings.given(key)
        if load.client != "plain" and value is not None and value is not False:
            with gather.attempt():
                fail(
                    "impossible-pair",
                    f"`{key.name}` cannot be set for a browser",
                    settings.place(key),
                    note=why,
                    help="leave it out, or write `client: plain`",
                )
    gather.finish()


def remark(load: Load, place: Span, report: Callable[[Diagnostic], None]) -> None:
    """Warn about what a recording lost, and about `http: h3` without a load over HTTP/3."""
    if load.page.remarks:
        assert load.page.file is not None
        report(
            Diagnostic(
                "har-simplified",
                f"recording `{load.page.file.path}`: {'; '.join(load.page.remarks)}",
                load.page.objects[0].span,
                severity=Severity.WARNING,
            )
        )
    if load.http == "h3" and load.loads == 1:
        report(
            Diagnostic(
                "no-h3-load",
                "no load of this page is over HTTP/3",
                place,
                note="`http: h3` with one load",
                notes=(
                    "the first load is over h2, as in a browser that does not know the server yet",
                ),
                help="write `loads: 2` or more, and use the loads after the first",
                severity=Severity.WARNING,
            )
        )
