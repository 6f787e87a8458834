"""`fairc demo`: write an example into FOLDER [default: fairc-demo], run it and show its report."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path

import click

from fairc.compiler.files import content

from . import console
from .commands import run
from .failures import UsageError

SPEC = "quickstart.fexp"
RUN, PAGE = "run", "report.html"


def demo(folder: Path) -> int:
    """Write an example into FOLDER [default: fairc-demo], run it and show its report."""
    text = files("fairc").joinpath(SPEC).read_bytes()
    spec = folder / SPEC
    if os.path.lexists(spec) and not _is_example(spec, text):
        raise UsageError(
            f"{spec} is not the example of this fairc any more",
            f"`fairc run {spec}` runs yours; `fairc demo OTHER` writes the example again",
        )
    folder.mkdir(parents=True, exist_ok=True)
    spec.write_bytes(text)
    console.say(text.decode())
    context = click.get_current_context()
    status: int = context.invoke(run, target=spec, output=folder / RUN, settings={})
    console.say(f"the experiment: {spec}; its words: fairc show; your own: fairc run FILE")
    if sys.stdout.isatty() and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        click.launch(str(folder / RUN / PAGE))
    return status


def _is_example(spec: Path, text: bytes) -> bool:
    """Return whether a file is the example; in a stranger's folder it may be a link or a pipe."""
    return not spec.is_symlink() and spec.is_file() and content(spec) == text
