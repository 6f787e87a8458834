"""A probe of the kernel for containers: each feature is tried out in one."""

from __future__ import annotations

import json
from collections.abc import Iterable

from fairc.compiler.targets.containers import CAPABILITIES
from fairc.runtime.containers.client import Client, translated
from fairc.runtime.containers.image import Image
from fairc.runtime.containers.leftovers import label

from .host import ACCURATE_ECN, trial

TRY = """
import json, os, socket, subprocess, sys
qdiscs, ccas, devices, paths, filters = json.loads(sys.argv[1])
there = []
for kind, add in qdiscs.items():
    if subprocess.run(add, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
        there.append(kind)
        subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=True)
for cca in ccas:
    try:
        socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cca.encode())
        there.append(cca)
    except OSError:
        pass
for number, kind in enumerate(devices):
    below = f"probe{number}"
    subprocess.run(["ip", "link", "add", below, "type", "veth"], check=True)
    add = ["ip", "link", "add", "link", below, "type", kind]
    if subprocess.run(add, stderr=subprocess.DEVNULL).returncode == 0:
        there.append(kind)
    subprocess.run(["ip", "link", "del", below], check=True)
for text in filters:
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "clsact"], stderr=subprocess.DEVNULL)
    add = f"tc filter add dev lo ingress protocol ip prio 1 {text}".split()
    if subprocess.run(add, stderr=subprocess.DEVNULL).returncode == 0:
        there.append(text)
    subprocess.run(["tc", "qdisc", "del", "dev", "lo", "clsact"], stderr=subprocess.DEVNULL)
print(json.dumps(there + [path for path in paths if os.path.exists(path)]))
"""


def probe(
    client: Client,
    image: Image,
    qdiscs: Iterable[str],
    ccas: Iterable[str],
    devices: Iterable[str] = (),
    filters: Iterable[str] = (),
) -> set[str]:
    """Return which of these queueing disciplines, CCAs, devices and `host.ACCURATE_ECN` exist; may
    load modules.

    devices: kinds of network interfaces that are stacked on other interfaces. filters: classifiers
    with actions.

    Raises EngineUnavailable, also if the engine does not let containers do this at all.
    """
    wanted = json.dumps(
        [
            {kind: trial(kind) for kind in qdiscs},
            *(list(ccas), list(devices), [ACCURATE_ECN], list(filters)),
        ]
    )
    with translated():
        created = client.containers.create(
            image.name,
            command=["python3", "-c", TRY, wanted],
            labels=label(),
            network_mode="none",
            cap_drop=["ALL"],
            cap_add=list(CAPABILITIES),
            read_only=True,
        )
        try:
            created.start()
            created.wait()
            output = created.logs(stdout=True, stderr=False).decode()
        finally:
            created.remove(force=True, v=True)
    return set(json.loads(output.strip() or "[]"))
