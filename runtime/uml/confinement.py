"""What the guest's kernel sees of the host: its own files, no network, no other process."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PROGRAM = "bwrap"
INSTALL_COMMAND = "sudo apt-get install --no-install-recommends bubblewrap"
PLACE = "/cell"  # where the machine's folder is inside
# Everything except the file system: its own namespaces, no capabilities, an end with its parent.
ALONE = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
    *("--cap-drop", "ALL", "--die-with-parent", "--clearenv"),
)
PROBE_S = 10.0


@cache
def missing() -> str:
    """Return why programs cannot be confined on this host; empty when they can."""
    if shutil.which(PROGRAM) is None:
        return f"{PROGRAM} is not installed"
    probe = [PROGRAM, *ALONE, "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    try:
        done = subprocess.run(
            probe,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (
        (done.stderr.strip().splitlines() or ["it ends with an error"])[-1]
        if done.returncode
        else ""
    )


def wrap(program: Path, arguments: list[str], folder: Path, files: Mapping[str, Path]) -> list[str]:
    """Return the command that runs a program in a folder with additional read-only files.

    program: static. folder: its writable working directory. files: name in the folder ->
    the file elsewhere. Where the host allows no confinement, the files are linked into the folder; the
    program still ends with its watcher (PR_SET_PDEATHSIG).
    """
    if missing():
        for name, path in files.items():
            (folder / name).symlink_to(path)
        return [str(program), *arguments]
    binds = [
        word for name, path in files.items() for word in ("--ro-bind", path, f"{PLACE}/{name}")
    ]
    return [
        *(PROGRAM, *ALONE, "--proc", "/proc", "--dev", "/dev"),
        *("--ro-bind", str(program), "/kernel", "--bind", str(folder), PLACE),
        *map(str, binds),
        *("--chdir", PLACE, "/kernel", *arguments),
    ]
