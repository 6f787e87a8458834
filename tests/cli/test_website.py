"""The site of the project's own pages: it builds, and each link in it leads somewhere."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from waiting import completed

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.full
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="lists the files that git keeps")
def test_the_site_builds_and_needs_no_network(tmp_path: Path) -> None:
    """`make site` without its runs; its links are checked as it is built, too."""
    command = [sys.executable, "-m", "website", str(tmp_path / "site"), "--reports"]
    done = completed(command, cwd=ROOT / "scripts")
    assert done.returncode == 0, done.stdout + done.stderr
    gallery = (tmp_path / "site" / "gallery.html").read_text(encoding="utf-8")
    assert gallery.count('href="docs/learn/studies/') >= 20
    assert "starlink" in gallery
    quickstart = (tmp_path / "site" / "examples" / "quickstart.fexp.html").read_text()
    assert "language-fexp" in quickstart, "highlighted by fairc's own lexer"


def test_a_link_that_leads_nowhere_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page, a place in a page, and a script from elsewhere."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "a.html").write_text(
        '<h1 id="here">a</h1><a href="#here"></a><a href="b.html"></a><a href="a.html#there"></a>'
        '<a href="https://a.example"></a><script src="https://a.example/s.js"></script>'
    )
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    links = importlib.import_module("website.links")
    assert links.broken_links(site) == [
        "a.html: loads https://a.example/s.js from the network",
        "a.html: b.html does not exist",
        "a.html: a.html#there has no such place",
    ]
