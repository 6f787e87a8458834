//! BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00; Cardwell et al., ACM Queue 14(5),
//! 2016), on rate samples of `delivery`.
//!
//! - `BtlBw`: the greatest delivery rate of the last 10 rounds; `RTprop`: the smallest RTT of the
//!   last 10 s; BDP = `BtlBw` x `RTprop`.
//! - Startup: gain 2 / ln 2 until `BtlBw` has grown by less than 25 % in three rounds. Drain: its
//!   inverse until the BDP is in flight. `ProbeBW`: gains 1.25, 0.75 and six times 1, each for an
//!   `RTprop`; the first one is drawn, and not 0.75. `ProbeRTT`: four packets for 200 ms and a
//!   round when `RTprop` is 10 s old.
//! - Pacing rate: gain x `BtlBw`, and 1 % less (Linux's `bbr_pacing_margin_percent`; the draft has
//!   no margin). The quantum that leaves together is what is sent in 1 ms, at least two packets,
//!   one below 1.2 Mbit/s (section 4.2.2).
//! - cwnd: Startup and Drain 2 / ln 2, then 2 BDP, and three quanta. In the first round of a
//!   recovery packets are conserved; after it the window is what it was.
//!
//! **Where quinn alone paces** (`Pacing::Window`: page loads) it can be told no rate, so the rate
//! acts through the window: gain x `BtlBw` x RTT (the present one, smoothed) and what the receiver
//! holds back of a bunch, which the clock of the acknowledgements makes a sending rate of gain x
//! `BtlBw`; cwnd bounds it. There is no margin, bunches of acknowledged bytes stand for quanta,
//! what is in flight is compared with BDPs alone, and the first phase is always the same. A queue
//! that a probe has built is part of that RTT, so it stays until the next phase below 1: several
//! times as long as with a rate.

use super::adapter::{Ack, Acks, Adapter, Algorithm, Congestion, Model, Recovery};
use super::delivery::{Delivery, Greatest, Sample};
use super::{kernel_seed, Entry, Pacing, Start};
use crate::quic::pacer::Quantum;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::{Duration, Instant};

/// `bbr` in the registry.
pub const ENTRY: Entry = Entry {
    name: "bbr",
    summary: "BBR version 1, draft-cardwell-iccrg-bbr-congestion-control-00",
    parameters: &[],
    paces: Some(QUANTUM),
    l4s: false,
    restarts: false,
    build: |_, start, shared| {
        let bbr = match shared.pacing {
            Pacing::Rate => Bbr::paced(start, kernel_seed()),
            Pacing::Window => Bbr::windowed(start),
        };
        Adapter::boxed(bbr, start.initial_window, shared)
    },
};

/// `BBR.send_quantum`: what is sent in 1 ms, at least two packets, below 1.2 Mbit/s one.
const QUANTUM: Quantum = Quantum { time_s: 0.001, least_packets: 2.0, single_below: 150_000.0 };
/// Quanta in the window, for those that wait in both hosts.
const QUANTA: f64 = 3.0;
/// Share of the rate that is left to keep the queue short.
const MARGIN: f64 = 0.01;
/// What stands for the RTT before there is a sample.
const NOMINAL_RTT_S: f64 = 0.001;

/// 2 / ln 2: the smallest gain that doubles the rate per round.
const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;
const CWND_GAIN: f64 = 2.0;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The phase after Drain where none is drawn: neither probing nor draining.
const FIRST_PHASE: usize = 2;
const ROUNDS: u64 = 10;
const RTPROP_AGE: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
const LEAST_PACKETS: u64 = 4;
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw { phase: usize, since: Instant },
    ProbeRtt { until: Option<Instant>, after_round: u64 },
}

impl Mode {
    /// What it is called in samples.
    fn name(self) -> &'static str {
        match self {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw { .. } => "probe_bw",
            Mode::ProbeRtt { .. } => "probe_rtt",
        }
    }
}

/// What becomes of the window after losses.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Repair {
    /// Nothing was lost lately.
    Done,
    /// In the first round, what leaves the network is replaced, no more.
    Conserving,
    /// After it, until what was sent after the loss is acknowledged.
    Growing,
}

