"""CPU time of tests and fixtures: `pytest -p cpu_times --cpu-times FILE` adds a line to FILE for each.

Times are those of all processes that a test starts, seconds, where this process can make a cgroup
(as root): those of a machine of `uml`, which no test waits for, are among them. Elsewhere they are
those of the process and of the children that it has waited for. A fixture's time includes that of
the fixtures that it asks for; a test's time includes that of the fixtures which it is the first to
need.
"""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

# Where the kernel mounts what counts CPU time, and how it is read: version 1 of cgroups, version 2.
_MOUNTS: tuple[tuple[str, Callable[[Path], float]], ...] = (
    ("cpuacct", lambda group: int((group / "cpuacct.usage").read_text()) / 1e9),
    ("cpu,cpuacct", lambda group: int((group / "cpuacct.usage").read_text()) / 1e9),
    ("unified", lambda group: int((group / "cpu.stat").read_text().split()[1]) / 1e6),
    ("", lambda group: int((group / "cpu.stat").read_text().split()[1]) / 1e6),
)


def _of_children() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _counter() -> Callable[[], float]:
    """Return what reads the CPU time of this process and of all that descend from it, seconds.

    This process moves into a cgroup of its own, which is removed when it ends.
    """
    for mount, usage in _MOUNTS:
        root = Path("/sys/fs/cgroup", mount)
        group = root / f"tests-{os.getpid()}"
        try:
            usage(root)
            group.mkdir()
            (group / "cgroup.procs").write_text(str(os.getpid()))
            usage(group)
        except OSError:
            continue
        atexit.register(_left, root, group)
        return partial(usage, group)
    return _of_children


def _left(root: Path, group: Path) -> None:
    """Leave a cgroup, and remove it if no process is left in it."""
    with suppress(OSError):
        (root / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--cpu-times`."""
    parser.addoption("--cpu-times", type=Path, help="add the CPU time of each test to this file")


class _Recorder:
    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.cpu_s = _counter()

    def _note(self, kind: str, module: str, name: str, cpu_s: float) -> None:
        line = json.dumps({"kind": kind, "module": module, "name": name, "cpu_s": round(cpu_s, 4)})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        began = self.cpu_s()
        result = yield
        module, _, name = item.nodeid.partition("::")
        self._note("test", module, name, self.cpu_s() - began)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        began = self.cpu_s()
        result = yield
        if (cpu_s := self.cpu_s() - began) > 0.05:
            module = request.node.nodeid.partition("::")[0]
            self._note("fixture", module, fixturedef.argname, cpu_s)
        return result


def pytest_configure(config: pytest.Config) -> None:
    """Record where a file is named."""
    if path := config.getoption("--cpu-times"):
        config.pluginmanager.register(_Recorder(Path(path)))
