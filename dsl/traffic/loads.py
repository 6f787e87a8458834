"""What the flow of a page load runs over: TCP, and for HTTP/3 QUIC as well; and its other keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Diagnostic, Severity
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Symbol, Value
from fairc.words.ccas import Setting

from .transports import Control, kernel_control, quic_settings

INITIAL_WINDOW_PACKETS = 32
"""That of the servers of Thomas et al., and of large web servers today."""

NOT_FOR_BROWSERS = {
    "window": "a browser has the receive window that it likes",
    "fast_open": "Chromium does not do TCP Fast Open any more",
}
SENSELESS = {
    "count": "a client opens as many connections as it needs; for several clients write `users`",
    "rate": "a web server sends as fast as its CCA lets it",
    "over": "`http` says it: h1 and h2 are over TCP, h3 is over QUIC",
}


def control_of_load(
    load: model.Load, cca: Value | None, flow: Span
) -> tuple[Control, Mapping[str, Setting]]:
    """Return what a load's flow runs over, and all parameters of its CCA over QUIC where it needs it.

    Raises CompileError for a CCA that does not exist on a side that is needed.
    """
    why = "every load begins over TCP: `http: h3` learns of QUIC on the first one"
    control = kernel_control("web", cca, flow, f"a page needs a CCA over TCP; {why}")
    if load.http != "h3":
        return control, {}
    assert cca is not None
    return control, quic_settings(cca, "`http: h3` needs a CCA that exists over TCP and over QUIC")


def check_load(
    load: model.Load, values: Mapping[str, Value | None], places: Mapping[str, Span]
) -> None:
    """Refuse keys of a flow that make no sense for its page load.

    values, places: the value of each key that is given, and where it stands. Raises CompileError.
    """
    gather = Gather()
    for name, why in SENSELESS.items():
        if name in values:
            with gather.attempt():
                fail("impossible-pair", f"`{name}` is not for page loads", places[name], help=why)
    for name, why in NOT_FOR_BROWSERS.items():
        value = values.get(name)
        wanted = isinstance(value, Symbol) and value.name == "off"
        if load.client != "plain" and value is not None and not wanted:
            with gather.attempt():
                fail(
                    "impossible-pair",
                    f"`{name}` cannot be set for a browser",
                    places[name],
                    note=why,
                    help="leave it out, or write `client: plain`",
                )
    gather.finish()


def remark(load: model.Load, workload: Value, report: Callable[[Diagnostic], None]) -> None:
    """Warn of what a recording lost, and of `http: h3` without a load over HTTP/3."""
    if load.page.remarks:
        assert load.page.file is not None
        report(
            Diagnostic(
                "har-simplified",
                f"of the recording `{load.page.file.path}` {'; '.join(load.page.remarks)}",
                load.page.objects[0].span,
                severity=Severity.WARNING,
            )
        )
    if load.http == "h3" and load.loads == 1:
        report(
            Diagnostic(
                "no-h3-load",
                "no load of this page is over HTTP/3",
                workload.span,
                note="`http: h3` with one load",
                notes=(
                    "the first load is over h2, as that of a browser that has not met the server",
                ),
                help="write `loads: 2` or more, and look at those from the second one on",
                severity=Severity.WARNING,
            )
        )
