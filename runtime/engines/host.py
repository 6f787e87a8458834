"""Capabilities of this machine's kernel and programs; each is tried once."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fairc.cell.diffserv import marking_filters
from fairc.cell.expansion import device_filters, lower
from fairc.cell.links import arriving_filters
from fairc.cell.queues import QUEUE_KINDS, disciplines
from fairc.cell.workloads import BROWSER
from fairc.compiler.binary import NAME, EndpointsMissing, find_endpoints
from fairc.compiler.plan import Cell, interfaces_of
from fairc.mechanisms.queues.registry import QUEUES

# Where Debian's Mininet can be, should another Python come first on PATH.
PYTHONS = ("python3", "/usr/bin/python3")
# Program -> the Debian package that has it.
PROGRAMS = {
    "python3": "python3",
    "ip": "iproute2",
    "tc": "iproute2",
    "unshare": "util-linux",
}
MININET_PACKAGE = "mininet"
BROWSER_PROGRAMS = {"chromium": "chromium", "chromedriver": "chromium-driver"}
SELENIUM_PACKAGE = "python3-selenium"

# Queueing discipline -> arguments with which it can be tried.
QDISCS = {
    "netem": "limit 10 delay 1ms",
    "htb": "default 1",
    "tbf": "rate 1mbit burst 1514 limit 3028",
    **{name: arguments for queue in QUEUES for name, arguments in queue.probes.items()},
}
PROBE_S = 10.0
ACCURATE_ECN = "/proc/sys/net/ipv4/tcp_ecn_option"
"""Exists exactly if TCP has AccECN; each network namespace has its own."""


def missing_programs() -> list[str]:
    """Return the packages of the programs that are not installed."""
    return sorted({package for program, package in PROGRAMS.items() if not shutil.which(program)})


def mininet() -> tuple[str, str] | None:
    """Return the Python that finds Mininet, and Mininet's version; None when there is none."""
    for python in PYTHONS:
        version = _output(python, "-c", "from mininet.net import VERSION; print(VERSION)")
        if version is not None:
            return python, version
    return None


@cache
def selenium() -> str | None:
    """Return the Python that finds Selenium, fairc's own first (`fairc[browser]`); None: none."""
    known = (python for python in (sys.executable, *PYTHONS) if python)
    return next((python for python in known if _succeeds(python, "-c", "import selenium")), None)


def program_version(*command: str) -> str | None:
    """Return the first line that a program prints about its version, or None."""
    text = _output(*command)
    return text.splitlines()[0] if text else None


def has_qdisc(kind: str) -> bool:
    """Whether the kernel has a queueing discipline; tried in a network namespace of its own."""
    try:
        return _succeeds("unshare", "--net", *trial(kind, str(find_endpoints())))
    except EndpointsMissing:
        return False


def trial(kind: str, endpoints: str = NAME) -> list[str]:
    """Return the command that adds a queueing discipline to a network namespace's `lo`."""
    line = f"qdisc add dev lo root {kind} {QDISCS.get(kind, '')}"
    if any(kind in queue.beyond_tc for queue in QUEUE_KINDS):
        return [endpoints, "qdiscs", "--epoch-ns", "0", json.dumps({"lines": [line]})]
    return ["tc", *line.split()]


def has_filter(text: str) -> bool:
    """Whether the kernel has the classifier of a filter, and its actions."""
    line = f"tc filter add dev lo ingress protocol ip prio 1 {text}"
    return _succeeds("unshare", "--net", "sh", "-c", f"tc qdisc add dev lo clsact && {line}")


def has_accurate_ecn() -> bool:
    """Whether the kernel's TCP has AccECN."""
    return Path(ACCURATE_ECN).exists()


def has_veth() -> bool:
    """Whether the kernel has pairs of virtual interfaces."""
    pair = ["name", "probe0", "type", "veth", "peer", "name", "probe1"]
    return _succeeds("unshare", "--net", "ip", "link", "add", *pair)


def has_device(kind: str) -> bool:
    """Whether the kernel has network interfaces of a kind that lie on top of another one."""
    command = f"ip link add probe0 type veth && ip link add link probe0 type {kind}"
    return _succeeds("unshare", "--net", "sh", "-c", command)


