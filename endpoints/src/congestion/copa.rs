//! Copa: V. Arun and H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the
//! Internet", USENIX NSDI 2018.
//!
//! - Delays (section 2.1): the standing RTT is the smallest of the last half of a smoothed RTT, the
//!   smallest RTT that of the last 10 s, the queueing delay their difference.
//! - Target rate: one packet per `delta` queueing delays. While window / standing RTT is at most
//!   that, each acknowledged packet adds `velocity / (delta window)` packets, else takes them away.
//! - Velocity: 1; it doubles each round trip in which the window goes the way that it went before,
//!   once it has gone there for three, and is 1 again where it turns. It is at most `delta`
//!   windows, in packets, as in the authors' program: an acknowledged packet moves the window by a
//!   packet at most.
//! - Slow start doubles the window each round trip until the rate exceeds the target.
//! - Paced at two windows per standing RTT.
//! - Competitive mode (section 2.2): other Copa flows empty the queue every five round trips. A
//!   flow that has not seen its queue nearly empty, below a tenth of the range of the RTTs of the
//!   last four, for five varies 1 / delta as Reno its window: one more each round trip, half of it
//!   in one with a loss. It is never below that of the default mode, to which the flow returns when
//!   the queue empties.
//!
//! In the mean n flows alone keep a queue of about n / delta packets, and each has a part of the
//! link in proportion to its 1 / delta (section 3).
//!
//! What the paper leaves open: the bound of the velocity; a window does not grow while the sender
//! has nothing to send; it is at least two packets, and that after persistent congestion (RFC
//! 9002). Neither a loss nor a mark moves the window in the default mode.

use super::adapter::{Ack, Acks, Adapter, Algorithm, Congestion, Model, Recovery, MINIMUM_PACKETS};
use super::parameters::Parameter;
use super::{Entry, Start};
use crate::quic::pacer::Quantum;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// `copa` in the registry.
pub const ENTRY: Entry = Entry {
    name: "copa",
    summary: "Copa (Arun and Balakrishnan, NSDI 2018): a target rate from the queueing delay",
    parameters: &[
        Parameter::real(
            "delta",
            "queueing delays per packet of the target rate: smaller ones get more, and wait more",
            0.5,
            0.004..=10.0,
        ),
        Parameter::switch(
            "competitive",
            "whether it competes like Reno where others keep the queue full",
            true,
        ),
    ],
    paces: Some(QUANTUM),
    l4s: false,
    restarts: false,
    build: |values, start, shared| {
        let settings = Settings {
            inverse_delta: 1.0 / values.real("delta"),
            competitive: values.switch("competitive"),
        };
        Adapter::boxed(Copa::new(settings, start), start.initial_window, shared)
    },
};

/// The smallest RTT is that of this time.
const LONG: Duration = Duration::from_secs(10);
/// The standing RTT is the smallest of this part of the smoothed one.
const STANDING: f64 = 0.5;
/// How far back the largest RTT looks, smoothed RTTs.
const LARGEST: f64 = 4.0;
/// Part of the range of RTTs below which a queue is nearly empty.
const NEARLY_EMPTY: f64 = 0.1;
/// Round trips in which a queue without competitors empties once.
const EMPTIES_IN: f64 = 5.0;
/// Round trips in one direction before the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
const PACING: f64 = 2.0;
/// 250 µs, or a packet.
const QUANTUM: Quantum = Quantum { time_s: 250e-6, least_packets: 1.0, single_below: 0.0 };

/// Parameters of Copa.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// 1 / delta in the default mode.
    pub inverse_delta: f64,
    /// Whether there is a competitive mode.
    pub competitive: bool,
}

/// The smallest sample of a moving window of time, or of negative samples the largest.
#[derive(Debug, Clone, Default)]
struct Smallest(VecDeque<(Instant, f64)>);

impl Smallest {
    /// Takes a sample, and returns the smallest of the last `span`.
    fn of(&mut self, now: Instant, sample: f64, span: Duration) -> f64 {
        while self.0.back().is_some_and(|(_, other)| *other >= sample) {
            self.0.pop_back();
        }
        self.0.push_back((now, sample));
        while self.0.len() > 1 && now.saturating_duration_since(self.0[0].0) > span {
            self.0.pop_front();
        }
        self.0[0].1
    }
}

/// RTTs, s.
#[derive(Debug, Clone, Copy)]
struct Delays {
    standing: f64,
    smallest: f64,
    largest: f64,
}

impl Delays {
    fn queueing_s(self) -> f64 {
        self.standing - self.smallest
    }

