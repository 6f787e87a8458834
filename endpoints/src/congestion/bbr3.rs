//! BBR version 3: draft-ietf-ccwg-bbr-06 (July 2026), whose algorithm its editors' copy of August 2026
//! has unchanged.
//!
//! Functions, states, constants and variables are the draft's, in its order, so that both can be
//! read side by side; `sampling` has its delivery rate samples. Where the draft's text and its
//! pseudo-code differ, or quinn cannot do what it asks for, a comment says what is done here;
//! `docs/learn/congestion.md` lists all of it, with the test of each.
//!
//! Volumes in bytes of UDP payload (SMSS is the maximum datagram size), rates in bytes/s. Infinity
//! is `f64::INFINITY`. The driver paces (`quic::pacer`), at `pacing_rate` and in quanta of
//! `send_quantum`.

use super::adapter::{Ack, Acks, Adapter, Algorithm, Congestion, Model, Recovery};
use super::delivery::Greatest;
use super::{Entry, Start};
use crate::quic::pacer::send_quantum;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sampling::{Connection, Packet, RateSample};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

mod sampling;

/// `bbr3` in the registry.
pub const ENTRY: Entry = Entry {
    name: "bbr3",
    summary: "BBR version 3, draft-ietf-ccwg-bbr-06",
    parameters: &[],
    paces: true,
    build: |_, start| {
        // The kernel's random numbers: in virtual time they follow from the cell's seed.
        let seed = RandomState::new().hash_one(0);
        Adapter::boxed(Bbr3::new(start, seed), start.initial_window)
    },
};

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

/// Startup and Drain.
impl Bbr3 {
    fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    fn check_startup_done(&mut self) {
        self.check_startup_high_loss();
        if self.state == State::Startup && self.full_bw_reached {
            self.enter_drain();
        }
    }

    fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    fn check_full_bw_reached(&mut self) {
        if self.full_bw_now || !self.round_start || self.rs.is_app_limited {
            return;
        }
        if self.rs.delivery_rate >= self.full_bw * 1.25 {
            self.reset_full_bw();
            self.full_bw = self.rs.delivery_rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        if self.full_bw_now {
            self.full_bw_reached = true;
        }
    }

    /// The draft describes it in words. A loss round begins with its first loss and lasts a packet-timed
    /// round trip: at its end the connection has been in recovery for one. Marks count as losses of
    /// which it can only tell one per round trip: one begins the recovery, one more ends Startup.
    fn check_startup_high_loss(&mut self) {
        if !self.loss_round_start {
            return;
        }
        let is_lossy = self.lost_ranges >= STARTUP_FULL_LOSS_CNT && self.is_inflight_too_high();
        let is_high = is_lossy || self.marks_in_round >= 2;
        self.lost_ranges = 0;
        self.marks_in_round = 0;
        if self.state == State::Startup && is_high {
            self.full_bw_now = true;
            self.full_bw_reached = true;
            self.bdp = self.bdp_multiple(self.bw, 1.0);
            self.inflight_longterm = self.bdp.max(self.inflight_latest);
        }
    }

    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.round_count;
    }

    fn check_drain_done(&mut self, now: Instant) {
        if self.state == State::Drain
            && (self.c.inflight as f64 <= self.inflight(self.bw, 1.0)
                || self.round_count > self.drain_start_round + 3)
        {
            self.enter_probe_bw(now);
        }
    }
}

