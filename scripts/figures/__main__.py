"""Draw the figures of the words of links and hosts anew, from cells on `uml`.

python -m figures [--out DIR]
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from fairc import dsl
from fairc.compiler import compile
from fairc.runtime import validity
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import Measurement, load

from . import hosts, links

ROOT = Path(__file__).resolve().parents[2]
FIGURES = links.FIGURES | hosts.FIGURES
SPECS = {
    "links": "links.fexp",
    **dict.fromkeys(("kinds", "hosts", "wifi", "entering"), "hosts.fexp"),
}
"""The files of the experiments that figures show."""
INCHES = 4.06, 2.5  # 390 px wide at 96 px an inch: text is as large on a phone as written here
STYLE: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "grid.alpha": 0.3,
    "svg.fonttype": "none",
    "svg.hashsalt": "fairc",
}


def main() -> None:
    """Run the cells and draw each figure into a file of its own."""
    parser = argparse.ArgumentParser(prog="make figures", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/img/links", metavar="DIR")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for cell in SPECS:
        with tempfile.TemporaryDirectory() as folder:
            measured = measure(cell, Path(folder))
            for name, figure in FIGURES.items():
                if figure.cell == cell:
                    (out / f"{name}.svg").write_text(drawn(measured, name))


def measure(name: str, folder: Path) -> Measurement:
    """Run the cell of an experiment; exits if it fails or is invalid."""
    spec = Path(__file__).with_name(SPECS[name])
    experiment, found = dsl.load(dsl.Source(str(spec), spec.read_text()), {}, name)
    if experiment is None:
        sys.exit(dsl.render_full(found))
    (cell,) = compile(experiment, None).cells()
    engine = UmlEngine()
    engine.prepare()
    result = engine.run(cell, folder)
    engine.close()
    if result.error:
        sys.exit(result.error)
    measured = load(cell, result.artefacts)
    verdict, reasons = validity.judge(measured)
    if verdict == "invalid":
        sys.exit("the cell is invalid: " + "; ".join(reasons))
    return measured


def drawn(measured: Measurement, name: str) -> str:
    """Return a figure as SVG."""
    with mpl.rc_context(STYLE), tempfile.TemporaryDirectory() as folder:
        figure, axes = plt.subplots(figsize=INCHES, layout="constrained")
        FIGURES[name].draw(measured, axes)
        figure.legend(loc="outside upper center", ncols=3, frameon=False, handlelength=1.4)
        figure.patch.set_facecolor("white")
        path = Path(folder) / "figure.svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        plt.close(figure)
        return re.sub(r"[ \t]+$", "", path.read_text(), flags=re.MULTILINE)


if __name__ == "__main__":
    main()
