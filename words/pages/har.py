"""`page(har: "x.har", page: 2)`: from a recorded page to the sizes, types and order of its objects.

The format is HAR 1.2 (w3c.github.io/web-performance/specs/HAR/Overview.html) as browsers write it.
Only numbers, types and what requested what are used, neither names nor content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NoReturn
from urllib.parse import urlsplit

from fairc.cell.workloads import PageObject
from fairc.dsl import model
from fairc.dsl.core.attachments import Contents, attached
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.values import Quantity, Text

from .web_objects import (
    DOCUMENT,
    OBJECT_LIMIT,
    PAGE_LIMIT_BYTES,
    REFERRING,
    extension,
    least_bytes,
    mime_type,
)

SIZE_LIMIT_BYTES = 64_000_000
ENTRY_LIMIT = 10_000
REDIRECT_LIMIT = 20  # that of browsers
ASKING_LIMIT = 50
WEB = frozenset({"http", "https"})
INLINE = frozenset({"data", "blob", "about", "chrome-extension", "moz-extension", "ws", "wss"})
"""Schemes of what a page contains without an HTTP request, or gets from the browser itself."""

_CONTENTS = Contents[model.Page]()


@dataclass(frozen=True)
class _Entry:
    """A request that was answered with an object.

    asked_by: URLs of what may have requested it, likeliest first.
    """

    url: str
    size_bytes: int
    type: str
    began: datetime
    page: str
    asked_by: tuple[str, ...]


class _BadRecording(Exception):
    """The file is not a recording; the message says why, without its name."""


def recorded(name: Text, number: Quantity | None = None) -> model.Page:
    """Return a page of a recording; number: which of several, from 1 in order of time; None: the
    first.

    Raises CompileError for a file that cannot be read or is not a HAR (with the place where it
    breaks off, or the number of the faulty entry), for one with local files, or without a document
    or a page of this number.
    """
    data = attached(name, SIZE_LIMIT_BYTES)

    def read(sha256: str) -> model.Page:
        file = model.Input(path=name.value, sha256=sha256)
        return replace(_page(_entries(data, name), name.span, number), file=file)

    try:
        return _CONTENTS.of(name, data, read, str(name.span), number)
    except _BadRecording as problem:
        fail(
            "bad-har",
            f"`{name.value}`: {problem}",
            name.span,
            help="record the page again: in a browser's network panel, `Save all as HAR`",
        )


def _entries(data: bytes, name: Text) -> Sequence[object]:
    """Return the list `log.entries`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _BadRecording("this is not UTF-8 text") from None
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        _refuse(text, error.pos, name, error.msg)
    except RecursionError:
        raise _BadRecording("its lists are nested too deeply") from None
    except ValueError:
        raise _BadRecording("a number in it has thousands of digits") from None
    log = document.get("log") if isinstance(document, dict) else None
    found = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(found, list):
        raise _BadRecording("this is JSON, but not a HAR: it has no list `log.entries`")
    if len(found) > ENTRY_LIMIT:
        raise _BadRecording(f"it has {len(found):,} entries; the limit is {ENTRY_LIMIT:,}")
    return found


def _refuse(text: str, position: int, name: Text, what: str) -> NoReturn:
    """Refuse invalid JSON, at the place of the error."""
    source = Source(name.value, text)
    start = min(position, max(0, len(text) - 1))
    fail(
        "bad-har",
        f"`{name.value}` is not JSON: {what[:1].lower()}{what[1:]}",
        Span(source, start, min(start + 1, len(text))),
        labels=(Label(name.span, "the recording is used here"),),
        help="a HAR is JSON; was it saved completely?",
    )


def _page(listed: Sequence[object], at: Span, wanted: Quantity | None) -> model.Page:
    """Return a page that the entries make, its objects in the order of their requests."""
    kept: list[_Entry] = []
    moved: dict[str, str] = {}
    for number, item in enumerate(listed, 1):
        entry = _Reader(item, number).entry(moved)
        if entry is not None:
            kept.append(entry)
    kept.sort(key=lambda entry: entry.began)
    pages: dict[str, _Entry] = {}
    for entry in kept:
        if entry.type == DOCUMENT:
            pages.setdefault(entry.page, entry)
    if not pages:
        raise _BadRecording(f"none of its {len(listed)} entries is a document that was answered")
    number = 1 if wanted is None else wanted.whole
    if wanted is not None and number > len(pages):
        fail(
            "bad-har",
            f"this recording has {len(pages)} page{'s' * (len(pages) > 1)}, and no page {number}",
            wanted.span,
            help=f"its documents: {', '.join(e.url[:60] for e in pages.values())}",
        )
    first = [*pages.values()][number - 1]
    kept = [e for e in kept if e.page == first.page and e.began >= first.began and e is not first]
    entries = [first, *kept]
    if len(entries) > OBJECT_LIMIT:
        raise _BadRecording(f"it has {len(entries):,} objects; the limit is {OBJECT_LIMIT:,}")
    children = [0] * len(entries)
    objects = []
    for number, entry in enumerate(entries):
        parent = _parent(entries, number, children, moved) if number else None
        if parent is not None:
            children[parent] += 1
        path = f"/{number}.{extension(entry.type)}" if number else "/"
        objects.append(
            PageObject(path=path, bytes=entry.size_bytes, type=entry.type, parent=parent)
        )
    remarks = [*_remarks(listed, entries)]
    if wanted is None and len(pages) > 1:
        remarks.insert(0, f"the first of {len(pages)} pages is loaded; `page: 2` is the second")
    return model.Page(tuple(objects), at, remarks=tuple(remarks))


