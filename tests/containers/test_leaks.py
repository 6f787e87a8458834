"""Runs that are killed leave nothing: no container, network, volume, namespace or process."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from docker import errors
from netns import hold, inside
from waiting import eventually

from fairc.cli.clean import remove_containers
from fairc.compiler import Cell
from fairc.compiler.plan import cell_json
from fairc.runtime.containers import job, leftovers
from fairc.runtime.containers.client import Client
from fairc.runtime.engines.docker import DockerEngine
from fairc.runtime.host.clean import alive, marked

ROUNDS, AT_ONCE = 2, 4
LONGEST_S = 3.0
PATIENCE_S = 120.0
RUNNER = """
import sys
from pathlib import Path
from fairc.compiler.plan import parse_cell
from fairc.runtime.engines.docker import DockerEngine
from fairc.runtime.host.supervisor import mark
engine = DockerEngine()
engine.prepare()
cell = parse_cell(Path(sys.argv[1]).read_text())
print(mark(), flush=True)
engine.run(cell, Path(sys.argv[2]))
engine.close()
"""


class Runner:
    """A process of its own that runs a cell on the docker engine."""

    def __init__(self, cell: Cell, folder: Path) -> None:
        folder.mkdir()
        (folder / "cell.json").write_text(cell_json(cell))
        (folder / "work").mkdir()
        command = [sys.executable, "-c", RUNNER, str(folder / "cell.json"), str(folder / "work")]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.mark = self.process.stdout.readline().decode().strip()
        assert self.mark

    def kill(self) -> None:
        """Kill it, as the kernel does when memory is short."""
        self.process.kill()
        self.process.communicate()

    def left(self, client: Client) -> Iterator[str]:
        """Yield what there is of it."""
        chosen = {"filters": {"label": leftovers.LABEL}}
        for kind, found in (
            ("container", client.api.containers(all=True, **chosen)),
            ("network", client.api.networks(**chosen)),
        ):
            for thing in found:
                if thing["Labels"][leftovers.LABEL].startswith(f"{self.mark}@"):
                    yield f"{kind} {thing['Id']}"
        for pid in marked(self.mark):
            with suppress(OSError):  # it has just ended
                command = Path(f"/proc/{pid}/cmdline").read_text()
                if alive(pid):
                    yield f"process {pid} {command}"


def left(runners: Sequence[Runner], client: Client) -> list[str]:
    """Return what is there of any of them."""
    return [what for runner in runners for what in runner.left(client)]


def gone(remaining: Callable[[], list[str]]) -> None:
    """Wait until a list is empty."""
    give_up = time.monotonic() + PATIENCE_S
    while found := remaining():
        assert time.monotonic() < give_up, found
        time.sleep(0.1)


def holders(client: Client, runner: Runner, held: ExitStack) -> tuple[set[str], set[int]]:
    """Return what holds the containers of a run: their names in commands of the engine, and network
    namespaces, which are open as long as `held`.
    """
    names, namespaces = set(), set()
    for container in client.api.containers(filters={"label": leftovers.LABEL}):
        if container["Labels"][leftovers.LABEL].startswith(f"{runner.mark}@"):
            names.add(container["Id"])
            try:
                pid = client.api.inspect_container(container["Id"])["State"]["Pid"]
                if pid:
                    namespaces.add(namespace := hold(pid))
                    held.callback(os.close, namespace)
            except (errors.NotFound, OSError):
                continue  # it has just ended
    return names, namespaces


def commands() -> str:
    """Return the commands of all processes."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.append((process / "cmdline").read_text(errors="replace"))
        except OSError:
            continue  # it has just ended
    return "\n".join(found)


def test_runs_that_are_killed_at_random_moments(client: Client, cell: Cell, tmp_path: Path) -> None:
    moments = random.Random(6)
    volumes = client.api.volumes()["Volumes"]
    names, namespaces = set[str](), set[int]()
    with ExitStack() as held:

        def look(runner: Runner) -> bool:
            commanded, entered = holders(client, runner, held)
            names.update(commanded)
            namespaces.update(entered)
            return bool(commanded) or runner.process.poll() is not None

        for number in range(ROUNDS):
            runners = [Runner(cell, tmp_path / f"{number}-{other}") for other in range(AT_ONCE)]
            for runner in runners:
                time.sleep(moments.uniform(0, LONGEST_S / AT_ONCE))
                look(runner)
                if runner is runners[-1]:  # on a busy machine none may have come so far
                    eventually(partial(look, runner))
                runner.kill()
            gone(partial(left, runners, client))
        assert len(names) + len(namespaces) > ROUNDS, "some were killed as their containers ran"
        gone(lambda: [name for name in names if name in commands()])
        gone(lambda: [f"process {pid}" for pid in inside(namespaces)])
    assert client.api.volumes()["Volumes"] == volumes


def test_what_nobody_could_remove_is_found_by_its_label(
    client: Client, engine: DockerEngine, cell: Cell, tmp_path: Path
) -> None:
    runner = Runner(cell, tmp_path / "killed")

    def made() -> list[str]:
        return [thing for thing in runner.left(client) if not thing.startswith("process")]

    # More than the one that is being made: the Docker engine takes that back when its client goes.
    eventually(lambda: len(made()) >= 3)
    runner.process.send_signal(signal.SIGSTOP)  # or it may end before the other one has begun
    living = Runner(cell, tmp_path / "living")
    try:
        for pid in [*marked(runner.mark)]:
            os.kill(pid, signal.SIGKILL)
        runner.kill()
        left = list[str]()
        time.sleep(0.5)
        while (found := made()) != left:  # what the Docker engine was making comes later
            left = found
            time.sleep(1.0)
        assert left
        removed = remove_containers()
        assert len(removed) >= len(left) and not list(runner.left(client))
        living.process.communicate(timeout=PATIENCE_S)
        assert living.process.returncode == 0, "a run whose owner lives goes on"
    finally:
        living.kill()
    gone(lambda: list(living.left(client)))


def test_whose_a_label_is() -> None:
    (mine,) = leftovers.label().values()
    owner, _, where = mine.partition("@")
    boot, _, processes = where.partition("/")
    assert not leftovers.is_left(mine)
    assert leftovers.is_left(f"1:1:{processes}@{where}"), (
        "no process has that number and that start"
    )
    assert leftovers.is_left(f"{owner}@another-boot/{processes}")
    assert not leftovers.is_left(f"1:1:0@{boot}/0"), "processes of another namespace cannot be seen"
    assert not leftovers.is_left("somebody's")


def test_two_that_remove_the_same(
    client: Client, engine: DockerEngine, cell: Cell, tmp_path: Path
) -> None:
    image = engine._image
    assert image is not None
    (mine,) = leftovers.label().values()
    folder = tmp_path / "results"
    folder.mkdir()
    job.start(client, cell, image, folder)
    with ThreadPoolExecutor(2) as both:
        removed = list(both.map(lambda _: leftovers.remove(client, mine.__eq__), range(2)))
    assert len(max(removed, key=len)) == len(cell.nodes) + 1 + len(cell.cables)
