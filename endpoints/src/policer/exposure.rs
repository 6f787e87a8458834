//! Which packets expose congestion: Re-Echo-Loss and Re-Echo-ECN (RFC 7713, RFC 7786), from what
//! passes a router both ways.

use super::segment::{Connection, Segment, CWR, ECE, SYN};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// How a sender learns of the marks of its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Feedback {
    /// Not at all: only losses are exposed.
    None,
    /// As RFC 3168 has it, at most once per round trip.
    Classic,
    /// Every mark, when its packet's acknowledgement comes back.
    Accurate,
}

/// What a packet exposes. It carries at most one of them; a loss goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Echo {
    /// It is sent again: a loss, whoever made it.
    Loss,
    /// A mark that the sender knows of.
    Ecn,
}

/// What is known of the connections that are policed.
#[derive(Debug)]
pub struct Exposure {
    feedback: Feedback,
    connections: HashMap<Connection, State>,
}

#[derive(Debug, Default)]
struct State {
    /// One behind the highest sequence number that was sent.
    highest: Option<u32>,
    /// Sequence numbers [begin, end) of marked packets that are not acknowledged yet.
    marked: Vec<(u32, u32)>,
    /// Marks that are acknowledged and not exposed yet.
    pending: u64,
    /// Whether an ECE came since the last CWR.
    echoed: bool,
}

impl Exposure {
    /// Knows nothing yet.
    #[must_use]
    pub fn new(feedback: Feedback) -> Self {
        Exposure { feedback, connections: HashMap::new() }
    }

    /// A packet of a sender arrives: what it exposes. A SYN begins a connection anew.
    pub fn sent(&mut self, segment: &Segment) -> Option<Echo> {
        let state = self.connections.entry(segment.connection).or_default();
        let begin = segment.sequence;
        let end = begin.wrapping_add(segment.length());
        if segment.has(SYN) && state.highest != Some(end) {
            *state = State::default();
        }
        let again = end != begin && state.highest.is_some_and(|highest| before(begin, highest));
        if end != begin && state.highest.is_none_or(|highest| before(highest, end)) {
            state.highest = Some(end);
        }
        let exposed = match self.feedback {
            Feedback::None => false,
            Feedback::Classic => segment.has(CWR) && std::mem::take(&mut state.echoed),
            Feedback::Accurate => {
                let exposed = !again && segment.payload > 0 && state.pending > 0;
                state.pending -= u64::from(exposed);
                exposed
            }
        };
        match (again, exposed) {
            (true, _) => Some(Echo::Loss),
            (false, true) => Some(Echo::Ecn),
            (false, false) => None,
        }
    }

    /// A packet of a sender leaves for its receiver with a mark.
    pub fn marked(&mut self, segment: &Segment) {
        if let Some(state) = self.connections.get_mut(&segment.connection) {
            if segment.payload > 0 {
                let end = segment.sequence.wrapping_add(segment.payload);
                state.marked.push((segment.sequence, end));
            }
        }
    }

    /// A packet of a receiver comes back. That of a connection that was never seen tells nothing.
    pub fn acknowledged(&mut self, segment: &Segment) {
        if segment.has(SYN) {
            return; // its ECE and CWR negotiate
        }
        let Some(state) = self.connections.get_mut(&segment.connection.reversed()) else { return };
        state.echoed |= segment.has(ECE);
        if !state.marked.is_empty() {
            let left = state.marked.len();
            state.marked.retain(|(begin, end)| {
                let covered =
                    |(first, last): &(u32, u32)| !before(*begin, *first) && !before(*last, *end);
                let acknowledged = !before(segment.acknowledgement, *end);
                !(acknowledged || segment.sacked().any(|block| covered(&block)))
            });
            state.pending += (left - state.marked.len()) as u64;
        }
    }
}

