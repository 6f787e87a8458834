"""The place of the cursor in a text: its block, its key, its call.

It works on text that does not parse, as text does while it is typed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|[0-9]+(?:\.[0-9]+)?(?:%|[A-Za-z_]\w*(?:/s?)?)?"
    r"|[A-Za-z_]\w*(?:\.\w*)*"
    r"|--|->|<-|[=!<>]=|\.\.|\S"
)
_WORD = re.compile(r"[\w.%/]+")
_CONTINUES = frozenset({"extends", "for", "in", "when", "with", "per", "of", "and", "or", "not"})
_SAME_KEYS = {
    "template": "experiment",
    "service": "flow",
    "every": "at",
    "down": "at",
}
"""Statements whose block has the keys of another one."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a text.

    block: the statement whose braces are around it, `""` at the top of a file.
    key: the key whose value is written here, `""` where a key or a statement may begin.
    call: the word whose arguments are written here, `""` if there is none.
    argument: the name of the argument whose value is written here, or its position.
    typed: the part of a word before the cursor. start: its offset.
    """

    block: str
    key: str
    call: str
    argument: str | int
    typed: str
    start: int


@dataclass(slots=True)
class _Frame:
    """An open bracket, and the statement that is written inside it.

    name: of its block or call. head: the statement's first word. is_whole: it may end here.
    """

    bracket: str
    name: str
    head: str = ""
    key: str = ""
    position: int = 0
    is_whole: bool = field(default=False)


def cursor_at(text: str, offset: int) -> Cursor | None:
    """Return where an offset is; None within a comment or a string."""
    frames = [_Frame("{", "")]
    before, adjacent = "", -1
    for match in _TOKEN.finditer(text):
        token, start, end = match[0], match.start(), match.end()
        if start >= offset:
            break
        if token[0] in '#"' and offset < end + (token[0] == "#" or token[-1:] != '"'):
            return None
        if token[0].isalnum() or token[0] in '_"':
            if end >= offset and token[0] != '"':
                return _at(frames, text[start:offset], start)
            _word(frames[-1], token, before)
        elif token in "([{":
            _open(frames, token, before if adjacent == start else "")
        elif token in ")]}" and len(frames) > 1:
            frames.pop()
            frames[-1].is_whole = True
            if token == "}":
                frames[-1].head = frames[-1].key = ""
        elif token[0] != "#":
            _sign(frames[-1], token, before)
        if token[0] != "#":
            before, adjacent = token, end
    return _at(frames, "", offset)


def word_at(text: str, offset: int) -> tuple[int, int]:
    """Return the begin and the end of the word at an offset; they are equal if there is none."""
    for match in _WORD.finditer(text):
        if match.start() <= offset <= match.end():
            return match.span()
    return offset, offset


def _at(frames: list[_Frame], typed: str, start: int) -> Cursor:
    block = next(frame for frame in reversed(frames) if frame.bracket == "{")
    inner = frames[-1]
    call = next((f for f in reversed(frames[frames.index(block) :]) if f.bracket == "("), None)
    name = _SAME_KEYS.get(block.name, block.name)
    if call is None:
        key = "" if block is inner and block.is_whole else block.key
        return Cursor(name, key, "", 0, typed, start)
    argument = call.key or call.position
    return Cursor(name, block.key, call.name, argument, typed, start)


def _word(frame: _Frame, word: str, before: str) -> None:
    if frame.bracket != "{":
        return
    begins = not frame.head or (frame.is_whole and word not in _CONTINUES)
    if begins:
        frame.head, frame.key, frame.is_whole = word, "", False
    elif word in _CONTINUES:
        frame.is_whole = False
    else:
        frame.is_whole = before != "down"


def _open(frames: list[_Frame], bracket: str, name: str) -> None:
    outer = frames[-1]
    if bracket == "{":
        name = outer.key if outer.key == "topology" else outer.head
    frames.append(_Frame(bracket, name))


def _sign(frame: _Frame, sign: str, before: str) -> None:
    frame.is_whole = sign in "%"
    if (sign == "=" and frame.bracket == "{") or (sign == ":" and frame.bracket == "("):
        frame.key = before
    elif sign == "," and frame.bracket == "(":
        frame.key, frame.position = "", frame.position + 1