def has_cca(name: str) -> bool:
    """Whether the kernel lets this user choose a congestion control algorithm; may load a
    module.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError:
            return False
    return True


def is_root() -> bool:
    """Whether network namespaces can be made."""
    return os.geteuid() == 0


@dataclass(frozen=True, slots=True)
class Kernel:
    """The features of a kernel: interfaces of type veth; which disciplines, CCAs and devices;
    AccECN; which filters.
    """

    has_veth: Callable[[], bool]
    has_qdisc: Callable[[str], bool]
    has_cca: Callable[[str], bool]
    has_device: Callable[[str], bool]
    has_accurate_ecn: Callable[[], bool]
    has_filter: Callable[[str], bool]


HERE = Kernel(has_veth, has_qdisc, has_cca, has_device, has_accurate_ecn, has_filter)


def qdiscs(cell: Cell) -> list[str]:
    """Return the queueing disciplines of a cell."""
    kinds = {"netem"} if cell.processing_ns else set()
    for interface in interfaces_of(cell).values():
        shaper = interface.shaper
        if interface.impairment is not None or (shaper and shaper.transmitter):
            kinds.add("netem")
        if shaper is not None and shaper.transmitter == "here":
            continue
        if shaper is not None:
            kinds.add("htb" if shaper.transmitter or interface.changes else "tbf")
        if interface.queue is not None:
            kinds |= disciplines(interface.queue)
    return sorted(kinds)


def devices(cell: Cell) -> list[str]:
    """Return the kinds of a cell's network interfaces that are stacked on other interfaces."""
    return ["macvlan"] if lower(cell) else []


def ccas(cell: Cell) -> list[str]:
    """Return the CCAs that a cell's kernel must have."""
    kernels = (
        f
        for f in cell.flows
        if f.transport in ("tcp", "web") and not (f.cca_object or f.cca_module)
    )
    return sorted(
        {flow.cca for flow in kernels if flow.cca}
        | {cca for each in cell.devices for cca in each.ccas}
    )


def filters_of(cell: Cell) -> list[str]:
    """Return the filters that a cell's links, queues and flows need: classifiers with actions."""
    found = marking_filters(cell.flows)
    for interface in interfaces_of(cell).values():
        found |= set(arriving_filters(interface))
        found |= interface.queue.filters if interface.queue is not None else frozenset()
    for device in cell.devices:
        found |= {text for place in device.arriving for text in device_filters([device], place)}
        lines = (line for node in device.nodes for line in device.lines(node))
        added = (line.partition(" prio ")[2] for line in lines if line.startswith("filter add "))
        found |= {text.partition(" ")[2] for text in added}
    return sorted(found)


def _modules(text: str) -> list[str]:
    """Return the kernel's modules of a filter."""
    classifier, *actions = text.split(" action ")
    return [f"cls_{classifier.split()[0]}", *(f"act_{action.split()[0]}" for action in actions)]


def wants_accurate_ecn(cell: Cell) -> bool:
    """Whether a flow of a cell has AccECN."""
    return any(flow.options.accurate_ecn for flow in cell.flows)


def missing_of(cell: Cell) -> list[str]:
    """Return the packages of the programs that the flows of a cell need, and are not there."""
    needed = {name for flow in cell.flows for name in flow.workload.programs} - {BROWSER}
    missing = [name for name in sorted(needed) if not shutil.which(name)]
    if any(flow.browser for flow in cell.flows):
        missing += [p for program, p in BROWSER_PROGRAMS.items() if not shutil.which(program)]
        missing += [] if selenium() else [SELENIUM_PACKAGE]
    return missing


def needs(cell: Cell, kernel: Kernel = HERE) -> Iterator[tuple[str, bool]]:
    """Yield a description of each thing that a cell needs of the kernel, and whether it is
    there.
    """
    yield "network interfaces of type veth", kernel.has_veth()
    for kind in devices(cell):
        yield f"network interfaces of type {kind}", kernel.has_device(kind)
    for kind in qdiscs(cell):
        need = f"the queueing discipline {kind} (module sch_{module(kind)})"
        if kind == "netem":
            need += (
                ", which transmits frames: without it, links can only be `transmit = bucket`, and"
                " have no delay"
            )
        yield need, kernel.has_qdisc(kind)
    there: dict[str, bool] = {}
    for text in filters_of(cell):
        modules = ", ".join(_modules(text))
        there[modules] = kernel.has_filter(text) and there.get(modules, True)
    for modules, has in there.items():
        yield f"filters of packets (modules {modules})", has
    if wants_accurate_ecn(cell):
        yield "accurate ECN (net.ipv4.tcp_ecn_option)", kernel.has_accurate_ecn()
    for name in sorted({f.cca for f in cell.flows if f.cca and f.cca_object}):
        yield (
            f"the right to load the BPF program {name}: the virtual machine alone does that",
            False,
        )
    for name in cell.modules:
        yield f"the right to load the kernel module {name}: the engine uml alone does that", False
    for cca in ccas(cell):
        yield f"the congestion control {cca} (module tcp_{cca})", kernel.has_cca(cca)


def module(kind: str) -> str:
    """Return the kernel module of a queueing discipline, without `sch_`."""
    return "fifo" if kind in ("bfifo", "pfifo") else kind


@cache
def _output(*command: str) -> str | None:
    """Return what a command prints, None if it fails; each is tried once."""
    try:
        done = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=PROBE_S,
            # `python -c` imports from where it is started, which may be a stranger's folder
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _succeeds(*command: str) -> bool:
    return _output(*command) is not None