/// State of BBR; windows in bytes, rates in bytes/s.
#[expect(clippy::struct_excessive_bools, reason = "the draft's variables")]
#[derive(Debug, Clone)]
pub struct Bbr {
    mtu: f64,
    initial_window: u64,
    pacing: Pacing,
    mode: Mode,
    /// Gain cycles that have begun.
    cycles: u64,
    delivery: Delivery,
    bandwidth: Greatest,
    /// Bytes that one ACK frame acknowledges: the grain of the acknowledgements' clock.
    bunch: Greatest,
    rtprop: Option<Duration>,
    rtprop_at: Instant,
    smoothed_s: Option<f64>,
    /// The rate at which the algorithm wants to send.
    pacing_rate: f64,
    /// Whether the application had nothing more to send when the last packet was acknowledged.
    app_limited: bool,
    /// Whether it sends again after a pause, and nothing of that is acknowledged.
    idle_restart: bool,
    round: u64,
    round_ends: u64,
    full_bandwidth: f64,
    full_rounds: u32,
    full: bool,
    in_flight: u64,
    cwnd: f64,
    prior_cwnd: Option<f64>,
    recovery: Recovery,
    repair: Repair,
    lost_in_phase: bool,
    random: Xoshiro256PlusPlus,
}

impl Bbr {
    /// Starts, paced at its rate. seed: of the first phases of gain cycles.
    pub fn paced(start: Start, seed: u64) -> Self {
        let mut bbr = Bbr::new(start, Pacing::Rate, seed);
        bbr.pacing_rate = bbr.first_rate(NOMINAL_RTT_S);
        bbr
    }

    /// Starts where quinn alone paces.
    pub fn windowed(start: Start) -> Self {
        Bbr::new(start, Pacing::Window, 0)
    }

