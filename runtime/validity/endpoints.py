"""The programs ran as planned: the CCA of the plan, to their end, not limited by their host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc.runtime.measurement import Measurement

from .finding import Finding

LIMITED_SHARE = 0.01


def congestion_control(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: every socket really used the CCA of the plan."""
    for flow in measurement.flows:
        used = flow.endpoints.ccas
        if used != {flow.plan.cca}:
            yield Finding(
                "invalid",
                f"flow {flow.name} used {', '.join(sorted(used)) or 'no CCA'}, not {flow.plan.cca}",
            )


def processes(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: every process ended well."""
    for name, status in sorted(measurement.ending.processes.items()):
        if status != 0:
            how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
            yield Finding("invalid", f"{name} {how}")
    for flow in measurement.flows:
        for side in ("server", "client"):
            if f"{flow.name}.{side}" not in measurement.ending.processes:
                yield Finding("invalid", f"{flow.name}.{side} is not among the processes that ran")
        if flow.endpoints.unended:
            yield Finding(
                "invalid",
                f"the client of flow {flow.name} did not say how {flow.endpoints.unended} of"
                f" {flow.plan.connections} connections ended",
            )
        for error in flow.endpoints.errors:
            yield Finding("invalid", error)


def host_limits(measurement: Measurement) -> Iterator[Finding]:
    """Rule 7: the hosts' buffers limit no connection for over 1 % of its time."""
    for flow in measurement.flows:
        samples = flow.endpoints.samples
        for connection, accepted_s in sorted(flow.endpoints.accepted_s.items()):
            ours = np.flatnonzero(samples.connection == connection)
            if not len(ours) or samples.t_s[ours[-1]] <= accepted_s:
                continue
            lifetime_s = samples.t_s[ours[-1]] - accepted_s
            for column, words in (
                (samples.rwnd_limited_s, "the receiver's window"),
                (samples.sndbuf_limited_s, "the send buffer"),
            ):
                share = column[ours[-1]] / lifetime_s
                if share > LIMITED_SHARE:
                    yield Finding(
                        "flagged",
                        f"flow {flow.name}, connection {connection}: limited by {words}"
                        f" for {share:.1%} of its time",
                    )
