//! BBR version 3: draft-ietf-ccwg-bbr-06 (July 2026), whose algorithm its editors' copy of August
//! 2026 has unchanged.
//!
//! Functions, states, constants and variables are the draft's, in its order, so that both can be
//! read side by side; `states` has its state machine, `path` its model of the path,
//! `sampling` its delivery rate samples. Where the draft's text and its
//! pseudo-code differ, or quinn cannot do what it asks for, a comment says what is done here;
//! `docs/learn/congestion.md` lists all of it, with the test of each.
//!
//! Volumes in bytes of UDP payload (SMSS is the maximum datagram size), rates in bytes/s. Infinity
//! is `f64::INFINITY`. The driver paces (`quic::pacer`), at `pacing_rate` and in quanta of
//! `send_quantum`.

use super::adapter::{Ack, Acks, Adapter, Algorithm, Congestion, Model, Recovery};
use super::delivery::Greatest;
use super::{kernel_seed, Entry, Start};
use crate::quic::pacer::Quantum;
use rand_xoshiro::rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sampling::{Connection, RateSample};
use std::time::{Duration, Instant};

mod path;
mod sampling;
mod states;

/// `bbr3` in the registry.
pub const ENTRY: Entry = Entry {
    name: "bbr3",
    summary: "BBR version 3, draft-ietf-ccwg-bbr-06",
    parameters: &[],
    paces: Some(QUANTUM),
    l4s: false,
    restarts: false,
    build: |_, start, shared| {
        Adapter::boxed(Bbr3::new(start, kernel_seed()), start.initial_window, shared)
    },
};

/// `SetSendQuantum`: what is sent in 1 ms, at least two packets.
pub const QUANTUM: Quantum = Quantum { time_s: 0.001, least_packets: 2.0, single_below: 0.0 };
/// 4 ln 2, as the draft rounds it.
const STARTUP_PACING_GAIN: f64 = 2.77;
const DRAIN_PACING_GAIN: f64 = 0.5;
const PROBE_DOWN_PACING_GAIN: f64 = 0.9;
const PROBE_UP_PACING_GAIN: f64 = 1.25;
const DEFAULT_CWND_GAIN: f64 = 2.0;
const PROBE_UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const PACING_MARGIN_PERCENT: f64 = 1.0;
const LOSS_THRESH: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const MIN_PIPE_CWND_PACKETS: f64 = 4.0;
const MAX_BW_FILTER_LEN: u64 = 2;
const EXTRA_ACKED_FILTER_LEN: u64 = 10;
const STARTUP_FULL_LOSS_CNT: u32 = 6;
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);

/// `BBR.state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl State {
    /// What it is called in samples.
    fn name(self) -> &'static str {
        match self {
            State::Startup => "startup",
            State::Drain => "drain",
            State::ProbeBwDown => "probe_bw_down",
            State::ProbeBwCruise => "probe_bw_cruise",
            State::ProbeBwRefill => "probe_bw_refill",
            State::ProbeBwUp => "probe_bw_up",
            State::ProbeRtt => "probe_rtt",
        }
    }

    /// `BBR.pacing_gain`, as the draft's summary of control behaviour has it.
    fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => DRAIN_PACING_GAIN,
            State::ProbeBwDown => PROBE_DOWN_PACING_GAIN,
            State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeRtt => 1.0,
            State::ProbeBwUp => PROBE_UP_PACING_GAIN,
        }
    }

    /// `BBR.cwnd_gain`, likewise.
    fn cwnd_gain(self) -> f64 {
        match self {
            State::ProbeBwUp => PROBE_UP_CWND_GAIN,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => DEFAULT_CWND_GAIN,
        }
    }
}

/// `BBR.ack_phase`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of BBR.
#[expect(clippy::struct_excessive_bools, reason = "the draft's variables")]
#[derive(Debug, Clone)]
pub struct Bbr3 {
    /// C, and the rate sample of the last ACK.
    c: Connection,
    rs: RateSample,
    smss: f64,
    initial_cwnd: f64,
    cwnd: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    send_quantum: f64,
    /// Whether the window was used up in this round, and in the one before.
    is_cwnd_limited: (bool, bool),
    has_seen_rtt: bool,

    state: State,
    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    idle_restart: bool,
    drain_start_round: u64,

    max_bw: f64,
    bw_shortterm: f64,
    bw: f64,
    min_rtt: Option<Duration>,
    bdp: f64,
    extra_acked: f64,
    max_inflight: f64,
    inflight_longterm: f64,
    inflight_shortterm: f64,
    bw_latest: f64,
    inflight_latest: f64,

    max_bw_filter: Greatest,
    cycle_count: u64,
    extra_acked_interval_start: Instant,
    extra_acked_delivered: f64,
    extra_acked_filter: Greatest,

    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u32,

    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    is_loss_in_round: bool,
    loss_round_delivered: u64,
    loss_round_start: bool,
    /// Separate ranges of packets lost in this loss round, and the last packet of the last of them.
    lost_ranges: u32,
    last_lost_id: u64,
    /// ACKs with new marks (ECN) in this loss round.
    marks_in_round: u32,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    bw_probe_up_rounds: u32,
    rounds_since_probe_up: u64,
    bw_probe_wait: Duration,
    cycle_stamp: Instant,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,

