//! Prague: draft-briscoe-iccrg-prague-congestion-control-04 (July 2024), an L4S controller (RFC
//! 9331).
//!
//! - alpha is a moving average of the share of packets that were marked (CE), as the receiver
//!   counts them: each virtual round trip, alpha += (share - alpha) / 16. It is 1 at the first
//!   mark.
//! - Marks: window *= 1 - alpha / 2, once per virtual round trip.
//! - Growth: `increase * mtu * unmarked bytes / window`, also while marks reduce it, not while a
//!   loss is answered. In slow start by all that is acknowledged, until the first mark or loss.
//! - RTT independence: the virtual round trip is the smoothed RTT, at least `virtual_rtt_ms`;
//!   `increase` is (RTT / virtual RTT)², so that the rate grows as that of a flow with that RTT. It
//!   begins after `rtt_dependent_rounds` round trips: until then the virtual RTT is the RTT.
//! - Loss: half the window, once per round trip, as Reno (RFC 9002). What marks took in the same
//!   round trip counts towards it. Without ECN on the path nothing else is left: it falls back to
//!   Reno.
//! - Paced at a window per smoothed RTT, twice that in slow start; what leaves together takes 250
//!   µs.
//!
//! In the mean the window is 2 (1 - p) / p packets at a share p of marks, if the RTT is the virtual
//! one.

use super::adapter::{
    Ack, Acks, Adapter, Algorithm, Congestion, Idle, Model, Recovery, MINIMUM_PACKETS,
};
use super::parameters::Parameter;
use super::{Entry, Start};
use crate::quic::pacer::Quantum;
use std::time::{Duration, Instant};

/// `prague` in the registry.
pub const ENTRY: Entry = Entry {
    name: "prague",
    summary: "Prague, draft-briscoe-iccrg-prague-congestion-control-04; needs ECN, else it is Reno",
    parameters: &[
        Parameter::real(
            VIRTUAL_RTT,
            "least virtual round-trip time: flows with a shorter one grow as if they had it",
            25.0,
            0.001..=10_000.0,
        ),
        Parameter::whole(
            DEPENDENT_ROUNDS,
            "round trips before growth is independent of the round-trip time",
            500,
            0..=1_000_000,
        ),
    ],
    paces: Some(QUANTUM),
    l4s: true,
    restarts: true,
    build: |values, start, shared| {
        let least = Duration::from_secs_f64(values.real(VIRTUAL_RTT) / 1000.0);
        let prague = Prague::new(least, values.whole(DEPENDENT_ROUNDS), start);
        Adapter::boxed(prague, start.initial_window, shared)
    },
};

const VIRTUAL_RTT: &str = "virtual_rtt_ms";
const DEPENDENT_ROUNDS: &str = "rtt_dependent_rounds";
/// Of the moving average of marks.
const GAIN: f64 = 1.0 / 16.0;
/// Share of the window that remains after a loss.
const BETA: f64 = 0.5;
/// 250 µs, or a packet.
const QUANTUM: Quantum = Quantum { time_s: 250e-6, least_packets: 1.0, single_below: 0.0 };
const SLOW_START_PACING: f64 = 2.0;

/// State of Prague; windows in bytes.
#[derive(Debug, Clone)]
pub struct Prague {
    least_virtual_rtt: Duration,
    dependent_rounds: u64,
    mtu: u64,
    window: f64,
    ssthresh: Option<f64>,
    smoothed_rtt: Option<Duration>,

    /// None before the first mark.
    alpha: Option<f64>,
    /// Packets acknowledged and marked since alpha was updated, and when that was.
    acknowledged: u64,
    marked: u64,
    updated: Instant,

    rounds: u64,
    round: Recovery,

    /// Of the ACK frame that is being read: packets, packets marked, and bytes that count as
    /// growth.
    ack_packets: u64,
    ack_marked: u64,
    ack_bytes: f64,

    loss: Recovery,
    /// The answer to marks of this virtual round trip: when it was, and the window before it.
    reduced: Option<(Instant, f64)>,
    reduced_round: Recovery,
    is_recovering: bool,
}

impl Prague {
    /// Starts. `least_virtual_rtt`, `dependent_rounds`: the parameters.
    pub fn new(least_virtual_rtt: Duration, dependent_rounds: u64, start: Start) -> Self {
        Prague {
            least_virtual_rtt,
            dependent_rounds,
            mtu: start.mtu,
            window: start.initial_window as f64,
            ssthresh: None,
            smoothed_rtt: None,
            alpha: None,
            acknowledged: 0,
            marked: 0,
            updated: start.now,
            rounds: 0,
            round: Recovery::default(),
            ack_packets: 0,
            ack_marked: 0,
            ack_bytes: 0.0,
            loss: Recovery::default(),
            reduced: None,
            reduced_round: Recovery::default(),
            is_recovering: false,
        }
    }

    fn minimum(&self) -> f64 {
        (MINIMUM_PACKETS * self.mtu) as f64
    }

