"""Objects of web pages: MIME types, and which of them may refer to others."""

from __future__ import annotations

import re

DOCUMENT = "text/html"
SCRIPT = "text/javascript"
STYLE = "text/css"
PICTURE = "image/png"
DATA = "application/octet-stream"

REFERRING = frozenset({SCRIPT, STYLE})
"""Types of objects that can name others, as the document does."""

EXTENSIONS = {
    DOCUMENT: "html",
    SCRIPT: "js",
    STYLE: "css",
    PICTURE: "png",
    "application/json": "json",
    "font/woff": "woff",
    "font/woff2": "woff2",
    "image/gif": "gif",
    "image/jpeg": "jpg",
    "image/svg+xml": "svg",
    "image/webp": "webp",
}

OBJECT_LIMIT = 1000
PAGE_LIMIT_BYTES = 100_000_000
"""Most objects and bytes of one page: anything larger is a download, which `file(size)` describes
better.
"""

FRAME_BYTES, REFERENCE_BYTES = 200, 72
"""Space in an object that refers to other objects: its own frame, and the longest name of each
(endpoints/src/web/content.rs writes them)."""

_TYPE = re.compile(r"(?:application|audio|font|image|text|video)/[a-z0-9][a-z0-9.+-]{0,60}")
_SCRIPTS = re.compile(r"(?:application|text)/(?:x-)?(?:java|ecma)script")


def mime_type(text: str) -> str:
    """Return the MIME type of a header's value, without its parameters; for an invalid one, that of
    arbitrary bytes.
    """
    kind = text.partition(";")[0].strip().lower()
    if _SCRIPTS.fullmatch(kind):
        return SCRIPT
    return kind if _TYPE.fullmatch(kind) else DATA


def extension(kind: str) -> str:
    """Return the file name extension of objects of this type."""
    return EXTENSIONS.get(kind, "bin")


def least_bytes(children: int) -> int:
    """Return the least size of an object that refers to this number of objects."""
    return FRAME_BYTES + REFERENCE_BYTES * children if children else 1
