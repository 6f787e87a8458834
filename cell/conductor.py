"""The conductor: configures the nodes, starts programs, observes, changes links, ends it all,
collects.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

from .clock import RealTime, VirtualTime
from .configuration import await_carriers
from .kernel import (
    allow_windows,
    available_ccas,
    insert_modules,
    register_ccas,
    restore,
    set_modules,
)
from .nodes import Failed
from .observation import ping_all, seeds_in_force, write_json, write_queues
from .processes import Processes
from .programs import ENDPOINTS, NotReady, Programs, find_program, last_words, names
from .schedule import LinkChanges, Schedule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType
    from typing import Any

    from .document import Document, Forwarder
    from .kernel import Parameter
    from .nodes import Nodes

FORWARDER_PATIENCE_NS = 5_000_000_000
GRACE_NS = 2_000_000_000
"""For a program to end on SIGTERM."""
MOST_PATIENCE_NS = 300_000_000_000
"""For proxies to open their connections."""


def conduct(
    document: Document,
    nodes: Callable[[], Nodes],
    place: str,
    begins: Callable[[], None] = lambda: None,
) -> int:
    """Run a cell in the current folder, whatever happens; return the exit status of this program.

    nodes: makes them. place: where the endpoints are looked for. begins: is called when all is
    ready and the flows are about to begin. In the end cell.json says how it went.
    """
    allow_open_files()
    clock = RealTime() if document["epoch_ns"] is None else VirtualTime(document["epoch_ns"])
    cell = Cell(document, clock, place, begins)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stopped)
    try:
        cell.run(nodes())
    except (Failed, OSError, subprocess.SubprocessError) as error:
        cell.outcome["ended_by"] = "failed"
        cell.outcome["notes"].append(str(error))
        print(error, file=sys.stderr)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    cell.processes.kill()
    cell.outcome["notes"] += restore(cell.before)
    cell.outcome["processes"] = cell.processes.status
    write_json("cell.json", cell.outcome)
    return 1 if cell.outcome["ended_by"] == "failed" else 0


def stopped(number: int, frame: FrameType | None) -> None:
    """Turn a signal into a failure, so that everything is cleaned up."""
    raise Failed(f"stopped by {signal.Signals(number).name}")


def enter(folder: str) -> None:
    """Make a folder, and have everything written there."""
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)


def allow_open_files() -> None:
    """Allow this process as many open files as may be: each node is two."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Cell:
    """A cell that runs. before: parameters of the kernel that are to be written back.

    outcome: what cell.json says.
    """

    def __init__(
        self,
        document: Document,
        clock: RealTime,
        place: str,
        begins: Callable[[], None] = lambda: None,
    ) -> None:
        self.document, self.clock, self.place, self.begins = document, clock, place, begins
        self.processes = Processes(clock)
        self.before: list[Parameter] = []
        self.outcome: dict[str, Any] = {
            "id": document["id"],
            "epoch_ns": 0,
            "ended_ns": 0,
            "ended_by": "",
            "processes": {},
            "notes": [],
        }

    def run(self, nodes: Nodes) -> None:
        """Configure, start, observe, change, end, collect. Raises Failed."""
        endpoints = find_program(ENDPOINTS, self.place)
        beyond = [n["name"] for n in self.document["network"]["nodes"] if n["beyond_tc"]]
        self._configure(nodes, endpoints)
        proxied = self._open_proxies(nodes) if self.document["proxies"] else None
        queues = write_queues(nodes, "qdisc-before.json", endpoints, beyond)
        self.outcome["notes"] += seeds_in_force(queues, self.document["seeds"])
        self._run_flows(nodes, proxied)
        write_queues(nodes, "qdisc-after.json", endpoints, beyond)

    def _configure(self, nodes: Nodes, endpoints: str) -> None:
        """Set up kernel and network, measure it while it is idle."""
        document = self.document
        if document["objects"]:
            register_ccas(document["objects"])
        if document["inserted"]:
            insert_modules(document["inserted"])
        system: dict[str, Any] = {**nodes.versions()}
        in_force = nodes.set_up(document["network"], endpoints)
        for node in document["network"]["nodes"]:
            ends = [end for i in node["interfaces"] for end in (i["lower"], i["name"]) if end]
            nodes[node["name"]].call(await_carriers, ends)
            if lines := node.get("mptcp"):
                nodes[node["name"]].run(["ip", "-batch", "-"], lines)
        if document["tunnels"]:  # nothing reaches the other side before they run
            programs = Programs(nodes, self.processes, self.clock.now_ns(), self.place)
            self._take_over(nodes, programs, document["tunnels"])
        system |= {"sysctl": in_force["sysctl"], "offloads": in_force["offloads"]}
        if document["processing_ns"]:
            system["processing"] = {"bound_ns": document["processing_ns"]}
        system["slack_ns"] = document["slack_ns"]
        system["ccas"] = available_ccas()
        system["modules"] = set_modules(document["modules"], self.before)
        if document["window_bytes"]:
            allow_windows(document["window_bytes"], self.before)
        system["pacing"] = "internal to TCP (no fq on any interface)"
        write_json("system.json", system)
        write_json("ping.json", ping_all(nodes, document["pings"]))

    def _open_proxies(self, nodes: Nodes) -> Programs:
        """Start the proxies, and wait until their connections are open, however many packets of
        these are lost; return what starts programs of this epoch.

        In real time the epoch is as near as `patience_ns` allows: where that was not enough, the
        proxies start once more, with twice the time. Raises Failed.
        """
        document, lead_ns = self.document, self.document["lead_ns"]
        patience_ns, spent_ns = document["patience_ns"], 0
        while True:
            epoch_ns = self.clock.epoch_ns(lead_ns + patience_ns)
            programs = Programs(nodes, self.processes, epoch_ns, self.place)
            try:
                programs.start_ready(document["proxies"], epoch_ns - lead_ns)
            except NotReady:
                spent_ns += patience_ns
                if spent_ns >= MOST_PATIENCE_NS:
                    raise
                programs.discard(document["proxies"])
                patience_ns *= 2
            else:
                self.clock.sleep_until(epoch_ns - lead_ns)
                return programs

    def _run_flows(self, nodes: Nodes, proxied: Programs | None) -> None:
        """Start captures and endpoints, wait for the end, let the network drain, end the
        captures. proxied: what has started the proxies, where there are some.
        """
        document, processes = self.document, self.processes
        programs = proxied or Programs(
            nodes, processes, self.clock.epoch_ns(document["lead_ns"]), self.place
        )
        epoch_ns = self.outcome["epoch_ns"] = programs.epoch_ns
        programs.start_captures(document["captures"])
        programs.start(document["monitor"])
        self._take_over(nodes, programs, document["devices"])
        for program in document["servers"] + document["clients"]:
            programs.start(program)
        changes = LinkChanges(nodes, self.clock, epoch_ns, document["changes"])
        schedule = Schedule(self.clock, changes.due())
        slow = "this machine is too slow"
        if document["epoch_ns"] is not None:
            slow = "there are too many flows for the 10 min before a cell of the virtual clock"
        if self.clock.now_ns() > epoch_ns:
            raise Failed(f"{slow}: programs were still starting when the experiment began")

        servers, clients = self._ends()
        self.begins()
        self.outcome["ended_by"] = self.wait_for_end(epoch_ns, schedule)
        self.outcome["ended_ns"] = self.clock.now_ns() - epoch_ns

        processes.signal(clients, signal.SIGTERM)
        processes.wait(servers + clients, document["drain_ns"])
        processes.signal(servers, signal.SIGTERM)
        late = processes.wait(servers + clients, GRACE_NS)
        self.outcome["notes"] += [f"{name} did not end on SIGTERM" for name in late]
        processes.signal(late, signal.SIGKILL)  # else it would go on sending while queues drain
        programs.stop(document["proxies"])
        self.clock.sleep_until(self.clock.now_ns() + document["drain_ns"])
        processes.signal(["monitor"], signal.SIGTERM)
        processes.wait(["monitor"], GRACE_NS)
        changes.end()
        programs.stop_captures(document["captures"])
        programs.stop([*document["devices"], *document["tunnels"]])

    def _take_over(self, nodes: Nodes, programs: Programs, several: Sequence[Forwarder]) -> None:
        """Start programs that forward packets, and have the kernel forward none of theirs."""
        programs.start_ready(several, self.clock.now_ns() + FORWARDER_PATIENCE_NS)
        for one in several:
            nodes[one["node"]].run(["ip", "rule", "add", "iif", one["ingress"], "blackhole"])

    def _ends(self) -> tuple[list[str], list[str]]:
        """Return the names of all servers, and of all clients."""
        return names(self.document["servers"]), names(self.document["clients"])

    def wait_for_end(self, epoch_ns: int, schedule: Schedule) -> str:
        """Return what ended the cell. Raises Failed when a program fails before that."""
        document, processes = self.document, self.processes
        limit_ns, limit = document["deadline_ns"], "deadline"
        if document["duration_ns"] is not None:
            limit_ns, limit = min((document["duration_ns"], "duration"), (limit_ns, limit))
        servers, clients = self._ends()
        forwarders = [*document["proxies"], *document["devices"], *document["tunnels"]]
        others = ["monitor", *names(forwarders)]
        active = set(clients)
        end_ns = epoch_ns + limit_ns
        while self.clock.now_ns() < end_ns:
            schedule.carry_out(end_ns)
            for name in processes.wait_any([*others, *servers, *clients], schedule.wake_ns(end_ns)):
                status = processes.status[name]
                if status != 0 or name in others:
                    raise Failed(f"{name} ended with exit status {status}: {last_words(name)}")
                active.discard(name)
            if self.clock.now_ns() < end_ns:
                if document["stop"] == "first" and len(active) < len(clients):
                    return "first"
                if not active and document["duration_ns"] is None:
                    return "finished"
        return limit
