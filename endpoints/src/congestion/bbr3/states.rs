//! The state machine of draft-ietf-ccwg-bbr-06: Startup, Drain, `ProbeBW`, `ProbeRTT`, and
//! restarting from idle.

use super::{
    AckPhase, Bbr3, State, HEADROOM, MIN_RTT_FILTER_LEN, PROBE_RTT_DURATION, PROBE_RTT_INTERVAL,
    STARTUP_FULL_LOSS_CNT,
};
use rand_xoshiro::rand_core::Rng;
use std::time::{Duration, Instant};

/// Startup and Drain.
impl Bbr3 {
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    pub(super) fn check_startup_done(&mut self) {
        self.check_startup_high_loss();
        if self.state == State::Startup && self.full_bw_reached {
            self.enter_drain();
        }
    }

    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    pub(super) fn check_full_bw_reached(&mut self) {
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

    /// The draft describes it in words. A loss round begins with its first loss and lasts a
    /// packet-timed round trip: at its end the connection has been in recovery for one. Marks count
    /// as losses of which it can only tell one per round trip: one begins the recovery, one more
    /// ends Startup.
    pub(super) fn check_startup_high_loss(&mut self) {
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
            self.inflight_longterm = self.bdp.max(self.inflight_latest);
        }
    }

    pub(super) fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.round_count;
    }

    pub(super) fn check_drain_done(&mut self, now: Instant) {
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
    pub(super) fn is_time_to_probe_bw(&mut self, now: Instant) -> bool {
        if self.has_elapsed_in_phase(now, self.bw_probe_wait)
            || self.is_reno_coexistence_probe_time()
        {
            self.start_probe_bw_refill();
            return true;
        }
        false
    }

    pub(super) fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.random.next_u64() >> 63;
        let share = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        self.bw_probe_wait = Duration::from_secs_f64(2.0 + share);
    }

    /// The draft compares rounds with a volume: packets are meant.
    pub(super) fn is_reno_coexistence_probe_time(&self) -> bool {
        let reno_rounds = self.target_inflight() / self.smss;
        let rounds = reno_rounds.min(63.0);
        self.rounds_since_probe_up as f64 >= rounds
    }

    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp.min(self.cwnd)
    }

    pub(super) fn enter_probe_bw(&mut self, now: Instant) {
        self.start_probe_bw_down(now);
    }

    pub(super) fn start_probe_bw_down(&mut self, now: Instant) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::ProbeBwDown;
    }

    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.state = State::ProbeBwCruise;
    }

    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::ProbeBwRefill;
    }

    pub(super) fn start_probe_bw_up(&mut self) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = self.rs.delivery_rate;
        self.state = State::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }

    #[expect(clippy::collapsible_match, reason = "a guard cannot change what is matched")]
    pub(super) fn update_probe_bw_cycle_phase(&mut self, now: Instant) {
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

    pub(super) fn is_in_a_probe_bw_state(&self) -> bool {
        matches!(
            self.state,
            State::ProbeBwDown | State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeBwUp
        )
    }

    pub(super) fn is_time_to_cruise(&mut self) -> bool {
        let inflight = self.c.inflight as f64;
        inflight <= self.inflight_with_headroom() && inflight <= self.inflight(self.max_bw, 1.0)
    }

    pub(super) fn is_time_to_go_down(&mut self) -> bool {
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

    pub(super) fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }

    pub(super) fn has_elapsed_in_phase(&self, now: Instant, interval: Duration) -> bool {
        now > self.cycle_stamp + interval
    }

    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = self.smss.max(HEADROOM * self.inflight_longterm);
        (self.inflight_longterm - headroom).max(self.min_pipe_cwnd())
    }

    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = (1_u64 << self.bw_probe_up_rounds) as f64;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.cwnd / growth_this_round).max(self.smss);
    }

    pub(super) fn probe_inflight_longterm_upward(&mut self) {
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

    pub(super) fn adapt_long_term_model(&mut self) -> bool {
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
    pub(super) fn update_min_rtt(&mut self, now: Instant) {
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

    pub(super) fn check_probe_rtt(&mut self, now: Instant) {
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

    pub(super) fn enter_probe_rtt(&mut self) {
        self.state = State::ProbeRtt;
    }

    pub(super) fn handle_probe_rtt(&mut self, now: Instant) {
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

    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt_done_stamp.is_some_and(|done| now > done) {
            self.probe_rtt_min_stamp = now;
            self.restore_cwnd();
            self.exit_probe_rtt(now);
        }
    }

    pub(super) fn exit_probe_rtt(&mut self, now: Instant) {
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down(now);
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }

    pub(super) fn handle_restart_from_idle(&mut self, now: Instant) {
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
