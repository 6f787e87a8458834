"""Experiments from Python: the functions behind `fairc.check`, `plan`, `run` and `load`.

    import fairc

    run = fairc.run("quickstart.fexp")
    run.table("fct", by="cca")
    run.series("cwnd").df()

They do what the commands of the same names do. What they return are tables of DuckDB, which turn
into Arrow (`.arrow()`), pandas (`.df()`) or polars (`.pl()`), where those are installed.
"""

from __future__ import annotations

import base64
import html
import io
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairc.cli import check as checking
from fairc.cli import plan as planning
from fairc.cli import run as running
from fairc.cli import table as tabulating
from fairc.cli import verdict as deciding
from fairc.cli.failures import UsageError
from fairc.cli.results import TABLES, fresh_tables
from fairc.cli.sources import compiled, requested_engine
from fairc.cli.targets import Allowed, read_target
from fairc.cli.unpacking import is_pack, opened, run_of
from fairc.compiler.files import opened as opened_file
from fairc.dsl.core.diagnostics import Diagnostics
from fairc.runtime.claims.forms import Answer, as_data
from fairc.runtime.repetitions.summaries import Row, summarise
from fairc.runtime.store import tables
from fairc.runtime.store.folder import runs_in
from fairc.runtime.store.verdicts import Counts

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from fairc.compiler.plan import Plan

PathLike = str | os.PathLike[str]

SAMPLED: Mapping[str, str] = {
    "cwnd": "cwnd_packets",
    "in_flight": "in_flight_packets",
    "srtt": "rtt_s",
    "pacing_rate": "pacing_bps",
    "ssthresh": "ssthresh_packets",
}
"""Series of each connection: their names, and their columns in the table `samples`."""


def check(file: PathLike, *, settings: Mapping[str, str] | None = None) -> Diagnostics:
    """Return everything that is wrong with a file: errors and warnings, each with its place.

    It is empty where nothing is; `.errors` are those that keep it from running. settings: as of
    `--set`, name -> expression. Raises CompileError for a file that cannot be read.
    """
    return checking.diagnose(Path(file), settings or {})


def plan(
    file: PathLike,
    *,
    settings: Mapping[str, str] | None = None,
    engine: str | None = None,
    jobs: int | None = None,
) -> list[dict[str, Any]]:
    """Return what each experiment of a file would do and cost, as `fairc plan --format json` does;
    nothing is run.

    settings: as of `--set`, name -> expression. Raises CompileError for a wrong file, UsageError.
    """
    compilations = compiled(Path(file), dict(settings or {}), engine)
    return [planning.outlook(each, jobs or _cores())[0] for each in compilations]


def run(
    target: PathLike,
    output: PathLike | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    where: str | None = None,
    engine: str | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    allow_image: bool = False,
    allow_module: bool = False,
    allow_program: bool = False,
) -> Run:
    """Run the missing cells of an experiment, write its report, and return what it measured.

    target: a file, `file.fexp:NAME` of one with several experiments, a compiled plan or a pack.
    output: the run directory; None: `results/NAME`. The other arguments are the command's options.
    Raises CompileError for a wrong file, UsageError, EngineUnavailable, StoreError;
    KeyboardInterrupt keeps the cells that have finished.
    """
    path, place = Path(target), Path(output) if output is not None else None
    packed = is_pack(path)
    path = run_of(path, place)
    experiments = read_target(path, dict(settings or {}))
    if len(experiments) > 1:
        names = [what.experiment for what in experiments]
        raise _several(target, names, f"fairc.run({f'{target}:{names[0]}'!r})")
    (what,) = experiments
    options = running.RunOptions(
        engine=engine,
        requested=requested_engine(engine),
        jobs=jobs or _cores(),
        where=where,
        fresh=fresh,
        allowed=Allowed(images=allow_image, modules=allow_module, programs=allow_program),
        packed=packed,
        chose_folder=output is not None,
    )
    folder = running.folder_of(what, place, engine)
    with redirect_stdout(io.StringIO()):  # what it measured is returned
        running.one_of(what, folder, options)
    return load(folder)


