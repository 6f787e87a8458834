//! Pacing at the rate that a congestion controller asks for, where it does: quinn's own pacer
//! derives its rate from the window.
//!
//! draft-ietf-ccwg-bbr-06, "Pacing Rate" and "Send Quantum" (its version 1,
//! draft-cardwell-iccrg-bbr-congestion-control-00, section 4.2.2, has a smaller quantum at low
//! rates): a quantum of packets leaves together, each moves `next_send_time` by the time that it
//! takes at the rate. How much a quantum is, the controller says.

use std::time::{Duration, Instant};

/// What a timer that comes late does not lose.
const SLACK: Duration = Duration::from_millis(1);
const MOST_QUANTUM_BYTES: f64 = 64.0 * 1024.0;

/// How much leaves together.
#[derive(Debug, Clone, Copy)]
pub struct Quantum {
    /// What is sent in this time, s.
    pub time_s: f64,
    /// But at least so many full packets.
    pub least_packets: f64,
    /// Below this rate, bytes/s, a single full packet.
    pub single_below: f64,
}

impl Quantum {
    /// Bytes that leave together at `rate`, bytes/s, with packets of `smss` bytes: at most 64 KB.
    #[must_use]
    pub fn bytes(self, rate: f64, smss: f64) -> f64 {
        let least = if rate < self.single_below { 1.0 } else { self.least_packets };
        (rate * self.time_s).min(MOST_QUANTUM_BYTES).max(least * smss)
    }
}

/// When a connection's next packet may leave.
#[derive(Debug)]
pub struct Pacer {
    leaving_together: Quantum,
    next_send_time: Option<Instant>,
    /// Bytes that are left of the quantum.
    quantum: f64,
}

impl Pacer {
    /// Of a connection that has sent nothing.
    #[must_use]
    pub fn new(quantum: Quantum) -> Self {
        Pacer { leaving_together: quantum, next_send_time: None, quantum: 0.0 }
    }

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
            self.quantum = self.leaving_together.bytes(rate, f64::from(mtu));
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

    const BBR: Quantum = Quantum { time_s: 0.001, least_packets: 2.0, single_below: 0.0 };

    #[test]
    fn the_quantum_is_a_millisecond_within_its_bounds() {
        for (rate, expected) in [(1e5, 3000.0), (1e7, 10_000.0), (1e9, 65_536.0)] {
            let quantum = BBR.bytes(rate, 1500.0);
            assert!((quantum - expected).abs() < 1e-6, "{rate}: {quantum}");
        }
    }

    #[test]
    fn a_slow_sender_can_have_quanta_of_one_packet() {
        let version_1 = Quantum { single_below: 150_000.0, ..BBR };
        for (rate, expected) in [(149_999.0, 1500.0), (150_000.0, 3000.0), (1e7, 10_000.0)] {
            let quantum = version_1.bytes(rate, 1500.0);
            assert!((quantum - expected).abs() < 1e-6, "{rate}: {quantum}");
        }
    }

    #[test]
    fn quanta_leave_at_the_rate() {
        let start = Instant::now();
        let at = |us: u64| start + Duration::from_micros(us);
        let mut pacer = Pacer::new(BBR);
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
        let mut pacer = Pacer::new(BBR);
        pacer.spend(start, 1500, 12_000_000, 1500);
        pacer.spend(start, 1500, 12_000_000, 1500);
        let later = start + Duration::from_secs(5);
        pacer.spend(later, 1500, 12_000_000, 1500);
        pacer.spend(later, 1500, 12_000_000, 1500);
        assert_eq!(pacer.closed_until(later), Some(later + Duration::from_millis(1)));
    }
}
