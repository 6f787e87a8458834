//! How much of a workload a server may have sent by when. No transport and no clock in it.
//!
//! A transport asks `allowed` before it takes data, and again as soon as it has taken all that was
//! allowed; where it has not because its buffer is full, it asks again when there is room. Times
//! are ns after the start of the transfer, and do not decrease.

use crate::packet_times::PacketTimes;
use crate::workload::{OnOff, Video, Workload};

/// What one connection may send.
#[derive(Debug)]
pub struct Source {
    /// Bytes in all; `u64::MAX` without an end.
    wanted: u64,
    pattern: Pattern,
}

/// When what a server sends may be sent.
#[derive(Debug)]
enum Pattern {
    /// Everything at once.
    AtOnce,
    /// A burst, then chunks at regular times.
    Chunks(Chunks),
    /// Packets at times of their own.
    Packets(Box<Packets>),
}

impl Source {
    /// What connection `connection` of a workload sends when the client asks for `wanted` bytes
    /// (None: without an end). `header_bytes`: what the transport adds to a packet, down to IP.
    #[must_use]
    pub fn new(
        workload: &Workload,
        connection: u32,
        wanted: Option<u64>,
        header_bytes: u32,
    ) -> Self {
        let pattern = match workload {
            Workload::Video(video) => Pattern::Chunks(Chunks::new(video)),
            Workload::OnOff(onoff) => {
                Pattern::Packets(Box::new(Packets::new(onoff, connection, header_bytes)))
            }
            _ => Pattern::AtOnce,
        };
        Source { wanted: wanted.unwrap_or(u64::MAX), pattern }
    }

    /// Bytes that may have been sent in all at `now_ns`, when the transport has taken `sent`.
    pub fn allowed(&mut self, sent: u64, now_ns: i64) -> u64 {
        match &mut self.pattern {
            Pattern::AtOnce => self.wanted,
            Pattern::Chunks(chunks) => chunks.allowed(sent, now_ns).min(self.wanted),
            Pattern::Packets(packets) => packets.allowed(sent, now_ns).min(self.wanted),
        }
    }

    /// When more will be allowed; None: all that the transport can take is.
    #[must_use]
    pub fn next_ns(&self) -> Option<i64> {
        match &self.pattern {
            Pattern::AtOnce => None,
            Pattern::Chunks(chunks) => chunks.next_ns,
            Pattern::Packets(packets) => Some(packets.times.next_ns()),
        }
    }

    /// Whether what is allowed depends on the time.
    #[must_use]
    pub fn timed(&self) -> bool {
        !matches!(self.pattern, Pattern::AtOnce)
    }

    /// Bytes in all; None without an end.
    #[must_use]
    pub fn wanted(&self) -> Option<u64> {
        Some(self.wanted).filter(|wanted| *wanted != u64::MAX)
    }
}

/// A progressive download: a burst, then chunks at regular times (Ameigeiras et al., Transactions
/// on Emerging Telecommunications Technologies 23, 2012).
///
/// A chunk follows one interval after the one before, but not before the transport has taken that
/// one (the first: the burst). So a server that is held up by a full send buffer does not make up
/// for it later: what arrives faster after a congested time is at most what the send buffer held.
#[derive(Debug)]
struct Chunks {
    released: u64,
    released_ns: i64,
    /// When the next chunk follows; None while what was released has not been taken.
    next_ns: Option<i64>,
    /// To the chunk that follows what was released last: none after the burst.
    interval_ns: i64,
    chunk_bytes: u64,
    every_ns: i64,
}

impl Chunks {
    fn new(video: &Video) -> Self {
        Chunks {
            released: video.bytes_of(video.burst_ns),
            released_ns: 0,
            next_ns: None,
            interval_ns: 0,
            chunk_bytes: video.chunk_bytes,
            every_ns: video.chunk_every_ns(),
        }
    }

    fn allowed(&mut self, sent: u64, now_ns: i64) -> u64 {
        if self.next_ns.is_none() && sent >= self.released {
            self.next_ns = Some(self.released_ns.saturating_add(self.interval_ns).max(now_ns));
        }
        if let Some(due_ns) = self.next_ns.filter(|due_ns| *due_ns <= now_ns) {
            self.released = self.released.saturating_add(self.chunk_bytes);
            // The time that was due, not now: a late wake-up delays nothing after it.
            self.released_ns = due_ns;
            self.interval_ns = self.every_ns;
            self.next_ns = None;
        }
        self.released
    }
}

/// An on/off source over a transport with a send buffer. A packet whose time comes while the
/// transport has not taken those before it is not sent: what a congested network holds up is the
/// send buffer, and the pauses stay pauses.
#[derive(Debug)]
struct Packets {
    times: PacketTimes,
    payload_bytes: u64,
    released: u64,
}

impl Packets {
    fn new(onoff: &OnOff, connection: u32, header_bytes: u32) -> Self {
        Packets {
            times: PacketTimes::on_off(onoff, connection),
            payload_bytes: onoff.packet_bytes.saturating_sub(header_bytes).max(1).into(),
            released: 0,
        }
    }

