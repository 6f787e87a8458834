"""Large deviations of one connection's congestion window, compared with Reno's Markov chain.

Rounds follow the connection's own clock, t(i+1) = t(i) + srtt(t(i)), after the warm-up. Each has a
window w, and congestion control may enter CWR, Recovery or Loss in it. p(w) is the share of rounds
at w with such an entry, interpolated linearly for windows never visited; wmax is the largest window
visited. Where a share of 1 below wmax, or of 0 at wmax, would trap the chain, p is the centre of
Wilson's interval. The chain goes from w to max(floor(w/2), 1) with probability p(w), else to
min(w+1, wmax).

    f(alpha)   = Lambda(q) - q alpha(q)
    Lambda(q)  = ln(spectral radius of A(q)),  A(q)_ij = exp(q j) P_ij
    f_n(alpha) = ln(count / k_n) / n, minus its maximum
    k_n        = floor(N / n) windows of n rounds (`scales`)

`inside` is 1 if the measured spectrum is inside the 95 % envelope of 1000 simulated chains of equal
length, simultaneously over all bins of all scales, else 0. Three chains are simulated: with p(w) as
counted; with independent packet losses, p(w) = 1 - (1 - p_packet)^w with p_packet fitted; and under
Gaussian cross traffic as the plan describes it, p(w) = 1/2 (1 - erf((C - w S / RTT - mu) / (sigma
sqrt 2))). A scale with fewer than 30 windows has no values but their number, and is left out of the
verdict. The theory covers only Reno over TCP: other flows have no values from it.

Curves: the spectra, the ranges of alpha, and p(w), from which the figures `spectrum`, `ranges` and
`loss_window` are drawn.

Unit: packets for windows, 1 for the rest. Source: Loiseau et al., Performance Evaluation 67, 2010.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from fairc.api import (
    TCP_CCAS,
    Curve,
    Flow,
    FlowRecord,
    Measurement,
    Metric,
    MetricRequest,
    MetricValue,
    Presentation,
    Value,
    seconds_measured,
)

from .cross import cross_traffic
from .curves import curves as drawn
from .rounds import entries, rounds
from .study import MODELS, NO_THEORY, Model, Study, study
from .words import METRIC as WORD
from .words import SAMPLES_A_ROUND, scales_of

_OF = {
    "theory": "the chain with p(w) as counted",
    "bernoulli": "the chain of independent packet losses",
    "gaussian": "the chain under Gaussian cross traffic",
}
_PLAIN = Presentation()
_SHOWN = {"theory": Presentation(title="Inside the envelope of theory", is_yes_or_no=True)}
_AFTER = {name: "" if name == "theory" else f"_{name}" for name in MODELS}


def _value(name: str, meaning: str, shown: Presentation = _PLAIN) -> Value:
    """Return a value of `deviations`, with the unit that the word declares."""
    return Value(f"{WORD.name}.{name}", WORD.unit_of(name), meaning, shown=shown)


INSIDE = {
    m: _value(
        f"inside{_AFTER[m]}",
        f"1: inside the 95 % envelope of {_OF[m]}",
        _SHOWN.get(m, _PLAIN),
    )
    for m in MODELS
}
P = {
    m: _value(f"p{_AFTER[m]}", f"share of chains at least as extreme, of {_OF[m]}") for m in MODELS
}
ROUNDS = _value("rounds", "round trips that were measured")
MEAN = _value("mean", "mean window of all rounds")
MEANS = {m: _value(f"mean_{m}", f"mean window of {_OF[m]}") for m in MODELS}
LOSSES = _value("losses", "share of rounds with an entry into CWR, Recovery or Loss")
P_PACKET = _value("p_packet", "packet loss probability fitted to the losses")
LARGEST = _value("largest", "largest window visited")
WINDOWS = _value("windows", "windows of n rounds, named after flow and scale")
LOW = _value("alpha_min", "smallest mean of n rounds, measured")
HIGH = _value("alpha_max", "largest mean of n rounds, measured")
THEORY_LOW = _value("theory_min", "smallest mean observable, in theory")
THEORY_HIGH = _value("theory_max", "largest mean observable, in theory")
OF_MODELS = (*(v for m in MODELS for v in (INSIDE[m], P[m])), *MEANS.values())
OF_FLOW = (ROUNDS, MEAN, LOSSES, P_PACKET, LARGEST)
OF_SCALE = (WINDOWS, LOW, HIGH, THEORY_LOW, THEORY_HIGH)
VALUES = (*OF_MODELS, *OF_FLOW, *OF_SCALE)


def studied(measurement: Measurement, flow: FlowRecord, scales: tuple[int, ...]) -> Study | str:
    """Return the study of a flow, or why there is none; made only once per measurement."""
    return measurement.once(
        ("deviations", flow.name, scales), lambda: _study(measurement, flow, scales)
    )


def _study(measurement: Measurement, flow: FlowRecord, scales: tuple[int, ...]) -> Study | str:
    plan, samples = flow.plan, flow.endpoints.samples
    if plan.transport == "udp":
        return "a flow over UDP has no window"
    if plan.connections > 1:
        return "this needs a single connection, but the flow has several"
    known = np.isfinite(samples.cwnd_packets)
    if not known.any():
        return "the sender has no sample of its window"
    t_s, srtt_s = samples.t_s[known], samples.rtt_s[known]
    state, threshold = samples.congestion_state[known], samples.threshold_packets[known]
    begin_s, end_s = seconds_measured(measurement, flow)
    usual_s = float(np.median(srtt_s[srtt_s > 0])) if (srtt_s > 0).any() else 0.0
    every_s = plan.sample_every_ns * 1e-9
    if usual_s and every_s * SAMPLES_A_ROUND > usual_s * (1 + 1e-9):
        return (
            f"a sample every {every_s * 1e3:g} ms is too rare for round trips of"
            f" {usual_s * 1e3:.3g} ms"
        )
    entered = entries(state, threshold) if np.isfinite(state).all() else None
    found = rounds(t_s, samples.cwnd_packets[known], srtt_s, entered, begin_s, end_s)
    if isinstance(found, str):
        return found
    cross = cross_traffic(measurement.cell, plan)
    if not isinstance(cross, str) and not plan.base_rtt_ns:
        cross = "the path has no delay, so a window has no rate"
    return study(
        found,
        scales,
        no_theory=_no_theory(plan),
        cross=cross,
        round_bps=8 * plan.frame_bytes / max(1e-9, plan.base_rtt_ns * 1e-9),
        seed=(measurement.cell.seed % 2**63, zlib.crc32(flow.name.encode())),
    )


def _no_theory(flow: Flow) -> str:
    cca = flow.cca or ""
    if flow.transport == "tcp" and cca in TCP_CCAS and TCP_CCAS[cca].growth == "rounds":
        return ""
    return f"{NO_THEORY}, and this is {flow.cca} over {flow.transport.upper()}"


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the deviations of each requested flow."""
    scales = scales_of(request.options)
    return tuple(
        value
        for flow in measurement.sessions(request.sessions)
        for value in _of_flow(flow.name, studied(measurement, flow, scales))
    )


