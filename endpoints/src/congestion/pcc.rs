//! PCC Vivace (Dong et al., NSDI 2018), constants that the paper leaves open as in the authors'
//! PCC-Uspace.
//!
//! Time is divided into monitor intervals; one lasts a round trip, at least the time of 10 packets
//! at its rate. With x its rate in Mbit/s, dRTT/dt the slope of the linear regression of its RTTs
//! over the times of sending (0 where it is below 0.01 or two standard errors of the regression),
//! and L the part of its bytes that was lost, its utility is (paper, equation 1)
//!
//!   u = x^0.9 - 900 x dRTT/dt - 11.35 x L
//!
//! - Starting: the initial window per RTT, and the rate doubles every interval (while results are
//!   late it waits) until a utility is below that of the interval before; then the rate of the
//!   latter; half the rate where a utility is negative first.
//! - Probing (section 4): two intervals, r (1 + e) and r (1 - e) (their order changes each time),
//!   then r until their results are complete. gamma = (u(r (1 + e)) - u(r (1 - e))) / (2 e r); the
//!   rate changes by D = theta m gamma.
//! - Confidence amplifier: with n decisions in the same direction m = n up to 3, then 2 n - 3.
//! - Change bound: |D| <= w r, w = bound + k * `bound_step`. k grows by one each time D is cut,
//!   becomes the smallest that does not cut D where it is not, and 0 where the direction changes.
//! - An interval is complete when four packets that were sent after it are acknowledged: its losses
//!   are known then (packet threshold 3). Intervals in which the sender had nothing to send or
//!   sent less than half of its rate are repeated. Persistent congestion begins anew.
//!
//! From rate to window: quinn asks for no rate and paces at 1.25 windows per RTT, so the window is
//! what is in flight plus what the rate has earned and not spent (at most 10 packets or a quarter
//! of a round trip): the acknowledgements are the clock by which the rate is kept, however the RTT
//! changes. While starting the window is at least rate * RTT, else the pacer would not let the rate
//! double. The least rate is 100 kbit/s.
//!
//! The test for noise and the end of starting at a negative utility are not in the paper; PCC
//! Proteus (Meng et al., SIGCOMM 2020) has the like of the former. A sender that is clocked by
//! acknowledgements keeps its bunches, and 900 times their slope would drown the other terms. The
//! paper starts with two packets per RTT.

mod interval;

use super::adapter::{Ack, Acks, Adapter, Algorithm, Congestion, MINIMUM_PACKETS};
use super::parameters::Parameter;
use super::{Entry, Start};
use interval::{Interval, Settings, MEGABIT};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// `pcc` in the registry.
pub const ENTRY: Entry = Entry {
    name: "pcc",
    summary: "PCC Vivace (Dong et al., NSDI 2018), not the PCC of 2015: seeks the rate of highest utility",
    parameters: &[
        Parameter::real(
            "exponent",
            "exponent of the rate in the utility function",
            0.9,
            0.01..=0.99,
        ),
        Parameter::real("rtt_factor", "weight of the RTT gradient", 900.0, 0.0..=1e6),
        Parameter::real("loss_factor", "weight of the loss rate", 11.35, 0.0..=1e6),
        Parameter::real("epsilon", "relative change of the rate in a trial", 0.05, 0.001..=0.5),
        Parameter::real("theta", "step size of the gradient ascent", 1.0, 0.001..=1000.0),
        Parameter::real(
            "bound",
            "initial bound of the relative change of the rate",
            0.05,
            0.001..=0.5,
        ),
        Parameter::real("bound_step", "increment of that bound", 0.06, 0.0..=0.5),
    ],
    paces: None,
    l4s: false,
    restarts: false,
    build: |values, start, shared| {
        let settings = Settings {
            exponent: values.real("exponent"),
            rtt_factor: values.real("rtt_factor"),
            loss_factor: values.real("loss_factor"),
            epsilon: values.real("epsilon"),
            theta: values.real("theta"),
            bound: values.real("bound"),
            bound_step: values.real("bound_step"),
        };
        Adapter::boxed(Pcc::new(settings, start), start.initial_window, shared)
    },
};

