"""Records of images that follow a contract: the same as those of other programs."""

from fairc.mechanisms.workloads.program.record import load

__all__ = ["load"]
