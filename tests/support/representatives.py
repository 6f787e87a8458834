"""Parameters of which some are enough for `make test`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def few(values: Iterable[Any], *kept: Any) -> list[Any]:
    """Return the parameters of a test: all but those to keep are left to `make test-rest`.

    values: each a value, or a tuple of values. Raises ValueError where one to keep is not there.
    """
    values = [*values]
    if unknown := [one for one in kept if one not in values]:
        raise ValueError(f"none of the parameters: {unknown}")
    return [
        value
        if value in kept
        else pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.full
        )
        for value in values
    ]
