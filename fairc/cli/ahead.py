"""Import what the end of a command needs while it waits for its cells; saves half a second."""

from __future__ import annotations

import threading
from contextlib import suppress
from importlib import import_module

MODULES = (
    "duckdb",
    "fairc.runtime.report.build",
    "matplotlib.figure",
    "matplotlib.backends.backend_svg",
    "matplotlib.backends.backend_pdf",
)


def imports() -> None:
    """Start importing in a thread; code that needs a module waits for it, and gets its errors.

    A command that ends early waits for the import in progress: an interpreter that exits while a thread imports
    a compiled module may crash.
    """

    def work() -> None:
        with suppress(Exception):
            for name in MODULES:
                if not threading.main_thread().is_alive():
                    return
                import_module(name)

    with suppress(RuntimeError):  # no thread can be started
        threading.Thread(target=work).start()