def _parent(
    entries: Sequence[_Entry], number: int, children: Sequence[int], moved: Mapping[str, str]
) -> int:
    """Return the position of what requested an object: as the browser noted it, else the document.

    It must have come before the object, be of a type that can name others, and be large enough.
    """
    for url in entries[number].asked_by:
        for _ in range(REDIRECT_LIMIT):
            url = moved.get(url, url)
        for before in range(number - 1, -1, -1):
            asking = entries[before]
            if asking.url == url and (not before or asking.type in REFERRING):
                if asking.size_bytes >= least_bytes(children[before] + 1):
                    return before
                break
    return 0


def _remarks(listed: Sequence[object], entries: Sequence[_Entry]) -> list[str]:
    """List what the page omits from the recording."""
    found = []
    left_out = len(listed) - len(entries)
    if left_out:
        found.append(
            f"{left_out} of {len(listed)} entries are not objects of the page and were left out"
        )
    hosts = {urlsplit(entry.url).netloc for entry in entries}
    if len(hosts) > 1:
        found.append(f"objects from {len(hosts)} hosts are all served by one")
    return found


class _Reader:
    """Reads one entry, and says which one and where something is wrong."""

    def __init__(self, entry: object, number: int) -> None:
        self._number = number
        self._entry = self._object(entry, "")

    def entry(self, moved: dict[str, str]) -> _Entry | None:
        """Return the entry, or None if it is not an object of a page.

        moved: collects where redirected URLs lead.
        """
        request = self._object(self._entry.get("request"), "request")
        response = self._object(self._entry.get("response"), "response")
        url, method = self._text(request, "url"), self._text(request, "method")
        scheme = url.partition(":")[0].lower()
        if scheme in INLINE:
            return None
        if scheme not in WEB or not _is_address(url):
            self._broken(f"`{url[:60]}` is not a web address")
        status = self._number_of(response, "status")
        target = response.get("redirectURL")
        if 300 <= status < 400 and isinstance(target, str) and target:
            moved[url] = target
        if method != "GET" or not 200 <= status < 300:
            return None
        content = self._object(response.get("content"), "response.content")
        size = self._size(response, content)
        if size < 1:
            return None
        kind = content.get("mimeType")
        page = self._entry.get("pageref")
        return _Entry(
            url,
            size,
            mime_type(kind if isinstance(kind, str) else ""),
            self._time(),
            page if isinstance(page, str) else "",
            tuple(_asked_by(self._entry.get("_initiator"))),
        )

    def _size(self, response: Mapping[str, Any], content: Mapping[str, Any]) -> int:
        """Return the size of the body as sent, bytes; if it came from a cache, as stored."""
        sent = self._number_of(response, "bodySize", -1)
        if sent <= 0:
            saved = self._number_of(content, "compression", 0)
            sent = self._number_of(content, "size", 0) - max(0, saved)
        if sent > PAGE_LIMIT_BYTES:
            self._broken(f"an object of {sent:,} bytes; the limit is {PAGE_LIMIT_BYTES:,}")
        return sent

    def _time(self) -> datetime:
        text = self._text(self._entry, "startedDateTime")
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            self._broken(f"`startedDateTime` is not a time: `{text[:40]}`")
        if time.tzinfo is None:
            self._broken("`startedDateTime` has no time zone")
        return time

    def _object(self, value: object, name: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self._broken(f"`{name}` is missing" if name else "it is not an object")
        return value

    def _text(self, holder: Mapping[str, Any], name: str) -> str:
        value = holder.get(name)
        if not isinstance(value, str):
            self._broken(f"`{name}` is missing")
        return value

    def _number_of(self, holder: Mapping[str, Any], name: str, default: int | None = None) -> int:
        """Return a whole number between -1 and 2^53."""
        value = holder.get(name, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value < 2**53:
            self._broken(f"`{name}` is not a whole number in range")
        return value

    def _broken(self, what: str) -> NoReturn:
        raise _BadRecording(f"entry {self._number}: {what}")


def _is_address(url: str) -> bool:
    try:
        return bool(urlsplit(url).netloc)
    except ValueError:  # brackets without an IPv6 address, or characters that mean a slash
        return False


def _asked_by(initiator: object) -> list[str]:
    """Return the URLs that Chromium's `_initiator` names: those of its call stack, then its own."""
    found: list[str] = []
    if not isinstance(initiator, dict):
        return found
    stack = initiator.get("stack")
    for _ in range(20):
        if not isinstance(stack, dict):
            break
        frames = stack.get("callFrames")
        for frame in frames if isinstance(frames, list) else ():
            if isinstance(frame, dict) and isinstance(frame.get("url"), str):
                found.append(frame["url"])
        stack = stack.get("parent")
    if isinstance(initiator.get("url"), str):
        found.append(initiator["url"])
    return list(dict.fromkeys(url for url in found if url))[:ASKING_LIMIT]
