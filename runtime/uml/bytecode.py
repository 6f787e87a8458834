"""The bytecode of the Python modules that every machine of the engine `uml` runs, compiled once.

Without it each machine would compile them anew at its start, a fifth of what a short cell costs.
The Python of the image compiles, in a machine of its own; the bytecode follows from the image and
the sources, so it is no part of any key. It is kept in the cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

from fairc.dsl.core.cache import cache_directory
from fairc.runtime.host import bounds
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.vm.image import Image

from . import kept, machine
from .kernel import Kernel

SCRIPT = Path(__file__).with_name("bytecode.sh")
FOLDER = "bytecode"
LIMITS = bounds.Limits(virtual_s=3600.0, cpu_s=120.0)
ROOM_BYTES = 4 << 20
_NAME = re.compile(r"(?:[a-z_]+/)?__pycache__/([a-z0-9_]+)\.cpython-[0-9]+\.pyc")


def compiled(kernel: Kernel, image: Image, modules: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the bytecode of modules by its path, from the cache or compiled now.

    kernel: what the compiling machine boots. modules: their sources, by the path from the folder
    where machines have them. Raises EngineUnavailable.
    """
    hashes = {name: hashlib.sha256(source).hexdigest() for name, source in modules.items()}
    parts = [image.digest, SCRIPT.read_text(), hashes]
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    place = cache_directory() / FOLDER / f"{key}.tar.z"
    if (archive := kept.read(place)) is not None:
        return machine.files_in(zlib.decompress(archive), _is_wanted)
    ran = machine.run_script(
        kernel,
        image,
        SCRIPT.read_bytes(),
        LIMITS,
        arguments=machine.kernel_arguments(image.variant),
        disk=image.root,
        files={f"fairc/{name}": code for name, code in modules.items()},
        room_bytes=ROOM_BYTES,
    )
    found = ran.files(_is_wanted)
    if len(found) != len(modules):
        raise EngineUnavailable(
            (f"the machine that compiles the programs of the engine `uml` failed: {ran.reason}",),
            "fairc doctor",
        )
    with contextlib.suppress(OSError):  # jobs of a cluster may not write there: each compiles then
        kept.write(place, zlib.compress(ran.exchange))
    return found


def _is_wanted(name: str, size: int) -> bool:
    return _NAME.fullmatch(name) is not None
