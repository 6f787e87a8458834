"""The command line of `fairc suite`."""

from __future__ import annotations

import click

from fairc.cli.options import (
    Commands,
    allow_module,
    allow_program,
    engine,
    form,
    jobs,
    quiet,
    settings,
    type_path,
)

name_argument = click.argument("name", metavar="NAME|FOLDER", type=type_path)
output_option = click.option(
    "-o", "--output", metavar="DIR", type=type_path, help="[default: results/suites/NAME]"
)
quick_option = click.option(
    "--quick", is_flag=True, help="Fewer paths and repetitions, as the suite says."
)
only_option = click.option(
    "--only", metavar="MEMBER", multiple=True, help="Only this experiment; repeatable."
)


@click.group(cls=Commands)
def suite() -> None:
    """List, plan, run or report suites: experiments that decide a standard's criteria for your
    controller.
    """


@suite.command("list")
@form("text", "json")
@quiet()
def list_suites() -> None:
    """List the suites that come with fairc: title, parameters, cost, folder."""


@suite.command()
@name_argument
@settings("Set a parameter of the suite, such as cca=bbr3.")
@only_option
@quick_option
@jobs()
@form("text", "json")
@engine()
@quiet()
def plan() -> None:
    """Show cells, estimated time and disk of each experiment; run nothing."""


@suite.command()
@name_argument
@settings("Set a parameter of the suite, such as cca=bbr3.")
@only_option
@quick_option
@output_option
@engine()
@jobs()
@click.option(
    "--keep-raw",
    is_flag=True,
    help="Keep the raw artefacts of finished experiments, most of a suite's size on disk.",
)
@allow_module()
@allow_program()
@quiet()
def run() -> None:
    """Run the missing cells of each experiment, and write the suite's page.

    Press Ctrl-C at any time: finished cells stay, and the same command resumes. Each combination of
    parameters has its own run directories; the page compares them.
    """


@suite.command()
@name_argument
@output_option
@quiet()
def report() -> None:
    """Write the suite's page from the stored results, with Markdown, JUnit XML and Bencher's JSON;
    run nothing.
    """
