"""What a run directory says of its plan: claims decided, cells counted."""

from __future__ import annotations

from fairc.runtime.claims import Decision, decide
from fairc.runtime.claims.forms import Validity, validity
from fairc.runtime.ranges.cells import missing
from fairc.runtime.repetitions.reading import Measurements
from fairc.runtime.store.folder import Store

from .history import claims_before


def decide_claims(measured: Measurements, store: Store) -> Decision:
    """Decide the claims of a plan; measured: of the run's tables. Raises TableError, StoreError."""
    plan = measured.plan
    absent = missing(store, measured.ids) if plan.claims else ()
    return decide(measured, absent, claims_before(plan, store.lock))


def count_cells(measured: Measurements, store: Store) -> Validity:
    """Count the cells of a run by verdict. Raises TableError, StoreError."""
    return validity(measured, len(missing(store, measured.ids)))