def load(run: PathLike) -> Run:
    """Return what a run measured. run: its directory, or a pack.

    Raises UsageError where there are the runs of several experiments, StoreError, PackError,
    TableError.
    """
    stack = ExitStack()
    try:
        folder = stack.enter_context(opened(Path(run)))
        runs = runs_in(folder)
        if "" not in runs:
            raise _several(run, runs, f"fairc.load({str(Path(run) / next(iter(runs)))!r})")
        loaded = Run(runs[""])
    except BaseException:
        stack.close()
        raise
    weakref.finalize(loaded, stack.close)
    return loaded


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the report, as files. svg, pdf: of full width."""

    name: str
    svg: Path
    pdf: Path

    def _repr_html_(self) -> str:
        # As an image, in which a browser runs nothing: the run directory may be a stranger's.
        with opened_file(self.svg) as file:
            data = base64.b64encode(file.read()).decode()
        return f'<img src="data:image/svg+xml;base64,{data}" alt="{html.escape(self.name)}">'


class Run:
    """The results of an experiment. path: its run directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._measured = fresh_tables(path)

    @cached_property
    def _connection(self) -> DuckDBPyConnection:
        return tables.connect(self.path / TABLES)

    @cached_property
    def _answer(self) -> Answer:
        return deciding.answered(self.path, strict=False)

    @property
    def plan(self) -> Plan:
        """The experiment's name, its swept names (`axes`), metrics, claims, and so on."""
        return self._measured.plan

    def sql(self, query: str) -> DuckDBPyRelation:
        """Return the result of a query on the run's tables (docs/reference/tables.md)."""
        return self._connection.sql(query)

    @property
    def cells(self) -> DuckDBPyRelation:
        """A row for each cell: its swept values, repetition, verdict and reasons."""
        return self.sql("FROM cells")

    @property
    def metrics(self) -> DuckDBPyRelation:
        """A row for each value of a cell, in SI base units, with the cell's swept values."""
        return self.sql(f"SELECT m.*, {self._axes('c')} FROM metrics m JOIN cells c USING (cell)")

    def series(self, name: str) -> DuckDBPyRelation:
        """Return a series over time: cell, flow, t_s (s after the cell's start) and value, with the
        cell's swept values.

        name: one of `series_names`. Units: as of the column in docs/reference/tables.md. Raises
        UsageError for another name.
        """
        axes = self._axes("c")
        if name in SAMPLED:
            rows = f"SELECT s.cell, s.flow, connection, t_s, s.{SAMPLED[name]} AS value, {axes}"
            return self.sql(f"{rows} FROM samples s JOIN cells c USING (cell) WHERE value NOT NULL")
        if name not in self.series_names:
            raise UsageError(f"no series is called {name!r}", f"{', '.join(self.series_names)}")
        return self._connection.sql(
            f"SELECT s.cell, s.flow, t_s, s.value, {axes} FROM traces s JOIN cells c USING (cell)"
            " WHERE s.metric = $metric",
            params={"metric": name},
        )

    @property
    def series_names(self) -> tuple[str, ...]:
        """The series that this run has."""
        traces = self.sql("SELECT DISTINCT metric FROM traces ORDER BY ALL").fetchall()
        return (*SAMPLED, *(name for (name,) in traces if name not in SAMPLED))

    def table(
        self,
        metric: str,
        by: str | Sequence[str] | None = None,
        where: str | None = None,
        stat: str = "median",
    ) -> list[Row]:
        """Return the rows of `fairc table METRIC --format json`: a statistic over repetitions, with
        its 95 % confidence interval, in SI base units. Raises UnknownName, CompileError.
        """
        groups = [by] if isinstance(by, str) else by
        condition = tabulating.chosen(where, self._measured)
        return summarise(self._measured, metric, groups, condition, stat)

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The claims, decided, as in `fairc verdict --format json`."""
        return [as_data(claim) for claim in self._answer.decision.claims]

    @property
    def counts(self) -> Counts:
        """The numbers of cells that are valid, flagged, invalid, failed."""
        return self._answer.validity.counts

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the report's figures."""
        files = sorted((self.path / "figures").glob("*.svg"))
        return tuple(file.stem for file in files if not file.stem.endswith("-column"))

    def figure(self, name: str) -> Figure:
        """Return a figure of the report. Raises UsageError for an unknown name."""
        if name not in self.figures:
            raise UsageError(f"no figure is called {name!r}", f"{', '.join(self.figures)}")
        folder = self.path / "figures"
        return Figure(name, folder / f"{name}.svg", folder / f"{name}.pdf")

    @property
    def report(self) -> Path:
        """The report."""
        return self.path / "report.html"

    def _axes(self, table: str) -> str:
        """Return the columns of swept values of a table, for SELECT."""
        names = tables.axis_columns(self._measured.axes).values()
        return ", ".join([f"{table}.repetition", *(f"{table}.{tables.quoted(n)}" for n in names)])

    def __repr__(self) -> str:
        return f"<fairc run of {self.plan.experiment}: {self._answer.validity.summary}>"

    def _repr_html_(self) -> str:
        title = html.escape(self.plan.experiment)
        link = html.escape(self.report.absolute().as_uri())
        cells = ((str(claim["claim"]), str(claim["verdict"])) for claim in self.claims)
        pairs = (map(html.escape, pair) for pair in cells)
        rows = "".join(f"<tr><td>{text}</td><td>{verdict}</td></tr>" for text, verdict in pairs)
        claims = f"<table><tr><th>claim</th><th>verdict</th></tr>{rows}</table>" if rows else ""
        counts = html.escape(self._answer.validity.summary)
        return f'<p><b>{title}</b>: {counts}, <a href="{link}">report</a></p>{claims}'


def _several(target: PathLike, names: Iterable[str], call: str) -> UsageError:
    return UsageError(f"{target} has several experiments: {', '.join(names)}", f"name one: {call}")


def _cores() -> int:
    return len(os.sched_getaffinity(0))