/// `ProbeBW`.
impl Bbr3 {
    fn is_time_to_probe_bw(&mut self, now: Instant) -> bool {
        if self.has_elapsed_in_phase(now, self.bw_probe_wait)
            || self.is_reno_coexistence_probe_time()
        {
            self.start_probe_bw_refill();
            return true;
        }
        false
    }

    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.random.next_u64() >> 63;
        let share = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        self.bw_probe_wait = Duration::from_secs_f64(2.0 + share);
    }

    /// The draft compares rounds with a volume: packets are meant.
    fn is_reno_coexistence_probe_time(&mut self) -> bool {
        let reno_rounds = self.target_inflight() / self.smss;
        let rounds = reno_rounds.min(63.0);
        self.rounds_since_probe_up as f64 >= rounds
    }

    fn target_inflight(&mut self) -> f64 {
        self.bdp = self.bdp_multiple(self.bw, 1.0);
        self.bdp.min(self.cwnd)
    }

    fn enter_probe_bw(&mut self, now: Instant) {
        self.start_probe_bw_down(now);
    }

    fn start_probe_bw_down(&mut self, now: Instant) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::ProbeBwDown;
    }

    fn start_probe_bw_cruise(&mut self) {
        self.state = State::ProbeBwCruise;
    }

    fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::ProbeBwRefill;
    }

    fn start_probe_bw_up(&mut self) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = self.rs.delivery_rate;
        self.state = State::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }

    #[expect(clippy::collapsible_match, reason = "a guard cannot change what is matched")]
    fn update_probe_bw_cycle_phase(&mut self, now: Instant) {
        if !self.full_bw_reached || self.adapt_long_term_model() || !self.is_in_a_probe_bw_state() {
            return;
        }
        match self.state {
            State::ProbeBwDown => {
                if !self.is_time_to_probe_bw(now) && self.is_time_to_cruise() {
                    self.start_probe_bw_cruise();
                }
            }
            State::ProbeBwCruise => {
                self.is_time_to_probe_bw(now);
            }
            State::ProbeBwRefill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_probe_bw_up();
            }
            State::ProbeBwUp => {
                if self.is_time_to_go_down() {
                    self.prev_probe_too_high = false;
                    self.start_probe_bw_down(now);
                }
            }
            _ => {}
        }
    }

    fn is_in_a_probe_bw_state(&self) -> bool {
        matches!(
            self.state,
            State::ProbeBwDown | State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeBwUp
        )
    }

    fn is_time_to_cruise(&self) -> bool {
        let inflight = self.c.inflight as f64;
        inflight <= self.inflight_with_headroom() && inflight <= self.inflight(self.max_bw, 1.0)
    }

    fn is_time_to_go_down(&mut self) -> bool {
        if self.prev_probe_too_high && self.c.inflight as f64 >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.was_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = self.rs.delivery_rate;
        } else if self.full_bw_now {
            return true;
        }
        false
    }

    fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }

    fn has_elapsed_in_phase(&self, now: Instant, interval: Duration) -> bool {
        now > self.cycle_stamp + interval
    }

    fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = self.smss.max(HEADROOM * self.inflight_longterm);
        (self.inflight_longterm - headroom).max(self.min_pipe_cwnd())
    }

    fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = (1_u64 << self.bw_probe_up_rounds) as f64;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.cwnd / growth_this_round).max(self.smss);
    }

    fn probe_inflight_longterm_upward(&mut self) {
        if !self.was_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += self.rs.newly_acked as f64;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = (self.bw_probe_up_acked / self.probe_up_acked_per_inc).floor();
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta * self.smss;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    fn adapt_long_term_model(&mut self) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.is_in_a_probe_bw_state() && !self.rs.is_app_limited {
                self.advance_max_bw_filter();
            }
            if self.is_in_a_probe_bw_state()
                && self.prev_probe_precautionary
                && !self.prev_probe_too_high
            {
                self.start_probe_bw_refill();
                return true;
            }
        }
        if !self.is_inflight_too_high() {
            if self.inflight_longterm.is_infinite() {
                return false;
            }
            self.inflight_longterm = self.inflight_longterm.max(self.rs.tx_in_flight as f64);
            if self.state == State::ProbeBwUp {
                self.probe_inflight_longterm_upward();
            }
        }
        false
    }
}

