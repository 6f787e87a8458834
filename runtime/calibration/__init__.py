"""How far an engine is from the truth: a fixed suite of cells, read against theory.

suite/*.fexp   what is run: ordinary experiments
cases          CASES: each experiment of the suite, and what is read from its cells
network        readings of the network: rate, delay, loss, buffer
transport      readings of Reno against its theory: windows, fairness, slow start
programs       readings of iperf3 beside the endpoints
reading        one reading: measured, expected, and the range that is accepted
suite          runs the suite on an engine
table          a calibration as text, Markdown and JSON; where it is kept
"""

from __future__ import annotations

from .cases import CASES, Case
from .reading import Reading
from .suite import Calibration, calibrate
from .table import as_json, as_markdown, as_text, keep, kept

__all__ = [
    "CASES",
    "Calibration",
    "Case",
    "Reading",
    "as_json",
    "as_markdown",
    "as_text",
    "calibrate",
    "keep",
    "kept",
]
