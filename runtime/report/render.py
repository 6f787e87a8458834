"""Figures as files: SVG and PDF at both widths, the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fontTools import subset

from fairc.compiler.record import Record

from .figures import Drawing
from .figures.style import WIDTHS, Width, paper_style
from .place import FOLDER
from .svg import tidy

if TYPE_CHECKING:
    from matplotlib.backends.backend_pdf import PdfPages

_NAMELESS = {"CreationDate": None, "Creator": None, "Producer": None}


@dataclass(frozen=True, slots=True)
class Rendered:
    """A drawing at both widths, in the requested formats: width -> stand-alone file."""

    drawing: Drawing
    svg: dict[Width, str] = field(default_factory=dict)
    pdf: dict[Width, bytes] = field(default_factory=dict)


def render(drawing: Drawing) -> Rendered:
    """Draw a figure at both widths, as SVG."""
    return _render(drawing, svg=True, pages=None)


def render_all(
    drawings: Sequence[Drawing], *, svg: bool, pdf: bool
) -> tuple[tuple[Rendered, ...], bytes]:
    """Draw figures at both widths; return them, and a PDF with all of them at page width."""
    if not pdf or not drawings:
        return tuple(_render(drawing, svg=svg, pages=None) for drawing in drawings), b""
    from matplotlib.backends.backend_pdf import PdfPages  # after `figures`, which says why

    book = io.BytesIO()
    with paper_style(), _without_tables_of_layout(), PdfPages(book, metadata=_NAMELESS) as pages:
        rendered = tuple(_render(drawing, svg=svg, pages=pages) for drawing in drawings)
    return rendered, book.getvalue()


# Tables of a font with which text is laid out: substitutions, positions, kerning, formulas.
_OF_LAYOUT = ("GDEF", "GPOS", "GSUB", "MATH", "kern")


@contextmanager
def _without_tables_of_layout() -> Iterator[None]:
    """Embed fonts without these tables: a PDF names glyphs and their places, and needs none.

    To cut those of DejaVu to a figure's glyphs takes a third of the time of a report's PDFs.
    Matplotlib has no setting for it, so what fontTools drops by default is extended. A version
    of fontTools that has its default elsewhere makes larger files, and takes longer.
    """
    options: Any = subset.Options
    default = getattr(options, "_drop_tables_default", [])
    options._drop_tables_default = [*default, *_OF_LAYOUT]
    try:
        yield
    finally:
        options._drop_tables_default = default


def _render(drawing: Drawing, *, svg: bool, pages: PdfPages | None) -> Rendered:
    """Draw a figure once for each width, then save it in each format: drawing is most of the work.

    pages: the PDF of all figures; None: no PDFs.
    """
    rendered = Rendered(drawing)
    for width in WIDTHS:
        with paper_style():
            figure = drawing.picture.draw(width)
            if svg:
                text = io.StringIO()
                figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
                rendered.svg[width] = tidy(text.getvalue(), f"{drawing.name}-{width}", drawing.alt)
            if pages is not None:
                content = io.BytesIO()
                figure.savefig(content, format="pdf", metadata=_NAMELESS)
                rendered.pdf[width] = content.getvalue()
                if width == "page":
                    pages.savefig(figure)  # type: ignore[no-untyped-call]
    return rendered


def write_svg(rendered: Rendered, record: Record) -> list[Path]:
    """Write `NAME.svg` for the width of a page and `NAME-column.svg` for a column."""
    return [
        record.write(f"{FOLDER}/{_name(rendered, width)}.svg", svg.encode())
        for width, svg in rendered.svg.items()
    ]


def write_pdf(rendered: Rendered, record: Record) -> list[Path]:
    """Write the same as PDF."""
    return [
        record.write(f"{FOLDER}/{_name(rendered, width)}.pdf", content)
        for width, content in rendered.pdf.items()
    ]


def _name(rendered: Rendered, width: Width) -> str:
    name = rendered.drawing.name
    return name if width == "page" else f"{name}-{width}"
