"""`docs/learn/mininet.md` has whole programs: those that are emitted for its experiments."""

from __future__ import annotations

import re
from pathlib import Path

from specs import compilation_of

from fairc.compiler.targets import mininet

PAGE = Path(__file__).parents[2] / "docs/learn/mininet.md"
BLOCKS = re.compile(r"```fexp\n(.*?)```\n(.*?)```python\n(.*?)```\n", re.DOTALL)


def written(text: str) -> str:
    """Return a page with the programs of its experiments."""

    def with_program(found: re.Match[str]) -> str:
        spec, prose, _ = found.groups()
        name = re.findall(r"experiment (\w+)", spec)[0]
        cells = compilation_of(spec, f"{name}.fexp").cells()
        program = mininet.render(*cells, filename=f"{name}.py")
        return f"```fexp\n{spec}```\n{prose}```python\n{program}```\n"

    return BLOCKS.sub(with_program, text)


def test_the_programs_of_the_page_are_those_that_are_emitted(update: bool) -> None:
    text = PAGE.read_text()
    assert len(BLOCKS.findall(text)) == 3
    if update:
        PAGE.write_text(written(text))
    assert written(text) == PAGE.read_text()
