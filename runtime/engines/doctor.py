"""`fairc doctor`: what this machine offers each engine, what to install, and damage."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fairc.compiler.binary import EndpointsMissing, find_endpoints
from fairc.compiler.targets import TARGETS
from fairc.dsl.core import plugins
from fairc.dsl.core.cache import cache_directory
from fairc.mechanisms.queues.registry import QUEUES
from fairc.runtime.host.faults import EngineUnavailable, to_install
from fairc.runtime.uml import confinement, source, trial
from fairc.runtime.uml import kernel as kernels
from fairc.runtime.vm import image, qemu, recipe, shipped, snapshot
from fairc.words.figures import FIGURES
from fairc.words.metrics import METRICS

from . import ENGINES, host

SPACE_BYTES = 4 << 30
CONFINED = {
    "bubblewrap": "namespaces of its own by bubblewrap, and a list of system calls",
    "namespaces": "namespaces of its own (bubblewrap is not needed), and a list of system calls",
    "container": "that of the container in which fairc runs; none of its own ({why})",
    "": "none, so nothing that strangers made runs: {why}",
}
ORDINARY_QDISCS = ("netem", "tbf", "bfifo", "pfifo")  # what a cell without an AQM needs
OTHER_KERNEL = "a kernel with this module, or `--engine uml`"
TAKEN_ANEW = "nothing: a run on the engine `vm` that needs this snapshot takes it again"
WANTED_CCAS = ("cubic", "bbr", "reno")


@dataclass(frozen=True, slots=True)
class Finding:
    """One requirement of an engine: whether it is met, what was found, and the remedy."""

    what: str
    well: bool
    found: str = ""
    remedy: str = ""
    needed: bool = True


@dataclass(frozen=True, slots=True)
class EngineFindings:
    """An engine, and what was found for it."""

    name: str
    summary: str
    findings: tuple[Finding, ...]

    @property
    def ready(self) -> bool:
        """Whether it can run an ordinary cell here."""
        return all(finding.well for finding in self.findings if finding.needed)


def examine() -> list[EngineFindings]:
    """Check everything that the engines of this version need."""
    return [
        EngineFindings(kind.name, kind.summary, tuple(EXAMINATIONS[kind.name]()))
        for kind in ENGINES
        if kind.name in EXAMINATIONS
    ]


def plugged() -> Iterator[Finding]:
    """Yield the plug-ins of other packages, and what is wrong with those that cannot be used."""
    for registry in (QUEUES, METRICS, FIGURES, TARGETS, ENGINES):
        registry.names()
    for plugin in plugins.SEEN.values():
        remedy = f"fix {plugin.package}, or uninstall it"
        yield Finding(str(plugin), not plugin.why, plugin.why, remedy)


def vm() -> Iterator[Finding]:
    """Yield what the virtual-time machine needs."""
    try:
        yield Finding("QEMU", True, qemu.version())
    except EngineUnavailable as error:
        yield Finding("QEMU", False, "; ".join(error.missing), error.remedy)
    built, why = _image(recipe.PLAIN)
    if built is not None:
        yield Finding("image", True, f"kernel {built.kernel}, {built.folder}")
    else:
        yield Finding("image", False, why or "not built", image.build_command(recipe.PLAIN))
        for tool, package in image.TOOLS.items():
            yield program(tool, package)
    browser, why = _image(recipe.BROWSER)
    yield Finding(
        "image with a browser",
        browser is not None,
        str(browser.folder) if browser else why or "not built: page loads in Chromium need it",
        image.build_command(recipe.BROWSER),
        needed=False,
    )
    yield endpoints()
    yield cache_space()


def uml() -> Iterator[Finding]:
    """Yield what the fast engine needs."""
    machine = os.uname().machine
    yield Finding("processor", machine == "x86_64", machine, "an x86-64 host")
    built = None
    try:
        shipped.install(source.recipe_hash())
        built = kernels.find()
        if built is not None:
            built.verify()
    except EngineUnavailable as error:
        built = None
        yield Finding("kernel", False, "; ".join(error.missing), error.remedy)
    else:
        found = f"{built.version}, {built.folder}" if built else "not built"
        yield Finding("kernel", built is not None, found, kernels.BUILD_COMMAND)
    there, why = _image(recipe.UML)
    found = str(there.folder) if there else why or "not built"
    yield Finding("image", there is not None, found, image.BUILD_COMMAND)
    if built is not None and there is not None:
        try:
            mode = trial.boot(built, there)
        except EngineUnavailable as error:
            yield Finding("start", False, "; ".join(error.missing), error.remedy)
        else:
            slower = " (slower than seccomp filters, which this host or its CPU does not allow)"
            how = f"boots; programs are followed by {mode}{slower if mode == 'ptrace' else ''}"
            yield Finding("start", True, how)
    yield endpoints()
    how = confinement.name()
    yield Finding(
        "confinement",
        bool(how),
        CONFINED[how].format(why=confinement.missing()),
        confinement.remedy(),
        needed=False,
    )


def _image(variant: recipe.Variant) -> tuple[image.Image | None, str]:
    """Return an image, or None and what is wrong with it; empty if it has not been built."""
    try:
        found = image.find(variant)
        if found is not None:
            found.verify()
        return found, ""
    except EngineUnavailable as error:
        return None, "; ".join(error.missing)


def cache_space() -> Finding:
    """Return whether the cache's disk has room for an image and snapshots."""
    folder = image.folder(recipe.PLAIN)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    room = f"{free / 1e9:.1f} GB free at {folder}"
    writable = os.access(folder, os.W_OK)
    return Finding(
        "room for image and snapshots",
        writable and (free > SPACE_BYTES or _image(recipe.PLAIN)[0] is not None),
        room if writable else f"{folder} cannot be written",
        "free some space, or set XDG_CACHE_HOME to another place",
    )


