"""Build the project's site: `python -m website FOLDER`, in scripts/ (`make site`).

The site is a folder of files: it can be read from a disk, without a server or a network.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .gallery import gallery
from .links import broken_links
from .pages import ROOT, navigation, write_pages

REPORTS = ("quickstart", "call", "prague-queues")
"""Examples that are run for the site: about two minutes on two cores."""
SHIM = "https://unpkg.com/iframe-worker/shim"
RESULTS = ROOT / ".cache" / "site"


def main() -> None:
    """Write the pages, run the examples, build the site and check its links."""
    parser = argparse.ArgumentParser(prog="make site", description=__doc__)
    parser.add_argument("out", type=Path, metavar="FOLDER")
    parser.add_argument("--reports", nargs="*", default=list(REPORTS), metavar="EXAMPLE")
    arguments = parser.parse_args()
    out: Path = arguments.out
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        pages = work / "pages"
        write_pages(pages)
        titles = {name: write_report(name, pages / "reports") for name in arguments.reports}
        (pages / "gallery.md").write_text(gallery(titles), encoding="utf-8")
        build(work)
        wrong = broken_links(work / "site")
        if wrong:
            sys.exit("\n".join(["error: links of the site:", *wrong]))
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(work / "site", out)
    print(f"{out}: open index.html")


def write_report(name: str, out: Path) -> str:
    """Run an example, keep its report and pack, and return its title.

    Results of an earlier site are used if they are of the same cells.
    """
    spec, run = ROOT / "examples" / f"{name}.fexp", RESULTS / name
    fairc = [sys.executable, "-m", "fairc"]
    subprocess.run([*fairc, "run", str(spec), "-o", str(run)], check=True)
    pack = out / f"{name}.zip"
    pack.parent.mkdir(parents=True, exist_ok=True)
    pack.unlink(missing_ok=True)
    subprocess.run([*fairc, "pack", str(run), "-o", str(pack)], check=True)
    shutil.copytree(run / "figures", out / name / "figures")
    shutil.copyfile(run / "report.html", out / name / "report.html")
    plan = json.loads((run / "plan.json").read_text(encoding="utf-8"))
    return str(plan["title"] or name)


def build(folder: Path) -> None:
    """Write the site of the pages in a folder, beside them; a broken link ends it."""
    config = Path(__file__).with_name("zensical.toml").read_text(encoding="utf-8")
    settings = config.replace("[project]\n", f"[project]\nnav = {_toml(navigation())}\n", 1)
    (folder / "zensical.toml").write_text(settings, encoding="utf-8")
    zensical = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    if subprocess.run(zensical, cwd=folder, check=False).returncode:
        sys.exit("error: the site was not built: see the broken links above")
    keep_shim(folder / "site")


def keep_shim(site: Path) -> None:
    """Let pages load what makes their search work from a disk from the site, not from a network."""
    shim = Path(__file__).with_name("iframe-worker.js")
    shutil.copyfile(shim, site / "assets" / shim.name)
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        up = "../" * (len(page.relative_to(site).parts) - 1)
        page.write_text(text.replace(SHIM, f"{up}assets/{shim.name}"), encoding="utf-8")


def _toml(value: object) -> str:
    """Return lists, tables and text as TOML writes them in one line."""
    match value:
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            return f"{{ {', '.join(f'{json.dumps(k)} = {_toml(v)}' for k, v in value.items())} }}"
        case _:
            return json.dumps(value)


if __name__ == "__main__":
    main()
