"""Fill the folder of a compiled plan with results for all its cells, to try collection and reports
at a size whose cells would take hours to run.

    fairc compile many.fexp -o many --target slurm --engine fake
    fairc cell many --index 0-3999  # the first repetition of all configurations
    python tests/support/many_results.py many

Each cell without a result gets that of the first repetition of its configuration, under its own id
and key. What is measured of such a run is what the commands cost; its numbers mean nothing.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from fairc.compiler.record import FILES, RESULTS, File, of_file, recorded
from fairc.runtime.store.cell_folder import RESULT
from fairc.runtime.store.folder import key_of, read_cells


def fill(plan: Path) -> int:
    """Return how many results were made."""
    results, made = plan / RESULTS, 0
    first: dict[str, Path] = {}
    known = {path.name.partition("-")[0]: path for path in results.iterdir() if path.name[0] != "."}
    for cell in read_cells(plan):
        if (there := known.get(cell.id)) is not None:
            first.setdefault(cell.configuration, there)
            continue
        source = first[cell.configuration]
        document = json.loads((source / RESULT).read_bytes())
        key = key_of(cell, document["engine"], document["image"], document["emitted"])
        folder = results / key
        folder.mkdir()
        for path in source.iterdir():
            if path.name not in (RESULT, FILES):
                os.link(path, folder / path.name)
        document |= {"cell": cell.id, "key": key}
        (folder / RESULT).write_text(json.dumps(document) + "\n")
        record = recorded(source)
        assert record is not None
        files: dict[str, File | None] = {**record.files, RESULT: of_file(folder / RESULT)}
        record.model_copy(update={"files": files}).write(folder, folder)
        made += 1
    return made


if __name__ == "__main__":
    print(f"{fill(Path(sys.argv[1]))} results made")
