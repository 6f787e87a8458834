"""An image of a QUIC stack that is not fairc's: aioquic on the engine's base image, by the
contract.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

from fairc.runtime.containers import image
from fairc.runtime.containers.client import Client

PROGRAM = Path(__file__).parents[1] / "containers/interop/run_endpoint"
# What `import aioquic` needs, and any Python 3 can import.
DISTRIBUTIONS = (
    *("aioquic", "attrs", "certifi", "cryptography", "pyasn1", "pyasn1-modules"),
    *("pycparser", "pylsqpack", "pyopenssl", "service-identity", "typing-extensions"),
)
# What is compiled for one Python, and is fetched for that of the base image, which is Debian 13's.
COMPILED = "cffi"
BASE_PYTHON = "3.13"


def missing() -> str:
    """Return what this machine lacks for it."""
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
        with tempfile.TemporaryDirectory() as folder:
            _unpack_wheel(Path(folder))
            archive.add(Path(folder, "unpacked"), "site-packages")
    made.seek(0)
    return made


def _unpack_wheel(folder: Path) -> None:
    """Fetch what is compiled for the base image's Python, in the version that is installed here."""
    wanted = f"{COMPILED}=={metadata.version(COMPILED)}"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run(
        [*pip, "--python-version", BASE_PYTHON, "--dest", str(folder), wanted], check=True
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
