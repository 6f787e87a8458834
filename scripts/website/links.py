"""Whether each link of a built site leads somewhere in it, anchors included, without a network."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""The attributes whose files a browser loads by itself, by tag."""


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value for key, value in attrs if value is not None}
        self.anchors |= {values[key] for key in ("id", "name") if key in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADED and LOADED[tag] in values and values.get("rel") != "canonical":
            self.loaded.append(values[LOADED[tag]])


def broken_links(site: Path) -> list[str]:
    """Return what is wrong with the links of a site, a line each.

    A link to another site is none of it; what a browser would load from one is.
    """
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        name = path.relative_to(site)
        wrong += [
            f"{name}: loads {target} from the network"
            for target in page.loaded
            if urlsplit(target).netloc
        ]
        for target in page.links + page.loaded:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = unquote(parts.path)
            # Only 404.html, which a server shows anywhere, has links from the site's root.
            base = site if there.startswith("/") and path.name == "404.html" else path.parent
            file = (
                path if not there else (base / there.lstrip("/" if base == site else "")).resolve()
            )
            if file.is_dir():
                file /= "index.html"
            if not file.exists():
                wrong.append(f"{name}: {target} does not exist")
            elif (
                parts.fragment
                and file in pages
                and unquote(parts.fragment) not in pages[file].anchors
            ):
                wrong.append(f"{name}: {target} has no such place")
    return wrong


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page
