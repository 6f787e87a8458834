"""Settings of the whole kernel: parameters of CCAs, limits of buffers, CCAs of the user's own."""

from __future__ import annotations

import os
import subprocess

from .nodes import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .document import KernelModule

    Parameter = tuple[str, str, str]
    """Module, name, value."""

AGENT = "/run/fairc/agent.py"
"""Of fairc's virtual machines, whose kernels are nobody else's."""

AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"
FINIT_MODULE = 313  # on x86-64

CORE = "net.core"
"""In place of a module: limits of socket buffers."""


def available_ccas() -> list[str]:
    """Return the CCAs that the kernel has."""
    with open(AVAILABLE) as available:
        return available.read().split()


def versions() -> dict[str, str]:
    """Return what the numbers depend on outside this program."""
    tc = subprocess.run(["tc", "-V"], capture_output=True, text=True, check=True)
    return {"kernel": os.uname().release, "tc": tc.stdout.strip()}


def write_parameter(module: str, name: str, value: str) -> tuple[str, str]:
    """Write a parameter of a kernel module; return its value before, and the one now in force.

    Raises Failed.
    """
    path = f"/sys/module/{module}/parameters/{name}"
    if module == CORE:
        path = f"/proc/sys/net/core/{name}"
    try:
        with open(path) as parameter:
            before = parameter.read().strip()
        with open(path, "w") as parameter:
            parameter.write(value)
        with open(path) as parameter:
            return before, parameter.read().strip()
    except OSError as error:
        raise Failed(f"{name} of {module} cannot be set to {value}: {error.strerror}") from None


def set_modules(
    wanted: Iterable[Parameter], before: list[Parameter]
) -> dict[str, dict[str, dict[str, str]]]:
    """Write the parameters of the CCAs; return what is in force, for system.json. Raises Failed.

    before: receives what is to be written back, also when a later parameter cannot be written.
    """
    state: dict[str, dict[str, dict[str, str]]] = {}
    for module, name, value in wanted:
        was, now = write_parameter(module, name, value)
        before.append((module, name, was))
        if now != value:
            raise Failed(f"{name} of {module} is {now}, not {value}, after it was written")
        state.setdefault(module, {})[name] = {"before": was, "in_force": now}
    return state


def allow_windows(window_bytes: int, before: list[Parameter]) -> None:
    """Let programs have the socket buffers that they ask for: their limit is that of the whole
    kernel. Raises Failed.
    """
    for name in ("wmem_max", "rmem_max"):
        with open(f"/proc/sys/net/core/{name}") as limit:
            if int(limit.read()) >= window_bytes:
                continue
        was, _ = write_parameter(CORE, name, str(window_bytes))
        before.append((CORE, name, was))


def restore(before: Iterable[Parameter]) -> list[str]:
    """Write back what was in force before, the last one first; return what could not be."""
    notes = []
    for module, name, value in reversed([*before]):
        try:
            _, now = write_parameter(module, name, value)
            if now != value:
                notes.append(f"{name} of {module} was {value} and is {now} now")
        except Failed as error:
            notes.append(str(error))
    return notes


def insert_modules(modules: Iterable[KernelModule]) -> None:
    """Load the user's own kernel modules into the kernel: that of fairc's virtual machine, never a
    host's. From then on a warning or an oops of the kernel ends the machine. Raises Failed.
    """
    import ctypes

    if not os.path.exists(AGENT):
        raise Failed("a kernel module is loaded in fairc's virtual machine only")
    libc = ctypes.CDLL(None, use_errno=True)
    for switch, value in (("panic_on_warn", "1"), ("panic_on_oops", "1"), ("printk", "7")):
        with open(f"/proc/sys/kernel/{switch}", "w") as file:
            file.write(value)
    for module in modules:
        name, parameters = module["name"], " ".join(module["parameters"])
        with open(f"/tmp/{name}.ko", "rb") as file:
            result = libc.syscall(FINIT_MODULE, file.fileno(), parameters.encode(), 0)
        if result:
            why = os.strerror(ctypes.get_errno())
            said = f" with {parameters}" if parameters else ""
            raise Failed(f"the kernel refuses the module {name}{said}: {why}; see the console")
        if module["of"] == "queue":
            _require_discipline(name.partition("-")[2])
            continue
        names = available_ccas()
        if name not in names:
            raise Failed(
                f"the module does not register the CCA {name}; registered: {', '.join(names)}; "
                'give the name that it registers: module("file.c", name: "...")'
            )


def _require_discipline(name: str) -> None:
    """Make a queue of a discipline and remove it. Raises Failed."""
    tried = subprocess.run(
        ["tc", "qdisc", "add", "dev", "lo", "root", name],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        said = " ".join(tried.stderr.split())[-400:]
        raise Failed(
            f"the module does not make a queue `{name}` ({said}); give the name that it registers: "
            'module("file.c", name: "..."); its `init` has to do without options'
        )
    subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], capture_output=True, check=True)


def register_ccas(objects: Mapping[str, str]) -> None:
    """Load the user's own CCAs into the kernel: that of fairc's virtual machine, never a host's.
    Raises Failed.

    objects: name -> BPF struct_ops object, compressed, in base64.
    """
    import base64
    import zlib

    if not os.path.exists(AGENT):
        raise Failed("a BPF CCA is loaded in fairc's virtual machine only: fairc run --engine vm")
    for name, content in objects.items():
        path = name + ".bpf.o"
        with open(path, "wb") as file:
            file.write(zlib.decompress(base64.b64decode(content)))
        command = ["bpftool", "struct_ops", "register", path]
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        os.unlink(path)
        if done.returncode:
            said = (done.stdout + done.stderr).strip()[-4000:]
            raise Failed(f"the kernel refuses the BPF CCA {name}: {said}")
        names = available_ccas()
        if name not in names:
            raise Failed(
                f"the BPF object does not register a CCA called {name}; registered: "
                + ", ".join(names)
                + '; give its registered name: bpf("file", name: "...")'
            )
