r"""A table of the report as LaTeX (booktabs), as printed: no text acts as a command, none is wider
than its column.

Input the file where the table belongs, in one column of a paper or across both. Long texts wrap,
and a table that is still wider than the line is scaled down. It needs the packages booktabs, array
and graphicx and the font encoding T1, all of which every TeX distribution has.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from fairc.runtime.formatting import MINUS, Cell, Number, one_line

from .sheet import Sheet

PACKAGES = r"\usepackage[T1]{fontenc}\usepackage{array,booktabs,graphicx}"

# In characters of \footnotesize: one column of a paper; a column of the table that wraps, at least;
# a word that may be broken, from which on, and into what.
COLUMN, NARROW, LONG_WORD, PIECE = 60, 12, 20, 8
MOST_LINES = 8
# Of a character, on average; a little more than it is.
EM = 0.54

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi . pi rho . sigma"
    " tau upsilon phi chi psi omega"
)
_CAPITALS = {
    "\N{GREEK CAPITAL LETTER DELTA}": "Delta",
    "\N{GREEK CAPITAL LETTER SIGMA}": "Sigma",
    "\N{GREEK CAPITAL LETTER OMEGA}": "Omega",
}
_MATHS = {
    MINUS: "-",
    "\N{LESS-THAN OR EQUAL TO}": r"\leq",
    "\N{GREATER-THAN OR EQUAL TO}": r"\geq",
    "\N{NOT EQUAL TO}": r"\neq",
    "\N{ALMOST EQUAL TO}": r"\approx",
    "\N{INFINITY}": r"\infty",
    "\N{SQUARE ROOT}": r"\surd",
    "\N{LEFTWARDS ARROW}": r"\leftarrow",
    "\N{RIGHTWARDS ARROW}": r"\to",
    "\N{LEFT RIGHT ARROW}": r"\leftrightarrow",
    "\N{N-ARY SUMMATION}": r"\sum",
    "\N{ELEMENT OF}": r"\in",
    **{chr(0x3B1 + i): f"\\{name}" for i, name in enumerate(_GREEK.split()) if name != "."},
    **{character: f"\\{name}" for character, name in _CAPITALS.items()},
}
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "`": r"\textasciigrave{}",
    # After `\\`, a bracket or a star would be its option. `--`, `,,` and others would be one
    # character.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "-": "-{}",
    ",": ",{}",
    "?": "?{}",
    "!": "!{}",
    "\N{EN DASH}": "--",
    "\N{EM DASH}": "---",
    "\N{MICRO SIGN}": r"\textmu{}",
    "\N{NO-BREAK SPACE}": "~",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    "\N{HORIZONTAL ELLIPSIS}": r"\dots{}",
    "\N{LEFT SINGLE QUOTATION MARK}": r"\textquoteleft{}",
    "\N{RIGHT SINGLE QUOTATION MARK}": r"\textquoteright{}",
    "\N{LEFT DOUBLE QUOTATION MARK}": r"\textquotedblleft{}",
    "\N{RIGHT DOUBLE QUOTATION MARK}": r"\textquotedblright{}",
    **{character: f"${command}$" for character, command in _MATHS.items()},
}
_LAST = 0x17F
"""The last character that LaTeX knows by itself in the encodings T1 and TS1: Latin-1 and Latin
Extended-A.
"""
_UNKNOWN = frozenset("ĦħĸĿŀŉŦŧſ")


def as_tex(sheet: Sheet) -> str:
    """Return a table as LaTeX that stands alone in its file.

    A character that LaTeX has no glyph for is its code point, `[U+4E2D]`.
    """
    wide = _widths(sheet)
    columns = " ".join(
        f">{{\\raggedright\\arraybackslash}}p{{{EM * width:.1f}em}}"
        if width
        else "r"
        if numeric
        else "l"
        for (_, numeric), width in zip(sheet.head, wide, strict=True)
    )
    lines = [
        f"% {_plain(sheet.title)}",
        f"% {PACKAGES}",
        r"\begingroup\footnotesize\setlength{\tabcolsep}{4pt}%",
        r"\setbox0=\hbox{%",
        f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        _row(
            _head(name, _longest(sheet, i)) if not wide[i] else _text(name)
            for i, (name, _) in enumerate(sheet.head)
        ),
        r"\midrule",
        *(_row(_cell(cell, bool(wide[i])) for i, cell in enumerate(row)) for row in sheet.rows),
        r"\bottomrule",
        r"\end{tabular}}%",
        r"\leavevmode\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\box0}\else\box0\fi%",
        r"\endgroup",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _printed(cell: Cell) -> str:
    if isinstance(cell, tuple):
        return f"[{cell[0].text}, {cell[1].text}]"
    return cell.text if isinstance(cell, Number) else one_line(cell)


def _longest(sheet: Sheet, column: int) -> int:
    return max((len(_printed(row[column])) for row in sheet.rows), default=0)


def _widths(sheet: Sheet) -> list[int]:
    """Return how many characters each column that wraps is wide, and 0 for the others.

    Texts have as few lines as make the table fit into one column of a paper, or as narrow columns
    allow.
    """
    longest = [_longest(sheet, i) for i in range(len(sheet.head))]
    least = [
        n if numeric else min(n, max(NARROW, min(LONG_WORD, _longest_word(sheet, i))))
        for i, (n, (_, numeric)) in enumerate(zip(longest, sheet.head, strict=True))
    ]
    widths = longest
    for lines in range(1, MOST_LINES + 1):
        widths = [max(short, -(-n // lines)) for short, n in zip(least, longest, strict=True)]
        if sum(widths) + 2 * len(widths) <= COLUMN:
            break
    return [width if width < n else 0 for width, n in zip(widths, longest, strict=True)]


def _longest_word(sheet: Sheet, column: int) -> int:
    texts = (sheet.head[column][0], *(_printed(row[column]) for row in sheet.rows))
    return max(len(word) for text in texts for word in text.split(" "))


def _head(text: str, longest: int) -> str:
    """Return the head of a column in as many lines as keep it about as narrow as its cells."""
    room, lines = max(longest, 10), [""]
    for word in one_line(text).split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    if len(lines) == 1:
        return _text(text)
    stacked = "\\\\".join(map(_text, lines))
    return f"\\begin{{tabular}}[b]{{@{{}}l@{{}}}}{stacked}\\end{{tabular}}"


def _cell(cell: Cell, wraps: bool) -> str:
    text = _printed(cell)
    if not wraps:
        return _text(text)
    return " ".join(map(_breakable, text.split(" ")))


def _breakable(word: str) -> str:
    """Return a word that may be broken, without a hyphen: a hash or a path has none."""
    if len(word) <= LONG_WORD:
        return _text(word)
    pieces = [word[at : at + PIECE] for at in range(0, len(word), PIECE)]
    return r"\allowbreak{}".join(map(_text, pieces))


def _plain(text: str) -> str:
    """Return a text for a comment: it ends with its line, so nothing in it is a command."""
    return "".join(c if c.isascii() else "?" for c in one_line(text))


def _text(text: str) -> str:
    return "".join(map(_character, unicodedata.normalize("NFC", one_line(text))))


def _character(c: str) -> str:
    if c in _TEX:
        return _TEX[c]
    if c.isascii() or (ord(c) <= _LAST and c not in _UNKNOWN):
        return c
    return f"{{[}}U+{ord(c):04X}{{]}}"
