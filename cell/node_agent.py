"""Program in the container of a node: it executes what the conductor sends, until that has gone."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from .configuration import await_carriers, switch_offloads_off
from .nodes import Failed, Local, explain
from .observation import ping

CONTROL = "control"  # where the nodes call the conductor, in the folder that they share
CALL_S = 60.0  # how long they may take for that
MESSAGE_BYTES = 200_000


def check_sysctls(settings: dict[str, str]) -> dict[str, str | None]:
    """Return the kernel options of the node that are in force: the container engine has set them.

    Raises Failed.
    """
    in_force: dict[str, str | None] = {}
    for name, value in settings.items():
        with open("/proc/sys/" + name.replace(".", "/")) as option:
            in_force[name] = " ".join(option.read().split())
        if in_force[name] != value:
            raise Failed(f"{name} is {in_force[name]}, not {value}")
    return in_force


def name_interfaces(interfaces: Sequence[tuple[str, str, str]]) -> None:
    """Give the interfaces of this node the names and MAC addresses of the plan, and no IP address.

    Raises Failed.
    """
    command = ["ip", "-j", "address", "show"]
    show = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {
        ip["local"]: link["ifname"] for link in json.loads(show.stdout) for ip in link["addr_info"]
    }
    lines = []
    for address, name, mac in interfaces:
        if address not in found:
            raise Failed(f"no interface has the address {address} of {name}")
        lines.append(f"link set dev {found[address]} down")
        lines.append(f"address flush dev {found[address]}")
        lines.append(f"link set dev {found[address]} name {name} address {mac}")
    batch = "".join(f"{line}\n" for line in lines)
    command = ["ip", "-batch", "-"]
    done = subprocess.run(command, input=batch, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"ip: {explain(done.stderr, lines)}")


CALLED: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (await_carriers, check_sysctls, name_interfaces, ping, switch_offloads_off)
}


def serve(name: str) -> None:
    """Be a node: do what the conductor says until it has gone."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.environ["TMPDIR"] = os.getcwd()  # nothing else can be written to
    control = call_conductor(name)
    running: dict[int, tuple[Local, int]] = {}
    poller = select.poll()
    poller.register(control, select.POLLIN)
    while True:
        for descriptor, _ in poller.poll():
            if descriptor == control.fileno():
                message, theirs, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 4)
                if not message:
                    return  # the container ends, and with it all that runs here
                control.send(json.dumps(obey(json.loads(message), theirs, running)).encode())
                for ended in running:
                    poller.register(ended, select.POLLIN)
            else:
                poller.unregister(descriptor)
                process, status = running.pop(descriptor)
                with contextlib.suppress(BrokenPipeError):
                    os.write(status, str(process.wait()).encode())
                os.close(status)
                os.close(descriptor)


def call_conductor(name: str) -> socket.socket:
    """Return the connection to the conductor, which may start later than this."""
    give_up = time.monotonic() + CALL_S
    while True:
        control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            control.connect(CONTROL)
            control.send(name.encode())
            return control
        except (FileNotFoundError, ConnectionError):
            control.close()
        if time.monotonic() > give_up:
            sys.exit("the conductor is gone")
        time.sleep(0.02)


def obey(
    order: dict[str, Any], descriptors: Sequence[int], running: dict[int, tuple[Local, int]]
) -> dict[str, Any]:
    """Carry out an order of the conductor; return the answer.

    running: receives a descriptor that signals the end of a started process, the process, and where
    to write its exit status.
    """
    try:
        if "call" in order:
            return {"value": CALLED[order["call"]](*order["arguments"])}
        if "signal" in order:
            for process, _ in running.values():
                if process.pid == order["process"]:
                    process.send_signal(order["signal"])
            return {}
        *streams, status = descriptors
        try:
            stdin, stdout, stderr = streams
            process = Local(order["start"], stdin=stdin, stdout=stdout, stderr=stderr)
        finally:
            for descriptor in streams:
                os.close(descriptor)
        running[process.watch()] = (process, status)
        return {"process": process.pid}
    except (Failed, OSError, subprocess.SubprocessError) as error:
        return {"failed": str(error)}