/// `ProbeRTT`, and restarting from idle.
impl Bbr3 {
    fn update_min_rtt(&mut self, now: Instant) {
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = self.rs.rtt {
            if self.probe_rtt_expired || self.probe_rtt_min_delay.is_none_or(|least| rtt < least) {
                self.probe_rtt_min_delay = Some(rtt);
                self.probe_rtt_min_stamp = now;
            }
        }
        let Some(delay) = self.probe_rtt_min_delay else { return };
        let min_rtt_expired = now > self.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if min_rtt_expired || self.min_rtt.is_none_or(|min_rtt| delay < min_rtt) {
            self.min_rtt = Some(delay);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    fn check_probe_rtt(&mut self, now: Instant) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            // The draft saves the window after it has changed the state, which the saved one would
            // then be greater than: saved before, it is what it was.
            self.save_cwnd();
            self.enter_probe_rtt();
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(now);
        }
        if self.rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn enter_probe_rtt(&mut self) {
        self.state = State::ProbeRtt;
    }

    fn handle_probe_rtt(&mut self, now: Instant) {
        self.c.mark_connection_app_limited();
        if self.probe_rtt_done_stamp.is_none() {
            if self.c.inflight as f64 <= self.probe_rtt_cwnd() {
                self.probe_rtt_done_stamp = Some(now + PROBE_RTT_DURATION);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        }
        if self.round_start {
            self.probe_rtt_round_done = true;
        }
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(now);
        }
    }

    fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt_done_stamp.is_some_and(|done| now > done) {
            self.probe_rtt_min_stamp = now;
            self.restore_cwnd();
            self.exit_probe_rtt(now);
        }
    }

    fn exit_probe_rtt(&mut self, now: Instant) {
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down(now);
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }

    fn handle_restart_from_idle(&mut self, now: Instant) {
        if self.c.inflight == 0 && self.c.app_limited != 0 {
            self.idle_restart = true;
            self.extra_acked_interval_start = now;
            if self.is_in_a_probe_bw_state() {
                self.set_pacing_rate_with_gain(1.0);
            } else if self.state == State::ProbeRtt {
                self.check_probe_rtt_done(now);
            }
        }
    }
}

