"""An image of a QUIC stack that is not fairc's: aioquic on the engine's base image, by the contract."""

from __future__ import annotations

import io
import sys
import tarfile
from importlib import metadata
from pathlib import Path

from fairc.runtime.containers import image
from fairc.runtime.containers.client import Client

PROGRAM = Path(__file__).parents[1] / "containers/interop/run_endpoint"
# What `import aioquic` needs; wheels for the base image's Python, which is Debian's.
DISTRIBUTIONS = (
    *("aioquic", "attrs", "certifi", "cffi", "cryptography", "pyasn1", "pyasn1-modules"),
    *("pycparser", "pylsqpack", "pyopenssl", "service-identity", "typing-extensions"),
)
BASE_PYTHON = (3, 11)


def missing() -> str:
    """Return what this machine lacks for it."""
    if sys.version_info[:2] != BASE_PYTHON:
        return "Python 3.11, that of the image"
    try:
        metadata.distribution("aioquic")
    except metadata.PackageNotFoundError:
        return "the Python package aioquic"
    return ""


def build(client: Client, name: str, **environment: str) -> None:
    """Build the image, without a network; environment: of its containers."""
    steps = [f"FROM {image.base_name()}", "COPY site-packages /opt/site-packages"]
    steps += ["COPY run_endpoint /run_endpoint", "ENV PYTHONPATH=/opt/site-packages"]
    steps += [f"ENV {key}={value}" for key, value in environment.items()]
    steps += ['ENTRYPOINT ["/run_endpoint"]']
    said = client.api.build(
        fileobj=_context("\n".join(steps)),
        custom_context=True,
        tag=name,
        rm=True,
        forcerm=True,
        network_mode="none",
        decode=True,
    )
    assert not [line for line in said if "error" in line]


def _context(dockerfile: str) -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo("Dockerfile")
        member.size = len(dockerfile)
        archive.addfile(member, io.BytesIO(dockerfile.encode()))
        archive.add(PROGRAM, "run_endpoint")
        for name in DISTRIBUTIONS:
            try:
                found = metadata.distribution(name)
            except metadata.PackageNotFoundError:
                continue  # which this version does not need
            for file in found.files or ():
                where = Path(str(found.locate_file(file)))
                if where.is_file() and ".." not in file.parts and where.suffix != ".pyc":
                    archive.add(where, f"site-packages/{file}")
    made.seek(0)
    return made
