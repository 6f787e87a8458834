"""The command line: `fairc`, or `python -m fairc`. What it promises: docs/run/cli.md.

What a command does is imported when it is called, so all help imports click alone. Ctrl-C is
handled before any of these imports; only during Python's own start-up does it still give a
traceback.
"""

from __future__ import annotations

import gc

from fairc.cli import interruption

if __name__ == "__main__":
    interruption.begin()
    gc.disable()  # as in start.py

import difflib
import os
import re
import sys
from importlib import import_module
from pathlib import Path

import click

from fairc import __version__
from fairc.cli import console
from fairc.cli.failures import Status, guarded
from fairc.cli.options import quiet

ORDER = (
    *("demo", "check", "fmt", "show", "trace", "plan", "compile", "run", "cell", "table", "report"),
    *(
        "suite",
        "verdict",
        "methods",
        "compare",
        "pack",
        "verify",
        "doctor",
        "calibrate",
        "image",
        "clean",
    ),
    "lsp",
)
"""The commands in the order of their use; one that is not named here comes after these."""

ELSEWHERE = {
    **dict.fromkeys(("explain", "describe", "list", "info"), "show"),
    **dict.fromkeys(("validate", "lint", "test"), "check"),
    **dict.fromkeys(("start", "simulate", "exec", "execute"), "run"),
    **dict.fromkeys(("plot", "figures", "graph"), "report"),
    **dict.fromkeys(("results", "metrics", "stats"), "table"),
    **dict.fromkeys(("init", "new", "quickstart"), "demo"),
    **dict.fromkeys(("estimate", "dry-run"), "plan"),
    **dict.fromkeys(("export", "generate", "emit"), "compile"),
    "format": "fmt",
    "diff": "compare",
    "zip": "pack",
}
"""Commands of other tools, and what they are called here."""

_SAID = re.compile(r'"""`fairc (\w+)`: (.+?)(?:\n\n|\n?""")', re.DOTALL)


def commands() -> dict[str, str]:
    """Return each command and what it does, as its module in `fairc/cli` begins: `fairc NAME`: ...

    They are read, and not imported, which takes 1 ms in place of a second.
    """
    found = {}
    for path in (Path(__file__).parent / "cli").glob("*.py"):
        with path.open(encoding="utf-8") as module:
            said = _SAID.match(module.read(400))
        if said and said[1] == path.stem:
            does = " ".join(said[2].split())
            found[path.stem] = does[0].upper() + does[1:]
    return {name: found[name] for name in sorted(found, key=_place)}


def _place(name: str) -> tuple[int, str]:
    return (ORDER.index(name) if name in ORDER else len(ORDER)), name


class LazyGroup(click.Group):
    """The commands in the order of their use; an unknown one is answered with the nearest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in their order."""
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import how a command is called; None if there is none of this name."""
        if cmd_name not in commands():
            return None
        command: click.Command = getattr(import_module(f"fairc.cli.commands.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, without importing it."""
        with formatter.section("Commands"):
            formatter.write_dl([*commands().items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called. Raises UsageError."""
        word, known = args[0], commands()
        if word in known:
            return super().resolve_command(ctx, args)
        near = ELSEWHERE.get(word) or next(iter(difflib.get_close_matches(word, known, 1)), None)
        hint = f"; did you mean `{near}`?" if near else ""
        raise click.UsageError(f"there is no command `{word}`{hint}", ctx)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="fairc")
@quiet()
def fairc() -> None:
    """Declare network experiments, run them, and report the results."""


def main() -> None:
    """Run the command line and exit with its status."""
    # A command makes millions of objects that live until it ends; searching them for cycles at the
    # usual rate takes a fifth of its time.
    gc.set_threshold(100_000, 20, 20)
    # Nothing that extends pydantic is wanted; it would look for it in every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    interruption.begin()
    console.prepare()
    status = guarded(lambda: fairc.main(prog_name="fairc", standalone_mode=False))
    if status not in (Status.WELL, Status.NOT_ALL_VALID):
        # An exception may keep alive what DuckDB's extension then complains of as Python ends.
        gc.unfreeze()
    sys.exit(status)


if __name__ == "__main__":
    main()
