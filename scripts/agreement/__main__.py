"""Run the specs of docs/trust/calibration.md on several engines and compare every pair.

    cd scripts && ../.venv/bin/python -m agreement uml vm               # beside other work
    cd scripts && sudo ../.venv/bin/python -m agreement --bucket uml mininet docker

The second one on an otherwise idle machine. `--bucket`: with token buckets for links, all that a
kernel without netem has. Runs go to results/agreement/frames/SPEC-ENGINE (or bucket/) and are
resumed; the comparison goes to answer.md beside them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "agreement"
SPECS = {
    "tcp": ROOT / "examples" / "agreement.fexp",
    **{name: Path(__file__).with_name(f"{name}.fexp") for name in ("quic", "video", "page")},
}
ENGINES = ("uml", "vm", "mininet", "docker")
# As in docs/trust/calibration.md: 5 % of an index near zero, or of an RTT of microseconds, is next
# to nothing.
MARGINS = {
    "tcp": (
        "fairness.F=0.05",
        "loss_rate.total=0.01",
        "loss_rate.queue=0.01",
        "rtt.base=0.001",
        "rtt.min=0.001",
    ),
    "quic": (
        "fairness.F=0.05",
        "loss_rate.total=0.01",
        "loss_rate.queue=0.01",
        "rtt.base=0.001",
        "rtt.min=0.001",
    ),
    "video": (),
    "page": ("connect=0.001", "ttr=0.001"),
}
SILENT = ("agree", "cannot tell")
FAIRC = [sys.executable, "-m", "fairc"]


class Comparison(NamedTuple):
    """The runs of the specs on some engines."""

    engines: list[str]
    transmission: str
    """`frames` or `bucket`."""

    @property
    def folder(self) -> Path:
        """Where they are."""
        return RESULTS / self.transmission

    def run_of(self, spec: str, engine: str) -> Path:
        """Return the run of a spec on an engine."""
        return self.folder / f"{spec}-{engine}"

    def complete(self) -> None:
        """Run what is missing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for spec, path in SPECS.items():
            for engine in self.engines:
                command: list[str | Path] = [*FAIRC, "run", path, "--engine", engine, "-q"]
                command += ["--set", f"transmission={self.transmission}"]
                command += ["-o", self.run_of(spec, engine)]
                # 1: some cells are not valid, which the answer shows.
                if subprocess.run(command, cwd=ROOT, check=False).returncode > 1:
                    sys.exit(f"{spec} did not run on {engine}")

    def answer(self) -> Iterator[str]:
        """Say how the cells came out, how many values agree, and which do not."""
        yield "| cells: valid, flagged, invalid, failed | " + " | ".join(self.engines) + " |"
        yield "|---|" + "---|" * len(self.engines)
        for spec in SPECS:
            outcomes = (outcome(self.run_of(spec, engine)) for engine in self.engines)
            yield f"| {spec} | " + " | ".join(outcomes) + " |"
        pairs = list(combinations(self.engines, 2))
        names = " | ".join(f"{a}, {b}" for a, b in pairs)
        yield ""
        yield f"| values: agree, cannot tell, differ | {names} |"
        yield "|---|" + "---|" * len(pairs)
        differ: list[str] = []
        for spec in SPECS:
            counts = []
            for pair in pairs:
                rows = self.compared(spec, pair)
                verdicts = Counter(row["verdict"] for row in rows)
                counts.append(
                    ", ".join(str(verdicts[v]) for v in ("agree", "cannot tell", "differ"))
                )
                differ += [
                    f"| {spec} | {pair[0]}, {pair[1]} | {columns(row)} |"
                    for row in rows
                    if row["verdict"] not in SILENT
                ]
            yield f"| {spec} | " + " | ".join(counts) + " |"
        yield ""
        yield (
            "| spec | engines | what does not agree | of | first | second | shift, 95 % CI |"
            " verdict |"
        )
        yield "|---|---|---|---|---|---|---|---|"
        yield from differ

    def compared(self, spec: str, pair: tuple[str, str]) -> list[dict[str, Any]]:
        """Return what `fairc compare` says about a spec's runs on two engines, one row per
        value.
        """
        margins = [word for margin in ("5%", *MARGINS[spec]) for word in ("--margin", margin)]
        runs = [self.run_of(spec, engine) for engine in pair]
        command = [*FAIRC, "compare", *runs, "--format", "json", *margins]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        if done.returncode > 1:
            sys.exit(done.stderr)
        rows: list[dict[str, Any]] = json.loads(done.stdout)["agreement"]
        return rows


def main() -> None:
    """Run what is missing and write the answer."""
    arguments = sys.argv[1:]
    transmission = "bucket" if "--bucket" in arguments else "frames"
    engines = [word for word in arguments if word != "--bucket"] or ["uml", "vm"]
    if unknown := set(engines) - set(ENGINES):
        sys.exit(f"no engine is called {', '.join(sorted(unknown))}; known: {', '.join(ENGINES)}")
    comparison = Comparison(engines, transmission)
    comparison.complete()
    text = "\n".join(comparison.answer()) + "\n"
    (comparison.folder / "answer.md").write_text(text)
    print(text, end="")


def columns(row: dict[str, Any]) -> str:
    """Return a value's cells of the table, in SI base units."""
    numbers = [
        "-" if row[name] is None else f"{row[name]:.4g}"
        for name in ("median_first", "median_second", "shift", "shift_low", "shift_high")
    ]
    what = f"{row['metric']} ({row['unit']})" if row["unit"] else row["metric"]
    shift = f"{numbers[2]} [{numbers[3]}, {numbers[4]}]"
    of = " ".join(filter(None, row["by"].values()))
    return " | ".join((what, of, *numbers[:2], shift, row["verdict"]))


def outcome(run: Path) -> str:
    """Return how many cells of a run are valid, flagged, invalid and failed."""
    results = [json.loads(path.read_text()) for path in run.glob("cells/*/result.json")]
    outcomes = Counter(r["verdict"] if r["status"] == "ok" else "failed" for r in results)
    return ", ".join(str(outcomes[word]) for word in ("valid", "flagged", "invalid", "failed"))


if __name__ == "__main__":
    main()
