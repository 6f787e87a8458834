"""The engine `fake`: invented results, for tests of everything around engines.

In order of use: `engine` (the engine and its faults), `fluid` (the model behind it), `artefacts`
(what a cell leaves behind), with those of `iperf3`, page loads (`pages`) and queues (`qdiscs`).
"""

from __future__ import annotations

from fairc.api import EngineKind

ENGINE = EngineKind(
    "fake",
    "invented results, for tests of fairc itself",
    f"{__name__}.engine:FakeEngine",
    hidden=True,
    like="vm",
)
