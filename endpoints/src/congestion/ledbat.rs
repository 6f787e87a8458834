//! LEDBAT (RFC 6817), with the RTT in the place of the one-way delay.
//!
//! QUIC carries no time stamps for one way, so a sample is the RTT less the smallest RTT of the
//! base history: queues of the way back and the receiver's delay before it acknowledges are taken
//! for queues of the way there.
//! - Base delay (section 2.4.2): smallest RTT of the last `base_history` minutes, one minimum per
//!   minute.
//! - Queueing delay: smallest of the last `filter` samples, less the base delay.
//! - Off target = (target - queueing delay) / target.
//! - Per ACK frame of b bytes: window += gain * off target * b * MTU / window, at most to the bytes
//!   in flight before the frame + `allowed_increase` packets, at least two packets.
//! - Loss, once per round trip: window = window / 2, at least two packets. Persistent congestion
//!   (for the RFC's timeout): two packets, where the RFC has one, since quinn would wait for the
//!   receiver's delay on every one.
//!
//! The initial window is that of the flow; the RFC's is two packets. There is no slow start, as in
//! the RFC. A flow that comes to a standing queue takes it for base delay (the RFC's latecomer's
//! advantage, section 4.3.2).

use super::adapter::{Acks, Adapter, Algorithm, Congestion, Idle, Recovery, MINIMUM_PACKETS};
use super::parameters::Parameter;
use super::{Entry, Start};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// `ledbat` in the registry.
pub const ENTRY: Entry = Entry {
    name: "ledbat",
    summary: "LEDBAT, Low Extra Delay Background Transport (RFC 6817), not LEDBAT++",
    parameters: &[
        Parameter::real("target_ms", "target queueing delay", 100.0, 1.0..=100.0),
        Parameter::real(
            "gain",
            "window growth per round trip with an empty queue, packets",
            1.0,
            0.01..=1.0,
        ),
        Parameter::real(
            "allowed_increase",
            "how far the window may exceed what is in flight, packets",
            1.0,
            0.01..=100.0,
        ),
        Parameter::whole("base_history", "length of the base delay history, min", 10, 1..=1000),
        Parameter::whole("filter", "samples whose minimum is the current delay", 4, 1..=1000),
    ],
    paces: None,
    l4s: false,
    restarts: true,
    build: |values, start, shared| {
        let settings = Settings {
            target_s: values.real("target_ms") / 1e3,
            gain: values.real("gain"),
            allowed_increase: values.real("allowed_increase"),
            base_history: values.whole("base_history") as usize,
            filter: values.whole("filter") as usize,
        };
        Adapter::boxed(Ledbat::new(settings, start), start.initial_window, shared)
    },
};

const MINUTE: Duration = Duration::from_secs(60);

/// Parameters of LEDBAT.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Queueing delay that is aimed at, s.
    pub target_s: f64,
    /// Packets per round trip at an empty queue.
    pub gain: f64,
    /// Packets by which the window may exceed what is in flight.
    pub allowed_increase: f64,
    /// Minutes of the base history.
    pub base_history: usize,
    /// Samples of the current delay.
    pub filter: usize,
}

/// State of LEDBAT; the window in bytes.
#[derive(Debug, Clone)]
pub struct Ledbat {
    settings: Settings,
    mtu: u64,
    window: f64,
    /// Smallest RTT of each minute, s, the newest last.
    base: VecDeque<f64>,
    minute: Instant,
    /// The last RTTs, s.
    current: VecDeque<f64>,
    recovery: Recovery,
}

impl Ledbat {
    /// Starts.
    pub fn new(settings: Settings, start: Start) -> Self {
        Ledbat {
            settings,
            mtu: start.mtu,
            window: start.initial_window as f64,
            base: VecDeque::new(),
            minute: start.now,
            current: VecDeque::new(),
            recovery: Recovery::default(),
        }
    }

    fn minimum(&self) -> f64 {
        (MINIMUM_PACKETS * self.mtu) as f64
    }

    fn sample(&mut self, now: Instant, rtt_s: f64) {
        self.current.push_back(rtt_s);
        if self.current.len() > self.settings.filter {
            self.current.pop_front();
        }
        let same_minute = now.saturating_duration_since(self.minute) < MINUTE;
        match self.base.back_mut() {
            Some(smallest) if same_minute => *smallest = smallest.min(rtt_s),
            _ => {
                self.base.push_back(rtt_s);
                self.minute = now;
            }
        }
        if self.base.len() > self.settings.base_history {
            self.base.pop_front();
        }
    }

    /// Queueing delay, s; None before the first sample.
    fn queueing_delay_s(&self) -> Option<f64> {
        let smallest = |of: &VecDeque<f64>| of.iter().copied().reduce(f64::min);
        Some(smallest(&self.current)? - smallest(&self.base)?)
    }
}

