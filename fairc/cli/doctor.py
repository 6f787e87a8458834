"""`fairc doctor`: what this machine offers each engine, and what to install."""

from __future__ import annotations

import click

from . import console
from .failures import Status
from .options import quiet


@click.command()
@quiet()
def doctor() -> int:
    """Show what this machine offers each engine; exit status 3 when none can run."""
    from fairc.runtime.host.doctor import examine

    engines = examine()
    for engine in engines:
        console.result(
            f"{engine.name}: {'ready' if engine.ready else 'not ready'} ({engine.summary})"
        )
        width = max(len(finding.what) for finding in engine.findings)
        for finding in engine.findings:
            word = "ok     " if finding.well else "missing"
            console.result(f"  {word}  {finding.what:<{width}}  {finding.found}".rstrip())
        for remedy in dict.fromkeys(f.remedy for f in engine.findings if not f.well and f.remedy):
            console.result(f"  to do: {remedy}")
    return Status.WELL if any(engine.ready for engine in engines) else Status.UNAVAILABLE
