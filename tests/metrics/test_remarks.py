"""Why cells are not valid: reasons that differ in their numbers alone make one remark."""

from __future__ import annotations

from fairc.runtime.repetitions.reading import Outcome
from fairc.runtime.repetitions.remarks import merged, remarks, shown

LIMITED = "flow a, connection {}: limited by its hosts for {}% of its time"


def outcome(cell: str, verdict: str | None, *reasons: str) -> Outcome:
    """Return a cell that finished with a verdict, or failed without one."""
    return Outcome(cell, "c", 1, "1", "ok" if verdict else "failed", verdict, reasons)


def test_reasons_that_differ_in_numbers_are_one_with_their_range() -> None:
    """The range of each number is shown, and a number that is the same stays."""
    found = remarks(
        [
            outcome("a", "flagged", LIMITED.format(0, 50.7)),
            outcome("b", "valid"),
            outcome("c", "flagged", LIMITED.format(0, 9.6)),
        ]
    )
    assert list(shown(found)) == [
        (
            "  2 flagged: flow a, connection 0: limited by its hosts for 9.6-50.7% of its time"
            " (for example cell a)"
        )
    ]


def test_the_worst_verdict_comes_first_and_then_what_concerns_most_cells() -> None:
    """A cell with two reasons is in two remarks, and with one reason twice in one."""
    found = remarks(
        [
            outcome("a", "flagged", "the queue was empty"),
            outcome("b", "flagged", LIMITED.format(0, 2), LIMITED.format(1, 3), "late by 3 ms"),
            outcome("c", "flagged", LIMITED.format(0, 2)),
            outcome("d", "invalid", "late by 3 ms"),
            outcome("e", None),
        ]
    )
    assert [(each.word, [o.cell for o in each.outcomes]) for each in found] == [
        ("failed", ["e"]),
        ("invalid", ["d"]),
        ("flagged", ["b", "c"]),
        ("flagged", ["b"]),
        ("flagged", ["a"]),
    ]
    assert found[0].reason == "no reason was recorded"
    assert found[2].reason == LIMITED.format("0-1", "2-3")


def test_many_remarks_are_cut_with_their_number() -> None:
    """Nothing disappears without a word."""
    found = remarks([outcome(str(i), "flagged", "x" * (i + 1)) for i in range(5)])
    assert list(shown(found, most=3))[-1] == "  ... and 2 more reasons, which the report lists"
    assert len(list(shown(found, most=5))) == 5


def test_texts_alike_but_for_their_numbers_are_one() -> None:
    skew = "skewed (skewness {}, n = 3)"
    texts = [skew.format("0.6"), "flows are still moving", skew.format("-0.7"), skew.format("-0.7")]
    assert merged(texts) == ["skewed (skewness -0.7 to 0.6, n = 3)", "flows are still moving"]
    assert merged(["2 of 3", "1 of 3", "1 of 3, again"]) == ["1-2 of 3", "1 of 3, again"]
    assert merged([]) == []
