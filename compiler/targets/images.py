"""Third-party images: what containers a flow's two ends are, by the contract of
quic-interop-runner.

github.com/quic-interop/quic-interop-runner, README: an image is a server or a client as ROLE says;
the server serves /www on port 443 with the certificate of /certs; the client downloads REQUESTS
into /downloads and exits with 0, or with 127 when it does not know the TESTCASE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairc.cell.certificates import CERTIFICATES
from fairc.cell.image import SERVER_NAME, WAITED_FOR, variables
from fairc.compiler.passes.ports import IMAGE_PORT
from fairc.compiler.plan import Cell, Flow
from fairc.dsl.core.problems import fail


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of a cell's results, by its path from there, and where a container sees
    it.
    """

    path: str
    inside: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class ImageContainer:
    """An end of a flow: its name (`flow.server`), its image, and the node whose network it has."""

    name: str
    image: str
    node: str
    environment: dict[str, str]
    mounts: tuple[Mount, ...]
    address: str

    @property
    def begin(self) -> str:
        """The file that says: start it."""
        return f"{self.name}.begin"

    @property
    def ended(self) -> str:
        """The file that says how it ended."""
        return f"{self.name}.ended"


def names(cell: Cell) -> list[str]:
    """Return the images of a cell, each once."""
    return sorted({flow.pulled_image for flow in cell.flows if flow.pulled_image is not None})


def refuse(cell: Cell, target: str) -> None:
    """Raise CompileError for a cell with images, on behalf of a target without containers."""
    for flow in cell.flows:
        if flow.image is not None:
            fail(
                "image-needs-containers",
                f"the target {target} cannot run the image `{flow.image}`"
                f" of the flow `{flow.name}`",
                help="compile it with `--target containers`",
            )


def containers(flows: Iterable[Flow]) -> tuple[ImageContainer, ...]:
    """Return the containers of all flows that have an image."""
    return tuple(container for flow in flows if flow.image is not None for container in _ends(flow))


def _ends(flow: Flow) -> Iterator[ImageContainer]:
    assert flow.image is not None
    for side, node in (("server", flow.server), ("client", flow.client)):
        name = f"{flow.name}.{side}"
        files = ("www", True) if side == "server" else ("downloads", False)
        yield ImageContainer(
            name,
            flow.image,
            node,
            variables(side, IMAGE_PORT, "/logs/qlog/"),
            (
                Mount(f"{name}/{files[0]}", f"/{files[0]}", files[1]),
                Mount(f"{name}/certs", "/certs", True),
                Mount(f"{name}/logs", "/logs", False),
                Mount(f"{name}/hosts", "/etc/hosts", True),
            ),
            flow.address,
        )


def make_folders(results: Path, container: ImageContainer) -> None:
    """Make what a container mounts; the file that the server serves is made when the cell runs."""
    base = results / container.name
    for mount in container.mounts:
        if not mount.inside.startswith("/etc/"):
            (results / mount.path).mkdir(parents=True)
            (results / mount.path).chmod(0o777)  # whoever the image runs as
    base.chmod(0o777)
    (base / "logs/qlog").mkdir()
    (base / "logs/qlog").chmod(0o777)
    for name, text in CERTIFICATES.items():
        copy = base / "certs" / name
        copy.write_text(text)
        copy.chmod(0o644)
    names = f"{container.address} {SERVER_NAME} server\n{WAITED_FOR[0]} sim\n"
    (base / "hosts").write_text(f"127.0.0.1 localhost\n{names}", encoding="utf-8")
    (base / "hosts").chmod(0o644)
