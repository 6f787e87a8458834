"""All strategies."""

from __future__ import annotations

from . import (
    archives,
    caches,
    canary_plans,
    clock,
    content,
    damage,
    documents,
    forgeries,
    inputs,
    kernel_build,
    kills,
    packs,
    privileged,
    processes,
    repeats,
    resources,
    specs,
    strangers,
    trust,
    versions,
)

STRATEGIES = (
    *specs.STRATEGIES,
    *documents.STRATEGIES,
    *archives.STRATEGIES,
    *privileged.STRATEGIES,
    *kills.STRATEGIES,
    *packs.STRATEGIES,
    *strangers.STRATEGIES,
    *forgeries.STRATEGIES,
    *trust.STRATEGIES,
    *damage.STRATEGIES,
    *caches.STRATEGIES,
    *kernel_build.STRATEGIES,
    *repeats.STRATEGIES,
    *resources.STRATEGIES,
    *processes.STRATEGIES,
    *clock.STRATEGIES,
    *versions.STRATEGIES,
    *content.STRATEGIES,
    *canary_plans.STRATEGIES,
    *inputs.STRATEGIES,
)
