"""`import`: what it brings, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairc.dsl import Diagnostics, load, read
from fairc.dsl.experiment import Experiment

MAIN = """fexp 1
{imports}
experiment e {{
  topology = net(rate: fast)
  flow a {{ cca = cubic  workload = file(1MB) }}
  measure = [goodput]
}}
"""
NET = """fexp 1
let fast = 10Mbit/s
topology net(rate) { node server, client  link server -- client { rate = rate } }
"""


def loaded(folder: Path, *imports: str, **files: str) -> tuple[Experiment | None, Diagnostics]:
    for name, text in files.items():
        file = folder / f"{name}.fexp"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    main = folder / "main.fexp"
    main.write_text(MAIN.format(imports="\n".join(f'import "{path}"' for path in imports)))
    return load(read(main))


def codes(found: Diagnostics) -> list[str]:
    return [d.code for d in found]


def test_lets_and_topologies_come_in(tmp_path: Path) -> None:
    experiment, found = loaded(tmp_path, "net.fexp", net=NET)
    assert experiment is not None and len(found) == 0
    (configuration,) = experiment.configurations()
    assert configuration.scenario.network.links[0].forward.rate_bps == 10_000_000
    assert configuration.scenario.network.span.source.name.endswith("net.fexp")


def test_imports_of_imports_count_once(tmp_path: Path) -> None:
    again = 'fexp 1\nimport "net.fexp"\n'
    found = loaded(tmp_path, "a.fexp", "b.fexp", "net.fexp", a=again, b=again, net=NET)[1]
    assert codes(found) == []


def test_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    files = {"sub/a": 'fexp 1\nimport "net.fexp"\n', "sub/net": NET}
    assert codes(loaded(tmp_path, "sub/a.fexp", **files)[1]) == []


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd.fexp",
        "../x.fexp",
        "sub/../../x.fexp",
        "net",
        "",
        "a\\\\b.fexp",
        "out.fexp",
    ],
)
def test_nothing_outside_the_folder(tmp_path: Path, path: str) -> None:
    outside = tmp_path / "x.fexp"
    outside.write_text(NET)
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "out.fexp").symlink_to(outside)
    assert codes(loaded(folder, path)[1])[0] == "import-path"


def test_circles(tmp_path: Path) -> None:
    found = loaded(tmp_path, "a.fexp", a='fexp 1\nimport "main.fexp"\n')[1]
    assert "import-loop" in codes(found)


def test_missing_and_broken_files(tmp_path: Path) -> None:
    found = loaded(tmp_path, "a.fexp", "b.fexp", b="fexp 1\nlet = 5\n")[1]
    assert {"syntax", "no-such-file"} <= set(codes(found))
    assert {d.span.source.name.rsplit("/", 1)[-1] for d in found if d.span} >= {"b.fexp"}
