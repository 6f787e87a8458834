//! Pacing at the rate that a congestion controller asks for, where it does: quinn's own pacer derives
//! its rate from the window.
//!
//! draft-ietf-ccwg-bbr-06, "Pacing Rate" and "Send Quantum": a quantum of packets leaves together, each
//! moves `next_send_time` by the time that it takes at the rate.

use std::time::{Duration, Instant};

/// What a timer that comes late does not lose.
const SLACK: Duration = Duration::from_millis(1);
const MOST_QUANTUM_BYTES: f64 = 64.0 * 1024.0;

/// Bytes that leave together: those of 1 ms at `rate`, bytes/s, at least two packets of `smss` bytes
/// and at most 64 KB (`SetSendQuantum`).
#[must_use]
pub fn send_quantum(rate: f64, smss: f64) -> f64 {
    (rate * 0.001).min(MOST_QUANTUM_BYTES).max(2.0 * smss)
}

/// When a connection's next packet may leave.
#[derive(Debug, Default)]
pub struct Pacer {
    next_send_time: Option<Instant>,
    /// Bytes that are left of the quantum.
    quantum: f64,
}

impl Pacer {
    /// When the next packet may leave, if it may not now.
    #[must_use]
    pub fn closed_until(&self, now: Instant) -> Option<Instant> {
        self.next_send_time.filter(|next| self.quantum <= 0.0 && *next > now)
    }

    /// Counts a packet that leaves now, at `rate_bps`, bit/s. mtu: bytes of a full one.
    pub fn spend(&mut self, now: Instant, bytes: usize, rate_bps: u64, mtu: u16) {
        if rate_bps == 0 {
            return;
        }
        let rate = rate_bps as f64 / 8.0;
        if self.quantum <= 0.0 {
            self.quantum = send_quantum(rate, f64::from(mtu));
        }
        self.quantum -= bytes as f64;
        let earliest = now.checked_sub(SLACK).unwrap_or(now);
        let from = self.next_send_time.map_or(now, |next| next.max(earliest));
        let delay = Duration::try_from_secs_f64(bytes as f64 / rate).unwrap_or(Duration::MAX);
        self.next_send_time = from.checked_add(delay).or(self.next_send_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantum_is_a_millisecond_within_its_bounds() {
        for (rate, expected) in [(1e5, 3000.0), (1e7, 10_000.0), (1e9, 65_536.0)] {
            let quantum = send_quantum(rate, 1500.0);
            assert!((quantum - expected).abs() < 1e-6, "{rate}: {quantum}");
        }
    }

    #[test]
    fn quanta_leave_at_the_rate() {
        let start = Instant::now();
        let at = |us: u64| start + Duration::from_micros(us);
        let mut pacer = Pacer::default();
        let rate_bps = 12_000_000; // 1500 bytes take 1 ms; a quantum is two packets
        assert_eq!(pacer.closed_until(start), None);
        pacer.spend(start, 1500, rate_bps, 1500);
        assert_eq!(pacer.closed_until(start), None, "the second one of the quantum");
        pacer.spend(start, 1500, rate_bps, 1500);
        assert_eq!(pacer.closed_until(start), Some(at(2000)));
        assert_eq!(pacer.closed_until(at(2000)), None);
        pacer.spend(at(2300), 1500, rate_bps, 1500); // 0.3 ms late
        pacer.spend(at(2300), 1500, rate_bps, 1500);
        assert_eq!(pacer.closed_until(at(2300)), Some(at(4000)));
    }

    #[test]
    fn a_pause_is_no_credit_beyond_the_slack() {
        let start = Instant::now();
        let mut pacer = Pacer::default();
        pacer.spend(start, 1500, 12_000_000, 1500);
        pacer.spend(start, 1500, 12_000_000, 1500);
        let later = start + Duration::from_secs(5);
        pacer.spend(later, 1500, 12_000_000, 1500);
        pacer.spend(later, 1500, 12_000_000, 1500);
        assert_eq!(pacer.closed_until(later), Some(later + Duration::from_millis(1)));
    }
}
