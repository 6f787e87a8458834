"""Figures as files: SVG and PDF at both widths, the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fairc.runtime.store.writing import whole

from .aside import aside
from .figures import Drawing
from .figures.style import WIDTHS, Width, paper_style
from .fonts import without_layout
from .svg import tidy

if TYPE_CHECKING:
    from matplotlib.backends.backend_pdf import PdfPages

_NAMELESS = {"CreationDate": None, "Creator": None, "Producer": None}


Saved = tuple[dict[Width, str], dict[Width, bytes]]
"""A drawing's SVGs and PDFs."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A drawing at both widths, in the requested formats: width -> stand-alone file."""

    drawing: Drawing
    svg: dict[Width, str] = field(default_factory=dict)
    pdf: dict[Width, bytes] = field(default_factory=dict)


def render(drawing: Drawing) -> Rendered:
    """Draw a figure at both widths, as SVG."""
    return _render(drawing, tuple(WIDTHS), svg=True, pdf=False)


def render_all(
    drawings: Sequence[Drawing],
    *,
    svg: bool,
    pdf: bool,
    meanwhile: Callable[[], object] = lambda: None,
) -> tuple[tuple[Rendered, ...], bytes]:
    """Draw figures at both widths; return them, and a PDF with all of them at page width.

    meanwhile: what else there is to do; a second core draws then.
    """
    if not drawings:
        return (), b""
    with paper_style(), without_layout() if pdf else nullcontext():

        def pages() -> tuple[list[Saved], bytes]:
            book = io.BytesIO()
            with _book(book) if pdf else nullcontext() as together:
                rendered = [
                    _render(drawing, ("page",), svg=svg, pdf=pdf, book=together)
                    for drawing in drawings
                ]
            return [(each.svg, each.pdf) for each in rendered], book.getvalue()

        with aside(pages) as answer:
            rendered = [_render(drawing, ("column",), svg=svg, pdf=pdf) for drawing in drawings]
            meanwhile()
            saved, book = answer()
    for each, (svgs, pdfs) in zip(rendered, saved, strict=True):
        each.svg.update(svgs)
        each.pdf.update(pdfs)
    return tuple(rendered), book


def _book(file: BinaryIO) -> PdfPages:
    from matplotlib.backends.backend_pdf import PdfPages

    return PdfPages(file, metadata=_NAMELESS)


def _render(
    drawing: Drawing,
    widths: Sequence[Width],
    *,
    svg: bool,
    pdf: bool,
    book: PdfPages | None = None,
) -> Rendered:
    """Draw a figure once for each width, then save it in each format: drawing is most of the work.

    book: the PDF of all figures, if it takes this one, too.
    """
    rendered = Rendered(drawing)
    for width in widths:
        with paper_style():
            figure = drawing.draw(width)
            if svg:
                text = io.StringIO()
                figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
                rendered.svg[width] = tidy(text.getvalue(), f"{drawing.name}-{width}", drawing.alt)
            if pdf:
                content = io.BytesIO()
                figure.savefig(content, format="pdf", metadata=_NAMELESS)
                rendered.pdf[width] = content.getvalue()
            if book is not None:
                book.savefig(figure)  # type: ignore[no-untyped-call]
    return rendered


def write_svg(rendered: Rendered, folder: Path) -> list[Path]:
    """Write `NAME.svg` for the width of a page and `NAME-column.svg` for a column."""
    contents: dict[Width, bytes] = {width: svg.encode() for width, svg in rendered.svg.items()}
    return _write(rendered.drawing, contents, folder, "svg")


def write_pdf(rendered: Rendered, folder: Path) -> list[Path]:
    """Write the same as PDF."""
    return _write(rendered.drawing, rendered.pdf, folder, "pdf")


def _write(
    drawing: Drawing, contents: Mapping[Width, bytes], folder: Path, suffix: str
) -> list[Path]:
    paths = []
    for width, content in contents.items():
        name = drawing.name if width == "page" else f"{drawing.name}-{width}"
        paths.append(folder / f"{name}.{suffix}")
        with whole(paths[-1]) as part:
            part.write_bytes(content)
    return paths
