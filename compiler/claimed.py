"""Claims of an experiment, as the plan has them."""

from __future__ import annotations

from dataclasses import asdict

from fairc.dsl import model

from .plan import Claim, ClaimTerm, ClaimUnit


def claimed(claim: model.Claim) -> Claim:
    """Return a claim for the plan. Raises ValidationError for what is beyond what a plan holds."""
    return Claim(
        text=claim.text,
        over=claim.over,
        condition=claim.condition,
        holds=claim.holds,
        form=claim.form,
        relation=claim.relation,
        unit=claim.unit,
        shared=claim.shared,
        units=tuple(
            ClaimUnit(
                terms=tuple(ClaimTerm(**asdict(term)) for term in unit.terms),
                shift=unit.shift,
                low=unit.low,
                high=unit.high,
            )
            for unit in claim.units
        ),
    )
