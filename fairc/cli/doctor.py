"""`fairc doctor`: show what this machine offers each engine; exit status 3 when none can run."""

from __future__ import annotations

from collections.abc import Iterable

from fairc.runtime.engines.doctor import Finding, examine, plugged, verify

from . import console
from .failures import Status


def doctor(whole: bool) -> int:
    """Show what this machine offers each engine; exit status 3 when none can run."""
    engines = examine()
    for engine in engines:
        console.result(
            f"{engine.name}: {'ready' if engine.ready else 'not ready'} ({engine.summary})"
        )
        show(engine.findings, "missing")
    if others := list(plugged()):
        console.result("plug-ins:")
        show(others, "failed")
    well = any(engine.ready for engine in engines)
    if whole:
        console.say("reading what cells run on")
        found = list(verify())
        console.result("stored files:")
        show(found, "damaged")
        well = well and all(finding.well for finding in found)
    return Status.WELL if well else Status.UNAVAILABLE


def show(findings: Iterable[Finding], otherwise: str) -> None:
    """Print findings in columns, then the remedies; otherwise: the word for findings that are not
    well.
    """
    found = list(findings)
    width = max(len(finding.what) for finding in found)
    for finding in found:
        word = ("ok" if finding.well else otherwise).ljust(7)
        console.result(f"  {word}  {finding.what:<{width}}  {finding.found}".rstrip())
    for remedy in dict.fromkeys(f.remedy for f in found if not f.well and f.remedy):
        console.result(f"  to do: {remedy}")
