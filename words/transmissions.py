"""How a link sends frames."""

from __future__ import annotations

from typing import get_args

from fairc.dsl.core.kinds import Words
from fairc.dsl.model.links import Transmit

A_TRANSMISSION: Words[Transmit] = Words("transmission", get_args(Transmit))
