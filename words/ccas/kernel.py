"""The CCAs of Linux: a line for each.

Parameters of a kernel CCA are those of its module (Linux 6.12, `/sys/module/tcp_NAME/parameters`),
under the kernel's names and in the kernel's units. Left out are those that the kernel reads only
once, when the module is loaded (`bic_scale` of cubic, `window` of cdg; `beta` of cubic, from which
it derives the slope of its friendly region at that moment), and those that it does not show
(`theta`, `win_thresh` of illinois). Defaults are checked against the guest's kernel by a test.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fairc.dsl.core.kinds import Quantities
from fairc.dsl.core.units import TIME

from .cca import Cca, CcaParameter, flag, switch, whole


def _cca(name: str, summary: str, *parameters: CcaParameter, **known: Any) -> Cca:
    return Cca(name=name, summary=summary, parameters=parameters, **known)


_DETECT = "1: by trains of acks, 2: by the delay, 3: by both"
_SSTHRESH = "initial slow-start threshold, packets; 0: none"

KERNEL = [
    _cca(
        "bbr",
        "Bottleneck Bandwidth and Round-trip time, version 1",
        paces=True,
        restarts=False,
        growth="model",
    ),
    _cca(
        "bic",
        "Binary Increase Congestion control",
        whole("beta", "window after a loss, in 1/1024 of the one before", 819, 1, 1023),
        whole("max_increment", "maximum packets added per round trip", 16, 1, 10_000),
        whole("low_window", "window up to which it grows as Reno, packets", 14, 0, 10_000),
        whole("smooth_part", "round trips from Wmax - beta to Wmax", 20, 1, 10_000),
        switch("fast_convergence", "release bandwidth to new flows faster", 1),
        whole("initial_ssthresh", _SSTHRESH, 0, 0, 1_000_000),
    ),
    _cca(
        "cdg",
        "CAIA Delay-Gradient",
        whole("backoff_beta", "window after a backoff, in 1/1024", 724, 1, 1023),
        whole("backoff_factor", "scale of the probability of a backoff", 42, 1, 10_000),
        whole("hystart_detect", f"HyStart, 0: off, {_DETECT}", 3, 0, 3),
        whole("use_ineff", "ineffective backoffs after which it stops backing off", 5, 0, 10_000),
        flag("use_shadow", "keep a shadow window", True),
        flag("use_tolerance", "distinguish link losses from queue losses", False),
    ),
    _cca(
        "cubic",
        "CUBIC (RFC 9438), the default of Linux",
        switch("hystart", "leave slow start early", 1),
        whole("hystart_detect", _DETECT, 3, 1, 3),
        whole("hystart_low_window", "window from which HyStart acts, packets", 16, 0, 10_000),
        whole("hystart_ack_delta_us", "time between acks of a train", 2000, 1, 1_000_000),
        switch("fast_convergence", "release bandwidth to new flows faster", 1),
        switch("tcp_friendliness", "never slower than Reno", 1),
        whole("initial_ssthresh", _SSTHRESH, 0, 0, 1_000_000),
        growth="time",
    ),
    _cca(
        "dctcp",
        "Data Center TCP (RFC 8257), at both ends; asks for ECN by itself",
        whole(
            "dctcp_shift_g", "gain of the mark estimator is 2 to the power of minus this", 4, 0, 10
        ),
        whole("dctcp_alpha_on_init", "initial estimate, in 1/1024", 1024, 0, 1024),
        is_scalable=True,
        needs_ecn=True,
    ),
    _cca("highspeed", "HighSpeed TCP (RFC 3649)"),
    _cca(
        "htcp",
        "Hamilton TCP",
        switch("use_rtt_scaling", "growth independent of the round-trip time", 1),
        switch("use_bandwidth_switch", "halve the window when the throughput changes", 1),
    ),
    _cca(
        "hybla",
        "TCP Hybla, for satellite links",
        CcaParameter(
            "rtt0",
            Quantities((TIME,), low=Fraction(1, 1000), high=1000),
            "reference round-trip time, whole ms",
            "25ms",
            field="rtt0",
            convert=lambda q: round(float(q.number) * 1000),
        ),
        own_window=True,  # RTT / rtt0, at least 1 (hybla_init)
        outgrows_receivers=True,  # by 2^(RTT / rtt0) - 1 packets for each acknowledged one
    ),
    _cca("illinois", "TCP Illinois"),
    _cca("lp", "TCP Low Priority"),
    _cca(
        "nv",
        "New Vegas",
        whole("nv_pad", "packets that may wait in queues", 10, 0, 1000),
        whole("nv_reset_period", "lifetime of the minimum RTT, s", 5, 1, 10_000),
        whole("nv_min_cwnd", "least window without losses, packets", 2, 2, 10_000),
    ),
    _cca("reno", "NewReno (RFC 5681)", growth="rounds"),
    _cca("scalable", "Scalable TCP"),
    _cca(
        "vegas",
        "TCP Vegas",
        whole("alpha", "least packets in queues", 2, 0, 1000),
        whole("beta", "most packets in queues", 4, 0, 1000),
        whole("gamma", "packets in queues that end slow start", 1, 0, 1000),
    ),
    _cca("veno", "TCP Veno"),
    _cca("westwood", "TCP Westwood+"),
    _cca("yeah", "Yet Another Highspeed TCP"),
]
