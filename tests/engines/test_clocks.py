"""The clock of programs on `uml`, in four languages: waiting takes what it is meant to take,
polling ends, and bytes are equal.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from twice import cells_of, equal_artefacts

SOURCES = Path(__file__).parent / "clocks"
SPEC = """fexp 1
experiment clocks {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  flow f {
    cca = cubic  start = 0s
    workload = program(
      server: ["sh", "-c", "head -c 100000 /dev/zero | nc -l -p {port}"],
      client: ["sh", "-c", "/program/clock > clock && nc {server} {port} | wc -c"],
      files: ["clock"],
    )
  }
  duration = 3s
  measure  = [goodput]
}
"""
COMPILERS = {
    "c": ["gcc", "-O2", "-static", "-pthread", "-o"],
    "go": ["go", "build", "-o"],
    "rs": ["rustc", "-O", "-C", "target-feature=+crt-static", "-o"],
    "py": ["cp"],
}
# What each is meant to take, us; and how much longer it may: timers have slack, and Rust's socket
# has a timeout in ticks of the kernel.
WAITS = {"sleep": 20_000, "wake": 20_000, "poll": 30_000, "busy": 5_000, "yield": 5_000}
LATE_US, TICK_US = 150, 4_000


def compiled(language: str, folder: Path) -> None:
    """Make the program `clock` in a folder."""
    source, program = SOURCES / f"clock.{language}", folder / "clock"
    command = COMPILERS[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here")
    paths = [source, program] if language == "py" else [program, source]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOCACHE": str(folder / "go")}
    subprocess.run([*command, *map(str, paths)], check=True, env=environment)
    program.chmod(0o755)


@pytest.mark.full
@pytest.mark.parametrize("language", COMPILERS)
def test_waiting_takes_what_it_is_meant_to_take(language: str, tmp_path: Path) -> None:
    compiled(language, tmp_path)
    (tmp_path / "clocks.fexp").write_text(SPEC)
    (cell,) = cells_of(tmp_path / "clocks.fexp")
    printed = equal_artefacts(cell, tmp_path, tmp_path)["f.client.file.clock"].decode()
    took = {name: int(us) for name, us in map(str.split, printed.splitlines())}
    assert took.keys() == WAITS.keys()
    for name, us in WAITS.items():
        late_us = 2 * TICK_US if (language, name) == ("rs", "poll") else LATE_US
        assert us <= took[name] <= us + late_us, name
