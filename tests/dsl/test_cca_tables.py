"""The CCAs with their parameters; that those over QUIC are the endpoints' is a test of the
crate.
"""

from __future__ import annotations

from fractions import Fraction

from fairc.dsl.core.kinds import Quantities
from fairc.words.ccas import BPF, CCAS_OVER, QUIC_CCAS, Knob


def test_a_parameter_over_quic_has_the_unit_that_ends_its_name() -> None:
    knobs = {name: knob for cca in QUIC_CCAS for name, knob in cca.knobs.items()}
    target, window = knobs["target_ms"], knobs["max_window_packets"]
    assert (target.name, target.default, target.initial) == ("target", "100ms", 100.0)
    assert (window.name, window.default) == ("max_window", "")
    assert window.initial is None
    assert isinstance(target.kind, Quantities)
    assert (target.kind.low, target.kind.high) == (Fraction(1, 1000), Fraction(1, 10))
    assert (target.admits(100.0), target.admits(0.5)) == (True, False)


def test_every_parameter_has_a_default_that_it_takes_but_the_largest_window() -> None:
    for words in CCAS_OVER.values():
        for entry in words:
            for knob in entry.parameters if entry is not BPF else ():
                assert isinstance(knob, Knob)
                if knob.field == "max_window_packets":
                    assert knob.initial is None
                    continue
                assert knob.field and knob.default
                if isinstance(knob.kind, Quantities) and knob.field != "rtt0":
                    scale = 1000 if knob.field.endswith("_ms") else 1
                    assert knob.kind.low is not None and knob.kind.high is not None
                    low, high = knob.kind.low * scale, knob.kind.high * scale
                    assert low <= Fraction(str(knob.initial)) <= high
