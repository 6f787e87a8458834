"""The figure `dots`, which cannot be imported: what it needs is not installed."""

from __future__ import annotations

import a_package_that_nobody_has  # type: ignore[import-not-found]  # noqa: F401
