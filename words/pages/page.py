"""`page(...)`: from a web page to its objects, each with the object that refers to it.

Three ways to write one: sizes alone, a document with groups of objects in levels, a recording.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairc.cell.workloads import PageObject
from fairc.dsl import model
from fairc.dsl.core.entries import Entry, Parameter, Use
from fairc.dsl.core.kinds import A_COUNT, A_SIZE, Groups, Quantities, Texts
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER
from fairc.dsl.core.values import Quantity, Several

from .har import recorded
from .web_objects import (
    DOCUMENT,
    OBJECT_LIMIT,
    PAGE_LIMIT_BYTES,
    PICTURE,
    SCRIPT,
    extension,
    least_bytes,
)

SIZES = Parameter(
    "sizes", A_SIZE, "size of an object; the first one is the document", repeated=True
)
HTML = Parameter("html", A_SIZE, "size of the document")
OBJECTS = Parameter(
    "objects",
    Groups(A_SIZE, Quantities((NUMBER,), low=1, high=1000, whole=True)),
    "sizes of the other objects, in groups",
)
DEPTH = Parameter("depth", A_COUNT, "number of levels; scripts of each level name the next", "1")
HAR = Parameter("har", Texts(), "a recording (HAR) in the folder of the experiment")
PAGE = Parameter(
    "page",
    A_COUNT,
    "which page of a recording with several, in order of time",
    otherwise="the first",
)

PAGES: Registry[Entry] = Registry(
    "page",
    "page",
    [
        Entry(
            "page",
            "A web page: by the sizes of its objects, by its levels, or as it was recorded",
            (SIZES, HTML, OBJECTS, DEPTH, HAR, PAGE),
            runs=True,
        ),
    ],
)

Sizes = Sequence[tuple[int, Span]]
"""Sizes in bytes, each with the place where it is written."""

Placed = tuple[PageObject, Span]
"""An object of a page, and the place where its size is written."""


def page_of(use: Use[Entry]) -> model.Page:
    """Return the page that a value stands for.

    Raises CompileError for ways of writing it that do not go together, and for pages without
    objects, with too many, or too large.
    """
    _one_way(use)
    recording, document = use.given(HAR), use.given(HTML)
    if recording is not None:
        page = recorded(recording, use.given(PAGE))
        places = [page.span] * len(page.objects)
    else:
        sizes = [_bytes(size) for size in use.repeated]
        placed = list(_plain(sizes) if document is None else _levels(use, document))
        page = model.Page(tuple(item for item, _ in placed), use.span)
        places = [place for _, place in placed]
    _within_limits(page, places, use)
    return page


def _one_way(use: Use[Entry]) -> None:
    """Refuse a page that is not described, or is described in two ways."""
    ways = [name for name in ("sizes", "html", "har") if name in use.arguments]
    help = 'write `page(7kB, 2kB)`, `page(html: 30kB, objects: 40 of 20kB)` or `page(har: "x.har")`'
    if len(ways) > 1:
        fail(
            "conflicting-parameters",
            f"`{ways[0]}` and `{ways[1]}` both define the page",
            use.arguments[ways[1]].span,
            help=help,
        )
    for name, needs, example in (
        ("objects", "html", "page(html: 30kB, objects: 40 of 20kB, depth: 3)"),
        ("depth", "objects", "page(html: 30kB, objects: 40 of 20kB, depth: 3)"),
        ("page", "har", 'page(har: "x.har", page: 2)'),
    ):
        given = use.arguments.get(name)
        if given is not None and needs not in use.arguments:
            fail(
                "missing-argument",
                f"`{name}` of `page` needs `{needs}`",
                given.span,
                help=f"for example `{example}`",
            )
    if not ways:
        fail("missing-argument", "a page has at least one object", use.span, help=help)


def _plain(sizes: Sizes) -> Iterator[Placed]:
    """Yield a document with pictures; one object alone is a picture."""
    for number, (size, span) in enumerate(sizes):
        if len(sizes) == 1:
            yield _object("/", size, PICTURE, None), span
        elif number == 0:
            yield _object("/", size, DOCUMENT, None), span
        else:
            yield _object(_path(number, PICTURE), size, PICTURE, 0), span


def _levels(use: Use[Entry], document: Quantity) -> Iterator[Placed]:
    """Yield a document, and its objects dealt to the levels like cards, one each in turn.

    So the first `depth` - 1 objects are scripts, each of which refers to all objects of the next
    level.
    """
    yield _object("/", _bytes(document)[0], DOCUMENT, None), document.span
    groups, depth = use.given(OBJECTS), use[DEPTH].whole
    if groups is None:
        return
    sizes = _sizes(groups)
    if DEPTH.name in use.arguments and depth > len(sizes):
        fail(
            "out-of-range",
            f"{len(sizes)} objects cannot make {depth} levels",
            use.span_of(DEPTH),
            help="each level has at least one object",
        )
    for number, (size, span) in enumerate(sizes):
        level = number % depth
        kind = SCRIPT if number < depth - 1 else PICTURE
        yield _object(_path(number + 1, kind), size, kind, level), span


def _sizes(groups: Sequence[Several | Quantity]) -> Sizes:
    """Return the sizes of all objects, group after group."""
    found: list[tuple[int, Span]] = []
    for group in groups:
        if isinstance(group, Several):
            count = int(group.count.number)
            if len(found) + count >= OBJECT_LIMIT:
                _too_many(group.count.span)
            found += [(_bytes(group.item)[0], group.span)] * count
        else:
            found.append(_bytes(group))
    return found


def _bytes(size: Quantity) -> tuple[int, Span]:
    if size.number < 8:
        fail("out-of-range", "an object has at least one byte", size.span, size.canonical)
    return round(size.number / 8), size.span


def _object(path: str, size_bytes: int, kind: str, parent: int | None) -> PageObject:
    return PageObject(path=path, bytes=size_bytes, type=kind, parent=parent)


def _path(number: int, kind: str) -> str:
    return f"/{number}.{extension(kind)}"


def _too_many(span: Span) -> None:
    fail(
        "too-many",
        f"a page has at most {OBJECT_LIMIT:,} objects",
        span,
        help="use fewer, larger objects",
    )


def _within_limits(page: model.Page, places: Sequence[Span], use: Use[Entry]) -> None:
    """Refuse pages that are too large, and objects too small to name the objects that they refer
    to.
    """
    if len(page.objects) > OBJECT_LIMIT:
        _too_many(use.span)
    total = page.size_bytes
    if total > PAGE_LIMIT_BYTES:
        fail(
            "too-large",
            f"this page has {total / 1e6:,.6g} MB, and a page has at most"
            f" {PAGE_LIMIT_BYTES / 1e6:g} MB",
            use.span,
            help="a download of any size is `workload = file(1GB)`",
        )
    children = [0] * len(page.objects)
    for item in page.objects:
        if item.parent is not None:
            children[item.parent] += 1
    for item, place, count in zip(page.objects, places, children, strict=True):
        least = least_bytes(count)
        if count and item.bytes < least:
            fail(
                "out-of-range",
                f"{item.bytes} bytes cannot name the {count} objects that depend on it",
                place,
                note=f"it needs at least {least} bytes",
                help="make it larger, or let it name fewer objects",
            )
