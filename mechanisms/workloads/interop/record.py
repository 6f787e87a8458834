"""What an image left behind that follows a contract: the same as other programs."""

from fairc.mechanisms.workloads.program.record import load

__all__ = ["load"]
