"""Run the studies one after the other; a study that was interrupted goes on where it stopped.

python -m studies [NAME ...] [--results DIR]
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from fairc.runtime.store import tables

from . import page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FAIRC = ROOT / ".venv/bin/fairc"
# The cheapest first.
STUDIES = ("large-deviations", "fmp", "quic-fairness", "youtube", "satcom", "conex")


def main() -> None:
    """Run the studies that were asked for, and write their pages."""
    parser = argparse.ArgumentParser(prog="make studies", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(STUDIES))
    parser.add_argument("--results", type=Path, default=ROOT / "results/studies", metavar="DIR")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(STUDIES):
        parser.error(f"no such study: {', '.join(sorted(unknown))}; there are {', '.join(STUDIES)}")
    arguments.results.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or STUDIES:
        study(name, arguments.results)


def study(name: str, results: Path) -> None:
    """Run what is missing from a study, and write its page.

    Exits with the status of a run that failed.
    """
    run = results / name
    print(f"{name}: examples/{name}.fexp", file=sys.stderr)
    begun = time.monotonic()
    status = subprocess.run(
        [FAIRC, "run", ROOT / f"examples/{name}.fexp", "-o", run], check=False
    ).returncode
    spent = results / f"{name}.seconds"
    seconds = time.monotonic() - begun + (float(spent.read_text()) if spent.exists() else 0)
    spent.write_text(f"{seconds:.0f}\n")
    # A cell that failed or a claim that fails is a result of the study, and its page says so.
    if status not in (0, 1):
        sys.exit(status)

    path = DOCS / "learn/examples" / f"{name}.md"
    text = path.read_text()
    for picture in page.pictures(text, name):
        copy = DOCS / "img" / name / picture
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(run / "figures" / picture, copy)
    path.write_text(page.filled(text, writers(run, seconds)))


def writers(run: Path, seconds: float) -> page.Writers:
    """Return the functions that write the parts of a study's page from its run; seconds: its wall
    time.
    """
    return {
        "facts": lambda _: facts(run, seconds),
        "claims": lambda _: claims(run),
        "table": lambda asked: fairc("table", run, *shlex.split(asked), "--format", "md"),
        "sql": lambda asked: rows(run, asked),
    }


def fairc(*arguments: str | Path) -> str:
    """Return what a command of fairc prints.

    Raises CalledProcessError, but not for a bad verdict (status 1).
    """
    done = subprocess.run([FAIRC, *arguments], check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        done.check_returncode()
    return done.stdout


def claims(run: Path) -> str:
    """Return the table of a run's claims, as Markdown, without the heading and the validity around
    it.
    """
    _heading, *parts = fairc("verdict", run, "--format", "md").split("\n\n")
    return "\n\n".join(parts[:2])


def rows(run: Path, query: str) -> str:
    """Return the answer to a query over a run's tables, as Markdown. Raises duckdb.Error."""
    with tables.connect(run / "tables") as connection:
        answer = connection.sql(query)
        names, found = answer.columns, answer.fetchall()
    lines = [names, ["---"] * len(names), *found]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def facts(run: Path, seconds: float) -> str:
    """Describe a run: cells and verdicts, virtual and wall time (`seconds` in total), machine,
    build.
    """
    with tables.connect(run / "tables") as connection:
        found = connection.sql("SELECT status, verdict, virtual_s, wall_s FROM cells").fetchall()
    lock = json.loads((run / "lock.json").read_text())
    verdicts = Counter(verdict if status == "ok" else "failed" for status, verdict, *_ in found)
    host, fairc, engine = lock["host"], lock["fairc"], lock["engine"]
    virtual = sum(row[2] for row in found)
    cells = sum(row[3] for row in found)
    counted = ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())
    return (
        f"{len(found):,} cells: {counted}. {virtual / 3600:,.1f} h of virtual time took"
        f" {seconds / 60:,.0f} min of wall time with analysis and report ({cells / 60:,.0f} min"
        f" summed over the cells), on {host['cores']} cores ({host['cpu']}, {host['system']}),"
        f" engine {engine['name']}, Linux {engine['versions']['kernel']}, fairc"
        f" {fairc['commit'][:12]}, finished"
        f" {time.strftime('%Y-%m-%d', time.gmtime((run / 'lock.json').stat().st_mtime))}."
    )


if __name__ == "__main__":
    main()
