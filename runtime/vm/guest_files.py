"""The files that a virtual-time machine's initramfs holds for its agent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairc.compiler.targets import runner

from . import recipe


def guest_files(
    variant: recipe.Variant,
    endpoints: Path,
    machine: str,
    with_runner: bool = True,
    modules: Mapping[str, bytes] | None = None,
) -> dict[str, bytes]:
    """Return the files by their path from the agent's folder.

    endpoints: the program of the endpoints. machine: the module that becomes the agent's `machine`.
    with_runner: whether `cell/` is among them. modules: instead of this installation's
    (foreign.py).
    """
    files = {
        "agent.py": (recipe.GUEST / "agent.py").read_bytes(),
        "machine.py": (recipe.GUEST / machine).read_bytes(),
        "exchange.py": Path(__file__).with_name("exchange.py").read_bytes(),
        "fairc-endpoints": endpoints.read_bytes(),
    }
    if with_runner:
        files |= runner.files() if modules is None else modules
    if variant is recipe.BROWSER:
        files["fairc-browser"] = (recipe.GUEST / "browser.py").read_bytes()
        files["page_record.py"] = (recipe.GUEST / "page_record.py").read_bytes()
    return files