const LATER_PACKETS: u32 = 4;
/// 100 kbit/s, in bytes/s.
const LEAST_RATE: f64 = 12_500.0;
const BURST_PACKETS: f64 = 10.0;

/// How far gradients have been followed in one direction.
#[derive(Debug, Clone, Copy, Default)]
struct Ascent {
    upwards: bool,
    decisions: u32,
    cuts: u32,
}

impl Ascent {
    /// The change of a `rate` for the gradient `gamma`; both in Mbit/s.
    fn change(&mut self, settings: &Settings, rate: f64, gamma: f64) -> f64 {
        if self.decisions == 0 || self.upwards != (gamma > 0.0) {
            *self = Ascent { upwards: gamma > 0.0, decisions: 0, cuts: 0 };
        }
        self.decisions += 1;
        let n = f64::from(self.decisions);
        let amplifier = if self.decisions <= 3 { n } else { 2.0 * n - 3.0 };
        let wanted = settings.theta * amplifier * gamma;
        let most = |cuts: u32| rate * (settings.bound + f64::from(cuts) * settings.bound_step);
        if wanted.abs() > most(self.cuts) {
            let change = most(self.cuts).copysign(wanted);
            self.cuts += 1;
            return change;
        }
        while self.cuts > 0 && wanted.abs() <= most(self.cuts - 1) {
            self.cuts -= 1;
        }
        wanted
    }
}

#[derive(Debug, Clone)]
enum Phase {
    /// With rate and utility of the last complete interval.
    Starting(Option<(f64, f64)>),
    /// Whether the higher rate comes first.
    Probing(bool),
}

/// State of PCC Vivace; the window in bytes, rates in bytes/s.
#[derive(Debug, Clone)]
pub struct Pcc {
    settings: Settings,
    mtu: u64,
    initial_window: f64,
    window: f64,
    /// The rate that is kept; 0 before the first RTT sample.
    base_rate: f64,
    phase: Phase,
    ascent: Ascent,
    intervals: VecDeque<Interval>,
    earned_at: Instant,
}

impl Pcc {
    /// Starts with the initial window; the first RTT makes a rate of it.
    pub fn new(settings: Settings, start: Start) -> Self {
        Pcc {
            settings,
            mtu: start.mtu,
            initial_window: start.initial_window as f64,
            window: start.initial_window as f64,
            base_rate: 0.0,
            phase: Phase::Starting(None),
            ascent: Ascent::default(),
            intervals: VecDeque::new(),
            earned_at: start.now,
        }
    }

    /// The rate to send at now, bytes/s.
    fn rate(&self, now: Instant) -> f64 {
        let current = self.intervals.back().filter(|interval| interval.holds(now));
        current.map_or(self.base_rate, |interval| interval.rate)
    }

    /// Begins the next interval if the last one is over and another is wanted.
    fn begin_interval(&mut self, now: Instant, rtt: Duration) {
        if self.intervals.back().is_some_and(|interval| now < interval.end) {
            return;
        }
        let rate = match self.phase {
            // The result of the interval before the last one is waited for: a deep buffer delays
            // it.
            Phase::Starting(_) if self.intervals.len() > 1 => return,
            Phase::Starting(_) => match self.intervals.back() {
                Some(last) => 2.0 * last.rate,
                None => self.base_rate,
            },
            Phase::Probing(higher_first) => match self.intervals.len() {
                count @ (0 | 1) => {
                    let sign = if higher_first == (count == 0) { 1.0 } else { -1.0 };
                    self.base_rate * (1.0 + sign * self.settings.epsilon)
                }
                _ => return,
            },
        };
        self.intervals.push_back(Interval::new(now, rate, rtt, self.mtu));
    }

