"""Shared by all cluster targets: the distribution of cells over jobs, and the needs of a job."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from fairc.compiler.estimate import Estimate
from fairc.compiler.plan import Plan

# What a cell leaves behind, the raw artefacts and their archive (for the vm engine runtime/vm has
# the first).
DISK_MIB = 4096
# A cluster's processor can be this much slower than the one of docs/trust/benchmarks.md.
SLOWER = 5
LEAST_LIMIT_S = 900
AT_ONCE = 100
# Memory for results up to the first is in that of every job; what is beyond is held by the guest,
# by the file that it hands over, and by the analysis.
RESULTS_MIB, BEYOND_FACTOR = 512, 3


@dataclass(frozen=True, slots=True)
class Jobs:
    """A plan's cells as jobs: job N has the cells N * chunk to (N + 1) * chunk - 1, if they exist.

    limit_s: wall seconds after which a job is taken to hang, whole minutes. at_once: how many jobs
    may run at the same time. memory_mib: what a job needs, MiB. browsers: whether any cell needs
    the machine with a browser; modules: whether any loads a kernel module, which is code;
    programs: the same of programs of the user's own.
    """

    count: int
    chunk: int
    limit_s: int
    memory_mib: int
    browsers: bool
    modules: bool = False
    programs: bool = False

    @property
    def at_once(self) -> int:
        """Return how many may run at the same time."""
        return min(self.count, AT_ONCE)

    @property
    def options(self) -> str:
        """Return the options that let the code of the plan run, a space before each."""
        wanted = {" --allow-module": self.modules, " --allow-program": self.programs}
        return "".join(option for option, is_wanted in wanted.items() if is_wanted)

    @property
    def each(self) -> str:
        """Say how many cells a job has."""
        return "one cell each" if self.chunk == 1 else f"up to {self.chunk} cells each"


def deal(plan: Plan, estimate: Estimate, most: int, filled_s: float = 0.0) -> Jobs:
    """Deal the cells of an estimated plan out to at most `most` jobs.

    filled_s: group cells into jobs of about this many wall seconds, by their estimate, as long as
    `AT_ONCE` jobs remain.
    """
    filled = min(filled_s / max(estimate.longest_s, 0.01), math.ceil(plan.cells / AT_ONCE))
    chunk = max(1, math.ceil(plan.cells / most), int(filled))
    limit_s = max(LEAST_LIMIT_S, SLOWER * chunk * estimate.longest_s)
    costs = estimate.costs
    memory_mib = costs.memory_mib + (costs.browser_memory_mib if estimate.browsers else 0)
    memory_mib += BEYOND_FACTOR * max(0, math.ceil(estimate.largest_bytes / 2**20) - RESULTS_MIB)
    count = math.ceil(plan.cells / chunk)
    limit_s = 60 * math.ceil(limit_s / 60)
    return Jobs(
        count, chunk, limit_s, memory_mib, estimate.browsers, estimate.modules, estimate.programs
    )


def job_name(plan: Plan) -> str:
    """Return a name for a plan's jobs that is a DNS label (RFC 1123) with room for more."""
    return re.sub(r"[^a-z0-9]+", "-", f"fairc-{plan.experiment.lower()}")[:40].strip("-")
