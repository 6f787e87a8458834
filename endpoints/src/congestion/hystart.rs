//! `HyStart`, the part that watches the delay: leaves slow start before the buffer overflows.
//!
//! Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011, section
//! 3.2, with the constants that Google's QUIC stacks use for it: the smallest of the first 8 RTT
//! samples of a round is compared with the smallest RTT of the connection; an increase by more than
//! eta = RTT / 8, but at least 4 and at most 16 ms, ends slow start, if the window has 16 packets
//! or more. Not here: the ack trains that Linux watches as well, and the conservative slow start of
//! `HyStart++` (RFC 9406).

use super::adapter::Acks;
use std::time::{Duration, Instant};

const SAMPLES: u32 = 8;
const LOW_WINDOW_PACKETS: u64 = 16;
const ETA_LEAST: Duration = Duration::from_millis(4);
const ETA_MOST: Duration = Duration::from_millis(16);

/// State of one slow start.
#[derive(Debug, Clone, Default)]
pub struct HyStart {
    /// The round ends with the first acknowledgement of a packet that was sent after this.
    round_start: Option<Instant>,
    samples: u32,
    smallest: Option<Duration>,
    found: bool,
}

impl HyStart {
    /// Takes the RTT sample of an ACK frame and returns whether slow start has to end.
    /// `window_packets`: the window now.
    pub fn leaves(&mut self, acks: &Acks, window_packets: u64) -> bool {
        if let Some(rtt) = acks.rtt {
            if self.round_start.is_none_or(|start| acks.now > start + rtt) {
                (self.round_start, self.samples, self.smallest) = (Some(acks.now), 0, None);
            }
            self.samples += 1;
            if self.samples <= SAMPLES {
                self.smallest = Some(self.smallest.map_or(rtt, |smallest| smallest.min(rtt)));
            }
            if self.samples == SAMPLES {
                let eta = (acks.min_rtt / 8).clamp(ETA_LEAST, ETA_MOST);
                self.found |= self.smallest.is_some_and(|smallest| smallest > acks.min_rtt + eta);
            }
        }
        self.found && window_packets >= LOW_WINDOW_PACKETS
    }
}
