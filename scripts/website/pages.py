"""The sources of the site: the project's pages and the files that they link to.

Pages keep their paths, so that their links stay right. A file that is no page (a `.fexp`, a C
source) gets a page beside it, `NAME.md`, which shows it; a folder gets one that lists it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("*.md", "docs/**/*.md", "tests/diagnostics/*.md")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")
FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
IMAGES = (".png", ".svg")
LANGUAGES = {
    ".c": "c",
    ".csv": "text",
    ".fexp": "fexp",
    ".go": "go",
    ".ipynb": "json",
    ".py": "python",
    ".sh": "sh",
}
MOST_SHOWN_BYTES = 200_000
MOST_LISTED = 400


def write_pages(out: Path) -> None:
    """Write all pages, and what they link to, into a folder."""
    pages = sorted({page for pattern in PAGES for page in ROOT.glob(pattern)})
    for page in pages:
        text = page.read_text(encoding="utf-8")
        written = out / page.relative_to(ROOT)
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(rewritten(text, page, out), encoding="utf-8")
    (out / "README.md").rename(out / "index.md")


def rewritten(text: str, page: Path, out: Path) -> str:
    """Return a page's text with links to the pages of what it links to, which are written, too."""
    parts = FENCED.split(text)
    for number, part in enumerate(parts):
        if FENCED.fullmatch(part):
            parts[number] = re.sub(r"^(\s*```)\n(?=fexp 1\n)", r"\1fexp\n", part)
        else:
            parts[number] = LINK.sub(lambda link: _relinked(link, page, out), part)
    return "".join(parts)


def _relinked(link: re.Match[str], page: Path, out: Path) -> str:
    before, target, after = link.groups()
    path, _, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", path):
        return link[0]
    file = (page.parent / path).resolve()
    if not file.is_relative_to(ROOT) or not file.exists():
        raise SystemExit(f"error: {page.relative_to(ROOT)} links to {target}, which does not exist")
    if file == ROOT / "README.md":
        path = os.path.relpath(ROOT / "index.md", page.parent)
    elif file.is_dir():
        _write_folder(file, out)
        path = os.path.relpath(ROOT / _shown(file) / "index.md", page.parent)
    elif file.suffix != ".md":
        _copy(file, out)
        path = os.path.relpath(ROOT / _shown(file), page.parent)
        if file.suffix not in IMAGES:
            path = f"{path}.md"
            _write_source(file, out)
    return f"{before}{path}{'#' + anchor if anchor else ''}{after}"


def _shown(file: Path) -> Path:
    """Return where a file or folder lies in the site: Zensical leaves out names with a dot."""
    return Path(*(part.removeprefix(".") for part in file.relative_to(ROOT).parts))


def _copy(file: Path, out: Path) -> None:
    copied = out / _shown(file)
    if not copied.exists():
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copied)


def _write_source(file: Path, out: Path) -> None:
    name = _shown(file)
    content = file.read_bytes()
    shown = content[:MOST_SHOWN_BYTES].decode(errors="replace")
    cut = "" if len(content) <= MOST_SHOWN_BYTES else "Its beginning:\n\n"
    language = LANGUAGES.get(file.suffix, "text")
    (out / f"{name}.md").write_text(
        f"# {file.relative_to(ROOT)}\n\n[Download]({name.name})\n\n{cut}"
        f"````{language}\n{shown.rstrip()}\n````\n",
        encoding="utf-8",
    )


def _write_folder(folder: Path, out: Path) -> None:
    """Write the page of a folder: its files, each with a page of its own."""
    name = _shown(folder)
    index = out / name / "index.md"
    if index.exists():
        return
    index.parent.mkdir(parents=True, exist_ok=True)
    index.write_text("")  # a page that this folder's files link back to ends here
    lines = [f"# {folder.relative_to(ROOT)}", ""]
    kept = subprocess.run(
        ["git", "ls-files", "--", "."], cwd=folder, capture_output=True, text=True, check=True
    )
    for file in map(folder.joinpath, kept.stdout.splitlines()[:MOST_LISTED]):
        is_page = file.suffix == ".md"
        if not is_page:
            _copy(file, out)
            _write_source(file, out)
        inside = _shown(file).relative_to(name)
        lines.append(f"- [{file.relative_to(folder)}]({inside}{'' if is_page else '.md'})")
    index.write_text("\n".join(lines) + "\n", encoding="utf-8")


def navigation() -> list[object]:
    """Return the site's navigation: the books and pages of docs/README.md, in its order."""
    books: list[object] = [{"Home": "index.md"}, {"Gallery": "gallery.md"}]
    book: list[object] = []
    for line in (ROOT / "docs/README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            book = []
            books.append({line.removeprefix("## "): book})
        elif row := re.match(r"\| \[([^\]]+)\]\(([^)#]+)\)", line):
            book.append({row[1]: os.path.normpath(f"docs/{row[2]}")})
    return books
