"""Derive a cell's stored results from its raw artefacts.

Also a program: `analysts.py` starts several, so that analyses use several processors. It reads the
requested metrics as a first line of JSON, then one job per line, and answers each with a line.
"""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from pathlib import Path

from fairc.compiler.plan import Cell, Requests
from fairc.dsl.model.base import Model
from fairc.runtime.analysis.cells import ArtefactError, analyse, write_files
from fairc.runtime.host import archive, faults
from fairc.runtime.measurement.artefacts import Artefacts
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.store.cell_folder import CONSOLE, RAW
from fairc.runtime.store.tables import write_series

MOST_TIMES_LATE, MOST_LATE_NS = 10, 3600 * 10**9
"""How long after its deadline a cell ends at most, however busy the machine is."""


class Job(Model):
    """A cell to analyse.

    result: known before the analysis: status `failed`, and `error` where the engine failed.
    artefacts: folder of the raw artefacts. stored: the archive from which they are unpacked first,
    if any. console: the machine's output. folder: for the files to be stored. keep_raw: also the
    raw artefacts of a valid cell.
    """

    cell: Cell
    result: CellResult
    artefacts: Path
    stored: Path | None = None
    console: str = ""
    folder: Path
    keep_raw: bool = True


class Answer(Model):
    """The outcome of a job: its result, none if the stored archive is damaged, or a fault of this
    machine.
    """

    result: CellResult | None = None
    missing: tuple[str, ...] = ()
    remedy: str = ""


def derive(job: Job, requests: Requests) -> CellResult | None:
    """Return a cell's result; its series, other files and raw artefacts go to the job's folder.

    None if the stored archive is damaged. Raises MachineFault.
    """
    try:
        if job.stored and not _unpacked(job.stored, job):
            return None
        result, console = _analysed(job, requests)
        if job.keep_raw or result.verdict != "valid":
            if job.stored:
                link_or_copy(job.stored, job.folder / RAW)
            else:
                archive.pack(job.artefacts, job.folder / RAW)
        if result.status == "failed":
            (job.folder / CONSOLE).write_text(console, encoding="utf-8", errors="replace")
    except Exception as error:
        if fault := faults.of(error):
            raise fault from error
        raise
    return result


def link_or_copy(source: Path, target: Path) -> None:
    """Link or copy a file to a second place; stored files are replaced, never modified."""
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)


def _unpacked(stored: Path, job: Job) -> bool:
    """Unpack stored artefacts; return whether they are what the engine received."""
    try:
        archive.unpack(stored, job.artefacts)
    except (OSError, ValueError) as error:
        if fault := faults.of(error):
            raise fault from error
        return False
    return archive.digest(job.artefacts) == job.result.result_sha256


def _analysed(job: Job, requests: Requests) -> tuple[CellResult, str]:
    """Return a cell's result, and its console; the series go to the folder."""
    if job.result.error:
        return job.result, job.console
    try:
        _require_end(job.cell, job.artefacts)
        analysed = analyse(job.cell, job.artefacts, requests)
        series = write_series(job.folder, analysed.series)
        write_files(job.folder, analysed)
    except ArtefactError as error:
        return job.result.model_copy(update={"error": str(error)}), job.console
    except Exception as error:
        # What a module or a kernel of the user's leaves may be made to take any memory: it fails
        # its own cell, and no other.
        own = isinstance(error, MemoryError) and (job.cell.modules or job.cell.kernel)
        if not own and (fault := faults.of(error)):
            raise fault from error
        message = f"fairc could not analyse it: {type(error).__name__}: {error}"
        console = f"{job.console}\n{traceback.format_exc()}"
        return job.result.model_copy(update={"error": message}), console
    update = {
        "status": "ok",
        "verdict": analysed.verdict,
        "reasons": analysed.reasons,
        "ended_by": analysed.ended_by,
        "flows": analysed.flows,
        "metrics": analysed.metrics,
        "conditions": analysed.conditions,
        "limits": analysed.limits,
        "series": series,
    }
    return job.result.model_copy(update=update), job.console


def _require_end(cell: Cell, folder: Path) -> None:
    """Raise ArtefactError for an end that no cell has: the arrays of an analysis have a value for
    every slot until then, and a guest may write any number.
    """
    ended_ns = Artefacts(folder).ending().ended_ns
    if ended_ns > MOST_TIMES_LATE * cell.deadline_ns + MOST_LATE_NS:
        raise ArtefactError("cell.json says that the cell ended long after its deadline")


def main() -> None:
    """Answer jobs until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    first = sys.stdin.readline()
    if not first:  # the run ended before it had a cell to analyse
        return
    requests = Requests.model_validate_json(first)
    for line in sys.stdin:
        try:
            answer = Answer(result=derive(Job.model_validate_json(line), requests))
        except faults.MachineFault as fault:
            answer = Answer(missing=fault.missing, remedy=fault.remedy)
        answers.write(answer.model_dump_json() + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
