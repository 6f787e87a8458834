"""Requirements of links on a custom kernel."""

from __future__ import annotations

from fairc.dsl import model
from fairc.dsl.core.problems import Gather, fail
from fairc.mechanisms.queues.registry import QUEUES
from fairc.words.ccas.custom_kernels import KernelWords


def check_queues(network: model.Network, kernel: KernelWords) -> None:
    """Refuse queues and media that the kernel of the hosts lacks. Raises CompileError."""
    gather = Gather()
    for link in network.links:
        for way in (link.forward, link.backward):
            needed = [name for part in way.queue.parts for name in QUEUES[part.kind].probes]
            if way.medium is not None:
                needed.append(way.medium.planned.module)
            needed += [each.repair.module for each in way.impairments if each.repair]
            lacking = [name for name in needed if name not in kernel.qdiscs]
            if lacking:
                with gather.attempt():
                    fail(
                        "unknown-queue",
                        f"the kernel `{kernel.name}` has no queue `{lacking[0]}`",
                        way.span,
                        help=f"build it with CONFIG_NET_SCH_{lacking[0].upper()}=y in its --config",
                    )
    gather.finish()
