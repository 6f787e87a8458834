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
    user_files,
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
    *user_files.STRATEGIES,
)