    min_rtt_stamp: Instant,
    probe_rtt_min_delay: Option<Duration>,
    probe_rtt_min_stamp: Instant,
    probe_rtt_expired: bool,
    probe_rtt_done_stamp: Option<Instant>,
    probe_rtt_round_done: bool,

    recovery: Recovery,
    in_loss_recovery: bool,
    random: Xoshiro256PlusPlus,
}

/// Initialization, and the steps per transmission, ACK and loss.
impl Bbr3 {
    /// `OnInit`. `seed`: of the random waits before probes.
    pub fn new(start: Start, seed: u64) -> Self {
        let now = start.now;
        let mut bbr = Bbr3 {
            c: Connection::new(now),
            rs: RateSample::default(),
            smss: start.mtu as f64,
            initial_cwnd: start.initial_window as f64,
            cwnd: start.initial_window as f64,
            prior_cwnd: 0.0,
            pacing_rate: 0.0,
            send_quantum: 2.0 * start.mtu as f64,
            is_cwnd_limited: (false, false),
            has_seen_rtt: false,
            state: State::Startup,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            idle_restart: false,
            drain_start_round: 0,
            max_bw: 0.0,
            bw_shortterm: f64::INFINITY,
            bw: 0.0,
            min_rtt: None,
            bdp: 0.0,
            extra_acked: 0.0,
            max_inflight: 0.0,
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            max_bw_filter: Greatest::of(MAX_BW_FILTER_LEN),
            cycle_count: 0,
            extra_acked_interval_start: now,
            extra_acked_delivered: 0.0,
            extra_acked_filter: Greatest::of(1),
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0.0,
            full_bw_count: 0,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            is_loss_in_round: false,
            loss_round_delivered: 0,
            loss_round_start: false,
            lost_ranges: 0,
            last_lost_id: 0,
            marks_in_round: 0,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait: Duration::ZERO,
            cycle_stamp: now,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            min_rtt_stamp: now,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: now,
            probe_rtt_expired: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            recovery: Recovery::default(),
            in_loss_recovery: false,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        };
        bbr.init_pacing_rate(Duration::from_millis(1));
        bbr.enter_startup();
        bbr
    }

    /// `OnTransmit`.
    fn on_transmit(&mut self, now: Instant) {
        self.handle_restart_from_idle(now);
    }

    /// `UpdateOnACK`, after `GenerateRateSample`.
    fn update_on_ack(&mut self, now: Instant) {
        self.update_model_and_state(now);
        self.update_control_parameters();
    }

    fn update_model_and_state(&mut self, now: Instant) {
        self.update_latest_delivery_signals();
        self.update_congestion_signals();
        self.update_ack_aggregation(now);
        self.check_full_bw_reached();
        self.check_startup_done();
        self.check_drain_done(now);
        self.update_probe_bw_cycle_phase(now);
        self.update_min_rtt(now);
        self.check_probe_rtt(now);
        self.advance_latest_delivery_signals();
        self.bound_bw_for_model();
    }

    fn update_control_parameters(&mut self) {
        self.set_pacing_rate();
        self.set_send_quantum();
        self.set_cwnd();
    }
}

/// Control parameters.
impl Bbr3 {
    fn init_pacing_rate(&mut self, srtt: Duration) {
        let nominal_bandwidth = self.initial_cwnd / srtt.as_secs_f64().max(1e-6);
        self.pacing_rate = STARTUP_PACING_GAIN * nominal_bandwidth;
    }

