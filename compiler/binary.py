"""The location of the endpoints' program on the machine that compiles."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from .files import sha256_of

NAME = "fairc-endpoints"
ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "FAIRC_ENDPOINTS"
# In a wheel (scripts/dist).
PACKAGED = ROOT / "compiler" / "targets" / NAME
# Where cargo puts it; endpoints/.cargo/config.toml says why the triple is in the path.
BUILT = f"endpoints/target/{platform.machine()}-unknown-linux-gnu/release/{NAME}"


class EndpointsMissing(Exception):
    """The endpoints' program is not on this machine; the message says where it was looked for."""


def find_endpoints() -> Path:
    """Return the path of `fairc-endpoints`: from FAIRC_ENDPOINTS, the checkout's build, the
    package, or PATH.

    Its hash is compared with the one that was recorded next to it when it was built, if it was.
    Raises EndpointsMissing.
    """
    program = _look()
    if damaged(program):
        raise EndpointsMissing(
            f"{program} is damaged: its hash differs from the one in {_record(program)}; to"
            " get it again:"
            + (
                " `pip install --force-reinstall --no-deps fairc-*.whl`, its wheel"
                if program == PACKAGED
                else f" `cd endpoints && cargo clean --release -p {NAME}`, and `make setup`"
            )
        )
    return program


def damaged(program: Path) -> bool:
    """Whether the program differs from the one recorded when it was built; never without a record.

    A record older than cargo's last build belongs to another program: somebody is developing it.
    """
    record = _record(program)
    try:
        recorded = record.read_text(encoding="ascii").strip()
        since = record.stat().st_mtime
        builds = (program.parent / ".fingerprint").glob(f"{NAME}-*/invoked.timestamp")
        if any(stamp.stat().st_mtime > since for stamp in builds):
            return False
        return sha256_of(program) != recorded
    except FileNotFoundError:
        return False
    except (OSError, UnicodeDecodeError):
        return True


def _record(program: Path) -> Path:
    return program.with_name(f"{program.name}.sha256")


def _look() -> Path:
    named = os.environ.get(VARIABLE)
    if named is not None:
        if not _runs(Path(named)):
            raise EndpointsMissing(f"{VARIABLE} names {named}, which is not a program")
        return Path(named)
    built = ROOT / BUILT
    if _runs(built):
        return built
    if PACKAGED.is_file():  # it runs in guests only: here the file system may forbid it
        return PACKAGED
    on_path = shutil.which(NAME)
    if on_path is None:
        raise EndpointsMissing(
            f"{NAME} is neither at {built} nor on PATH; `make setup` builds it,"
            f" or name it in {VARIABLE}"
        )
    return Path(on_path)


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
