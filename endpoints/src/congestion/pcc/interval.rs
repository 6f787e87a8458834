//! Monitor intervals and their utility: what a rate was worth.

use std::time::{Duration, Instant};

/// Smaller slopes of the RTT are noise (paper, section 5).
const FLAT: f64 = 0.01;
const INTERVAL_PACKETS: f64 = 10.0;
/// Smaller slopes than this many standard errors of the regression are noise.
const ERRORS: f64 = 2.0;
/// 1 Mbit/s, in bytes/s.
pub const MEGABIT: f64 = 1e6 / 8.0;

/// Parameters of PCC Vivace.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Exponent exponent of the rate in the utility function.
    pub exponent: f64,
    /// Factor of the RTT's slope.
    pub rtt_factor: f64,
    /// Factor of the loss rate.
    pub loss_factor: f64,
    /// Relative distance of the rates that are probed.
    pub epsilon: f64,
    /// Mbit/s per unit of gamma.
    pub theta: f64,
    /// Greatest relative change.
    pub bound: f64,
    /// By how much the bound grows.
    pub bound_step: f64,
}

impl Settings {
    /// Utility of a rate of `mbps` with the RTT's `slope` (s/s) and the `loss` rate.
    pub fn utility(&self, mbps: f64, slope: f64, loss: f64) -> f64 {
        let slope = if slope.abs() < FLAT { 0.0 } else { slope };
        libm::pow(mbps, self.exponent)
            - self.rtt_factor * mbps * slope
            - self.loss_factor * mbps * loss
    }
}

/// A monitor interval: packets sent from `start` to `end` at one rate.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Bytes/s.
    pub rate: f64,
    /// The first time of sending that it holds.
    pub start: Instant,
    /// The first after it.
    pub end: Instant,
    /// Bytes of it that were acknowledged.
    pub acked: u64,
    /// Bytes of it that were lost.
    pub lost: u64,
    /// Whether the sender had nothing to send in it.
    pub app_limited: bool,
    /// Packets acknowledged that were sent after the end.
    pub later: u32,
    /// Sums of the regression: number, t, rtt, t^2, t rtt, rtt^2.
    sums: [f64; 6],
}

impl Interval {
    /// One that begins now at `rate`, bytes/s, with packets of `mtu` bytes.
    pub fn new(now: Instant, rate: f64, rtt: Duration, mtu: u64) -> Self {
        let packets = Duration::from_secs_f64(INTERVAL_PACKETS * mtu as f64 / rate);
        Interval {
            rate,
            start: now,
            end: now + rtt.max(packets),
            acked: 0,
            lost: 0,
            app_limited: false,
            later: 0,
            sums: [0.0; 6],
        }
    }

    /// Whether a packet that was sent at this time belongs to it.
    pub fn holds(&self, sent: Instant) -> bool {
        self.start <= sent && sent < self.end
    }

    /// Takes the RTT of a packet of it into the regression.
    pub fn sample(&mut self, sent: Instant, rtt_s: f64) {
        let t = (sent - self.start).as_secs_f64();
        for (sum, term) in
            self.sums.iter_mut().zip([1.0, t, rtt_s, t * t, t * rtt_s, rtt_s * rtt_s])
        {
            *sum += term;
        }
    }

    /// Slope of the RTT over time, s/s, by least squares; 0 where it does not exceed its noise.
    fn slope(&self) -> f64 {
        let [n, t, rtt, tt, t_rtt, rtt_rtt] = self.sums;
        let spread = tt - t * t / n;
        if n < 3.0 || spread <= 0.0 {
            return 0.0;
        }
        let slope = (t_rtt - t * rtt / n) / spread;
        let rest = (rtt_rtt - rtt * rtt / n - slope * slope * spread).max(0.0);
        let error = (rest / (n - 2.0) / spread).sqrt();
        if slope.abs() > ERRORS * error {
            slope
        } else {
            0.0
        }
    }

    /// Whether its rate was sent, so that the results are those of the rate.
    pub fn used(&self) -> bool {
        let wanted = self.rate * (self.end - self.start).as_secs_f64();
        !self.app_limited && (self.acked + self.lost) as f64 > wanted / 2.0
    }

    /// Utility of its rate, from its acknowledgements, losses and RTTs.
    pub fn utility(&self, settings: &Settings) -> f64 {
        let loss = self.lost as f64 / ((self.acked + self.lost) as f64).max(1.0);
        settings.utility(self.rate / MEGABIT, self.slope(), loss)
    }
}

/// The defaults of `ENTRY`.
#[cfg(test)]
pub const SETTINGS: Settings = Settings {
    exponent: 0.9,
    rtt_factor: 900.0,
    loss_factor: 11.35,
    epsilon: 0.05,
    theta: 1.0,
    bound: 0.05,
    bound_step: 0.06,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::simulation::MTU;

    #[test]
    fn utilities_by_hand() {
        for (mbps, slope, loss, utility) in [
            (1.0, 0.0, 0.0, 1.0),
            (10.0, 0.0, 0.0, 7.943_282_347_242_816),
            (10.0, 0.05, 0.0, 7.943_282_347_242_816 - 450.0),
            (10.0, -0.02, 0.0, 7.943_282_347_242_816 + 180.0),
            (10.0, 0.009, 0.0, 7.943_282_347_242_816),
            (1.0, 0.0, 0.1, 1.0 - 1.135),
            (0.0, 0.5, 1.0, 0.0),
        ] {
            let got = SETTINGS.utility(mbps, slope, loss);
            assert!((got - utility).abs() < 1e-9, "{mbps} {slope} {loss}: {got}");
        }
    }

    #[test]
    fn the_slope_is_that_of_the_line_through_the_samples() {
        let now = Instant::now();
        let mut interval = Interval::new(now, 1e6, Duration::from_millis(100), MTU);
        assert_eq!(interval.slope().to_bits(), 0.0_f64.to_bits());
        for step in 0..10_u32 {
            let t = Duration::from_millis(10) * step;
            let noise = if step % 2 == 0 { 1e-6 } else { -1e-6 };
            interval.sample(now + t, 0.05 + 0.03 * t.as_secs_f64() + noise);
        }
        assert!((interval.slope() - 0.03).abs() < 1e-4, "{}", interval.slope());
    }
}
