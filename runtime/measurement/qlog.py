"""The qlog of a QUIC server (draft-ietf-quic-qlog-main-schema, JSON-SEQ of RFC 7464): is it whole?

JSON-SEQ has no end marker, so the server says how many bytes it wrote (`traced`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .artefacts import ArtefactError, Artefacts, field

RECORD_SEPARATOR = b"\x1e"


def check(artefacts: Artefacts, file: str, traced: Sequence[dict[str, Any]], log: str) -> None:
    """Raise ArtefactError unless the qlog `file` is whole and every record in it is valid.

    traced: the server's `traced` events, from the file `log`.
    """
    content = artefacts.content(file)
    if not traced:
        raise ArtefactError(f"{file} may be cut off: {log} does not say how long it is")
    written = field(traced[-1], "bytes", log)
    if len(content) != written:
        raise ArtefactError(f"{file} has {len(content)} bytes, and the server wrote {written}")
    before, *records = content.split(RECORD_SEPARATOR)
    if before or not records:
        raise ArtefactError(f"{file} is not a sequence of JSON texts")
    for number, record in enumerate(records, 1):
        try:
            found = json.loads(record)
        except (ValueError, RecursionError) as error:
            raise ArtefactError(f"{file}, record {number} is not JSON: {error}") from None
        if not isinstance(found, dict) or not record.endswith(b"\n"):
            raise ArtefactError(f"{file}, record {number} is not a whole object")
        if number == 1 and not ("qlog_version" in found and found.get("qlog_format") == "JSON-SEQ"):
            raise ArtefactError(f"{file} does not begin with the header of a qlog")
