"""Import what a command ends with while it waits for its cells: half a second that nobody waits for then."""

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
    """Start to import; whoever needs a module waits for it, and meets its errors."""

    def work() -> None:
        with suppress(Exception):
            for name in MODULES:
                import_module(name)

    with suppress(RuntimeError):  # no thread can be started
        threading.Thread(target=work, daemon=True).start()
