"""PDFs embed fonts without layout tables: the glyphs that are drawn are the font's own."""

from __future__ import annotations

import io
import re
import zlib
from pathlib import Path

import matplotlib as mpl
from fontTools import subset
from fontTools.pens.recordingPen import RecordingPen
from fontTools.ttLib import TTFont
from matplotlib.figure import Figure

from fairc.runtime.report.figures.style import paper_style
from fairc.runtime.report.fonts import LAYOUT, without_layout

TEXT = "ffi RTT Ünits \N{MINUS SIGN}5 µs"
FONT = Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")


def embedded(pdf: bytes) -> list[TTFont]:
    """Return the TrueType fonts of a PDF: one for each 256 characters that it uses some of."""
    begins = [found.end() for found in re.finditer(rb"[^d]stream\r?\n", pdf)]
    whole = [zlib.decompressobj().decompress(pdf[begin:]) for begin in begins]
    return [TTFont(io.BytesIO(each)) for each in whole if each.startswith(b"\0\1\0\0")]


def outline(font: TTFont, glyph: str) -> list[object]:
    pen = RecordingPen()
    font.getGlyphSet()[glyph].draw(pen)
    return list(pen.value)


def test_glyphs_in_a_pdf_are_those_of_the_font() -> None:
    original = subset.load_font
    with paper_style():
        figure = Figure(figsize=(2, 1))
        figure.text(0.1, 0.5, TEXT)
        out = io.BytesIO()
        with without_layout():
            figure.savefig(out, format="pdf")
    assert subset.load_font is original
    fonts, source = embedded(out.getvalue()), TTFont(FONT)
    held = {name: font for font in fonts for name in font.getGlyphOrder()}
    # matplotlib reads the whole font where it chooses glyphs: the ligature of `ffi` is one of them.
    glyphs = source.getBestCmap() or {}
    names = {glyphs[ord(letter)] for letter in TEXT} - {"f"} | {"uniFB03"}
    assert len(names) > 10
    assert all(outline(held[name], name) == outline(source, name) for name in names)
    assert all(not set(LAYOUT) & set(font.keys()) for font in fonts)
    assert "GSUB" in source
    # When a report is made leaves no trace in it.
    assert {font["head"].modified for font in fonts} == {source["head"].modified}