    fn allowed(&mut self, sent: u64, now_ns: i64) -> u64 {
        let free = sent >= self.released;
        while self.times.next_ns() <= now_ns {
            if free {
                self.released = self.released.saturating_add(self.payload_bytes);
            }
            self.times.advance();
        }
        self.released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn workload(text: &str) -> Workload {
        crate::json::read(text).unwrap()
    }

    /// 8 Mbit/s (1 byte per us), 4 s of burst, chunks of 10,000 bytes at 1.25 x the rate: every 8
    /// ms.
    fn video() -> Source {
        let workload = workload(
            r#"{"kind": "video", "bitrate_bps": 8000000, "length_ns": 60000000000,
                "burst_ns": 4000000000, "chunk_bytes": 10000, "factor": 1.25,
                "play_ns": 2200000000, "stall_ns": 400000000, "send_buffer_bytes": 2000000}"#,
        );
        Source::new(&workload, 0, workload.wanted_bytes(), 52)
    }

    /// On for `on_s`, then off for `off_s`; a packet takes 1 ms.
    fn on_off(on_s: f64, off_s: f64) -> Workload {
        let constant = |s| format!(r#"{{"kind": "constant", "parameters": {{"value": {s}}}}}"#);
        workload(&format!(
            r#"{{"kind": "onoff", "rate_bps": 12000000, "on": {}, "off": {},
                "packet_bytes": 1500, "seed": 1}}"#,
            constant(on_s),
            constant(off_s)
        ))
    }

    #[test]
    fn files_and_bulk_may_be_sent_at_once() {
        let mut file = Source::new(&Workload::File { bytes: 7 }, 0, Some(7), 52);
        assert_eq!((file.allowed(0, 0), file.next_ns(), file.wanted()), (7, None, Some(7)));
        let mut bulk = Source::new(&Workload::Bulk {}, 0, None, 52);
        assert_eq!((bulk.allowed(5, 9), bulk.next_ns(), bulk.wanted()), (u64::MAX, None, None));
    }

    #[test]
    fn a_video_is_a_burst_and_then_chunks_at_regular_times() {
        let mut video = video();
        assert_eq!((video.allowed(0, 0), video.next_ns()), (4_000_000, None));
        // The network takes 300 ms for the burst; then the first chunk follows.
        assert_eq!((video.allowed(3_999_999, 300 * MS), video.next_ns()), (4_000_000, None));
        assert_eq!(video.allowed(4_000_000, 300 * MS), 4_010_000);
        assert_eq!(video.allowed(4_010_000, 301 * MS), 4_010_000);
        assert_eq!(video.next_ns(), Some(308 * MS));
        // A wake-up that is 2 ms late does not move the chunks after it.
        assert_eq!(video.allowed(4_010_000, 310 * MS), 4_020_000);
        assert_eq!(video.allowed(4_020_000, 310 * MS), 4_020_000);
        assert_eq!(video.next_ns(), Some(316 * MS));
    }

    #[test]
    fn a_server_that_was_held_up_does_not_make_up_for_it() {
        let mut video = video();
        video.allowed(0, 0);
        assert_eq!(video.allowed(4_000_000, 0), 4_010_000);
        // The chunk is taken after 100 ms: one chunk follows at once, the next 8 ms later.
        assert_eq!(video.allowed(4_005_000, 50 * MS), 4_010_000);
        assert_eq!(video.allowed(4_010_000, 100 * MS), 4_020_000);
        assert_eq!(video.allowed(4_020_000, 100 * MS), 4_020_000);
        assert_eq!(video.next_ns(), Some(108 * MS));
    }

    #[test]
    fn the_rate_after_the_burst_is_the_factor_times_that_of_the_video() {
        let mut video = video();
        let (mut sent, mut now_ns) = (0, 0);
        while now_ns < 10_000 * MS {
            sent = video.allowed(sent, now_ns);
            video.allowed(sent, now_ns);
            now_ns = video.next_ns().unwrap_or(now_ns);
        }
        // 10 s at 1.25 bytes per us, in whole chunks, the first at 0.
        assert_eq!(sent, 4_000_000 + 12_500_000);
        assert_eq!(video.allowed(59_999_999, 99_000 * MS), 16_510_000);
        assert_eq!(video.wanted(), Some(60_000_000));
    }

    #[test]
    fn a_source_that_is_held_up_skips_packets() {
        let workload = on_off(1.0, 0.0);
        let mut source = Source::new(&workload, 0, None, 52);
        assert_eq!(source.allowed(0, 0), 1_448);
        assert_eq!(source.next_ns(), Some(MS));
        // Late, but nothing is held up: all packets that are due.
        assert_eq!(source.allowed(1_448, 3 * MS), 4 * 1_448);
        // Held up until 10 ms: those that were due in between are lost.
        assert_eq!(source.allowed(1_448, 10 * MS), 4 * 1_448);
        assert_eq!(source.allowed(4 * 1_448, 10 * MS), 4 * 1_448);
        assert_eq!(source.next_ns(), Some(11 * MS));
        assert_eq!(source.allowed(4 * 1_448, 11 * MS), 5 * 1_448);
    }

    #[test]
    fn an_endless_pause_ends_nothing() {
        let workload = on_off(0.001, 9e15);
        let mut source = Source::new(&workload, 0, None, 52);
        source.allowed(0, 0);
        for _ in 0..10 {
            let next_ns = source.next_ns().unwrap();
            assert!(next_ns > 0);
            source.allowed(1_448, 1);
        }
    }
}
