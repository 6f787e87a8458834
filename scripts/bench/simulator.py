"""ns-3 with the scenarios of `scenarios.py`: what its own TCP costs, captures on
(`ns3/bottleneck.cc`).

Needs Debian's `libns3-dev g++ libgsl-dev libxml2-dev libsqlite3-dev`, which `make setup` does not
install.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent / "ns3" / "bottleneck.cc"
PACKAGES = ("ns3-applications", "ns3-internet", "ns3-point-to-point", "ns3-traffic-control")


def program() -> Path | None:
    """Compile the scenario; return its program, or None without ns-3 on this machine."""
    if shutil.which("g++") is None or shutil.which("pkg-config") is None:
        return None
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", *PACKAGES], capture_output=True, text=True, check=False
    )
    if flags.returncode:
        return None
    path = Path(tempfile.mkdtemp(prefix="fairc-ns3-")) / "bottleneck"
    subprocess.run(["g++", "-O2", "-o", path, SOURCE, *flags.stdout.split()], check=True)
    return path


def cpu_s(program: Path, rate_mbps: int, seconds: int) -> float:
    """Run two flows over a bottleneck in ns-3; return the CPU time, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        command = [program, str(rate_mbps), str(seconds), "1"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
