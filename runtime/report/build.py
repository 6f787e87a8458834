"""From a run directory to the files of its report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePath
from types import MappingProxyType

from fairc.compiler.plan import FigureRequest
from fairc.compiler.record import Record, Recorded
from fairc.runtime.host import faults
from fairc.runtime.store.occupant import PARTIAL
from fairc.runtime.store.tables import TableError

from . import latex, page
from .answer import answer
from .explore import explored
from .export import sheets
from .figures import FIGURES, Drawing, FigureKind, NothingToDraw, Subject, defaults
from .key_figures import with_picture
from .place import FOLDER, PAGE, WHOLE, made_of, made_of_all, record_of_all
from .render import Rendered, render_all, write_pdf, write_svg
from .run import ReportError, Run
from .sheet import Sheet, as_csv
from .summary import Results, choose
from .warmup import warmup_sheet


class _Report:
    """A report while it is built: each part is made once, and only if a format needs it."""

    def __init__(
        self,
        path: Path,
        formats: Collection[str] = (),
        *,
        warmup: bool = False,
        prefix: str = "",
    ) -> None:
        self.warmup = warmup
        self._prefix = prefix
        self._svg, self._pdf = bool({"html", "svg"} & {*formats}), "pdf" in formats
        self.run = Run(path)
        results = Results(self.run)
        shown, choice = choose(self.run, results)
        self.subject = Subject(self.run, results, shown, choice)
        self.missing: list[page.Missing] = []

    @cached_property
    def figures(self) -> tuple[Drawing | Sheet, ...]:
        found = with_picture(self.subject, list(self._draw()))
        if not self._prefix:
            return tuple(found)
        return tuple(replace(figure, name=f"{self._prefix}{figure.name}") for figure in found)

    def _draw(self) -> Iterator[tuple[FigureRequest | None, Drawing | Sheet]]:
        known = {kind.name: kind for kind in FIGURES}
        wanted: list[tuple[FigureKind | None, FigureRequest | None]] = [
            *((kind, None) for kind in defaults(self.subject)),
            *((known.get(request.kind), request) for request in self.run.plan.figures),
        ]
        for kind, request in wanted:
            name = request.kind if request else kind.name if kind else ""
            try:
                if kind is None:
                    raise NothingToDraw("this version cannot draw it")
                yield request, kind.make(self.subject, request)
            except NothingToDraw as nothing:
                self.missing.append(page.Missing(name, str(nothing), request is not None))

    @cached_property
    def _rendered(self) -> tuple[tuple[Rendered, ...], bytes]:
        drawings = [figure for figure in self.figures if isinstance(figure, Drawing)]
        return render_all(drawings, svg=self._svg, pdf=self._pdf)

    @property
    def rendered(self) -> tuple[Rendered, ...]:
        return self._rendered[0]

    @property
    def all_pdf(self) -> bytes:
        return self._rendered[1]

    @cached_property
    def in_order(self) -> tuple[Rendered | Sheet, ...]:
        drawn = iter(self.rendered)
        return tuple(f if isinstance(f, Sheet) else next(drawn) for f in self.figures)

    @cached_property
    def values(self) -> dict[str, object]:
        found = answer(self.run, self.subject.results)
        _ = self.figures  # reports what is missing
        sheet = warmup_sheet(self.run, self.subject.results) if self.warmup else None
        return {
            **page.context(
                self.run, self.subject.results, found, self.subject.choice, self.missing
            ),
            "warmup": sheet,
        }

    @cached_property
    def record(self) -> Record:
        """The record of the run directory, in which every file of a report is written."""
        scratch = self.run.path / PARTIAL
        scratch.mkdir(exist_ok=True)
        return Record(self.run.path, scratch)


def _html(report: _Report) -> list[Path]:
    values = report.values | {"explored": explored(report.run, report.subject.results)}
    return [report.record.write(PAGE, page.html(values, report.in_order).encode())]


def _markdown(report: _Report) -> list[Path]:
    return [report.record.write("report.md", page.markdown(report.values, report.figures).encode())]


def _svg(report: _Report) -> list[Path]:
    return [path for rendered in report.rendered for path in write_svg(rendered, report.record)]


def _pdf(report: _Report) -> list[Path]:
    paths = [path for rendered in report.rendered for path in write_pdf(rendered, report.record)]
    if report.all_pdf:
        paths.append(report.record.write(f"{FOLDER}/all.pdf", report.all_pdf))
    return paths


def _csv(report: _Report) -> list[Path]:
    return _tables(report, "csv", as_csv)


def _tex(report: _Report) -> list[Path]:
    return _tables(report, "tex", latex.as_tex)


def _tables(report: _Report, suffix: str, render: Callable[[Sheet], str]) -> list[Path]:
    """Write each table of the report into the folder of the figures."""
    own = report.values, report.figures, report.run, report.subject.results
    return [
        report.record.write(f"{FOLDER}/{sheet.name}.{suffix}", render(sheet).encode())
        for sheet in sheets(*own)
    ]


FORMATS: Mapping[str, Callable[[_Report], list[Path]]] = MappingProxyType(
    {"csv": _csv, "html": _html, "md": _markdown, "pdf": _pdf, "svg": _svg, "tex": _tex}
)


def build(run: Path, formats: Iterable[str] = ("html",), *, warmup: bool = False) -> list[Path]:
    """Build the report of a run in each of the formats; return the files written.

    run: a run directory (docs/reference/artefacts.md). formats: names in `FORMATS`. warmup: with
    the answer at half and twice the warm-up, from raw artefacts.
    Raises ReportError when the directory cannot be reported on or written to, or a format is
    unknown, and ForeignFileError when the user has put a file where one of the report belongs.
    """
    wanted = list(dict.fromkeys(formats))
    unknown = [name for name in wanted if name not in FORMATS]
    if unknown:
        raise ReportError(
            f"no report format is called '{unknown[0]}'; known: {', '.join(sorted(FORMATS))}"
        )

    with _explained():
        report = _Report(run, wanted, warmup=warmup)
        written = [path for name in wanted for path in FORMATS[name](report)]
        report.record.remove(_outdated(report.record, wanted, written))
        _note(report.record, run, is_whole={*WHOLE} <= {*wanted}, is_usual=not warmup)
        return written


def _note(record: Record, run: Path, *, is_whole: bool, is_usual: bool) -> None:
    """Record what a report was made of, if it has all formats of a run, new or from before."""
    made = made_of(run, Recorded(files=record.files))
    kept = made if is_usual and (is_whole or record.report == made) else ""
    if record.report != kept:
        record.report = kept
        record.save()


def _outdated(record: Record, formats: Iterable[str], written: Iterable[Path]) -> list[str]:
    """Return the figures and tables of earlier reports that those of these formats lack."""
    new = {path.name for path in written}
    suffixes = tuple(f".{name}" for name in formats)
    return [
        name
        for name in record.files
        if name.startswith(f"{FOLDER}/") and name.endswith(suffixes) and Path(name).name not in new
    ]


def build_all(folder: Path, names: Sequence[str]) -> Path:
    """Build one page of the experiments of a file, whose run directories are in a folder; return
    it.

    Each has its claims, its answer and its figures there, and a link to its own report. Raises like
    `build`.
    """
    with _explained():
        parts, title = [], folder.name
        for name in names:
            report = _Report(folder / name, ("html",), prefix=f"{name}-")
            parts.append((name, report.values, report.in_order))
            title = PurePath(report.run.plan.file).stem
        record = record_of_all(folder)
        text = page.html_of_all(title, parts)
        record.report = made_of_all(folder, names)
        return record.write(PAGE, text.encode())


@contextmanager
def _explained() -> Iterator[None]:
    """Raise ReportError for what is wrong with a run directory, or with writing into it."""
    try:
        yield
    except TableError as error:
        raise ReportError(str(error)) from None
    except OSError as error:
        if fault := faults.of(error):
            raise fault from error
        raise ReportError(f"the report cannot be written: {error}") from None
