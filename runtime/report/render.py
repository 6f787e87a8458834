"""Figures as files: SVG and PDF at both widths, the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairc.runtime.store.writing import whole

from .figures import Drawing
from .figures.style import WIDTHS, Width, paper_style
from .fonts import without_layout
from .svg import tidy


@dataclass(frozen=True, slots=True)
class Rendered:
    """A drawing at both widths. svg: width -> stand-alone SVG."""

    drawing: Drawing
    svg: dict[Width, str]


def render(drawing: Drawing) -> Rendered:
    """Draw a figure at both widths."""
    svg: dict[Width, str] = {}
    for width in WIDTHS:
        buffer = io.StringIO()
        with paper_style():
            drawing.draw(width).savefig(
                buffer, format="svg", metadata={"Date": None, "Creator": None}
            )
        svg[width] = tidy(buffer.getvalue(), f"{drawing.name}-{width}", drawing.alt)
    return Rendered(drawing, svg)


def write_svg(rendered: Rendered, folder: Path) -> list[Path]:
    """Write `NAME.svg` for the width of a page and `NAME-column.svg` for a column."""
    paths = []
    for width, text in rendered.svg.items():
        paths.append(folder / f"{_stem(rendered.drawing, width)}.svg")
        with whole(paths[-1]) as part:
            part.write_text(text, encoding="utf-8")
    return paths


def write_pdf(drawings: Sequence[Drawing], folder: Path) -> list[Path]:
    """Write each figure as a PDF at both widths, and all of them at page width into one file."""
    from matplotlib.backends.backend_pdf import PdfPages

    nameless = {"CreationDate": None, "Creator": None, "Producer": None}
    paths = []
    for drawing in drawings:
        for width in WIDTHS:
            paths.append(folder / f"{_stem(drawing, width)}.pdf")
            with paper_style(), without_layout(), whole(paths[-1]) as part:
                drawing.draw(width).savefig(part, format="pdf", metadata=nameless)
    if drawings:
        paths.append(folder / "all.pdf")
        with (
            paper_style(),
            without_layout(),
            whole(paths[-1]) as part,
            PdfPages(part, metadata=nameless) as pages,
        ):
            for drawing in drawings:
                pages.savefig(drawing.draw("page"))
    return paths


def _stem(drawing: Drawing, width: Width) -> str:
    return drawing.name if width == "page" else f"{drawing.name}-{width}"