/// The model of the path.
impl Bbr3 {
    fn update_round(&mut self) {
        self.round_start = self.rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
            self.is_cwnd_limited = (false, self.is_cwnd_limited.0);
        }
    }

    fn start_round(&mut self) {
        self.next_round_delivered = self.c.delivered;
    }

    fn update_max_bw(&mut self) {
        self.update_round();
        let rate = self.rs.delivery_rate;
        if rate > 0.0 && (rate >= self.max_bw || !self.rs.is_app_limited) {
            self.max_bw_filter.take(self.cycle_count, rate);
            self.max_bw = self.max_bw_filter.get();
        }
    }

    fn advance_max_bw_filter(&mut self) {
        self.cycle_count += 1;
    }

    fn update_ack_aggregation(&mut self, now: Instant) {
        let interval = now.saturating_duration_since(self.extra_acked_interval_start);
        let mut expected_delivered = self.bw * interval.as_secs_f64();
        if self.extra_acked_delivered <= expected_delivered {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_interval_start = now;
            expected_delivered = 0.0;
        }
        self.extra_acked_delivered += self.rs.newly_acked as f64;
        let extra = (self.extra_acked_delivered - expected_delivered).min(self.cwnd);
        let filter_len = if self.full_bw_reached { EXTRA_ACKED_FILTER_LEN } else { 1 };
        self.extra_acked_filter.remember(filter_len);
        self.extra_acked_filter.take(self.round_count, extra);
        self.extra_acked = self.extra_acked_filter.get();
    }

    fn is_inflight_too_high(&self) -> bool {
        self.rs.lost as f64 > self.rs.tx_in_flight as f64 * LOSS_THRESH
    }

    fn handle_inflight_too_high(&mut self, now: Instant) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !self.rs.is_app_limited {
            let least = self.target_inflight() * BETA;
            self.inflight_longterm = least.max(self.rs.tx_in_flight as f64);
        }
        if self.state == State::ProbeBwUp {
            self.start_probe_bw_down(now);
        }
    }

    fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.c.delivered;
            self.save_cwnd();
        }
        self.is_loss_in_round = true;
    }

    fn handle_lost_packet(&mut self, packet: &Packet, now: Instant) {
        self.note_loss();
        if packet.id != self.last_lost_id + 1 {
            self.lost_ranges += 1;
        }
        self.last_lost_id = packet.id;
        if !self.is_bw_probe_sample {
            return;
        }
        self.rs.tx_in_flight = packet.tx_in_flight;
        self.rs.lost = self.c.lost - packet.lost;
        self.rs.is_app_limited = packet.is_app_limited;
        if self.is_inflight_too_high() {
            self.rs.tx_in_flight = self.inflight_at_loss(packet) as u64;
            self.handle_inflight_too_high(now);
        }
    }

    fn inflight_at_loss(&self, packet: &Packet) -> f64 {
        let size = packet.size as f64;
        let inflight_prev = self.rs.tx_in_flight as f64 - size;
        let lost_prev = self.rs.lost as f64 - size;
        let lost_prefix = (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH);
        inflight_prev + lost_prefix
    }

    /// A mark (ECN), of which the draft says that it is congestion, not how much: like a loss of a
    /// connection that can tell one loss per round trip.
    fn handle_mark(&mut self, now: Instant) {
        self.note_loss();
        self.marks_in_round += 1;
        if self.is_bw_probe_sample {
            self.handle_inflight_too_high(now);
        }
    }

    fn update_latest_delivery_signals(&mut self) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(self.rs.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(self.rs.delivered as f64);
        if self.rs.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.c.delivered;
            self.loss_round_start = true;
        }
    }

    fn advance_latest_delivery_signals(&mut self) {
        if self.loss_round_start {
            self.bw_latest = self.rs.delivery_rate;
            self.inflight_latest = self.rs.delivered as f64;
        }
    }

    fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    fn update_congestion_signals(&mut self) {
        self.update_max_bw();
        if !self.loss_round_start {
            return;
        }
        self.adapt_lower_bounds_from_congestion();
        self.is_loss_in_round = false;
    }

    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.is_probing_bw() {
            return;
        }
        if self.is_loss_in_round {
            self.init_lower_bounds();
            self.loss_lower_bounds();
        }
    }

    fn init_lower_bounds(&mut self) {
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw;
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = self.cwnd;
        }
    }

    fn loss_lower_bounds(&mut self) {
        self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max(BETA * self.inflight_shortterm);
    }

    fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw.min(self.bw_shortterm);
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
        self.send_quantum = send_quantum(self.pacing_rate, self.smss);
    }

    /// `BBR.MinPipeCwnd`.
    fn min_pipe_cwnd(&self) -> f64 {
        MIN_PIPE_CWND_PACKETS * self.smss
    }

    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_cwnd, |min_rtt| gain * bw * min_rtt.as_secs_f64())
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

    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    fn update_max_inflight(&mut self) {
        let inflight_cap = self.bdp_multiple(self.bw, self.state.cwnd_gain()) + self.extra_acked;
        self.max_inflight = self.quantization_budget(inflight_cap);
    }

    /// Persistent congestion (RFC 9002) is QUIC's retransmission timeout. The draft adds 1 and means
    /// a packet.
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

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.bw, PROBE_RTT_CWND_GAIN).max(self.min_pipe_cwnd())
    }

    fn bound_cwnd_for_probe_rtt(&mut self) {
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
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

    /// The draft's table also bounds the window in Drain by `inflight_longterm`; its pseudo-code, which
    /// is followed here, does not.
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
        })
    }
}

#[cfg(test)]
mod tests;
