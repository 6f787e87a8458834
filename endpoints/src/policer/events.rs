//! What a policer reports.

use super::bucket::Decision;
use super::exposure::Echo;
use crate::events::Report;
use crate::json::Line;
use std::io;

/// One line.
#[derive(Debug)]
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

impl Report for PolicerEvent {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        match self {
            PolicerEvent::Ready { first } => line.field("event", "ready")?.field("first", first)?,
            PolicerEvent::Packet { number, bucket, echo, decision } => line
                .field("event", "packet")?
                .field("number", number)?
                .field("bucket", bucket)?
                .field("echo", &echo.map(name))?
                .field("dropped", &decision.dropped)?
                .field("level", &decision.level)?,
            PolicerEvent::Policed { packets, dropped, refused, late_us, missed } => line
                .field("event", "policed")?
                .field("packets", packets)?
                .field("dropped", dropped)?
                .field("refused", refused)?
                .field("late_us", late_us)?
                .field("missed", missed)?,
        };
        Ok(())
    }
}

fn name(echo: Echo) -> &'static str {
    match echo {
        Echo::Loss => "loss",
        Echo::Ecn => "ecn",
    }
}
