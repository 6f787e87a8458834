//! How much of a workload a server may have sent by when. No transport and no clock in it.
//!
//! A transport asks `allowed` before it takes data, and again as soon as it has taken all that was
//! allowed; where it has not because its buffer is full, it asks again when there is room. Times are
//! ns after the start of the transfer, and do not decrease.

use crate::random::{Distribution, Draws};
use crate::workload::{OnOff, Video, Workload};

/// What one connection may send.
#[derive(Debug)]
pub struct Source {
    /// Bytes in all; `u64::MAX` without an end.
    wanted: u64,
    pattern: Pattern,
}

#[derive(Debug)]
enum Pattern {
    /// Everything at once.
    AtOnce,
    Video(Chunks),
    OnOff(Packets),
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
            Workload::File { .. } | Workload::Bulk | Workload::Requests(_) => Pattern::AtOnce,
            Workload::Video(video) => Pattern::Video(Chunks::new(video)),
            Workload::OnOff(onoff) => Pattern::OnOff(Packets {
                times: PacketTimes::on_off(onoff, connection),
                payload_bytes: onoff.packet_bytes.saturating_sub(header_bytes).max(1).into(),
                released: 0,
            }),
        };
        Source { wanted: wanted.unwrap_or(u64::MAX), pattern }
    }

    /// Bytes that may have been sent in all at `now_ns`, when the transport has taken `sent`.
    pub fn allowed(&mut self, sent: u64, now_ns: i64) -> u64 {
        match &mut self.pattern {
            Pattern::AtOnce => self.wanted,
            Pattern::Video(chunks) => chunks.allowed(sent, now_ns).min(self.wanted),
            Pattern::OnOff(packets) => packets.allowed(sent, now_ns).min(self.wanted),
        }
    }

    /// When more will be allowed; None: all that the transport can take is.
    #[must_use]
    pub fn next_ns(&self) -> Option<i64> {
        match &self.pattern {
            Pattern::AtOnce => None,
            Pattern::Video(chunks) => chunks.next_ns,
            Pattern::OnOff(packets) => Some(packets.times.next_ns()),
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

/// A progressive download: a burst, then chunks at regular times (Ameigeiras et al., Transactions on
/// Emerging Telecommunications Technologies 23, 2012).
///
/// A chunk follows one interval after the one before, but not before the transport has taken that
/// one (the first: the burst). So a server that is held up by a full send buffer does not make up for
/// it later: what arrives faster after a congested time is at most what the send buffer held.
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
/// transport has not taken those before it is not sent: what a congested network holds up is the send
/// buffer, and the pauses stay pauses.
#[derive(Debug)]
struct Packets {
    times: PacketTimes,
    payload_bytes: u64,
    released: u64,
}

impl Packets {
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

/// When the packets of a source are sent: at a constant rate, or at a rate while it is on.
///
/// Packet j is sent when the source has been on for j times the time that a packet takes at the rate,
/// so that the rate over all on periods is exact however short they are. With `vary_gaps` each of these
/// times is drawn anew; the rate is then exact on average.
#[derive(Debug)]
pub struct PacketTimes {
    packet_bytes: u32,
    rate_bps: u64,
    /// Number of the next packet, from 0.
    packet: u64,
    next_ns: i64,
    periods: Option<Periods>,
    gaps: Option<Gaps>,
}

/// Gaps between packets that vary as those of ns-2's constant-rate source with `random_`: each is
/// multiplied by a number of its own, uniform in [1/2, 3/2].
#[derive(Debug)]
struct Gaps {
    factors: Draws,
    /// Time that the source was on before the next packet, ns.
    on_ns: i64,
}

/// Stream of a connection's gaps; those of its on and off periods are 0 and 1.
const GAPS: u32 = 2;

/// The on period that the next packet lies in.
#[derive(Debug)]
struct Periods {
    on: Draws,
    off: Draws,
    /// Time that the source was on before it, ns.
    on_before_ns: i64,
    begin_ns: i64,
    length_ns: i64,
}

impl PacketTimes {
    /// Packets of `packet_bytes` (> 0) at `rate_bps` (> 0), without pauses; the first at 0.
    #[must_use]
    pub fn constant(rate_bps: u64, packet_bytes: u32) -> Self {
        PacketTimes { packet_bytes, rate_bps, packet: 0, next_ns: 0, periods: None, gaps: None }
    }

    /// When packet `number` of those is sent, ns after the start.
    #[must_use]
    pub fn nth_ns(rate_bps: u64, packet_bytes: u32, number: u64) -> i64 {
        let bits = u128::from(number) * 8 * u128::from(packet_bytes);
        i64::try_from(bits * 1_000_000_000 / u128::from(rate_bps)).unwrap_or(i64::MAX)
    }

    /// Those of a connection of an on/off source; the first at 0, when an on period begins.
    #[must_use]
    pub fn on_off(onoff: &OnOff, connection: u32) -> Self {
        let (mut on, off) = onoff.periods_of(connection);
        let length_ns = on.ns();
        let periods = Periods { on, off, on_before_ns: 0, begin_ns: 0, length_ns };
        let mut times = PacketTimes {
            periods: Some(periods),
            ..PacketTimes::constant(onoff.rate_bps, onoff.packet_bytes)
        };
        if onoff.vary_gaps {
            times = times.vary_gaps(onoff.seed(), connection);
        }
        times.find();
        times
    }

    /// Lets the gaps between the packets of connection `connection` vary; before the first `advance`.
    #[must_use]
    pub fn vary_gaps(self, seed: u64, connection: u32) -> Self {
        let half_to_three = Distribution::Uniform { low: 0.5, high: 1.5 };
        let factors = Draws::new(&half_to_three, seed, connection, GAPS);
        PacketTimes { gaps: Some(Gaps { factors, on_ns: 0 }), ..self }
    }

    /// When the next packet is sent, ns after the start.
    #[must_use]
    pub fn next_ns(&self) -> i64 {
        self.next_ns
    }

    /// Goes on to the packet after it.
    pub fn advance(&mut self) {
        self.packet += 1;
        let nth_ns = |number| PacketTimes::nth_ns(self.rate_bps, self.packet_bytes, number);
        if let Some(gaps) = &mut self.gaps {
            let gap_ns = nth_ns(self.packet) - nth_ns(self.packet - 1);
            let varied_ns = (gap_ns as f64 * gaps.factors.number()).round() as i64;
            gaps.on_ns = gaps.on_ns.saturating_add(varied_ns);
        }
        self.find();
    }

    /// Finds the time of packet `packet`.
    fn find(&mut self) {
        let on_ns = match &self.gaps {
            None => PacketTimes::nth_ns(self.rate_bps, self.packet_bytes, self.packet),
            Some(gaps) => gaps.on_ns,
        };
        self.next_ns = match &mut self.periods {
            None => on_ns,
            Some(periods) => periods.at(on_ns),
        };
    }
}

impl Periods {
    /// The time at which the source has been on for `on_ns`, which never decreases.
    fn at(&mut self, on_ns: i64) -> i64 {
        while on_ns - self.on_before_ns >= self.length_ns {
            self.on_before_ns += self.length_ns;
            let end_ns = self.begin_ns.saturating_add(self.length_ns);
            self.begin_ns = end_ns.saturating_add(self.off.ns());
            self.length_ns = self.on.ns();
            if self.begin_ns == i64::MAX {
                return i64::MAX;
            }
        }
        self.begin_ns.saturating_add(on_ns - self.on_before_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Fields;

    const MS: i64 = 1_000_000;

    fn workload(text: &str) -> Workload {
        Workload::take(&mut Fields::parse(text).unwrap()).unwrap()
    }

    /// 8 Mbit/s (1 byte per us), 4 s of burst, chunks of 10,000 bytes at 1.25 x the rate: every 8 ms.
    fn video() -> Source {
        let workload = workload(
            r#"{"kind": "video", "bitrate_bps": 8000000, "length_ns": 60000000000,
                "burst_ns": 4000000000, "chunk_bytes": 10000, "factor": 1.25,
                "play_ns": 2200000000, "stall_ns": 400000000, "send_buffer_bytes": 2000000}"#,
        );
        Source::new(&workload, 0, workload.wanted_bytes(), 52)
    }

    fn on_off(on: &str, off: &str) -> Workload {
        // A packet takes 1 ms.
        workload(&format!(
            r#"{{"kind": "onoff", "rate_bps": 12000000, "on": {on}, "off": {off},
                "packet_bytes": 1500, "seed": 1}}"#
        ))
    }

    fn constant(s: f64) -> String {
        format!(r#"{{"kind": "constant", "parameters": {{"value": {s}}}}}"#)
    }

    #[test]
    fn files_and_bulk_may_be_sent_at_once() {
        let mut file = Source::new(&Workload::File { bytes: 7 }, 0, Some(7), 52);
        assert_eq!((file.allowed(0, 0), file.next_ns(), file.wanted()), (7, None, Some(7)));
        let mut bulk = Source::new(&Workload::Bulk, 0, None, 52);
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
    fn packets_at_a_constant_rate_do_not_drift() {
        // 1500 bytes at 7 Mbit/s take 1,714,285.71 ns.
        let mut times = PacketTimes::constant(7_000_000, 1500);
        for packet in 0..7_000_i128 {
            assert_eq!(i128::from(times.next_ns()), packet * 12_000_000_000 / 7_000);
            times.advance();
        }
    }

    #[test]
    fn the_rate_over_on_periods_is_exact() {
        // On for 2.5 packets, off for 10 ms: packets at 0, 1, 2 | 0.5, 1.5 of the next, and so on.
        let Workload::OnOff(onoff) = on_off(&constant(0.0025), &constant(0.01)) else {
            unreachable!("it is onoff");
        };
        let mut times = PacketTimes::on_off(&onoff, 0);
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(times.next_ns() / 100_000);
            times.advance();
        }
        assert_eq!(seen, [0, 10, 20, 130, 140, 250]);
    }

    #[test]
    fn gaps_vary_by_half_and_keep_their_mean() {
        // A packet takes 1 ms.
        let gaps_of = |seed, connection| -> Vec<i64> {
            let mut times = PacketTimes::constant(12_000_000, 1500).vary_gaps(seed, connection);
            assert_eq!(times.next_ns(), 0);
            (0..10_000)
                .map(|_| {
                    let before_ns = times.next_ns();
                    times.advance();
                    times.next_ns() - before_ns
                })
                .collect()
        };
        let gaps = gaps_of(7, 0);
        assert!(gaps.iter().all(|gap| (MS / 2..=3 * MS / 2).contains(gap)));
        // Uniform: a standard deviation of 0.289 ms, so 0.0029 ms of the mean.
        let mean = gaps.iter().sum::<i64>() as f64 / 10_000.0 / MS as f64;
        assert!((mean - 1.0).abs() < 0.012, "{mean}");
        let spread = gaps.iter().map(|gap| (*gap as f64 / MS as f64 - 1.0).powi(2)).sum::<f64>();
        assert!((spread / 10_000.0 - 1.0 / 12.0).abs() < 0.004, "{spread}");
        assert_eq!(gaps, gaps_of(7, 0));
        assert_ne!(gaps, gaps_of(8, 0));
        assert_ne!(gaps, gaps_of(7, 1));
    }

    #[test]
    fn gaps_of_a_source_that_pauses_vary_and_leave_its_periods_alone() {
        let text = |more: &str| {
            let (on, off) = (constant(0.01), constant(0.03));
            format!(
                r#"{{"kind": "onoff", "rate_bps": 12000000, "on": {on}, "off": {off},
                    "packet_bytes": 1500, "seed": 1{more}}}"#
            )
        };
        let packets = |more: &str| -> Vec<i64> {
            let Workload::OnOff(onoff) = workload(&text(more)) else {
                unreachable!("it is onoff");
            };
            let mut times = PacketTimes::on_off(&onoff, 0);
            (0..1_000).map(|_| (times.next_ns(), times.advance()).0).collect()
        };
        let (plain, varied) = (packets(""), packets(r#", "vary_gaps": true"#));
        assert_eq!(plain, packets(r#", "vary_gaps": false"#));
        assert_ne!(plain, varied);
        assert!(varied.windows(2).all(|pair| pair[0] <= pair[1]));
        // On for 10 of every 40 ms, all of them.
        assert!(varied.iter().all(|ns| ns % (40 * MS) < 10 * MS));
        let on_ns = varied[999] / (40 * MS) * 10 * MS;
        assert!((on_ns - 999 * MS).abs() < 50 * MS, "{on_ns}");
    }

    #[test]
    fn random_periods_have_their_means() {
        let exponential = r#"{"kind": "exponential", "parameters": {"mean": 0.5}}"#;
        let Workload::OnOff(onoff) = on_off(exponential, &constant(1.5)) else {
            unreachable!("it is onoff");
        };
        let mut times = PacketTimes::on_off(&onoff, 3);
        let mut packets = 0_u32;
        while times.next_ns() < 4_000_000 * MS {
            packets += 1;
            times.advance();
        }
        // On a quarter of 4000 s, in 2000 periods: 1,000,000 packets, with a standard deviation of
        // 1000 * 2000^(1/2) * 0.5 s * 0.75 = 16,800.
        assert!((932_000..1_068_000).contains(&packets), "{packets}");
    }

    #[test]
    fn a_source_that_is_held_up_skips_packets() {
        let workload = on_off(&constant(1.0), &constant(0.0));
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
        let workload = on_off(&constant(0.001), &constant(9e15));
        let mut source = Source::new(&workload, 0, None, 52);
        source.allowed(0, 0);
        for _ in 0..10 {
            let next_ns = source.next_ns().unwrap();
            assert!(next_ns > 0);
            source.allowed(1_448, 1);
        }
    }
}
