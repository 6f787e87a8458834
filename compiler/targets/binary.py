"""Where the endpoints' program is on the machine that compiles."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

NAME = "fairc-endpoints"
ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "FAIRC_ENDPOINTS"
# Where cargo puts it; endpoints/.cargo/config.toml says why the triple is in the path.
BUILT = f"endpoints/target/{platform.machine()}-unknown-linux-gnu/release/{NAME}"


class EndpointsMissing(Exception):
    """The endpoints' program is not on this machine; the message says where it was looked for."""


def find_endpoints() -> Path:
    """Return the path of `fairc-endpoints`: from FAIRC_ENDPOINTS, the checkout's build, or PATH.

    Raises EndpointsMissing.
    """
    named = os.environ.get(VARIABLE)
    if named is not None:
        if not _runs(Path(named)):
            raise EndpointsMissing(f"{VARIABLE} names {named}, which is not a program")
        return Path(named)
    built = ROOT / BUILT
    if _runs(built):
        return built
    on_path = shutil.which(NAME)
    if on_path is None:
        raise EndpointsMissing(
            f"{NAME} is neither at {built} nor on PATH; `make setup` builds it,"
            f" or name it in {VARIABLE}"
        )
    return Path(on_path)


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
