"""Reading the provenance of numbers: `lock.json` of a run, `made.json` of a cell that a cluster
ran.

Strangers may have written them, so every field that is used has a type, nesting is limited, and no
text contains characters that a terminal or a page would obey.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairc.cell.numbers import Number
from fairc.cell.text import EngineName, Sha256, Text, Word

DEEPEST = 6
LARGEST_BYTES = 4_000_000

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$", max_length=80)]
Anything = dict[str, Any]


class _Open(BaseModel):
    """A document whose unused fields are kept as they are."""

    model_config = ConfigDict(strict=True, extra="allow")


class _Engine(_Open):
    name: Name
    identity: Text
    identities: list[Text] = []
    versions: dict[Text, Text] = {}


class _Program(_Open):
    version: Text | None = None
    commit: Text | None = None


class _Plan(_Open):
    experiment: Word | None = None
    file: Text | None = None


class _Invocation(_Open):
    plan: Sha256
    settings: dict[Word, Text] = {}
    engine: EngineName | None = None
    where: Text | None = None
    phase_check: bool = False


class _Named(_Open):
    at: Annotated[str, Field(pattern=r"^[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}Z$")]
    results: Number


class _Declared(_Named):
    request: Anything


class _Claimed(_Named):
    claim: Sha256


class _Document(_Open):
    fairc: _Program = _Program()
    engine: _Engine | None = None
    plan: _Plan = _Plan()
    host: Anything | None = None
    hosts: list[Anything] = []
    measure: list[Anything | Sha256] = []  # metrics, and the hashes of claims
    invocations: list[_Invocation] = []
    declared: list[_Declared] = []
    claimed: list[_Claimed] = []


def read(path: Path) -> dict[str, Any]:
    """Return the document in a file. Raises OSError, ValueError that says what is wrong with it."""
    return parsed(text(path))


def text(path: Path) -> bytes:
    """Return the text of a document. Raises OSError, and ValueError for one that is too large."""
    if not path.is_file():
        raise FileNotFoundError(2, "no such file", str(path))
    with path.open("rb") as file:
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise ValueError("it is too large")
    return content


def parsed(content: bytes) -> dict[str, Any]:
    """Return a document by its text. Raises ValueError that says what is wrong with it."""
    try:
        document = json.loads(content)
    except RecursionError:
        raise ValueError("it is too deep") from None
    if not isinstance(document, dict):
        raise ValueError("it is not an object")  # noqa: TRY004  as of every other wrong document
    _refuse(document, DEEPEST)
    try:
        _Document.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if document.get("engine", "") is None:
        del document["engine"]
    return document


def _refuse(part: object, deeper: int) -> None:
    """Raise ValueError for values that are nested too deeply and for texts that are not plain."""
    if isinstance(part, str) and not _plain(part):
        raise ValueError("a text in it has a control character")
    if isinstance(part, dict | list):
        if deeper == 0:
            raise ValueError("it is too deep")
        for item in part.values() if isinstance(part, dict) else part:
            _refuse(item, deeper - 1)
        for key in part if isinstance(part, dict) else ():
            _refuse(key, 1)


def _plain(text: str) -> bool:
    """Whether a text has no control character."""
    return all(char.isprintable() or char == "\N{NO-BREAK SPACE}" for char in text)
