//! What has come on a stream: how much of it without a gap, which is what an application gets.
//!
//! quinn gives a connection up when a stream is in more than 1024 pieces (`MAX_CHUNKS` of
//! quinn-proto's `assembler.rs`). Where slow start overruns a deep buffer on a long path every
//! second packet can be missing for a round trip, which is more than that. Data that is taken as it
//! comes is in no piece, so that is what is done where a window is large enough for so many gaps.
//! Where it is not, data is taken in order: flow control then gives credit for what has come in
//! order alone, as TCP's receive window does.

use std::collections::BTreeMap;

/// A window that cannot hold more than 1024 gaps between packets of at least 1200 bytes.
const IN_ORDER_BYTES: u32 = 2 * 1024 * 1200;

/// What has come on a stream and what it waits for.
#[derive(Debug, Default)]
pub struct Inbox {
    /// Whether data is taken as it comes.
    pub unordered: bool,
    /// What lies behind gaps: where it begins -> where it ends. No two of them touch.
    ahead: BTreeMap<u64, u64>,
}

impl Inbox {
    /// One for a stream whose receiver offers `window_bytes`; None: as much as comes.
    #[must_use]
    pub fn new(window_bytes: Option<u32>) -> Self {
        let unordered = window_bytes.is_none_or(|bytes| bytes > IN_ORDER_BYTES);
        Inbox { unordered, ahead: BTreeMap::new() }
    }

    /// Returns what there is without a gap, which was `bytes`, when `length` more come at `offset`.
    ///
    /// None of them has come before.
    pub fn add(&mut self, bytes: u64, offset: u64, length: u64) -> u64 {
        let mut start = offset;
        let mut end = offset + length;
        if let Some(after) = self.ahead.remove(&end) {
            end = after;
        }
        if let Some((&first, &last)) = self.ahead.range(..start).next_back() {
            if last == start {
                self.ahead.remove(&first);
                start = first;
            }
        }
        if start == bytes {
            return end;
        }
        self.ahead.insert(start, end);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Inbox;

    #[test]
    fn gaps_are_counted_when_they_are_filled() {
        let mut inbox = Inbox::default();
        let mut bytes = 0;
        // Packets of 10 bytes in this order; behind each what there is without a gap.
        for (packet, expected) in
            [(0, 10), (2, 10), (4, 10), (3, 10), (6, 10), (1, 50), (7, 50), (5, 80), (8, 90)]
        {
            bytes = inbox.add(bytes, packet * 10, 10);
            assert_eq!(bytes, expected, "packet {packet}");
        }
        assert!(inbox.ahead.is_empty());
    }

    #[test]
    fn any_order_comes_to_the_same() {
        for step in [1, 3, 7, 9] {
            let mut inbox = Inbox::default();
            let bytes = (0..100).fold(0, |bytes, k| inbox.add(bytes, k * step % 100 * 5, 5));
            assert_eq!((bytes, inbox.ahead.len()), (500, 0), "{step}");
        }
    }

    #[test]
    fn small_windows_are_read_in_order() {
        assert!(!Inbox::new(Some(1 << 20)).unordered);
        assert!(Inbox::new(Some(9 << 20)).unordered);
        assert!(Inbox::new(None).unordered);
    }
}
