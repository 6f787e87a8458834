"""The CCAs with their parameters; that those over QUIC are the endpoints' is a test of the
crate.
"""

from __future__ import annotations

from fractions import Fraction

from fairc.dsl.core.kinds import Quantities
from fairc.words.ccas import CCAS_OVER, QUIC_CCAS, CcaParameter


def test_a_parameter_over_quic_has_the_unit_that_ends_its_name() -> None:
    parameters = {name: parameter for cca in QUIC_CCAS for name, parameter in cca.fields.items()}
    target, window = parameters["target_ms"], parameters["max_window_packets"]
    assert (target.name, target.default, target.initial) == ("target", "100ms", 100.0)
    assert (window.name, window.default) == ("max_window", "")
    assert window.initial is None
    assert isinstance(target.kind, Quantities)
    assert (target.kind.low, target.kind.high) == (Fraction(1, 1000), Fraction(1, 10))
    assert (target.admits(100.0), target.admits(0.5)) == (True, False)


def test_every_parameter_has_a_default_that_it_takes_but_the_largest_window() -> None:
    for words in CCAS_OVER.values():
        for entry in words:
            for parameter in entry.parameters:
                if not isinstance(parameter, CcaParameter):
                    assert parameter.required or parameter.default or parameter.otherwise
                    continue
                if parameter.field == "max_window_packets":
                    assert parameter.initial is None
                    continue
                assert parameter.field and (parameter.default or parameter.otherwise)
                if isinstance(parameter.kind, Quantities) and parameter.field != "rtt0":
                    scale = 1000 if parameter.field.endswith("_ms") else 1
                    assert parameter.kind.low is not None and parameter.kind.high is not None
                    low, high = parameter.kind.low * scale, parameter.kind.high * scale
                    assert low <= Fraction(str(parameter.initial)) <= high
