"""The parser's tables: made from grammar.lark by Lark, and kept as data in `grammar.json`.

Making them takes a third of a second, which every command would pay; reading them takes a sixth
of that. The file belongs to one grammar and one version of Lark, which it names; with any other,
the tables are made anew.
"""

from __future__ import annotations

import hashlib
import json
from importlib import resources
from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

FILE = "grammar.json"


def load() -> Lark:
    """Return the parser, from its kept tables if they are those of this grammar and this Lark."""
    text = resources.files("fairc").joinpath("grammar.lark").read_text(encoding="utf-8")
    kept = json.loads(resources.files("fairc.dsl.text").joinpath(FILE).read_text(encoding="utf-8"))
    if kept["of"] != _of(text):
        return _made(text)
    # JSON has texts for keys; these tables are indexed by numbers.
    table = kept["data"]["parser"]["parser"]
    table["tokens"] = _numbered(table["tokens"])
    table["states"] = {
        state: _numbered(actions) for state, actions in _numbered(table["states"]).items()
    }
    return Lark.load({"data": kept["data"], "memo": _numbered(kept["memo"])})


def document() -> str:
    """Return the content of `grammar.json`."""
    text = resources.files("fairc").joinpath("grammar.lark").read_text(encoding="utf-8")
    data, memo = _made(text).memo_serialize([TerminalDef, Rule])
    kept = {"of": _of(text), "data": data, "memo": memo}
    return json.dumps(kept, separators=(",", ":"), sort_keys=True) + "\n"


def _made(text: str) -> Lark:
    """Trees keep all tokens, so the extent of a node is that of its tokens: having Lark record it
    takes half the time of a parse.
    """
    return Lark(
        text,
        parser="lalr",
        lexer="contextual",
        start=["start", "expression"],
        keep_all_tokens=True,
        maybe_placeholders=False,
    )


def _of(text: str) -> dict[str, str]:
    return {"lark": lark.__version__, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _numbered(items: dict[str, Any]) -> dict[int, Any]:
    return {int(key): value for key, value in items.items()}