    /// `tolerance_s`: what is added to the paper's bound.
    fn is_nearly_empty(self, tolerance_s: f64) -> bool {
        self.queueing_s() <= NEARLY_EMPTY * (self.largest - self.smallest) + tolerance_s
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// State of Copa; the window in bytes.
#[derive(Debug, Clone)]
pub struct Copa {
    settings: Settings,
    mtu: u64,
    window: f64,
    is_in_slow_start: bool,
    is_competitive: bool,
    /// 1 / delta as it is now.
    inverse_delta: f64,
    smoothed_rtt: Option<Duration>,
    standing: Smallest,
    smallest: Smallest,
    /// Of negative RTTs.
    largest: Smallest,
    delays: Option<Delays>,
    /// When the queue was last nearly empty.
    emptied: Instant,
    /// Added to the bound of that, s: nothing, but in a test.
    tolerance_s: f64,
    velocity: f64,
    direction: Option<Direction>,
    /// Round trips in this direction.
    steady: u32,
    /// The window at the begin of this round trip.
    before: f64,
    round: Recovery,
    /// Whether this round trip has seen a loss or a mark.
    has_lost: bool,
    /// Bytes of the ACK frame that is being read, without those sent with nothing else to send.
    ack_bytes: f64,
}

impl Copa {
    /// Starts.
    pub fn new(settings: Settings, start: Start) -> Self {
        Copa {
            settings,
            mtu: start.mtu,
            window: start.initial_window as f64,
            is_in_slow_start: true,
            is_competitive: false,
            inverse_delta: settings.inverse_delta,
            smoothed_rtt: None,
            standing: Smallest::default(),
            smallest: Smallest::default(),
            largest: Smallest::default(),
            delays: None,
            emptied: start.now,
            tolerance_s: 0.0,
            velocity: 1.0,
            direction: None,
            steady: 0,
            before: start.initial_window as f64,
            round: Recovery::default(),
            has_lost: false,
            ack_bytes: 0.0,
        }
    }

    fn minimum(&self) -> f64 {
        (MINIMUM_PACKETS * self.mtu) as f64
    }

    fn sample(&mut self, now: Instant, rtt: Duration, smoothed: Duration) {
        let rtt_s = rtt.as_secs_f64();
        self.delays = Some(Delays {
            standing: self.standing.of(now, rtt_s, smoothed.mul_f64(STANDING)),
            smallest: self.smallest.of(now, rtt_s, LONG),
            largest: -self.largest.of(now, -rtt_s, smoothed.mul_f64(LARGEST)),
        });
    }

    /// Whether the rate is at most the target: window / standing <= packet / (delta queueing
    /// delay).
    fn is_below_target(&self, delays: Delays) -> bool {
        let target = self.mtu as f64 * self.inverse_delta * delays.standing;
        self.window * delays.queueing_s() <= target
    }

    /// Ends a round trip: the direction of the window, its velocity, and delta.
    fn turn(&mut self) {
        let direction = if self.window > self.before { Direction::Up } else { Direction::Down };
        if self.direction == Some(direction) {
            self.steady += 1;
            if self.steady > STEADY_ROUNDS {
                self.velocity *= 2.0;
            }
        } else {
            (self.direction, self.steady, self.velocity) = (Some(direction), 1, 1.0);
        }
        self.before = self.window;
        let has_lost = std::mem::replace(&mut self.has_lost, false);
        if self.is_competitive && !has_lost {
            self.inverse_delta += 1.0;
        }
    }

    fn choose_mode(&mut self, now: Instant, delays: Delays, smoothed: Duration) {
        if self.is_in_slow_start || delays.is_nearly_empty(self.tolerance_s) {
            self.emptied = now;
        }
        let waited = now.saturating_duration_since(self.emptied);
        let is_competitive = self.settings.competitive && waited > smoothed.mul_f64(EMPTIES_IN);
        if is_competitive != self.is_competitive {
            self.is_competitive = is_competitive;
            self.inverse_delta = self.settings.inverse_delta;
        }
    }

    fn change(&mut self, delays: Delays, bytes: f64) {
        let is_below = self.is_below_target(delays);
        if self.is_in_slow_start && is_below {
            self.window += self.ack_bytes;
            return;
        }
        if self.is_in_slow_start {
            (self.is_in_slow_start, self.direction, self.velocity) = (false, None, 1.0);
        }
        let packets_per_velocity = self.mtu as f64 * self.inverse_delta / self.window;
        self.velocity = self.velocity.min(1.0 / packets_per_velocity).max(1.0);
        let share = (self.velocity * packets_per_velocity).min(1.0);
        if is_below {
            self.window += self.ack_bytes * share;
        } else {
            self.window = (self.window - bytes * share).max(self.minimum());
        }
    }
}

impl Algorithm for Copa {
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.app_limited {
            self.ack_bytes += ack.bytes as f64;
        }
    }

    fn on_acks(&mut self, acks: &Acks) {
        if let Some(rtt) = acks.rtt {
            // The estimator's value before its first sample is a guess.
            let smoothed = if self.smoothed_rtt.is_some() { acks.smoothed_rtt } else { rtt };
            self.smoothed_rtt = Some(smoothed);
            self.sample(acks.now, rtt, smoothed);
            let sent = acks.now.checked_sub(rtt);
            if sent.is_some_and(|sent| !self.round.covers(sent)) {
                self.turn();
                self.round.enter(acks.now);
            }
        }
        if let (Some(delays), Some(smoothed)) = (self.delays, self.smoothed_rtt) {
            self.choose_mode(acks.now, delays, smoothed);
            self.change(delays, acks.bytes as f64);
        }
        self.ack_bytes = 0.0;
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if !std::mem::replace(&mut self.has_lost, true) && self.is_competitive {
            self.inverse_delta = (self.inverse_delta / 2.0).max(self.settings.inverse_delta);
        }
        if event.persistent {
            self.window = self.minimum();
        }
    }

    fn on_mtu(&mut self, mtu: u64) {
        self.mtu = mtu;
        self.window = self.window.max(self.minimum());
    }

    fn window(&self) -> u64 {
        self.window as u64
    }

    fn rate_bps(&self) -> Option<u64> {
        let standing_s = self.delays.map(|delays| delays.standing).filter(|s| *s > 0.0)?;
        Some((8.0 * PACING * self.window / standing_s) as u64)
    }

    fn model(&self) -> Option<Model> {
        let state = match (self.is_in_slow_start, self.is_competitive) {
            (true, _) => "slow_start",
            (_, true) => "competitive",
            _ => "default",
        };
        let path_min_rtt_us = self.delays.map(|delays| (1e6 * delays.smallest).round() as u64);
        let pacing_bps = self.rate_bps();
        Some(Model { pacing_bps, path_min_rtt_us, ..Model::phase(state) })
    }
}

#[cfg(test)]
mod tests;
