"""Third-party programs for a separate machine: endpoints and `cell/` from a pack.

They run only inside the emulated machine. Its snapshot is in a separate folder, never in the cache.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairc.compiler.targets import runner
from fairc.runtime.host.faults import EngineUnavailable, MachineFault

_MODULE = re.compile(r"[a-z_][a-z0-9_]*\.py")
# fairc's own have 10 MB and 40 kB.
MOST_ENDPOINTS, MOST_MODULE, MOST_MODULES = 64 << 20, 1 << 20, 200


@dataclass(frozen=True)
class Foreign:
    """endpoints: the program. modules: of `cell/`, by path. home: where the snapshot is kept."""

    endpoints: Path
    modules: Mapping[str, bytes]
    home: Path

    @property
    def identity(self) -> str:
        """The identity of `cell/` in that of a machine: this installation's if the modules are the
        same.
        """
        if dict(self.modules) == runner.files():
            return runner.identity()
        total = hashlib.sha256()
        for name, content in sorted(self.modules.items()):
            total.update(f"{name}\n{len(content)}\n".encode() + content)
        return f"foreign {total.hexdigest()}"


class ProgramsFailed(EngineUnavailable):
    """No machine boots with the third-party programs; they are at fault, not this installation."""


@contextmanager
def blamed_on(foreign: Foreign | None) -> Iterator[None]:
    """Turn EngineUnavailable of a machine with third-party programs into ProgramsFailed, except for
    faults of this machine.
    """
    try:
        yield
    except MachineFault:
        raise
    except EngineUnavailable as problem:
        if foreign is None:
            raise
        raise ProgramsFailed(problem.missing, problem.remedy) from problem


def of_folder(folder: Path, endpoints: str, home: Path) -> Foreign | str:
    """Return the programs in a folder, or a message on what is missing or refused.

    endpoints: the name of their program. home: an empty folder for the snapshot.
    """
    program, package = folder / endpoints, folder / runner.PACKAGE
    if not program.is_file() or not package.is_dir():
        return "it holds no programs that run cells"
    if program.stat().st_size > MOST_ENDPOINTS:
        return f"its {endpoints} is larger than {MOST_ENDPOINTS >> 20} MiB"
    with program.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return f"its {endpoints} is not a program"
    paths = sorted(package.iterdir())
    if len(paths) > MOST_MODULES:
        return f"its {runner.PACKAGE}/ has more than {MOST_MODULES} modules"
    for path in paths:
        if not _MODULE.fullmatch(path.name) or not path.is_file():
            return f"its {runner.PACKAGE}/ holds something other than modules: {path.name[:80]!r}"
        if path.stat().st_size > MOST_MODULE:
            return f"its {runner.PACKAGE}/{path.name} is larger than {MOST_MODULE >> 20} MiB"
    modules = {f"{runner.PACKAGE}/{path.name}": path.read_bytes() for path in paths}
    return Foreign(program, modules, home)
