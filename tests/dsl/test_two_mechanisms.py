"""A link has one medium and one repair: a second one is refused, whoever brings it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fairc import dsl
from fairc.cell.medium import Repair
from fairc.dsl.blocks import Settings
from fairc.dsl.core.diagnostics import Diagnostic, Severity
from fairc.dsl.core.entries import Parameter
from fairc.dsl.model import LinkMedium
from fairc.dsl.network import impairments, networks
from fairc.mechanisms.links.link import LinkMechanism, LinkSettings
from fairc.mechanisms.links.registry import LINKS
from fairc.words.blocks import link as keys

(RADIO,) = LINKS
SPEC = """fexp 1
experiment two {
  topology {
    node server, client
    router a, b
    link server -- a, b -- client { rate = 1Gbit/s }
    link a -> b { rate = 10Mbit/s  delay = 10ms  HERE }
    link b -> a { rate = 10Mbit/s  delay = 10ms }
  }
  flow f { cca = cubic  workload = bulk }
  duration = 1s
  measure  = [goodput]
}
"""


def other_medium(settings: LinkSettings) -> LinkMedium | None:
    """A medium that `ecn = bleach` asks for, which is the radio's in all else."""
    found = RADIO.medium(settings)
    if found is None or settings.given(keys.ECN) != "bleach":
        return None
    assert isinstance(settings, Settings)
    at = settings.span(keys.ECN)
    assert at is not None
    return replace(found, keys=(keys.ECN.name,), span=at)


def other_repair(settings: LinkSettings) -> tuple[Repair, Parameter[Any]] | None:
    """The same of a repair."""
    found = RADIO.repair(settings)
    return None if found is None or settings.given(keys.ECN) != "bleach" else (found[0], keys.ECN)


@pytest.fixture(autouse=True)
def _two(monkeypatch: pytest.MonkeyPatch) -> None:
    other = LinkMechanism(
        keys=(keys.ECN,),
        medium=other_medium,
        repair=other_repair,
        features=(),
        required=lambda *_: iter(()),
    )
    for module in (networks, impairments):
        monkeypatch.setattr(module, "LINKS", (RADIO, other))


def diagnostics(words: str) -> list[Diagnostic]:
    _, found = dsl.load(dsl.Source("two.fexp", SPEC.replace("HERE", words)), {}, None)
    return [each for each in found if each.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            "release = batch(hold: 4ms)  ecn = bleach",
            "conflicting-release",
            "one link cannot have both `release` and `ecn`",
        ),
        (
            "repair = arq(tries: 2, delay: 2ms)  loss = 5%  ecn = bleach",
            "conflicting-repair",
            "one link cannot have both `repair` and `ecn`",
        ),
    ],
)
def test_two_are_refused(words: str, code: str, message: str) -> None:
    (found,) = diagnostics(words)
    assert (found.code, found.message) == (code, message)
    assert found.help
    assert found.span is not None
    assert found.labels[0].span.start < found.span.start


@pytest.mark.parametrize(
    "words",
    ["release = batch(hold: 4ms)", "repair = arq(tries: 2, delay: 2ms)  loss = 5%", "ecn = bleach"],
)
def test_one_is_not(words: str) -> None:
    assert diagnostics(words) == []
