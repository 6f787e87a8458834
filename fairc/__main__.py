"""The command line: `fairc`, or `python -m fairc`. What it promises: docs/run/cli.md.

A command is imported when it is called, so `fairc --help` imports click alone. Ctrl-C is handled
before any of these imports; only during Python's own start-up does it still give a traceback.
"""

from __future__ import annotations

from fairc.cli import interruption

if __name__ == "__main__":
    interruption.begin()

import difflib
import gc
import sys
from importlib import import_module

import click

from fairc import __version__
from fairc.cli import console
from fairc.cli.failures import guarded
from fairc.cli.options import quiet

# Each is a module of `fairc/cli` with a function of the same name, whose documentation begins so.
COMMANDS = {
    "demo": "Write an example into FOLDER [default: fairc-demo], run it and show its report.",
    "check": "Parse and check experiments; nothing is run.",
    "fmt": "Give experiments their canonical layout; comments and line breaks are kept.",
    "show": "Describe NAME: a preset, a metric, a queue, a CCA, ...",
    "plan": "Show cells, estimated time and disk, and warnings; run nothing.",
    "compile": "Write the plan and the emitted programs; byte-identical each time.",
    "run": "Run the missing cells of FILE, or of the compiled plan in DIR, and write the report.",
    "cell": "Run single cells of the compiled plan in DIR, and store their results in DIR/results.",
    "table": "Print one table of METRIC (fairness.F, goodput, ...): value, n and 95 % confidence"
    " interval.",
    "report": "Build the report of RUN from what is stored; nothing is run.",
    "verdict": "Decide the claims of a run, and count its valid cells.",
    "compare": "Compare two runs, metric by metric: identical, same, different, undecided or"
    " missing.",
    "pack": "Write RUN as one zip file: spec, plan, lock, results, tables, figures, report,"
    " programs.",
    "verify": "Check what is stored, and say what that proves.",
    "doctor": "Show what this machine offers each engine; exit status 3 when none can run.",
    "calibrate": "Run a fixed suite on an engine and compare it with theory.",
    "image": "Build, describe, save, load or remove the image of an engine, or get its sources.",
    "clean": "Remove what crashed runs left: processes, namespaces, containers, files.",
}


class LazyGroup(click.Group):
    """The commands in the order of their use; an unknown one is answered with the nearest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"fairc.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, without importing it."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called. Raises UsageError."""
        word = args[0]
        if word in COMMANDS:
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(word, COMMANDS, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
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
    interruption.begin()
    console.prepare()
    sys.exit(guarded(lambda: fairc.main(prog_name="fairc", standalone_mode=False)))


if __name__ == "__main__":
    main()
