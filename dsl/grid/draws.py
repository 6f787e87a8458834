"""Which random draws the configurations of a repetition share: `draws` and `paired`."""

from __future__ import annotations

from typing import NamedTuple

from fairc.dsl.blocks import Block
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import fail
from fairc.dsl.expressions.evaluate import Scope
from fairc.words.blocks.experiment import DRAWS, PAIRED, SAMPLE


class Draws(NamedTuple):
    """What is shared. common: starts, arrivals, sizes and pauses; paired: these and the losses."""

    common: bool = True
    paired: bool = False


def draws(block: Block, scope: Scope) -> Draws:
    """Return what the keys of an experiment say. Raises CompileError."""
    given = block.given(DRAWS, scope)
    # Sampled configurations are independent, and no two of them are compared.
    common = given == "common" if given else SAMPLE.name not in block.settings
    paired = block.get(PAIRED, scope)
    if paired and given == "own":
        fail(
            "conflicting-draws",
            "`paired = on` shares all random draws between configurations, `draws = own` shares"
            " none",
            block.settings[PAIRED.name].span,
            labels=(Label(block.settings[DRAWS.name].span, "each configuration has its own here"),),
            help="keep one of them",
        )
    return Draws(common, paired)
