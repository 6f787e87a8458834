"""A plug-in's queue that cannot run yet, for not-yet.md."""

from __future__ import annotations

from dataclasses import replace

from fairc.mechanisms.queues.codel.declaration import DECLARATION as CODEL

DELAYED = replace(CODEL, name="delayed", summary="A queue of tomorrow", runs=False)
