"""The command line: `fairc`, or `python -m fairc`. What it promises: docs/run/cli.md.

Only click and the standard library are imported here and by the command modules; heavy modules are
imported where they are used, so that `fairc --help` answers at once. Ctrl-C is handled before any of these
imports; only during Python's own start-up does it still give a traceback.
"""

from __future__ import annotations

from fairc.cli import interruption

if __name__ == "__main__":
    interruption.begin()

import difflib
import gc
import sys

import click

from fairc import __version__
from fairc.cli import (
    calibrate,
    cell,
    check,
    clean,
    compare,
    compile,
    console,
    demo,
    doctor,
    fmt,
    image,
    pack,
    plan,
    report,
    run,
    show,
    table,
    verdict,
    verify,
)
from fairc.cli.failures import guarded
from fairc.cli.options import quiet

COMMANDS: tuple[click.Command, ...] = (
    demo.demo,
    check.check,
    fmt.fmt,
    show.show,
    plan.plan,
    compile.compile_,
    run.run,
    cell.cell,
    table.table,
    report.report,
    verdict.verdict,
    compare.compare,
    pack.pack,
    verify.verify,
    doctor.doctor,
    calibrate.calibrate,
    image.image,
    clean.clean,
)


class Commands(click.Group):
    """The commands in the order of their use; an unknown one is answered with the nearest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of COMMANDS."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called. Raises UsageError."""
        word = args[0]
        if word in self.commands:
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(word, self.commands, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise click.UsageError(f"there is no command `{word}`{hint}", ctx)


@click.group(
    cls=Commands,
    commands=list(COMMANDS),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="fairc")
@quiet()
def fairc() -> None:
    """Declare network experiments, run them, and report the results."""


def main() -> None:
    """Run the command line and exit with its status."""
    # A command makes millions of objects that live until it ends; searching them for cycles at the usual
    # rate takes a fifth of its time.
    gc.set_threshold(100_000, 20, 20)
    interruption.begin()
    console.prepare()
    sys.exit(guarded(lambda: fairc.main(prog_name="fairc", standalone_mode=False)))


if __name__ == "__main__":
    main()
