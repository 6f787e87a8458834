"""The command line of each command: arguments, options, help; in the order of their use.

Nothing but click is imported here, so that help costs no more than that. What `fairc NAME` does is
the function NAME of `fairc/cli/NAME.py`; `fairc suite plan` is `suite_plan` of
`fairc/cli/suite.py`. `Command` (options.py) imports them when they are called.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from fairc import __version__

from .options import (
    Commands,
    allow_module,
    allow_program,
    completing,
    engine,
    form,
    jobs,
    keep_raw,
    quiet,
    settings,
    type_path,
    type_run,
    where,
)

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


class Main(Commands):
    """The commands in the order of their use; an unknown one is answered with the nearest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of their declaration."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does; click would cut it off at the end of a line."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(1000)) for name, each in self.commands.items()]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called. Raises UsageError."""
        word, known = args[0], self.commands
        if word in known:
            return super().resolve_command(ctx, args)
        near = ELSEWHERE.get(word) or next(iter(difflib.get_close_matches(word, known, 1)), None)
        hint = f"; did you mean `{near}`?" if near else ""
        raise click.UsageError(f"there is no command `{word}`{hint}", ctx)


@click.group(
    cls=Main,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="fairc")
@quiet
def fairc() -> None:
    """Declare network experiments, run them, and report the results."""


@fairc.command()
@click.argument("folder", type=type_path, default=Path("fairc-demo"))
@quiet
def demo() -> None:
    """Write an example into FOLDER [default: fairc-demo], run it and show its report.

    Repeat the command to resume, or to show the report.
    """


@fairc.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=type_path)
@settings()
@form(
    *("full", "concise", "json", "github"),
    help="json and github (workflow annotations) go to standard output.",
)
@quiet
def check() -> None:
    """Parse and check experiments; run nothing. FILE may be `-`: standard input.

    Features that cannot run yet are warnings here, and errors in `plan` and `run`.
    """


@fairc.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=type_path)
@click.option(
    "--check", is_flag=True, help="Change nothing; exit with status 1 if a file is not formatted."
)
@click.option("--diff", is_flag=True, help="Change nothing; print what would change.")
@quiet
def fmt() -> None:
    """Give experiments their canonical layout; comments and line breaks are kept.

    A file that does not parse is not touched. Layout has no meaning, so the plan stays the same.
    """


@fairc.command()
@click.argument("name", required=False)
@form("text", "json")
@quiet
def show() -> None:
    """Describe NAME: a preset, a metric, a queue, a CCA, ...

    NAME may also be a family of words, such as `queues`; without NAME, the families are listed.
    """


@fairc.command()
@click.argument("file", type=type_path)
@click.argument("arguments", required=False, default="")
@form("text", "json")
@quiet
def trace() -> None:
    """Show what fairc reads from a recording: duration, statistics, course.

    ARGUMENTS are those of `trace` in an experiment, such as 'column: "rate_mbps", missing: hold'.
    """


@fairc.command()
@click.argument("file", type=type_path)
@settings()
@jobs
@form("text", "json")
@engine
@quiet
def plan() -> None:
    """Show cells, estimated time and disk, and warnings; run nothing."""


@fairc.command()
@click.argument("file", type=type_path)
@click.option(
    "-o", "--output", metavar="DIR", required=True, type=type_path, help="Folder to write."
)
@click.option(
    "--target",
    "targets",
    metavar="TARGET",
    multiple=True,
    help="What to emit in addition to the plan; `fairc show targets` lists them; repeatable."
    "  [default: containers for the engine docker, else mininet]",
)
@allow_module
@allow_program
@engine
@settings()
@quiet
def compile() -> None:
    """Write the plan and the emitted programs; byte-identical each time.

    Prints the engine that `fairc run DIR` will use, and the next commands.
    """


@fairc.command()
@click.argument("target", metavar="FILE|DIR", type=type_path)
@click.option("-o", "--output", metavar="RUN", type=type_path, help="[default: results/EXPERIMENT]")
@engine
@jobs
@settings()
@where("Run only cells that meet a condition, as in `exclude`.")
@click.option("--fresh", is_flag=True, help="Run all cells again, even finished ones.")
@click.option(
    "--phase-check",
    "phases",
    is_flag=True,
    help="Then rerun some cells with hosts that delay packets by up to the time of one full frame.",
)
@keep_raw(default=True)
@click.option(
    "--collect",
    "collecting",
    is_flag=True,
    help="Run nothing: collect the results of `fairc cell` from DIR.",
)
@click.option(
    "--machine",
    metavar="IDENTITY",
    help="With --collect: the machine whose results to take, if several ran cells.",
)
@click.option(
    "--allow-image",
    is_flag=True,
    help="With --engine docker: run the container images named by flows. Images are code.",
)
@allow_module
@allow_program
@click.option("--strict", is_flag=True, help="Also exit with 1 when a claim is undecided.")
@quiet
def run() -> None:
    """Run the missing cells of FILE or of the plan in DIR, and write the report.

    Press Ctrl-C at any time: finished cells stay, and the same command resumes. A run directory has
    one engine: if it has results of another one, --engine runs in results/EXPERIMENT-ENGINE.
    """


@fairc.command()
@click.argument("plan", metavar="DIR", type=type_path)
@click.option(
    "--index",
    "indices",
    metavar="LIST",
    required=True,
    help="Which cells, from 0, as in `sbatch --array`: 3, 0-7 or 2,5,8-9.",
)
@click.option(
    "--chunk",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number chunks of this many cells instead of single cells.",
)
@click.option(
    "--engine",
    metavar="NAME",
    help="Refuse plans for another engine.  [default: the plan's, but never mininet]",
)
@click.option("--fresh", is_flag=True, help="Run them even if they have results.")
@allow_module
@allow_program
@quiet
def cell() -> None:
    """Run single cells of the compiled plan in DIR, and store their results in DIR/results.

    Any number of these commands may run at once, on any machines that see DIR; `fairc run DIR
    --collect` collects the results. SIGTERM and Ctrl-C discard the cell in progress. If DIR has
    several experiments, LIST counts through the cells of all of them.
    """


@fairc.command()
@click.argument("run", metavar="RUN|PACK", type=type_run)
@click.argument("metric", shell_complete=completing("metrics"))
@click.option(
    "--by",
    metavar="A,B",
    shell_complete=completing("swept"),
    help="Swept names, flow, repetition, load, protocol.  [default: swept, flow]",
)
@where("Use only cells that meet a condition, as in `exclude`; `flow == f[2]` chooses flows.")
@click.option(
    "--stat",
    metavar="A,B",
    default="median",
    show_default=True,
    help="median, mean, bootstrap (mean with BCa interval), min, max, p90, ...",
)
@click.option(
    "--test", "tested", is_flag=True, help="Compare every pair of rows: test, effect size, verdict."
)
@form("text", "csv", "json", "md", help="csv and json are in SI base units.")
@quiet
def table() -> None:
    """Print one table of METRIC (fairness.F, goodput, ...): value, n and 95 % confidence
    interval.

    RUN may be the folder of several experiments: the table has all that have METRIC.
    """


@fairc.command()
@click.argument("run", metavar="RUN|PACK", type=type_run)
@click.option(
    "--format",
    "forms",
    type=click.Choice(("html", "md", "pdf", "svg", "csv", "tex")),
    multiple=True,
    default=("html",),
    show_default=True,
    help="Repeatable; pdf and svg are the figures, csv and tex the tables.",
)
@click.option(
    "--warmup-sensitivity",
    "warmup",
    is_flag=True,
    help="Also show results with half and with twice the warm-up, from raw artefacts.",
)
@quiet
def report() -> None:
    """Build the report of RUN from its stored results; run nothing."""


suite_name = click.argument("name", metavar="NAME|FOLDER", type=type_path)
suite_output = click.option(
    "-o", "--output", metavar="DIR", type=type_path, help="[default: results/suites/NAME]"
)
suite_quick = click.option(
    "--quick", is_flag=True, help="Fewer paths and repetitions, as the suite says."
)
suite_only = click.option(
    "--only", metavar="MEMBER", multiple=True, help="Only this experiment; repeatable."
)


@fairc.group(cls=Commands)
def suite() -> None:
    """List, plan, run or report suites: experiments that decide a standard's criteria for your
    controller or queue.
    """


@suite.command("list")
@form("text", "json")
@quiet
def suite_list() -> None:
    """List the suites that come with fairc: title, parameters, cost, folder."""


@suite.command("plan")
@suite_name
@settings("Set a parameter of the suite, such as cca=bbr3; repeatable.")
@suite_only
@suite_quick
@jobs
@form("text", "json")
@engine
@quiet
def suite_plan() -> None:
    """Show cells, estimated time and disk of each experiment; run nothing."""


@suite.command("run")
@suite_name
@settings("Set a parameter of the suite, such as cca=bbr3; repeatable.")
@suite_only
@suite_quick
@suite_output
@engine
@jobs
@keep_raw(default=False)
@allow_module
@allow_program
@quiet
def suite_run() -> None:
    """Run the missing cells of each experiment, and write the suite's page.

    Press Ctrl-C at any time: finished cells stay, and the same command resumes. Each combination of
    parameters has its own run directories; the page compares them.
    """


@suite.command("report")
@suite_name
@suite_output
@quiet
def suite_report() -> None:
    """Write the suite's page from the stored results, with Markdown, JUnit XML and Bencher's JSON;
    run nothing.
    """


@fairc.command()
@click.argument("run", metavar="RUN|PACK", type=type_run)
@form("text", "json", "junit", "md", help="junit and md are for CI and its comments.")
@click.option(
    "--strict",
    is_flag=True,
    help="Also exit with 1 when a claim is undecided or cells of the plan were not run.",
)
@quiet
def verdict() -> None:
    """Decide the claims of a run, and count its valid cells.

    The exit status is 1 when a claim fails or a cell is not valid; with --strict also when a claim
    is undecided or cells of the plan were not run. RUN may be the folder of several experiments:
    all of them count.
    """


@fairc.command()
@click.argument("run", metavar="RUN|PACK", type=type_run)
@quiet
def methods() -> None:
    """Print the paragraph on RUN for a paper's methods section, and BibTeX.

    One paragraph: network, flows, kernel, engine, seeds, repetitions, validity, statistics, and
    departures from the study that `source` names; then entries of fairc and of the sources in
    `source` and `title`.
    """


@fairc.command()
@click.argument("first", metavar="RUN|PACK", type=type_run)
@click.argument("second", metavar="[RUN|PACK]", type=type_run, required=False)
@click.option(
    "--baseline",
    metavar="RUN|PACK",
    type=type_run,
    help="Instead of a second run: show the changes since this one, claims first.",
)
@form("text", "json", "md", help="json is in SI base units; md: with --baseline.")
@click.option(
    "--margin",
    "margins",
    metavar="[METRIC=]MARGIN",
    multiple=True,
    help="Ask whether they agree within a share of the first's median (5%), or an amount for one"
    " metric (fairness.F=0.02, SI base unit); repeatable.  [between engines: 5%]",
)
@quiet
def compare() -> None:
    """Compare two runs, metric by metric: identical, same, different, undecided or missing.

    Between runs of two engines, or with --margin: agree, differ, or cannot tell, by the 95 %
    interval of the shift from the first to the second. The exit status is 1 unless everything is
    identical or the same, or agrees; with --baseline also when the verdict of a claim has changed.
    If RUN holds several experiments, those of the same name are compared.
    """


@fairc.command()
@click.argument("run", metavar="RUN", type=type_run)
@click.option(
    "-o", "--output", type=type_path, help="The file to write.  [default: EXPERIMENT.zip]"
)
@click.option("--with-image", is_flag=True, help="Include the guest's image and kernel.")
@click.option(
    "--with-raw", is_flag=True, help="Include the raw artefacts of every cell: captures, logs."
)
@quiet
def pack() -> None:
    """Write RUN as one zip file: spec, plan, lock, results, tables, figures, report, programs.

    Writes tables, figures and report again from the cells. Packing twice gives the same bytes; it
    replaces only an earlier pack of RUN. RUN may be the folder of several experiments; the pack
    then holds all of them. `fairc verify`, `run`, `report`, `verdict`, `table` and `compare` accept
    the pack in place of RUN.
    """


@fairc.command()
@click.argument("target", metavar="RUN|PACK", type=type_run)
@form("text", "json")
@click.option(
    "--sample",
    type=click.IntRange(0),
    help=(
        "How many cells to draw: of a pack to run again [default: 3], of a run to derive from raw"
        " artefacts [default: all]."
    ),
)
@click.option("--all", "everything", is_flag=True, help="For a pack: run every cell again.")
@jobs
@click.option(
    "--trust",
    is_flag=True,
    help="For a pack: also run its own programs and endpoints, only inside the engine vm.",
)
@allow_module
@allow_program
@quiet
def verify() -> None:
    """Check a stored run or a pack, and say what that proves.

    For a run directory, RUN: compare every file with the hash recorded when it was written, each
    cell with the plan, tables with the cells, and results with raw artefacts; list the damage with
    its repair, and change nothing. RUN may be the folder of several experiments.

    For a file of `fairc pack`, PACK: compile its spec again, rebuild everything that follows from
    the results of its cells, decide its claims again, and rerun some of its cells, drawn at random;
    its own programs run only with --trust.

    The exit status is 1 when something is damaged, differs or is missing.
    """


@fairc.command()
@click.option(
    "--verify",
    "whole",
    is_flag=True,
    help="Read images, kernel, snapshots and endpoints in full and check their hashes.",
)
@quiet
def doctor() -> None:
    """Show what this machine offers each engine; exit status 3 when none can run.

    With --verify, also check the hashes of what cells run on; exit status 3 when something is
    damaged.
    """


@fairc.command()
@click.option("--engine", metavar="NAME", help="uml, vm, mininet or docker.  [default: uml]")
@click.option(
    "-o", "--output", metavar="DIR", type=type_path, help="[default: results/calibration-ENGINE]"
)
@jobs
@click.option("--case", "chosen", metavar="NAME", multiple=True, help="Only this case; repeatable.")
@form("text", "md", "json")
@quiet
def calibrate() -> None:
    """Run a fixed suite on an engine and compare it with theory.

    Rate, base RTT, jitter, loss, buffer; Reno's square-root law, fairness of equal flows, RTT
    unfairness, slow start; a load at the limit; half the guest's speed. The exit status is 1 when a
    number is outside its accepted range. fairc keeps the table of a whole suite, and lock.json of
    later runs names it.
    """


image_engine = click.option(
    "--engine",
    metavar="NAME",
    default="uml",
    show_default=True,
    help="Whose image: uml, vm or docker.",
)


@fairc.group(cls=Commands)
def image() -> None:
    """Build, describe, save, load or remove an engine's image, or get its sources; or make an image
    of Debian packages for your own programs.
    """


@image.command("build")
@image_engine
@click.option("--browser", is_flag=True, help="Also build the image with Chromium, for uml and vm.")
@click.option(
    "--kernel",
    "tree",
    type=type_path,
    metavar="FOLDER|TARBALL",
    help="A kernel's source, from Linux 6.16 on. Without --name: a linux-source tarball for the"
    " standard kernel, if Debian no longer has it.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Build your own kernel, for hosts { kernel = NAME }; without --kernel from the standard"
    " kernel's source.",
)
@click.option(
    "--patch",
    "patches",
    type=type_path,
    multiple=True,
    metavar="FILE",
    help="A patch of your kernel (patch -p1); repeatable, in order.",
)
@click.option(
    "--config", type=type_path, metavar="FILE", help="Options of your kernel: CONFIG_X=y lines."
)
@quiet
def image_build() -> None:
    """Build the image of an engine, and for uml its kernel, unless they exist; or with --name your
    own kernel for uml.
    """


@image.command("info")
@image_engine
def image_info() -> None:
    """Show the folders and contents of the images; exit status 3 when there is none."""


@image.command("save")
@click.argument("file", type=type_path)
@image_engine
@click.option("--browser", is_flag=True, help="The image with Chromium instead.")
@quiet
def image_save() -> None:
    """Write an image and the kernel of uml (with its source) to FILE, a new file, for other
    machines.
    """


@image.command("load")
@click.argument("file", type=type_path)
@click.option(
    "--snapshot",
    "boot",
    is_flag=True,
    help="Also boot it once, so that cells find the machine ready; needs QEMU and the endpoints.",
)
@click.option(
    "--trust",
    is_flag=True,
    help="Also load its kernel, a program that will run on this machine: you know who made FILE.",
)
@quiet
def image_load() -> None:
    """Install the image and the kernel of FILE for the engines, after checking their hashes."""


@image.command("packages")
@click.argument("names", metavar="PACKAGE...", nargs=-1, required=True)
@click.option(
    "--output", "-o", type=type_path, required=True, metavar="FILE", help="The tar, a new file."
)
@quiet
def image_packages() -> None:
    """Write a container image with packages of Debian 13 to a new file, for `server_image` and
    `client_image` of programs; NAME=VERSION asks for a version.
    """


@image.command("source")
@click.argument("folder", type=type_path)
@click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    metavar="URL",
    help="A mirror of Debian, for packages that the usual one no longer has; repeatable.",
)
@quiet
def image_source() -> None:
    """Write the sources of the machine of uml to FOLDER: its kernel's, and those of the Debian
    packages in its image.

    The command names sources that it cannot get. Repeat it to resume.
    """


@image.command("rm")
@image_engine
def image_rm() -> None:
    """Remove the images, kernels, modules and snapshots that uml and vm share; for docker, its
    container images.
    """


@fairc.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, type=type_path)
@click.option(
    "--raw", is_flag=True, help="Also remove the raw artefacts of the RUNs (or of results/*)."
)
@quiet
def clean() -> None:
    """Remove leftovers of crashed runs: processes, namespaces, containers, files.

    fairc marks everything that it starts, and keeps everything that belongs to a running fairc.
    """


@fairc.command()
def lsp() -> None:
    """Run a language server for editors, on standard input and output.

    It checks a file while you type, completes keys, values and units, explains words, finds
    declarations and formats. docs/run/editors.md has the set-up for each editor.
    """