    fn new(start: Start, pacing: Pacing, seed: u64) -> Self {
        Bbr {
            mtu: start.mtu as f64,
            initial_window: start.initial_window,
            pacing,
            mode: Mode::Startup,
            cycles: 0,
            delivery: Delivery::new(start.now),
            bandwidth: Greatest::of(ROUNDS),
            bunch: Greatest::of(ROUNDS),
            rtprop: None,
            rtprop_at: start.now,
            smoothed_s: None,
            pacing_rate: 0.0,
            app_limited: false,
            idle_restart: false,
            round: 0,
            round_ends: 0,
            full_bandwidth: 0.0,
            full_rounds: 0,
            full: false,
            in_flight: 0,
            cwnd: start.initial_window as f64,
            prior_cwnd: None,
            recovery: Recovery::default(),
            repair: Repair::Done,
            lost_in_phase: false,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    fn least(&self) -> f64 {
        LEAST_PACKETS as f64 * self.mtu
    }

    fn bdp(&self) -> f64 {
        self.rtprop.map_or(0.0, |rtprop| self.bandwidth.get() * rtprop.as_secs_f64())
    }

    /// `BBRInflight`: what is in flight with a BDP times `gain` on its way.
    fn inflight(&self, gain: f64) -> f64 {
        let quanta = match self.pacing {
            Pacing::Rate => self.quanta(),
            Pacing::Window => 0.0,
        };
        gain * self.bdp() + quanta
    }

    fn quanta(&self) -> f64 {
        QUANTA
            * match self.pacing {
                Pacing::Rate => QUANTUM.bytes(self.pacing_rate, self.mtu),
                Pacing::Window => self.bunch.get(),
            }
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeBw { phase, .. } => CYCLE[phase],
            Mode::ProbeRtt { .. } => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw { .. } | Mode::ProbeRtt { .. } => CWND_GAIN,
        }
    }

    /// Takes a sample into the model; returns whether a round begins with it.
    fn observe(&mut self, sample: &Sample) -> bool {
        let begins = sample.prior_delivered >= self.round_ends;
        if begins {
            self.round_ends = self.delivery.delivered();
            self.round += 1;
        }
        if let Some(rate) = sample.rate {
            if !sample.limited || rate >= self.bandwidth.get() {
                self.bandwidth.take(self.round, rate);
            }
        }
        begins
    }

    fn look_for_full_pipe(&mut self, sample: &Sample) {
        if self.full || sample.limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= FULL_GROWTH * self.full_bandwidth {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `BBREnterProbeBW`: with any phase but that of 0.75.
    fn enter_probe_bw(&mut self, now: Instant) {
        let phase = match self.pacing {
            Pacing::Rate => (CYCLE.len() - (self.random.next_u64() % 7) as usize) % CYCLE.len(),
            Pacing::Window => FIRST_PHASE,
        };
        self.enter_phase(phase, now);
    }

    fn enter_phase(&mut self, phase: usize, now: Instant) {
        self.mode = Mode::ProbeBw { phase, since: now };
        self.lost_in_phase = false;
        self.cycles += u64::from(phase == 0);
    }

    fn next_mode(&mut self, now: Instant, acknowledged: u64) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
        }
        let in_flight = self.in_flight as f64;
        // A phase looks at what was in flight before the acknowledgement.
        let prior_in_flight = match self.pacing {
            Pacing::Rate => in_flight + acknowledged as f64,
            Pacing::Window => in_flight,
        };
        match self.mode {
            Mode::Drain if in_flight <= self.inflight(1.0) => self.enter_probe_bw(now),
            Mode::ProbeBw { phase, since } => {
                let gain = CYCLE[phase];
                let rtprop = self.rtprop.unwrap_or_default();
                let mut over = now.saturating_duration_since(since) > rtprop;
                if gain > 1.0 {
                    over &= self.lost_in_phase || prior_in_flight >= self.inflight(gain);
                } else if gain < 1.0 {
                    over |= prior_in_flight <= self.inflight(1.0);
                }
                if over {
                    self.enter_phase((phase + 1) % CYCLE.len(), now);
                }
            }
            _ => {}
        }
    }

    /// Keeps `RTprop`, and measures it anew when it is old.
    fn keep_rtprop(&mut self, acks: &Acks) {
        let old = acks.now.saturating_duration_since(self.rtprop_at) > RTPROP_AGE;
        if let Some(rtt) = acks.rtt {
            if old || self.rtprop.is_none_or(|rtprop| rtt <= rtprop) {
                self.rtprop = Some(rtt);
                self.rtprop_at = acks.now;
            }
        }
        match self.mode {
            Mode::ProbeRtt { until: None, .. } if self.in_flight as f64 <= self.least() => {
                self.mode = Mode::ProbeRtt {
                    until: Some(acks.now + PROBE_RTT_TIME),
                    after_round: self.round,
                };
            }
            Mode::ProbeRtt { until: Some(until), after_round }
                if acks.now >= until && self.round > after_round =>
            {
                self.rtprop_at = acks.now;
                self.restore();
                if self.full {
                    self.enter_probe_bw(acks.now);
                } else {
                    self.mode = Mode::Startup;
                }
            }
            Mode::ProbeRtt { .. } => {}
            _ if old && !self.idle_restart => {
                self.save();
                self.mode = Mode::ProbeRtt { until: None, after_round: self.round };
            }
            _ => {}
        }
    }

    fn save(&mut self) {
        let prior = self.prior_cwnd.map_or(self.cwnd, |prior| prior.max(self.cwnd));
        self.prior_cwnd = Some(prior);
    }

    fn restore(&mut self) {
        if let Some(prior) = self.prior_cwnd.take() {
            self.cwnd = self.cwnd.max(prior);
        }
    }

    /// The initial window per round. It stands until the pipe is full or the bandwidth is greater,
    /// so what a handshake or a small request delivers is not taken for the path's.
    fn first_rate(&self, rtt_s: f64) -> f64 {
        HIGH_GAIN * self.initial_window as f64 / rtt_s * self.less_margin()
    }

    fn less_margin(&self) -> f64 {
        match self.pacing {
            Pacing::Rate => 1.0 - MARGIN,
            Pacing::Window => 1.0,
        }
    }

    /// `BBRSetPacingRateWithGain`: until the pipe is full the rate never falls.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth.get() * self.less_margin();
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `BBRHandleRestartFromIdle`: at the bandwidth, whatever the phase, and no `ProbeRTT` for an
    /// `RTprop` that aged in the pause.
    fn restart_from_idle(&mut self) {
        self.idle_restart = true;
        if matches!(self.mode, Mode::ProbeBw { .. }) {
            self.set_pacing_rate(1.0);
        }
    }

    fn grow(&mut self, acknowledged: f64) {
        if self.repair == Repair::Conserving {
            self.cwnd = self.cwnd.max(self.in_flight as f64 + acknowledged);
            return;
        }
        let target = self.cwnd_gain() * self.bdp() + self.quanta();
        if self.full {
            self.cwnd = (self.cwnd + acknowledged).min(target);
        } else if self.cwnd < target || self.delivery.delivered() < self.initial_window {
            self.cwnd += acknowledged;
        }
        self.cwnd = self.cwnd.max(self.least());
    }
}

impl Algorithm for Bbr {
    fn on_sent(&mut self, now: Instant, bytes: u64) {
        if self.pacing == Pacing::Rate && self.in_flight == 0 && self.app_limited {
            self.restart_from_idle();
        }
        let limited = matches!(self.mode, Mode::ProbeRtt { .. });
        self.delivery.on_sent(now, self.in_flight == 0, limited);
        self.in_flight += bytes;
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.app_limited = ack.app_limited;
        self.delivery.on_ack(ack.now, ack.sent, ack.bytes, ack.app_limited);
        if self.repair != Repair::Done && !self.recovery.covers(ack.sent) {
            self.repair = Repair::Done;
            self.restore();
        }
    }