    /// Draws the conclusions from intervals that are complete.
    fn conclude(&mut self) {
        let complete = |interval: &Interval| interval.later >= LATER_PACKETS;
        match self.phase {
            Phase::Starting(before) => {
                // The last one stays: the next doubles its rate.
                if self.intervals.len() > 1 && complete(&self.intervals[0]) {
                    let Some(done) = self.intervals.pop_front() else { return };
                    if !done.used() {
                        self.phase = Phase::Starting(None);
                        self.intervals.clear();
                        return;
                    }
                    let utility = done.utility(&self.settings);
                    match before {
                        Some((rate, better)) if utility < better => return self.probe(rate, true),
                        // To send nothing has the utility 0.
                        _ if utility < 0.0 => return self.probe(done.rate / 2.0, true),
                        _ => self.phase = Phase::Starting(Some((done.rate, utility))),
                    }
                    self.base_rate = done.rate;
                }
            }
            Phase::Probing(higher_first) => {
                if self.intervals.len() < 2 || !self.intervals.iter().all(complete) {
                    return;
                }
                if !self.intervals.iter().all(Interval::used) {
                    return self.probe(self.base_rate, !higher_first);
                }
                let first = self.intervals[0].utility(&self.settings);
                let second = self.intervals[1].utility(&self.settings);
                let (higher, lower) = if higher_first { (first, second) } else { (second, first) };
                let rate = self.base_rate / MEGABIT;
                let gamma = (higher - lower) / (2.0 * self.settings.epsilon * rate);
                let change = self.ascent.change(&self.settings, rate, gamma);
                self.probe((rate + change) * MEGABIT, !higher_first);
            }
        }
    }

    fn probe(&mut self, rate: f64, higher_first: bool) {
        self.base_rate = rate.max(LEAST_RATE);
        self.phase = Phase::Probing(higher_first);
        self.intervals.clear();
    }

    /// Adds to the window what the rate has earned since the last time.
    fn earn(&mut self, acks: &Acks, rtt: Duration) {
        let rate = self.rate(acks.now);
        let time = acks.now.saturating_duration_since(self.earned_at).as_secs_f64();
        self.earned_at = acks.now;
        let (in_flight, round_trip) = (acks.in_flight as f64, rate * rtt.as_secs_f64());
        let most = (BURST_PACKETS * self.mtu as f64).max(round_trip / 4.0);
        let unspent = (self.window - in_flight).max(0.0);
        self.window = in_flight + (unspent + rate * time).min(most);
        if matches!(self.phase, Phase::Starting(_)) {
            self.window = self.window.max(round_trip);
        }
    }
}

impl Algorithm for Pcc {
    fn on_ack(&mut self, ack: &Ack) {
        self.window -= ack.bytes as f64;
        for interval in &mut self.intervals {
            if interval.holds(ack.sent) {
                interval.acked += ack.bytes;
                interval.app_limited |= ack.app_limited;
            } else if ack.sent >= interval.end {
                interval.later += 1;
            }
        }
    }

    fn on_acks(&mut self, acks: &Acks) {
        let rtt = acks.rtt.unwrap_or(acks.smoothed_rtt);
        if self.base_rate == 0.0 {
            self.base_rate = (self.initial_window / rtt.as_secs_f64().max(1e-6)).max(LEAST_RATE);
        }
        if let Some(sent) = acks.rtt.and_then(|rtt| acks.now.checked_sub(rtt)) {
            let holding = self.intervals.iter_mut().find(|interval| interval.holds(sent));
            if let Some(interval) = holding {
                interval.sample(sent, rtt.as_secs_f64());
            }
        }
        self.earn(acks, rtt);
        self.conclude();
        self.begin_interval(acks.now, rtt);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.window -= event.lost_bytes as f64;
        let holding = self.intervals.iter_mut().find(|interval| interval.holds(event.sent));
        if let Some(interval) = holding {
            interval.lost += event.lost_bytes;
        }
        if event.persistent {
            let start =
                Start { now: event.now, mtu: self.mtu, initial_window: self.initial_window as u64 };
            *self = Pcc::new(self.settings, start);
            self.window = 0.0;
        }
    }

    fn on_mtu(&mut self, mtu: u64) {
        self.mtu = mtu;
    }

    fn window(&self) -> u64 {
        (self.window as u64).max(MINIMUM_PACKETS * self.mtu)
    }

