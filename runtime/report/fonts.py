"""Fonts for PDFs without their text layout tables.

The report of one cell takes 2.1 s of processor time instead of 3.4: their subsets cost matplotlib
more than all drawing, and it has no option to leave them out.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fontTools.subset import Options
    from fontTools.ttLib import TTFont

# Layout: ligatures, positions, formulas, kerning. PDFs name glyphs by number and place them
# themselves.
LAYOUT = ("GDEF", "GPOS", "GSUB", "MATH", "kern")


@contextmanager
def without_layout() -> Iterator[None]:
    """Have matplotlib embed subsets of fonts that have no layout tables, and read the names of a
    font's glyphs once.
    """
    from fontTools import subset, ttLib

    post: Any = ttLib.getTableClass("post")
    load_font, decode = subset.load_font, post.decode_format_2_0
    known: dict[tuple[bytes, int], tuple[list[str], list[str], dict[str, str]]] = {}
    stripped: dict[tuple[str, int], bytes] = {}

    def load(path: Path, options: Options, *arguments: Any, **keywords: Any) -> TTFont:
        font = str(path), options.font_number
        if font not in stripped:
            stripped[font] = _stripped(*font)
        loaded: TTFont = load_font(io.BytesIO(stripped[font]), options, *arguments, **keywords)
        return loaded

    def decode_once(table: Any, data: bytes, font: TTFont) -> None:
        key = data, font.getGlyphCount()
        if key not in known:
            decode(table, data, font)
            known[key] = table.extraNames, table.glyphOrder, table.mapping
        names, order, mapping = known[key]  # the subsetter changes its own
        table.extraNames, table.glyphOrder, table.mapping = [*names], [*order], {**mapping}

    subset.load_font, post.decode_format_2_0 = load, decode_once
    try:
        yield
    finally:
        subset.load_font, post.decode_format_2_0 = load_font, decode


def _stripped(path: str, number: int) -> bytes:
    """Return a font file's bytes without its layout tables."""
    from fontTools.ttLib import TTFont

    with TTFont(path, fontNumber=number, lazy=True, recalcTimestamp=False) as font:
        for table in LAYOUT:
            if table in font:
                del font[table]
        # Nothing looks for a glyph by its character; the subsetter wants the table, and reads all
        # of it each time.
        font["cmap"].tables = []
        stripped = io.BytesIO()
        font.save(stripped, reorderTables=False)
    return stripped.getvalue()
