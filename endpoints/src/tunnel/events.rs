//! What an end of a tunnel reports.

use serde::Serialize;

/// One line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum TunnelEvent {
    /// It listens, and carries what comes.
    Ready {
        /// Whether it runs before all ordinary programs.
        first: bool,
    },
    /// It has ended.
    Tunnelled {
        /// Packets that were put into others, by their own bits of ECN (0 to 3, as on the wire).
        encapsulated: [u64; 4],
        /// Packets that were taken out, by their own bits and those of what carried them.
        decapsulated: [[u64; 4]; 4],
        /// Packets that came out neither way: a mark on what cannot be marked (RFC 6040, section
        /// 4.2), counted above as well.
        dropped: u64,
        /// Packets that would have been larger than the MTU with the header.
        oversized: u64,
        /// Packets for which the queue behind said it had no room.
        refused: u64,
        /// The longest that a packet was here before it was sent on, us.
        late_us: i64,
        /// Packets that came and were not seen: the machine is too slow.
        missed: u64,
    },
}
