"""The metric `policing` in the language."""

from __future__ import annotations

from collections.abc import Sequence

from fairc.words.metric_entry import FLOW, WINDOW, FlowPath, MetricEntry

_OF_TOKEN_BUCKETS = ("loss", "drops")
"""Values of `policing` that token buckets have, too."""


def _lacks(value: str, paths: Sequence[FlowPath]) -> str:
    """Of values of a policer: a token bucket counts bytes, and has no tokens of congestion. Without
    the name of a value there is one of either.
    """
    if value == "small_window":
        return ""
    if not any(path.devices & {"policer", "token_bucket"} for path in paths):
        return "no flow is policed"
    if value in ("", *_OF_TOKEN_BUCKETS) or any("policer" in path.readers for path in paths):
        return ""
    known = " and ".join(f"`policing.{name}`" for name in _OF_TOKEN_BUCKETS)
    return (
        "a token bucket polices bytes: no packet takes a token for congestion that it causes, as"
        f" at `conex`; behind a token bucket, {known} have values"
    )


ENTRY = MetricEntry(
    name="policing",
    unit="1/s",
    summary="Tokens, drops and level of a user's bucket, and windows that are too small",
    parameters=(FLOW, *WINDOW),
    module=f"{__package__}.metric",
    values=("tokens", "loss", "drops", "level", "empty", "small_window", "unexposed"),
    signed=frozenset({"policing.level"}),
    outside_windows=frozenset({"unexposed"}),
    units={
        **dict.fromkeys(("loss", "empty", "small_window"), "1"),
        **dict.fromkeys(("drops", "unexposed"), "packets"),
        "level": "tokens",
    },
    lacks=_lacks,
)