    fn rate_bps(&self) -> Option<u64> {
        let rate = self.intervals.back().map_or(self.base_rate, |interval| interval.rate);
        (rate > 0.0).then_some((rate * 8.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::interval::SETTINGS;
    use super::*;
    use crate::congestion::simulation::{self, Flow, Link, Outcome, MTU};

    #[test]
    fn confidence_amplifies_and_the_bound_cuts() {
        let mut ascent = Ascent::default();
        // 0.1 Mbit/s each: below the bound of 5 Mbit/s.
        let changes: Vec<f64> = (0..5).map(|_| ascent.change(&SETTINGS, 100.0, 0.1)).collect();
        for (change, wanted) in changes.iter().zip([0.1, 0.2, 0.3, 0.5, 0.7]) {
            assert!((change - wanted).abs() < 1e-12, "{changes:?}");
        }
        // Another direction begins anew; what is cut raises the bound from 5 to 11 and 17 percent.
        for wanted in [-5.0, -11.0, -17.0] {
            assert!((ascent.change(&SETTINGS, 100.0, -50.0) - wanted).abs() < 1e-12);
        }
        assert!((ascent.change(&SETTINGS, 100.0, -2.0) + 10.0).abs() < 1e-12);
        assert_eq!(ascent.cuts, 1);
    }

    fn run(link: Link, flows: usize, seconds: f64) -> Vec<Outcome> {
        let start = Start { now: Instant::now(), mtu: MTU, initial_window: 10 * MTU };
        let flow = |_| Flow::new(Box::new(Pcc::new(SETTINGS, start)));
        let outcomes =
            simulation::run(link, (0..flows).map(flow).collect(), seconds, seconds / 3.0, 5);
        println!("{link:?}: {outcomes:?}");
        outcomes
    }

    #[test]
    fn a_link_is_filled_without_a_queue() {
        for (rate_bps, buffer_bytes) in [(1e6, 30_000), (10e6, 375_000), (50e6, 375_000)] {
            let rtt = Duration::from_millis(50);
            let link = Link { rate_bps, rtt, buffer_bytes, loss: 0.0 };
            let outcome = &run(link, 1, 60.0)[0];
            assert!(outcome.goodput * 8.0 > 0.8 * rate_bps, "{rate_bps}: {outcome:?}");
            assert!(outcome.loss < 0.02, "{rate_bps}: {outcome:?}");
            let waiting = (outcome.rtt_s - 0.05) / (buffer_bytes as f64 * 8.0 / rate_bps);
            assert!(waiting < 0.3, "{rate_bps}: {outcome:?}");
        }
    }

    #[test]
    fn a_rate_that_is_not_used_does_not_grow() {
        let start = Start { now: Instant::now(), mtu: MTU, initial_window: 10 * MTU };
        let mut pcc = Pcc::new(SETTINGS, start);
        let rtt = Duration::from_millis(50);
        // One packet per 5 ms, an eighth of the initial rate.
        for step in 0..1000 {
            let now = start.now + Duration::from_millis(5) * step + rtt;
            let (sent, bytes) = (start.now + Duration::from_millis(5) * step, MTU / 8);
            pcc.on_ack(&Ack { now, sent, bytes, app_limited: false, min_rtt: rtt });
            let (rtt, smoothed_rtt) = (Some(rtt), rtt);
            pcc.on_acks(&Acks {
                now,
                bytes,
                in_flight: 0,
                rtt,
                min_rtt: smoothed_rtt,
                smoothed_rtt,
            });
        }
        assert_eq!(pcc.base_rate.to_bits(), (10.0 * MTU as f64 / 0.05).to_bits());
        assert!(pcc.window() <= 20 * MTU, "{}", pcc.window());
    }

    #[test]
    fn random_loss_of_one_percent_is_borne() {
        let rtt = Duration::from_millis(50);
        let link = Link { rate_bps: 10e6, rtt, buffer_bytes: 375_000, loss: 0.01 };
        // Reno has 2.9 Mbit/s by the square-root law.
        assert!(run(link, 1, 90.0)[0].goodput * 8.0 > 6e6);
    }

    #[test]
    fn two_flows_share() {
        let rtt = Duration::from_millis(50);
        let link = Link { rate_bps: 20e6, rtt, buffer_bytes: 375_000, loss: 0.0 };
        let outcomes = run(link, 2, 150.0);
        let ratio = outcomes[0].goodput / outcomes[1].goodput;
        assert!((0.6..1.7).contains(&ratio), "{ratio}");
    }
}
