"""Transmission times of frames in the kernel: htb, tbf and policers multiply, netem divides.

Both count whole nanoseconds, rounded down. To divide by a rate, htb, tbf and policers multiply by a
number of 32 bits and shift (Linux, net/sched/sch_generic.c, psched_ratecfg_precompute;
include/net/sch_generic.h, psched_l2t_ns). Where length / rate is whole, that is often 1 ns short:
66 bytes at 12 Mbit/s last 43,999 ns, not 44,000. netem divides (net/sched/sch_netem.c,
packet_time_ns).
"""

from __future__ import annotations

import numpy as np

from fairc.runtime.arrays import Int64s

NS_PER_S = 10**9


def bytes_per_s(rate_bps: int) -> int:
    """Return a rate as the kernel has it."""
    return max(1, rate_bps // 8)


def factor(rate_bps: int) -> tuple[int, int]:
    """Return by what the kernel multiplies a length in bytes, and by how many bits it then shifts
    right, to get ns.
    """
    dividend, shift = NS_PER_S, 0
    while True:
        multiple = dividend // bytes_per_s(rate_bps)
        if multiple & 1 << 31 or dividend & 1 << 63:
            return multiple, shift
        dividend, shift = dividend << 1, shift + 1


def multiplied_ns(rates_bps: list[int], which: Int64s, frame_bytes: Int64s) -> Int64s:
    """Return how long htb, tbf and policers let frames last, ns; which: the rate of each frame."""
    factors = np.array([factor(rate_bps) for rate_bps in rates_bps], np.int64)[which]
    lasts: Int64s = (frame_bytes * factors[:, 0]) >> factors[:, 1]
    return lasts


def divided_ns(rates_bps: list[int], which: Int64s, frame_bytes: Int64s) -> Int64s:
    """Return how long netem lets frames last, ns; which: the rate of each frame."""
    rates = np.array([bytes_per_s(rate_bps) for rate_bps in rates_bps], np.int64)[which]
    lasts: Int64s = frame_bytes * NS_PER_S // rates
    return lasts