    fn on_acks(&mut self, acks: &Acks) {
        self.in_flight = acks.in_flight;
        if let Some(rtt) = acks.rtt {
            let rtt_s = rtt.as_secs_f64();
            if self.smoothed_s.is_none() {
                self.pacing_rate = self.first_rate(rtt_s);
            }
            self.smoothed_s = Some(self.smoothed_s.map_or(rtt_s, |old| (7.0 * old + rtt_s) / 8.0));
        }
        if let Some(sample) = self.delivery.sample(acks.now, acks.min_rtt) {
            if self.observe(&sample) {
                self.look_for_full_pipe(&sample);
                if self.repair == Repair::Conserving {
                    self.repair = Repair::Growing;
                }
            }
        }
        self.bunch.take(self.round, acks.bytes as f64);
        self.next_mode(acks.now, acks.bytes);
        self.keep_rtprop(acks);
        self.idle_restart = false;
        self.set_pacing_rate(self.pacing_gain());
        self.grow(acks.bytes as f64);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.lost_bytes == 0 {
            return; // A mark: this version of BBR does not answer ECN.
        }
        self.lost_in_phase = true;
        self.in_flight = self.in_flight.saturating_sub(event.lost_bytes);
        if event.persistent {
            self.save();
            self.cwnd = self.least();
        } else if !self.recovery.covers(event.sent) {
            self.save();
            self.recovery.enter(event.now);
            self.repair = Repair::Conserving;
            self.cwnd = (self.in_flight as f64 + self.mtu).max(self.least());
        } else if self.repair != Repair::Done {
            self.cwnd = (self.cwnd - event.lost_bytes as f64).max(self.least());
        }
    }

    fn on_mtu(&mut self, mtu: u64) {
        self.mtu = mtu as f64;
    }

    fn window(&self) -> u64 {
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            return self.cwnd.min(self.least()) as u64;
        }
        let (Pacing::Window, Some(smoothed_s)) = (self.pacing, self.smoothed_s) else {
            return self.cwnd as u64;
        };
        let held_back = (self.bunch.get() - self.mtu).max(0.0);
        let paced = self.pacing_rate * smoothed_s + held_back;
        self.cwnd.min(paced).max(self.least()) as u64
    }

    fn rate_bps(&self) -> Option<u64> {
        (self.pacing_rate > 0.0).then_some((self.pacing_rate * 8.0) as u64)
    }

    fn model(&self) -> Option<Model> {
        Some(Model {
            pacing_bps: self.rate_bps().filter(|_| self.pacing == Pacing::Rate),
            cycle: Some(self.cycles),
            max_bw_bps: Some((self.bandwidth.get() * 8.0) as u64),
            path_min_rtt_us: self.rtprop.map(|rtprop| rtprop.as_micros() as u64),
            ..Model::phase(self.mode.name())
        })
    }
}

#[cfg(test)]
mod tests;
