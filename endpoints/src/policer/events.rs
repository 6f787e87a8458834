//! What a policer reports.

use super::bucket::Decision;
use super::exposure::Echo;
use serde::Serialize;

/// One line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum PolicerEvent {
    /// It listens, and forwards what comes.
    Ready {
        /// Whether it runs before all ordinary programs.
        first: bool,
    },
    /// A packet exposed congestion, or was dropped; all others passed, and cost nothing.
    Packet {
        /// Number of the packet among all that are policed, from 0.
        number: u64,
        /// Whose it is.
        bucket: usize,
        /// What it exposed.
        echo: Option<Echo>,
        /// The level that decided, and how.
        #[serde(flatten)]
        decision: Decision,
    },
    /// It has ended.
    Policed {
        /// Packets that were policed.
        packets: u64,
        /// Those that were dropped.
        dropped: u64,
        /// Those that were not, and that the queue behind said it had no room for.
        refused: u64,
        /// The longest that a packet was here before it was sent on, us.
        late_us: i64,
        /// Packets of all kinds that came and were not seen: the machine is too slow.
        missed: u64,
    },
}
