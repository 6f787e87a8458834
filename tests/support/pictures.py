"""Reports with less to draw: to draw their figures is most of the work of a page."""

from __future__ import annotations

import pytest
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from fairc.runtime.report.figures import Drawing
from fairc.runtime.report.figures.style import WIDTHS
from fairc.runtime.report.render import Rendered

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="1pt" height="1pt" />'


def _empty(drawing: Drawing, *, svg: bool, pages: PdfPages | None) -> Rendered:
    """Return an empty picture in place of a drawing, in the formats that are asked for."""
    rendered = Rendered(drawing)
    if svg:
        rendered.svg.update(dict.fromkeys(WIDTHS, SVG))
    if pages is not None:
        rendered.pdf.update(dict.fromkeys(WIDTHS, b"%PDF-1.4\n"))
        pages.savefig(Figure(figsize=(1, 1)))  # type: ignore[no-untyped-call]
    return rendered


@pytest.fixture
def without_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are empty pictures."""
    monkeypatch.setattr("fairc.runtime.report.render._render", _empty)


@pytest.fixture
def page_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are drawn at the width of a page, and not for a column as well."""
    monkeypatch.setattr("fairc.runtime.report.render.WIDTHS", {"page": WIDTHS["page"]})