    fn is_in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|threshold| self.window < threshold)
    }

    /// The smoothed RTT, and the virtual one.
    fn rtts(&self) -> (Duration, Duration) {
        let rtt = self.smoothed_rtt.unwrap_or_default();
        let is_dependent = self.rounds < self.dependent_rounds;
        (rtt, if is_dependent { rtt } else { rtt.max(self.least_virtual_rtt) })
    }

    /// What the window grows by in a round trip without marks, packets.
    fn increase(&self) -> f64 {
        let (rtt, virtual_rtt) = self.rtts();
        if virtual_rtt <= rtt {
            return 1.0;
        }
        (rtt.as_secs_f64() / virtual_rtt.as_secs_f64()).powi(2)
    }

    fn grow(&mut self) {
        let unmarked = self.ack_packets.saturating_sub(self.ack_marked) as f64;
        let bytes = self.ack_bytes * unmarked / self.ack_packets.max(1) as f64;
        if self.is_in_slow_start() {
            self.window += bytes;
        } else {
            self.window += self.increase() * self.mtu as f64 * bytes / self.window;
        }
    }

    /// Updates alpha, once per virtual round trip.
    fn update_alpha(&mut self, now: Instant) {
        self.acknowledged += self.ack_packets;
        self.marked += self.ack_marked;
        let (_, virtual_rtt) = self.rtts();
        if self.acknowledged == 0 || now.saturating_duration_since(self.updated) < virtual_rtt {
            return;
        }
        // Marks that came late can be more than what is acknowledged now.
        let share = (self.marked as f64 / self.acknowledged as f64).min(1.0);
        if let Some(alpha) = &mut self.alpha {
            *alpha += GAIN * (share - *alpha);
        }
        (self.acknowledged, self.marked, self.updated) = (0, 0, now);
    }

    /// Answers marks, once per virtual round trip, and per round trip.
    fn reduce(&mut self, now: Instant, newest_sent: Instant) {
        let (_, virtual_rtt) = self.rtts();
        let is_answered = self.reduced_round.covers(newest_sent)
            || self.reduced.is_some_and(|(at, _)| now.saturating_duration_since(at) < virtual_rtt)
            || self.loss.covers(newest_sent);
        if is_answered {
            return;
        }
        let alpha = self.alpha.unwrap_or(1.0);
        self.reduced = Some((now, self.window));
        self.reduced_round.enter(now);
        self.window = (self.window * (1.0 - alpha / 2.0)).max(self.minimum());
        self.ssthresh = Some(self.window);
    }
}

impl Algorithm for Prague {
    fn on_ack(&mut self, ack: &Ack) {
        self.ack_packets += 1;
        if self.loss.covers(ack.sent) {
            return;
        }
        self.is_recovering = false;
        if !ack.app_limited {
            self.ack_bytes += ack.bytes as f64;
        }
    }

    fn on_marks(&mut self, packets: u64) {
        self.ack_marked += packets;
    }

    fn on_acks(&mut self, acks: &Acks) {
        // The estimator's value before its first sample is a guess.
        let smoothed = if self.smoothed_rtt.is_some() { Some(acks.smoothed_rtt) } else { acks.rtt };
        self.smoothed_rtt = smoothed.or(self.smoothed_rtt);
        let newest_sent = acks.rtt.and_then(|rtt| acks.now.checked_sub(rtt));
        if newest_sent.is_some_and(|sent| !self.round.covers(sent)) {
            self.rounds += 1;
            self.round.enter(acks.now);
        }
        if self.ack_marked > 0 && self.alpha.is_none() {
            self.alpha = Some(1.0);
            self.updated = acks.now;
        }
        self.update_alpha(acks.now);
        self.grow();
        if self.ack_marked > 0 {
            self.reduce(acks.now, newest_sent.unwrap_or(acks.now));
        }
        (self.ack_packets, self.ack_marked, self.ack_bytes) = (0, 0, 0.0);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        // quinn's own word of marks: `on_marks` had them.
        if event.lost_bytes == 0 && !event.persistent {
            return;
        }
        if !self.loss.covers(event.sent) {
            self.loss.enter(event.now);
            self.is_recovering = true;
            let before = match self.reduced {
                Some((_, before)) if self.reduced_round.covers(event.sent) => before,
                _ => self.window,
            };
            self.window = self.window.min(BETA * before).max(self.minimum());
            self.ssthresh = Some(self.window);
        }
        if event.persistent {
            self.window = self.minimum();
            self.loss.forget();
        }
    }

    fn on_mtu(&mut self, mtu: u64) {
        self.mtu = mtu;
        self.window = self.window.max(self.minimum());
    }

    fn restart(&mut self, idle: &Idle) {
        self.ssthresh = Idle::ssthresh(self.ssthresh, self.window);
        self.window = idle.window(self.window);
    }

    fn window(&self) -> u64 {
        self.window as u64
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.map(|threshold| threshold as u64)
    }

    fn rate_bps(&self) -> Option<u64> {
        let rtt = self.smoothed_rtt.filter(|rtt| !rtt.is_zero())?;
        let gain = if self.is_in_slow_start() { SLOW_START_PACING } else { 1.0 };
        Some((8.0 * gain * self.window / rtt.as_secs_f64()) as u64)
    }

    fn model(&self) -> Option<Model> {
        let state = if self.is_recovering {
            "recovery"
        } else if self.is_in_slow_start() {
            "slow_start"
        } else {
            "congestion_avoidance"
        };
        let pacing_bps = self.rate_bps();
        let alpha_ppm = self.alpha.map(|alpha| (1e6 * alpha).round() as u64);
        Some(Model { pacing_bps, alpha_ppm, ..Model::phase(state) })
    }
}

#[cfg(test)]
mod tests;
