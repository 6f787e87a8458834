//! What a receiver concludes from the datagrams of one connection. No sockets and no clock in it.

/// Numbers further ahead than this are not believed: no queue holds so many datagrams.
const FURTHEST: u64 = 1 << 26;

/// The datagrams that have arrived.
#[derive(Debug, Clone, Default)]
pub struct Reception {
    /// Bit n of word n / 64: whether datagram n has arrived.
    seen: Vec<u64>,
    /// Datagrams that arrived, duplicates excluded.
    pub packets: u64,
    /// Bytes of payload in them.
    pub bytes: u64,
    /// Datagrams that came after one with a higher number (RFC 4737, section 3.3).
    pub reordered: u64,
    /// Datagrams that had arrived before.
    pub duplicates: u64,
    /// The number after the highest that has arrived.
    next: u64,
    jitter_ns: f64,
    transit_ns: Option<i64>,
}

impl Reception {
    /// Takes note of a datagram. `bytes`: those of its payload that count; times on one clock, ns.
    /// False: the number cannot be one of the connection's.
    pub fn arrive(&mut self, number: u64, bytes: u64, sent_ns: i64, arrived_ns: i64) -> bool {
        if number >= self.next.saturating_add(FURTHEST) {
            return false;
        }
        self.measure(arrived_ns.saturating_sub(sent_ns));
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit != 0 {
            self.duplicates += 1;
            return true;
        }
        self.seen[word] |= bit;
        self.packets += 1;
        self.bytes += bytes;
        if number < self.next {
            self.reordered += 1;
        } else {
            self.next = number + 1;
        }
        true
    }

    /// Datagrams missing below the highest number that has arrived.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.next - self.packets
    }

    /// Interarrival jitter, us: J += (|D| - J) / 16, where D is by how much the transit time of a
    /// datagram differs from that of the one that arrived before it (RFC 3550, section 6.4.1).
    #[must_use]
    pub fn jitter_us(&self) -> f64 {
        self.jitter_ns / 1e3
    }

    fn measure(&mut self, transit_ns: i64) {
        if let Some(before_ns) = self.transit_ns.replace(transit_ns) {
            let difference = transit_ns.abs_diff(before_ns) as f64;
            self.jitter_ns += (difference - self.jitter_ns) / 16.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of a connection whose datagrams arrive in this order, 10 bytes each: packets, bytes,
    /// lost, reordered, duplicates.
    fn counts(numbers: &[u64]) -> [u64; 5] {
        let mut reception = Reception::default();
        for number in numbers {
            assert!(reception.arrive(*number, 10, 0, 0));
        }
        let Reception { packets, bytes, reordered, duplicates, .. } = reception;
        [packets, bytes, reception.lost(), reordered, duplicates]
    }

    #[test]
    fn losses_reorderings_and_duplicates_are_counted() {
        assert_eq!(counts(&[]), [0; 5]);
        assert_eq!(counts(&[0, 1, 2, 3]), [4, 40, 0, 0, 0]);
        assert_eq!(counts(&[0, 1, 4, 5]), [4, 40, 2, 0, 0]);
        assert_eq!(counts(&[3]), [1, 10, 3, 0, 0]);
        // 2 comes late; 1 is missing; 4 comes twice, the second time late.
        assert_eq!(counts(&[0, 3, 2, 4, 4]), [4, 40, 1, 1, 1]);
        assert_eq!(counts(&[0, 130, 64, 0]), [3, 30, 128, 1, 1]);
    }

    /// Transit times 10, 26, 26, 10 ms: differences of 16, 0 and 16 ms.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut reception = Reception::default();
        for (number, transit_ms) in [10, 26, 26, 10].into_iter().enumerate() {
            let sent_ns = number as i64 * 20_000_000;
            reception.arrive(number as u64, 1, sent_ns, sent_ns + transit_ms * 1_000_000);
        }
        let first = 1_000.0;
        let second = first - first / 16.0;
        let third = second + (16_000.0 - second) / 16.0;
        assert!((reception.jitter_us() - third).abs() < 1e-9, "{}", reception.jitter_us());
    }

    #[test]
    fn a_number_out_of_reach_is_not_believed() {
        let mut reception = Reception::default();
        assert!(!reception.arrive(u64::MAX, 1, 0, 0) && !reception.arrive(FURTHEST, 1, 0, 0));
        assert!(reception.arrive(5, 1, i64::MIN, i64::MAX));
        assert_eq!((reception.packets, reception.lost()), (1, 5));
    }
}
