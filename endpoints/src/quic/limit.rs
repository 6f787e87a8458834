//! A limit of a connection's sending rate, whatever its congestion controller would allow.

use std::time::{Duration, Instant};

/// Headers of IPv4 and UDP, bytes.
pub const HEADER_BYTES: u32 = 20 + 8;
/// What a timer that comes late does not lose. After a pause so much may go out at once.
const SLACK: Duration = Duration::from_millis(1);

/// Says when the next packet may leave: each follows the one before by the time that this one takes
/// at the rate, so there are no bursts.
#[derive(Debug)]
pub struct RateLimit {
    bps: u64,
    next: Option<Instant>,
}

impl RateLimit {
    /// A limit in bit/s of IP packets, at least 1.
    #[must_use]
    pub fn new(bps: u64) -> Self {
        RateLimit { bps, next: None }
    }

    /// When the next packet may leave, if it may not now.
    #[must_use]
    pub fn closed_until(&self, now: Instant) -> Option<Instant> {
        self.next.filter(|next| *next > now)
    }

    /// Counts a datagram that leaves now; `payload_bytes` of UDP.
    pub fn spend(&mut self, now: Instant, payload_bytes: usize) {
        let bits = 8 * (payload_bytes as u128 + u128::from(HEADER_BYTES));
        let takes_ns =
            u64::try_from(bits * 1_000_000_000 / u128::from(self.bps)).unwrap_or(u64::MAX);
        let earliest = now.checked_sub(SLACK).unwrap_or(now);
        let from = self.next.map_or(now, |next| next.max(earliest));
        self.next = from.checked_add(Duration::from_nanos(takes_ns)).or(self.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: usize = 1472;

    #[test]
    fn packets_leave_at_the_rate_and_late_ones_are_made_up_for() {
        let start = Instant::now();
        let at = |us: u64| start + Duration::from_micros(us);
        let mut limit = RateLimit::new(12_000_000); // 1500 bytes take 1 ms
        assert_eq!(limit.closed_until(start), None);
        limit.spend(start, PAYLOAD);
        assert_eq!(limit.closed_until(start), Some(at(1000)));
        assert_eq!(limit.closed_until(at(1000)), None);
        limit.spend(at(1400), PAYLOAD); // 0.4 ms late
        assert_eq!(limit.closed_until(at(1400)), Some(at(2000)));
    }

    #[test]
    fn a_pause_is_no_credit_beyond_the_slack() {
        let start = Instant::now();
        let mut limit = RateLimit::new(12_000_000);
        limit.spend(start, PAYLOAD);
        let later = start + Duration::from_secs(5);
        limit.spend(later, PAYLOAD);
        assert_eq!(limit.closed_until(later), None, "one packet of 1 ms may follow at once");
        limit.spend(later, PAYLOAD);
        assert_eq!(limit.closed_until(later), Some(later + Duration::from_millis(1)));
    }
}