def _of_flow(flow: str, study: Study | str) -> Iterator[MetricValue]:
    if isinstance(study, str):
        yield from (value.of(None, flow, study) for value in VALUES)
        return
    for name in MODELS:
        yield from _of_model(flow, name, study)
    lost = study.rounds.lost
    yield ROUNDS.of(len(study.rounds.window), flow)
    yield MEAN.of(float(study.rounds.window.mean()), flow)
    yield LOSSES.of(None if lost is None else float(lost.mean()), flow, study.unseen)
    fitted = study.p_packet
    if isinstance(fitted, str):
        yield P_PACKET.of(None, flow, fitted)
    else:
        yield P_PACKET.of(fitted, flow)
    yield LARGEST.of(int(study.rounds.window.max()), flow)
    for scale in study.scales:
        yield from _of_scale(f"{flow}, n = {scale}", study, scale)


def _of_model(flow: str, name: str, study: Study) -> Iterator[MetricValue]:
    values = (INSIDE[name], P[name], MEANS[name])
    model = study.models[name]
    if not isinstance(model, Model):
        yield from (value.of(None, flow, model) for value in values)
        return
    verdict = model.verdict
    why = "" if verdict else study.few(study.scales[0])
    yield INSIDE[name].of(float(verdict.inside) if verdict else None, flow, why)
    yield P[name].of(verdict.p if verdict else None, flow, why)
    yield MEANS[name].of(model.chain.mean, flow)


def _of_scale(name: str, study: Study, scale: int) -> Iterator[MetricValue]:
    means, few = study.means[scale], study.few(scale)
    yield WINDOWS.of(len(means), name)
    if few:
        yield from (value.of(None, name, few) for value in OF_SCALE[1:])
        return
    yield LOW.of(float(means.min()), name)
    yield HIGH.of(float(means.max()), name)
    theory = study.models["theory"]
    if isinstance(theory, Model):
        low, high = theory.ranges[scale]
        yield THEORY_LOW.of(low.alpha, name)
        yield THEORY_HIGH.of(high.alpha, name)
    else:
        yield THEORY_LOW.of(None, name, theory)
        yield THEORY_HIGH.of(None, name, theory)


def curves(measurement: Measurement, request: MetricRequest) -> tuple[Curve, ...]:
    """Return the spectra, ranges and loss probabilities of each requested flow."""
    found: list[Curve] = []
    for flow in measurement.sessions(request.sessions):
        study = studied(measurement, flow, scales_of(request.options))
        if isinstance(study, Study):
            found += [Curve("deviations", flow.name, *curve) for curve in drawn(study)]
    return tuple(found)


METRIC = Metric("deviations", VALUES, compute, curves=curves)