def mininet() -> Iterator[Finding]:
    """Yield what the host needs; the kernel can only be tried as root."""
    root = host.is_root()
    yield Finding("root", root, "" if root else f"user {os.getuid()}", "run fairc with sudo")
    for name, package in host.PROGRAMS.items():
        yield program(name, package)
    found = host.mininet()
    version = f"{found[1]}, of {found[0]}" if found else ""
    yield Finding("Mininet", found is not None, version, to_install(host.MININET_PACKAGE))
    yield endpoints()
    if not root:
        return
    yield Finding("kernel: veth", host.has_veth(), remedy=OTHER_KERNEL)
    yield from kernel(host.has_qdisc, host.has_cca)


def docker() -> Iterator[Finding]:
    """Yield what containers need; what the kernel offers them is tried out in one."""
    try:
        from fairc.runtime.containers import client
        from fairc.runtime.containers import image as images

        from . import container_probe
    except ModuleNotFoundError as error:
        remedy = "pip install 'docker>=7.1'"
        yield Finding("Docker SDK for Python", False, f"no module {error.name}", remedy)
        return
    yield endpoints()
    try:
        with closing(client.connect()) as found:
            yield Finding(
                "Docker engine", True, f"{found.version()['Version']}, {client.address()}"
            )
            image = images.require(found)
            yield Finding("image", True, image.name)
            there = container_probe.probe(found, image, host.QDISCS, WANTED_CCAS)
    except EngineUnavailable as error:
        yield Finding("containers", False, "; ".join(error.missing), error.remedy)
        return
    except EndpointsMissing:
        return  # already reported
    yield from kernel(there.__contains__, there.__contains__)


def kernel(has_qdisc: Callable[[str], bool], has_cca: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield whether a kernel has each queueing discipline and CCA."""
    feature = partial(Finding, remedy=OTHER_KERNEL)
    for kind in host.QDISCS:
        name, needed = f"kernel: sch_{host.module(kind)} ({kind})", kind in ORDINARY_QDISCS
        yield feature(name, has_qdisc(kind), needed=needed)
    for cca in WANTED_CCAS:
        yield feature(f"kernel: tcp_{cca}", has_cca(cca), needed=False)


def program(name: str, package: str) -> Finding:
    """Return whether a program is installed."""
    path = shutil.which(name)
    return Finding(name, path is not None, path or "", to_install(package))


def endpoints() -> Finding:
    """Return whether the endpoints' program has been built."""
    try:
        return Finding("fairc-endpoints", True, str(find_endpoints()))
    except EndpointsMissing as error:
        return Finding("fairc-endpoints", False, str(error), "make setup")


EXAMINATIONS: dict[str, Callable[[], Iterator[Finding]]] = {
    "uml": uml,
    "vm": vm,
    "mininet": mininet,
    "docker": docker,
}


def verify() -> Iterator[Finding]:
    """Yield each file in the cache that cells need, read in full, and whether it is undamaged; one
    that has not been built is not a finding.
    """
    yield endpoints()
    yield from _verified("kernel", kernels.folder(), kernels.find)
    for variant in recipe.VARIANTS:
        found = partial(image.find, variant)
        yield from _verified(f"image{recipe.suffix(variant)}", image.folder(variant), found)
    home = cache_directory() / "snapshots"
    for folder in sorted(home.iterdir()) if home.is_dir() else ():
        if folder.is_dir() and not folder.name.startswith(snapshot.TAKING):
            well = snapshot.intact(folder, again=True)
            yield Finding("snapshot", well, str(folder), "" if well else TAKEN_ANEW)


def _verified(
    what: str, folder: Path, find: Callable[[], image.Image | kernels.Kernel | None]
) -> Iterator[Finding]:
    try:
        there = find()
        if there is None:
            return
        there.verify(whole=True)
    except EngineUnavailable as error:
        yield Finding(what, False, "; ".join(error.missing), error.remedy)
    else:
        yield Finding(what, True, str(folder))
