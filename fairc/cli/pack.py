"""`fairc pack`: write RUN as one zip file: spec, plan, lock, results, tables, figures, report,
programs.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from fairc.compiler.plan import Plan
from fairc.compiler.record import of_file
from fairc.runtime.host.clean import remove_temporary
from fairc.runtime.host.supervisor import temporary_prefix
from fairc.runtime.pack import zipped
from fairc.runtime.pack.contents import contents, raw_bytes, require
from fairc.runtime.pack.rebuilding import as_packed
from fairc.runtime.ranges.cells import finished, missing
from fairc.runtime.report import place
from fairc.runtime.store.folder import Store, runs_in
from fairc.runtime.vm import portable

from . import console
from .conclusion import slot_for_report
from .failures import UsageError
from .image import saved_parts, usual_image
from .results import plan_of, suite_of

KEPT = 100
"""Of how many packs of a run it is known that fairc made them."""


def pack(run: Path, output: Path | None, with_image: bool, with_raw: bool) -> None:
    """Write RUN as one zip file: spec, plan, lock, results, tables, figures, report, programs."""
    runs = runs_in(run)
    plans = [plan_of(folder) for folder in runs.values()]
    name = plans[0].experiment if "" in runs else suite_of(plans[0])
    path = output or Path(f"{name}.zip")
    if path.suffix != ".zip":
        raise UsageError(f"a pack is a zip file, but `{path}` has no `.zip`", f"`-o {path}.zip`")
    beside = path.absolute().parent
    if not beside.is_dir():
        raise UsageError(f"{beside} is not a folder")
    for folder in (None, beside):
        remove_temporary(folder)  # left over from killed runs
    prefix = temporary_prefix("pack")
    with (
        ExitStack() as locked,
        tempfile.TemporaryDirectory(prefix=prefix) as scratch,
        tempfile.TemporaryDirectory(prefix=prefix, dir=beside) as unfinished,
    ):
        stores = [locked.enter_context(Store(folder)) for folder in runs.values()]
        record = stores[0].record() if "" in runs else place.record_of_all(run)
        if os.path.lexists(path) and not (path.is_file() and of_file(path).sha256 in record.packs):
            raise UsageError(
                f"{path} exists, and is not a pack that fairc made of {run}",
                "move or remove it, or name another file with -o",
            )
        raw = sum(map(raw_bytes, stores))
        if with_raw:
            console.say(f"raw artefacts: {raw / 1e6:.1f} MB")
        else:
            console.say(f"without raw artefacts ({raw / 1e6:.1f} MB: --with-raw)")
        for store in stores:
            require(store, with_raw)
        _warn(run, dict(zip(runs, plans, strict=True)), stores)
        built = Path(scratch, "run")
        with slot_for_report():
            as_packed(run, built, with_raw)
        image = saved_image(plans, Path(scratch)) if with_image else None
        pack = Path(unfinished, "pack.zip")
        zipped.write(pack, contents(built, Path(scratch), with_raw, image))
        made = of_file(pack).sha256
        record.packs = (*(sha256 for sha256 in record.packs if sha256 != made), made)[-KEPT:]
        record.save()
        pack.replace(path)
    console.outcome(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")


def _warn(run: Path, plans: Mapping[str, Plan], stores: Iterable[Store]) -> None:
    """Warn of what `fairc verify` will find missing in the pack of a run."""
    for plan, store in zip(plans.values(), stores, strict=True):
        if absent := missing(store, {cell.id for cell, _ in finished(store)}):
            console.say(
                f"warning: {len(absent)} of the plan's {plan.cells} cells have no result, and"
                f" `fairc verify` will say so: fairc run {store.path} -o {store.path}"
            )
    declared = next(iter(plans.values())).experiments if "" not in plans else ()
    if lacking := [name for name in declared if name not in plans]:
        console.say(
            f"warning: {', '.join(lacking)} of the file's {len(declared)} experiments have not been"
            f" run, and `fairc verify` will say so: fairc run FILE -o {run}"
        )


def saved_image(plans: Sequence[Plan], folder: Path) -> Path:
    """Save the image of the engine of some plans, one in virtual time. Raises UsageError."""
    engine = plans[0].engine
    if other := next((plan for plan in plans if plan.engine != engine), None):
        raise UsageError(
            f"{plans[0].experiment} ran on {engine} and {other.experiment} on {other.engine}: a"
            " pack holds the image of one engine",
            "pack each experiment by itself, or without --with-image",
        )
    variant = usual_image(engine)
    if variant is None:
        raise UsageError(f"the engine {engine} has no image: --with-image does not apply")
    path = folder / "image.tar.zst"
    portable.save(saved_parts(variant), path)
    return path