/// Whether a sequence number comes before another one, modulo 2^32 (RFC 9293, section 3.4).
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::super::segment::{ACK, FIN};
    use super::*;

    const OURS: Connection = Connection { source: 1, destination: 2, ports: (80, 4_000) };

    fn segment(connection: Connection, sequence: u32, flags: u8, payload: u32) -> Segment {
        let mut made = Segment::default();
        (made.connection, made.sequence) = (connection, sequence);
        (made.flags, made.payload) = (flags, payload);
        made
    }

    fn data(sequence: u32, flags: u8) -> Segment {
        segment(OURS, sequence, ACK | flags, 100)
    }

    fn back(acknowledgement: u32, flags: u8, blocks: &[(u32, u32)]) -> Segment {
        let mut made = segment(OURS.reversed(), 0, ACK | flags, 0);
        made.acknowledgement = acknowledgement;
        made.set_sacked(blocks);
        made
    }

    #[test]
    fn what_is_sent_again_exposes_a_loss() {
        let mut exposure = Exposure::new(Feedback::None);
        let mut sent = |segment| exposure.sent(&segment);
        assert_eq!(sent(segment(OURS, 999, SYN | ACK, 0)), None);
        assert_eq!(sent(segment(OURS, 999, SYN | ACK, 0)), Some(Echo::Loss), "a SYN-ACK again");
        assert_eq!(sent(data(1_000, 0)), None);
        assert_eq!(sent(data(1_100, 0)), None);
        assert_eq!(sent(data(1_000, 0)), Some(Echo::Loss));
        assert_eq!(sent(segment(OURS, 1_050, ACK, 300)), Some(Echo::Loss), "a part of it again");
        assert_eq!(sent(data(1_350, 0)), None);
        assert_eq!(sent(segment(OURS, 1_450, ACK, 0)), None, "nothing but an acknowledgement");
        assert_eq!(sent(segment(OURS, 1_449, ACK, 0)), None, "a probe that keeps alive");
        assert_eq!(sent(segment(OURS, 1_450, ACK | FIN, 0)), None);
        assert_eq!(sent(segment(OURS, 1_450, ACK | FIN, 0)), Some(Echo::Loss));
        assert_eq!(
            sent(segment(OURS, 7, SYN | ACK, 0)),
            None,
            "another connection of the same ports"
        );
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut exposure = Exposure::new(Feedback::None);
        assert_eq!(exposure.sent(&data(u32::MAX - 49, 0)), None);
        assert_eq!(exposure.sent(&data(50, 0)), None);
        assert_eq!(exposure.sent(&data(u32::MAX - 49, 0)), Some(Echo::Loss));
        assert_eq!(exposure.sent(&data(150, 0)), None);
    }

    #[test]
    fn classic_counts_a_cwr_only_after_an_ece() {
        let mut exposure = Exposure::new(Feedback::Classic);
        assert_eq!(exposure.sent(&data(0, CWR)), None, "a CWR after a loss");
        exposure.acknowledged(&back(100, ECE | SYN, &[]));
        assert_eq!(exposure.sent(&data(100, CWR)), None, "a handshake negotiates");
        exposure.acknowledged(&back(100, ECE, &[]));
        exposure.acknowledged(&back(100, ECE, &[]));
        assert_eq!(exposure.sent(&data(200, 0)), None, "before the window is reduced");
        assert_eq!(exposure.sent(&data(300, CWR)), Some(Echo::Ecn));
        assert_eq!(exposure.sent(&data(400, CWR)), None, "no ECE since");
        exposure.marked(&data(300, 0));
        exposure.acknowledged(&back(400, 0, &[]));
        assert_eq!(exposure.sent(&data(500, 0)), None, "marks themselves count nothing");
    }

    #[test]
    fn accurate_exposes_every_mark_once_after_its_acknowledgement() {
        let mut exposure = Exposure::new(Feedback::Accurate);
        for n in 0..3 {
            assert_eq!(exposure.sent(&data(100 * n, 0)), None);
            exposure.marked(&data(100 * n, 0));
        }
        assert_eq!(exposure.sent(&data(300, 0)), None, "not acknowledged");
        exposure.acknowledged(&back(199, ECE, &[]));
        assert_eq!(exposure.sent(&segment(OURS, 400, ACK, 0)), None, "no data");
        assert_eq!(exposure.sent(&data(300, 0)), Some(Echo::Loss), "a loss goes first");
        assert_eq!(exposure.sent(&data(400, 0)), Some(Echo::Ecn));
        assert_eq!(exposure.sent(&data(500, 0)), None, "one mark, one re-echo");
        exposure.acknowledged(&back(200, 0, &[(200, 300)]));
        assert_eq!(exposure.sent(&data(600, 0)), Some(Echo::Ecn));
        assert_eq!(exposure.sent(&data(700, 0)), Some(Echo::Ecn));
        assert_eq!(exposure.sent(&data(800, 0)), None);
    }

    #[test]
    fn a_packet_that_is_marked_twice_exposes_twice() {
        let mut exposure = Exposure::new(Feedback::Accurate);
        assert_eq!(exposure.sent(&data(0, 0)), None);
        exposure.marked(&data(0, 0));
        exposure.marked(&data(0, 0));
        exposure.acknowledged(&back(100, 0, &[]));
        let echoes = [100, 200, 300].map(|sequence| exposure.sent(&data(sequence, 0)));
        assert_eq!(echoes, [Some(Echo::Ecn), Some(Echo::Ecn), None]);
    }
}
