"""Failures as messages and exit statuses. No traceback reaches a user."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path

import click

from . import console, interruption

REPORT_TO = "CONTRIBUTING.md says where"
LIBRARIES = {"docker": "docker>=7.1"}
"""The packages of modules that only some commands import, as in setup.cfg."""
NO_LIBRARY = "cannot open shared object file"
# Errors caused by the user's machine rather than a bug, besides those in runtime/host/faults.py.
MACHINE_ERRORS = (errno.EACCES, errno.EPERM)


class Status(IntEnum):
    """Exit statuses (docs/run/cli.md)."""

    WELL = 0
    NOT_ALL_VALID = 1
    WRONG = 2
    UNAVAILABLE = 3
    BUG = 70
    INTERRUPTED = 130
    PIPE = 141


class UsageError(click.ClickException):
    """A request of the user that cannot be met; exit status 2. help: what to do."""

    exit_code = Status.WRONG

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help

    def show(self, file: object = None) -> None:
        """Print it on standard error."""
        console.complain(f"error: {self.message}")
        if self.help:
            console.complain(f"help: {self.help}")


def guarded(command: Callable[[], object]) -> int:
    """Call the command line; return its exit status whatever happens."""
    status: int | None = None
    error: Exception | None = None
    if _is_nowhere():
        return _nowhere()
    try:
        with interruption.working():
            status, error = _called(command)
    except KeyboardInterrupt:  # it came while the command was ending
        pass
    if interruption.came() or (status is None and error is None):
        interruption.handled()
        console.complain(interruption.message())
        ended: int = Status.INTERRUPTED
    else:
        ended = _explain(error) if error else status or Status.WELL
    return ended if console.finish() else ended or Status.UNAVAILABLE


def _is_nowhere() -> bool:
    """Return whether the working directory has been removed."""
    try:
        os.getcwd()  # noqa: PTH109  pathlib is slower, and asks the same
    except FileNotFoundError:
        return True
    return False


def _nowhere() -> int:
    console.complain("error: the working directory has been removed")
    console.complain("help: change to one that exists, such as `cd`")
    return Status.UNAVAILABLE


def _called(command: Callable[[], object]) -> tuple[int | None, Exception | None]:
    """Return the status of a command, or what it raised; neither when it was interrupted."""
    try:
        status = command()
    except click.exceptions.Exit as end:
        return end.exit_code, None
    except (KeyboardInterrupt, click.Abort):
        return None, None
    except console.ReaderGoneError:
        console.discard(sys.stdout)
        return Status.PIPE, None
    except Exception as error:  # noqa: BLE001  this is the last place before the user
        return None, error
    return (status if isinstance(status, int) else Status.WELL), None


def _explain(error: Exception) -> int:
    """Explain an exception to the user; return the exit status."""
    if isinstance(error, click.ClickException):
        error.show()
        return Status.WRONG
    if isinstance(error, ModuleNotFoundError) and (package := LIBRARIES.get(error.name or "")):
        console.complain(f"error: the Python library `{error.name}` is not installed")
        console.complain(f"help: pip install '{package}'")
        return Status.UNAVAILABLE
    if isinstance(error, ImportError) and NO_LIBRARY in str(error):
        console.complain(f"error: a Python library cannot be loaded: {error}")
        console.complain(
            "help: install the system library that is named (Debian: libc6, libstdc++6)"
        )
        return Status.UNAVAILABLE
    fault = _fault(error)
    if fault is not None:
        return _unavailable(fault)
    if _is_nowhere():
        return _nowhere()
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        console.complain(f"error: {_shortened(str(error.filename))}: {error.strerror}")
        return Status.WRONG
    if isinstance(error, OSError) and error.errno in MACHINE_ERRORS:
        about = f"{error.filename}: " if error.filename else ""
        console.complain(f"error: {about}{error.strerror}")
        return Status.UNAVAILABLE
    for name, handler in HANDLERS.items():
        kind = _imported(name)
        if kind is not None and isinstance(error, kind):
            return handler(error)
    return _internal(error)


def _shortened(path: str) -> str:
    return path if len(path) <= 80 else f"{path[:38]}...{path[-38:]}"


def _fault(error: Exception) -> Exception | None:
    """Return the fault of the environment behind an exception or its causes, or None."""
    try:
        from fairc.runtime.host import faults
    except (ImportError, MemoryError, OSError):
        return None
    return faults.of(error)


def _imported(name: str) -> type[Exception] | None:
    """Return an exception by `module:name`; what has not been imported cannot have been raised."""
    module, _, kind = name.partition(":")
    found: type[Exception] | None = getattr(sys.modules.get(module), kind, None)
    return found


def _wrong(error: Exception) -> int:
    console.complain(f"error: {error}")
    return Status.WRONG


def _suite(error: Exception) -> int:
    _wrong(error)
    if help := getattr(error, "help", ""):
        console.complain(f"help: {help}")
    return Status.WRONG


def _no_endpoints(error: Exception) -> int:
    console.complain(f"error: {error}")
    console.complain("help: make setup")
    return Status.UNAVAILABLE


def _unavailable(error: Exception) -> int:
    from fairc.runtime.host.faults import EngineUnavailable

    assert isinstance(error, EngineUnavailable)
    for missing in error.missing:
        console.complain(f"error: {missing}")
    console.complain(f"help: {error.remedy}")
    return Status.UNAVAILABLE


def _diagnosed(error: Exception) -> int:
    from fairc.dsl.core.diagnostics import CompileError, Diagnostics

    from .sources import show

    assert isinstance(error, CompileError)
    show(Diagnostics(error.diagnostics))
    return Status.WRONG


HANDLERS: dict[str, Callable[[Exception], int]] = {
    "fairc.dsl.core.diagnostics:CompileError": _diagnosed,
    "fairc.compiler.record:ForeignFileError": _wrong,
    "fairc.compiler.binary:EndpointsMissing": _no_endpoints,
    "fairc.runtime.host.faults:EngineUnavailable": _unavailable,
    "fairc.runtime.store.folder:StoreError": _wrong,
    "fairc.runtime.vm.portable:ImageFileError": _wrong,
    "fairc.runtime.store.tables:TableError": _wrong,
    "fairc.runtime.report.run:ReportError": _wrong,
    "fairc.runtime.pack.zipped:PackError": _wrong,
    "fairc.runtime.suites.folder:SuiteError": _suite,
}


def _internal(error: Exception) -> int:
    """Write the traceback to a log, and print one line that says where it is."""
    if os.environ.get("FAIRC_DEBUG") == "1":
        traceback.print_exception(error)
    message = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    try:
        place = f"; the log is {_log(error)}"
    except OSError as unwritten:
        place = f"; no log could be written ({unwritten.strerror}), FAIRC_DEBUG=1 shows it"
    console.complain(
        f"internal error: {message}{place}; please report it with the log ({REPORT_TO})"
    )
    return Status.BUG


def _log(error: Exception) -> Path:
    from fairc import __version__

    folder = log_folder()
    descriptor, name = tempfile.mkstemp(prefix="error-", suffix=".log", dir=folder)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as log:
        log.write(f"fairc {__version__}, Python {sys.version}\n{' '.join(sys.argv)}\n\n")
        traceback.print_exception(error, file=log)
    return Path(name)


def log_folder() -> Path | None:
    """Return where logs go by the XDG base directory specification; None: where temporary files
    go.
    """
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    folder = Path(state) / "fairc"
    if not folder.is_absolute():  # nor has the user a home
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