impl Algorithm for Ledbat {
    fn on_acks(&mut self, acks: &Acks) {
        if let Some(rtt) = acks.rtt {
            self.sample(acks.now, rtt.as_secs_f64());
        }
        let Some(delay_s) = self.queueing_delay_s() else { return };
        let off_target = (self.settings.target_s - delay_s) / self.settings.target_s;
        let (bytes, mtu) = (acks.bytes as f64, self.mtu as f64);
        let window = self.window + self.settings.gain * off_target * bytes * mtu / self.window;
        let in_flight = acks.in_flight as f64 + bytes;
        let allowed = in_flight + self.settings.allowed_increase * mtu;
        self.window = window.min(allowed).max(self.minimum());
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if !self.recovery.covers(event.sent) {
            self.recovery.enter(event.now);
            self.window = self.window.min((self.window / 2.0).max(self.minimum()));
        }
        if event.persistent {
            self.window = self.minimum();
            self.recovery.forget();
        }
    }

    fn on_mtu(&mut self, mtu: u64) {
        self.mtu = mtu;
        self.window = self.window.max(self.minimum());
    }

    fn restart(&mut self, idle: &Idle) {
        self.window = idle.window(self.window);
    }

    fn window(&self) -> u64 {
        self.window as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulation::{self, Flow, Link, MTU};
    use super::*;

    const BASE: Duration = Duration::from_millis(50);
    const SETTINGS: Settings =
        Settings { target_s: 0.1, gain: 1.0, allowed_increase: 1.0, base_history: 10, filter: 4 };

    fn ledbat(packets: u64) -> (Ledbat, Instant) {
        let now = Instant::now();
        (Ledbat::new(SETTINGS, Start { now, mtu: MTU, initial_window: packets * MTU }), now)
    }

    /// One packet of a full window acknowledged after `rtt`.
    fn acks(ledbat: &Ledbat, now: Instant, rtt: Duration) -> Acks {
        Acks {
            now,
            bytes: MTU,
            in_flight: ledbat.window() - MTU,
            rtt: Some(rtt),
            min_rtt: BASE,
            smoothed_rtt: rtt,
        }
    }

    /// The growth of the window by one acknowledgement at a queueing delay, as packets per round
    /// trip.
    fn growth(queueing: Duration) -> f64 {
        let (mut ledbat, now) = ledbat(20);
        ledbat.on_acks(&acks(&ledbat, now, BASE));
        // The filter holds four samples.
        for _ in 0..4 {
            ledbat.on_acks(&acks(&ledbat, now, BASE + queueing));
        }
        let before = ledbat.window;
        ledbat.on_acks(&acks(&ledbat, now, BASE + queueing));
        (ledbat.window - before) * before / (MTU * MTU) as f64
    }

    #[test]
    fn the_window_grows_below_the_target_stands_at_it_and_shrinks_above() {
        for (queueing_ms, packets) in [(0, 1.0), (50, 0.5), (100, 0.0), (150, -0.5), (300, -2.0)] {
            let grown = growth(Duration::from_millis(queueing_ms));
            assert!((grown - packets).abs() < 1e-6, "{queueing_ms} ms: {grown}");
        }
    }

    #[test]
    fn the_window_is_bounded_by_what_is_in_flight() {
        let (mut ledbat, now) = ledbat(20);
        ledbat.on_acks(&Acks { in_flight: 4 * MTU, ..acks(&ledbat, now, BASE) });
        assert_eq!(ledbat.window(), 6 * MTU);
    }

    #[test]
    fn a_loss_halves_once_per_round_trip() {
        let (mut ledbat, now) = ledbat(20);
        let loss = Congestion { now: now + BASE, sent: now, persistent: false, lost_bytes: MTU };
        ledbat.on_congestion(&loss);
        ledbat.on_congestion(&Congestion { now: now + 2 * BASE, sent: now + BASE / 2, ..loss });
        assert_eq!(ledbat.window(), 10 * MTU);
        ledbat.on_congestion(&Congestion { persistent: true, ..loss });
        assert_eq!(ledbat.window(), 2 * MTU);
    }

    #[test]
    fn the_base_delay_is_forgotten_after_its_history() {
        let (mut ledbat, mut now) = ledbat(20);
        ledbat.sample(now, 0.05);
        for minute in 1..=10 {
            now += MINUTE;
            ledbat.sample(now, 0.08);
            let base = if minute < 10 { 0.03 } else { 0.0 };
            let delay = ledbat.queueing_delay_s().unwrap();
            let current = if minute < 4 { 0.0 } else { base };
            assert!((delay - current).abs() < 1e-9, "{minute}: {delay}");
        }
    }

    #[test]
    fn the_queue_of_a_link_comes_to_the_target() {
        let link = Link { rate_bps: 10e6, rtt: BASE, buffer_bytes: 500_000, loss: 0.0 };
        let start = Start { now: Instant::now(), mtu: MTU, initial_window: 10 * MTU };
        let flow = Flow::new(Box::new(Ledbat::new(SETTINGS, start)));
        let outcome = &simulation::run(link, vec![flow], 120.0, 60.0, 1)[0];
        println!("{outcome:?}");
        assert!((outcome.rtt_s - 0.15).abs() < 0.005, "{}", outcome.rtt_s);
        assert!(outcome.goodput > 0.99 * 10e6 / 8.0, "{}", outcome.goodput);
    }
}
