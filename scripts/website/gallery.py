"""The gallery: a card for each example and study, and the reports that were made with the site."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from .pages import ROOT

INDEXES = {
    "Examples": ROOT / "docs/learn/examples/README.md",
    "Published studies": ROOT / "docs/learn/studies/README.md",
}
ROW = re.compile(r"^\| \[([\w-]+)\]\(([\w-]+\.md)(?:#[\w-]+)?\) \| ([^|]+) \|", re.MULTILINE)
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")


def gallery(reports: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        reports: example -> its title; each has `reports/NAME/report.html` and `reports/NAME.zip`.
    """
    lines = ["# Gallery", ""]
    if reports:
        lines += ["## Live reports", "", "What `fairc run` wrote when this site was built.", ""]
        lines += ['<div class="grid cards" markdown>', ""]
        for name, title in reports.items():
            links = {
                "report": f"reports/{name}/report.html",
                "file": f"examples/{name}.fexp.md",
                "pack": f"reports/{name}.zip",
            }
            row = " · ".join(f"[{text}]({target})" for text, target in links.items())
            lines += [f"-   **{title}**", "", f"    {row}", ""]
        lines += ["</div>", ""]
    for heading, index in INDEXES.items():
        lines += [f"## {heading}", "", '<div class="grid cards" markdown>', ""]
        for name, page, question, picture in _entries(index):
            target = (index.parent / page).relative_to(ROOT)
            lines += [f"-   [**{name}**]({target})", ""]
            if picture is not None:
                lines += [f"    ![{name}]({picture.relative_to(ROOT)})", ""]
            lines += [f"    {question}", ""]
        lines += ["</div>", ""]
    return "\n".join(lines)


def _entries(index: Path) -> Iterator[tuple[str, str, str, Path | None]]:
    """Yield name, page, question and first picture of each row of an index, pictures first."""
    rows = []
    for name, page, question in ROW.findall(index.read_text(encoding="utf-8")):
        text = (index.parent / page).read_text(encoding="utf-8")
        found = PICTURE.search(text)
        picture = None if found is None else (index.parent / found[1]).resolve()
        rows.append((name, page, question.strip(), picture))
    yield from sorted(rows, key=lambda row: row[3] is None)
