"""Features that not every engine has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that not every engine has.

    what: its name in tables. word: of the language, without which nothing requires it; empty where
    no single word does. does: what somebody does with it; `{image}` is the image. cannot: what an
    engine without it cannot do with it. instead: how an experiment runs on such an engine.
    """

    what: str
    word: str
    does: str
    cannot: str
    instead: str