    fn set_pacing_rate_with_gain(&mut self, pacing_gain: f64) {
        let rate = pacing_gain * self.bw * (100.0 - PACING_MARGIN_PERCENT) / 100.0;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_pacing_rate(&mut self) {
        self.set_pacing_rate_with_gain(self.state.pacing_gain());
    }

    fn set_send_quantum(&mut self) {
        self.send_quantum = QUANTUM.bytes(self.pacing_rate, self.smss);
    }

    /// `BBR.MinPipeCwnd`.
    fn min_pipe_cwnd(&self) -> f64 {
        MIN_PIPE_CWND_PACKETS * self.smss
    }

    /// Leaves `BBR.bdp`, which is of `BBR.bw`, also where it is asked for a multiple of another
    /// rate.
    fn bdp_multiple(&mut self, bw: f64, gain: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial_cwnd };
        self.bdp = self.bw * min_rtt.as_secs_f64();
        gain * bw * min_rtt.as_secs_f64()
    }

    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let offload_budget = self.send_quantum;
        let inflight_cap = inflight_cap.max(offload_budget).max(self.min_pipe_cwnd());
        if self.state == State::ProbeBwUp {
            inflight_cap + 2.0 * self.smss
        } else {
            inflight_cap
        }
    }

    fn inflight(&mut self, bw: f64, gain: f64) -> f64 {
        let inflight_cap = self.bdp_multiple(bw, gain);
        self.quantization_budget(inflight_cap)
    }

    fn update_max_inflight(&mut self) {
        let inflight_cap = self.bdp_multiple(self.bw, self.state.cwnd_gain()) + self.extra_acked;
        self.max_inflight = self.quantization_budget(inflight_cap);
    }

    /// Persistent congestion (RFC 9002) is QUIC's retransmission timeout. The draft adds 1 and
    /// means a packet.
    fn on_enter_rto(&mut self) {
        self.save_cwnd();
        self.cwnd = self.c.inflight as f64 + self.smss;
    }

    fn on_enter_fast_recovery(&mut self) {
        self.save_cwnd();
    }

    fn save_cwnd(&mut self) {
        if !self.in_loss_recovery && self.state != State::ProbeRtt {
            self.prior_cwnd = self.cwnd;
        } else {
            self.prior_cwnd = self.prior_cwnd.max(self.cwnd);
        }
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn probe_rtt_cwnd(&mut self) -> f64 {
        self.bdp_multiple(self.bw, PROBE_RTT_CWND_GAIN).max(self.min_pipe_cwnd())
    }

    fn bound_cwnd_for_probe_rtt(&mut self) {
        if self.state == State::ProbeRtt {
            let probe_rtt_cwnd = self.probe_rtt_cwnd();
            self.cwnd = self.cwnd.min(probe_rtt_cwnd);
        }
    }

    fn set_cwnd(&mut self) {
        self.update_max_inflight();
        let newly_acked = self.rs.newly_acked as f64;
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + newly_acked).min(self.max_inflight);
        } else if self.cwnd < self.max_inflight || (self.c.delivered as f64) < self.initial_cwnd {
            self.cwnd += newly_acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        self.bound_cwnd_for_probe_rtt();
        self.bound_cwnd_for_model();
    }

    /// The draft's table also bounds the window in Drain by `inflight_longterm`; its pseudo-code,
    /// which is followed here, does not.
    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => self.inflight_longterm,
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        let cap = cap.min(self.inflight_shortterm).max(self.min_pipe_cwnd());
        self.cwnd = self.cwnd.min(cap);
    }

    /// `C.is_cwnd_limited`.
    fn was_cwnd_limited(&self) -> bool {
        self.is_cwnd_limited.0 || self.is_cwnd_limited.1
    }
}

impl Algorithm for Bbr3 {
    fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.on_transmit(now);
        self.c.on_packet_sent(now, bytes);
        self.is_cwnd_limited.0 |= self.c.inflight as f64 + self.smss > self.cwnd;
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.app_limited {
            self.c.mark_connection_app_limited();
        }
        self.c.update_rate_sample(ack.now, ack.sent);
        if self.in_loss_recovery && !self.recovery.covers(ack.sent) {
            self.in_loss_recovery = false;
            self.restore_cwnd();
        }
    }

    fn on_acks(&mut self, acks: &Acks) {
        self.c.inflight = acks.in_flight;
        if let Some(rtt) = acks.rtt.filter(|rtt| !self.has_seen_rtt && !rtt.is_zero()) {
            self.has_seen_rtt = true;
            self.init_pacing_rate(rtt);
        }
        if let Some(rs) = self.c.generate_rate_sample(acks.bytes, acks.rtt, acks.min_rtt) {
            self.rs = rs;
            self.update_on_ack(acks.now);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let now = event.now;
        if event.lost_bytes == 0 {
            self.handle_mark(now);
        } else {
            for packet in self.c.take_lost(event.sent, event.lost_bytes) {
                self.c.lose(&packet);
                self.handle_lost_packet(&packet, now);
            }
        }
        if event.persistent {
            self.on_enter_rto();
        } else if !self.recovery.covers(event.sent) {
            self.on_enter_fast_recovery();
        }
        if event.persistent || !self.recovery.covers(event.sent) {
            self.recovery.enter(now);
            self.in_loss_recovery = true;
        }
    }

    fn on_mtu(&mut self, mtu: u64) {
        self.smss = mtu as f64;
    }

    fn window(&self) -> u64 {
        self.cwnd as u64
    }

    fn rate_bps(&self) -> Option<u64> {
        Some((self.pacing_rate * 8.0) as u64)
    }

    fn model(&self) -> Option<Model> {
        let bounded = |bytes: f64| bytes.is_finite().then_some(bytes as u64);
        Some(Model {
            pacing_bps: self.rate_bps(),
            state: self.state.name(),
            cycle: Some(self.cycle_count),
            max_bw_bps: Some((self.max_bw * 8.0) as u64),
            path_min_rtt_us: self.min_rtt.map(|rtt| rtt.as_micros() as u64),
            inflight_longterm_bytes: bounded(self.inflight_longterm),
            inflight_shortterm_bytes: bounded(self.inflight_shortterm),
            alpha_ppm: None,
        })
    }
}

#[cfg(test)]
mod flows;
#[cfg(all(test, feature = "bbr3-peer"))]
mod peer;
#[cfg(test)]
mod tests;
