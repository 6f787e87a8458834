"""`fairc doctor --verify`: all files in the cache that cells need, read in full and compared with
their hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.uml import kernel as kernels
from fairc.runtime.vm import image, recipe, snapshot

from .doctor import Finding, endpoints


def verify() -> Iterator[Finding]:
    """Yield each existing part and whether it is undamaged; a part that has not been built is not a
    finding.
    """
    yield endpoints()
    yield from _found("kernel", kernels.folder(), kernels.find)
    for variant in recipe.VARIANTS:
        found = partial(image.find, variant)
        yield from _found(f"image{recipe.suffix(variant)}", image.folder(variant), found)
    home = recipe.cache_directory() / "snapshots"
    for folder in sorted(home.iterdir()) if home.is_dir() else ():
        if folder.is_dir() and not folder.name.startswith(snapshot.TAKING):
            well = snapshot.intact(folder, again=True)
            yield Finding("snapshot", well, str(folder), "" if well else TAKEN_ANEW)


TAKEN_ANEW = "nothing: a run on the engine `vm` that needs this snapshot takes it again"


def _found(
    what: str, folder: Path, find: Callable[[], image.Image | kernels.Kernel | None]
) -> Iterator[Finding]:
    try:
        there = find()
        if there is None:
            return
        there.verify(whole=True)
    except EngineUnavailable as error:
        yield Finding(what, False, "; ".join(error.missing), error.remedy)
    else:
        yield Finding(what, True, str(folder))
