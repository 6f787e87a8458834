"""Options that several commands share."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from . import console
from .failures import UsageError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Command(click.Command):
    """A command as it is declared in `commands.py`, where its function is empty. The function of
    the same name and arguments in the module of the command does it, and is imported when it is
    called.

    It refuses an option of one value given twice: click takes the last of them, and forgets the
    others without a word.
    """

    def __init__(self, name: str | None, *, callback: Callable[..., Any], **settings: Any) -> None:
        super().__init__(name, callback=self._call, **settings)
        self._function = callback.__name__

    def work(self) -> Callable[..., Any]:
        """Import and return the function that does this command: `suite_plan` of `suite.py`."""
        module = import_module(f"fairc.cli.{self._function.partition('_')[0]}")
        work: Callable[..., Any] = getattr(module, self._function)
        return work

    def _call(self, **arguments: Any) -> Any:
        work = self.work()
        if not gc.isenabled():  # a process of its own: what it has imported is never searched
            # DuckDB is imported later: its extension complains of what has not been found when
            # Python ends. To search everything else then would take a fifth of a second.
            gc.freeze()
            gc.enable()
        return work(**arguments)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line. Raises UsageError."""
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        one_value = [
            option
            for option in given
            if isinstance(option, click.Option) and not option.is_flag and not option.multiple
        ]
        for option in one_value:
            if one_value.count(option) > 1:
                name, value = option.opts[0], option.make_metavar(ctx)
                raise click.UsageError(f"`{name}` is given more than once; give one {value}", ctx)
        return super().parse_args(ctx, args)


class Commands(click.Group):
    """A command of several, each of which is a `Command`."""

    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, in whole sentences: click cuts them to 45 characters."""
        does = [
            (name, (self.commands[name].help or "").partition("\n\n")[0]) for name in self.commands
        ]
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join(text.split())) for name, text in does])


class PathType(click.Path):
    """The type of paths: of one line that a terminal shows as it is, as messages repeat it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; empty text is none, and not the folder that we are in. Raises
        BadParameter.
        """
        text = os.fsdecode(value)
        if not text:
            raise click.BadParameter("the path is empty", ctx, param)
        if text != console.visible(text) or set(text) & set("\t\n"):
            self.fail(f"{text!a} has a control character or a line break", param, ctx)
        return super().convert(value, param, ctx)


class RunType(PathType):
    """The type of paths of runs and packs, which are often taken for the experiment's file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Raises UsageError for a `.fexp`."""
        path = super().convert(value, param, ctx)
        if path.suffix == ".fexp" and path.is_file():
            raise UsageError(
                f"{path} is an experiment, not a run",
                f"`fairc run {path}` makes the run, in `results/EXPERIMENT`: name that folder",
            )
        return path


type_path = PathType(path_type=Path)
type_run = RunType(path_type=Path)


def _settings(
    context: click.Context, parameter: click.Parameter, items: tuple[str, ...]
) -> dict[str, str]:
    """Split `NAME=EXPR`; the language decides which NAME and EXPR are valid."""
    found: dict[str, str] = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals or not name.strip() or not text.strip():
            raise click.BadParameter(f"{item!r} is not NAME=EXPR", context, parameter)
        _require_line(context, parameter, item)
        if name.strip() in found:
            raise click.BadParameter(f"{name.strip()!r} is set twice", context, parameter)
        found[name.strip()] = text.strip()
    return found


def completing(what: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return what a shell offers, by a function of `completion.py`, which is imported then."""

    def offered(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        module = import_module("fairc.cli.completion")
        found: list[str] = getattr(module, what)(context, parameter, incomplete)
        return found

    return offered


def settings(
    help: str = "Replace the whole value of a sweep name, a `let` or a key such as `repeat`;"
    " repeatable.",
) -> Decorator:
    """`--set NAME=EXPR`, as a mapping."""
    return click.option(
        "--set",
        "settings",
        metavar="NAME=EXPR",
        multiple=True,
        callback=_settings,
        help=help,
    )


def form(*choices: str, help: str | None = None) -> Decorator:
    """`--format`, as `form`; the first of the choices is the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help=help,
    )


engine = click.option(
    "--engine",
    metavar="NAME",
    help="uml, vm, mininet or docker.  [default: the fastest in virtual time that can run it]",
)
allow_module = click.option(
    "--allow-module",
    is_flag=True,
    help="Compile and load the kernel modules of flows, confined. Modules are code.",
)
allow_program = click.option(
    "--allow-program",
    is_flag=True,
    help="Run the programs of flows in the guest, confined. Programs are code.",
)
jobs = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1),
    default=lambda: len(os.sched_getaffinity(0)),
    help="Cells at once.  [default: all cores]",
)


def _require_line(context: click.Context, parameter: click.Parameter, text: str) -> None:
    """Refuse text that is not one printable line: the lock and the report repeat it."""
    if not text.isprintable():
        raise click.BadParameter(f"{text!r} is not one line of text", context, parameter)


def _line(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    _require_line(context, parameter, text or "")
    return text


def where(help: str) -> Decorator:
    """`--where EXPR`: the text, or None."""
    return click.option("--where", metavar="EXPR", callback=_line, help=help)


def _be_quiet(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        console.be_quiet()


def keep_raw(default: bool) -> Decorator:
    """Return the option that says whether valid cells keep their raw artefacts."""
    return click.option(
        "--keep-raw/--drop-raw",
        default=default,
        show_default=True,
        help="Keep the raw artefacts of valid cells, most of what they take on disk; without them,"
        " `fairc verify` cannot recompute their metrics.",
    )


quiet = click.option(
    "--quiet",
    "-q",
    is_flag=True,
    expose_value=False,
    callback=_be_quiet,
    help="Print only the requested data and errors.",
)
"""It takes effect by itself."""
