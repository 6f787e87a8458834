"""`fairc fmt`: what it prints means the same, is the same when it is printed again, loses
nothing.
"""

from __future__ import annotations

import random
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import Spec, specs

from fairc.dsl import CompileError, Source, load
from fairc.dsl.text.layout import layout
from fairc.dsl.text.parser import parse, parse_with_tokens
from fairc.dsl.text.syntax import Node

ROOT = Path(__file__).parent.parent.parent
FILES = [
    *sorted((ROOT / "examples").glob("*.fexp")),
    *sorted(ROOT.glob("words/presets/*.fexp")),
    *sorted((ROOT / "examples/studies").glob("*.fexp")),
]

relaxed = settings(suppress_health_check=[HealthCheck.too_slow])


def formatted(text: str) -> str:
    return layout(Source("file.fexp", text))


def shape(node: Node) -> object:
    """Return a tree without its places."""
    parts: list[object] = [type(node).__name__]
    for item in fields(node):
        value = getattr(node, item.name)
        if item.name == "span":
            continue
        several = value if isinstance(value, tuple) else (value,)
        parts.append(tuple(shape(v) if isinstance(v, Node) else v for v in several))
    return tuple(parts)


def assert_same(text: str) -> str:
    """Assert that the layout of a text keeps its tree and its comments, and is final."""
    result = formatted(text)
    assert shape(parse(Source("a", result))) == shape(parse(Source("b", text)))
    assert comments(result) == comments(text)
    assert formatted(result) == result
    assert not any(line != line.rstrip() for line in result.splitlines())
    assert result.endswith("\n") and not result.endswith("\n\n")
    return result


def comments(text: str) -> list[str]:
    """Return the comments of a text, in order."""
    plain = re.sub(r'"(?:[^"\\\n]|\\["\\])*"', lambda m: "x" * len(m[0]), text)
    spans = [m.span() for m in re.finditer(r"#[^\n]*", plain)]
    return sorted(text[a:b].rstrip() for a, b in spans)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_our_own_files_are_formatted(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert assert_same(text) == text


def squeezed(text: str, rng: random.Random) -> str:
    """Return the same tokens and comments with other white space between them."""
    found = parse_with_tokens(Source("file.fexp", text))[1]
    result, end = "", 0
    for _, token, start in found:
        gap = text[end:start]
        comment = re.search(r"#[^\n]*", gap)
        space = rng.choice(["\n", "\n\n\n", " ", "  ", "\t", "\r\n"])
        glued = end == 0 or not gap
        result += f"{gap.strip()}\n" if comment else "" if glued else space
        result += token
        end = start + len(token)
    return result + text[end:]


@relaxed
@given(st.sampled_from(FILES), st.randoms(use_true_random=False))
def test_any_white_space(file: Path, rng: random.Random) -> None:
    assert_same(squeezed(file.read_text(encoding="utf-8"), rng))


@relaxed
@given(specs(), st.randoms(use_true_random=False))
def test_the_plan_stays_the_same(spec: Spec, rng: random.Random) -> None:
    text = assert_same(squeezed(spec.text, rng))
    before, after = (load(Source("file.fexp", t))[0] for t in (spec.text, text))
    assert before is not None and after is not None
    for a, b in zip(before.configurations(), after.configurations(), strict=True):
        assert (a.bindings, a.repetitions) == (b.bindings, b.repetitions)
        assert [f.name for f in a.scenario.flows] == [f.name for f in b.scenario.flows]


def test_what_does_not_parse_is_refused() -> None:
    with pytest.raises(CompileError):
        formatted("fexp 1 experiment {")


CASES = {
    "spaces": (
        "fexp 1 experiment e{a=1+2*-3 b=f(x,y:2)}",
        "fexp 1\n\nexperiment e {\n  a = 1 + 2 * -3\n  b = f(x, y: 2)\n}\n",
    ),
    "settings on a line": (
        "fexp 1 experiment e { flow f { a = 1 b = 2   c = 3     d = 4 } }",
        "fexp 1\n\nexperiment e {\n  flow f { a = 1  b = 2   c = 3   d = 4 }\n}\n",
    ),
    "lined up": (
        "fexp 1\nexperiment e {\n  ab = 1\n c = 2\n\n d = 3\n}",
        "fexp 1\n\nexperiment e {\n  ab = 1\n  c  = 2\n\n  d = 3\n}\n",
    ),
    "trailing commas": (
        "fexp 1 let a = [\n1,\n2\n] let b = [1,] let c = (1,) let d = f(1,\n2)",
        "fexp 1\n\nlet a = [\n  1,\n  2,\n]\nlet b = [1]\nlet c = (1,)\nlet d = f(1,\n  2)\n",
    ),
    "an index, a loop, a condition": (
        "fexp 1 experiment e { flow f [ i , 1 ]for i in[1,2]when a>0{a=g[i] b = x.y(c[1])}}",
        (
            "fexp 1\n\nexperiment e {\n"
            "  flow f[i, 1] for i in [1, 2] when a > 0 { a = g[i]  b = x.y(c[1]) }\n}\n"
        ),
    ),
    "flows of a service": (
        "fexp 1 service s { a = 1 }\nexperiment e extends b {\nflow a = s\nflow bc = s { a=2}\n}",
        (
            "fexp 1\n\nservice s { a = 1 }\n\n"
            "experiment e extends b {\n  flow a  = s\n  flow bc = s { a = 2 }\n}\n"
        ),
    ),
    "amended": (
        (
            "fexp 1 let a = b with{link c->d{at 1s over 2s{a=1} every 3s from 1s for 2s{a=1}\n"
            "down from 3s down every 2s for 1s}}"
        ),
        (
            "fexp 1\n\nlet a = b with {\n  link c -> d {\n    at 1s over 2s { a = 1 }  every 3s from 1s"
            " for 2s { a = 1 }\n    down from 3s  down every 2s for 1s\n  }\n}\n"
        ),
    ),
    "lets and metrics beside settings": (
        "fexp 1 template t {\nlet a = 1\nlet bc = 2\nmetric d = 3\nduration = 1s\n}",
        "fexp 1\n\ntemplate t {\n  let a  = 1\n  let bc = 2\n  metric d = 3\n  duration = 1s\n}\n",
    ),
    "comments": (
        "# top\nfexp 1 # v\n\n\n\n# about a\nlet a = [1 # one\n, 2]\n# end",
        "# top\nfexp 1  # v\n\n# about a\nlet a = [1,  # one\n  2]\n# end\n",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_cases(case: tuple[str, str]) -> None:
    text, expected = case
    assert assert_same(text) == expected
