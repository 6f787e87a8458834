//! What a connection moves, as both ends are told: `{"kind": .., ..}`. No transport in it.
//!
//! `source` says what a server may send of it by when, `player` what a video's player does with it.

use crate::arrivals::{Requests, MAX_BYTES};
use crate::json::{described, whole, within, Description};
use crate::random::{lasting, Distribution, Draws};
use serde::Deserialize;

/// With a shorter period the machine would do little but sample, ns.
pub const SHORTEST_PERIOD: i64 = 100_000;
/// Highest rate that anything is sent at, bit/s.
pub const MAX_RATE_BPS: i64 = 1_000_000_000_000;
/// The kernel doubles a buffer's size and keeps it in a signed 32-bit number.
pub const MAX_BUFFER: i64 = (i32::MAX / 2) as i64;
/// Smallest packet of a source, bytes of IP: 60 of headers (IP, TCP with timestamps) and some data.
pub const LEAST_PACKET: i64 = 64;
/// Largest packet, bytes of IP.
pub const LARGEST_PACKET: i64 = 65_535;

/// What a connection moves.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Workload {
    /// Exactly this many bytes.
    File {
        /// How many.
        #[serde(deserialize_with = "whole::<_, _, 0, { i64::MAX }>")]
        bytes: u64,
    },
    /// As much as goes through until the flow is stopped.
    Bulk {},
    /// A video, sent in the way of a progressive download and played while it comes.
    Video(Video),
    /// Objects of random sizes, asked for at random times.
    Requests(Requests),
    /// A rate, with pauses.
    OnOff(OnOff),
    /// Packets at regular times, each of which comes back at once.
    Ping(Ping),
}

/// A video and how it is sent and played.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Rate of the video, bit/s.
    #[serde(deserialize_with = "whole::<_, _, 1, MAX_RATE_BPS>")]
    pub bitrate_bps: u64,
    /// Playing time, ns.
    #[serde(deserialize_with = "whole::<_, _, 1, { i64::MAX }>")]
    pub length_ns: i64,
    /// Playing time that is sent at full speed at first, ns.
    #[serde(deserialize_with = "whole::<_, _, 0, { i64::MAX }>")]
    pub burst_ns: i64,
    /// Size of the pieces that are sent after that, bytes.
    #[serde(deserialize_with = "whole::<_, _, 1, { i64::MAX }>")]
    pub chunk_bytes: u64,
    /// Sending rate after the burst over the rate of the video.
    pub factor: f64,
    /// Playing starts, and goes on after a stall, when this much is buffered, ns of playing time.
    #[serde(deserialize_with = "whole::<_, _, 1, { i64::MAX }>")]
    pub play_ns: i64,
    /// Playing stalls when less than this is buffered, ns of playing time.
    #[serde(deserialize_with = "whole::<_, _, 0, { i64::MAX }>")]
    pub stall_ns: i64,
    /// Send buffer of the server, bytes.
    #[serde(deserialize_with = "whole::<_, _, 1, MAX_BUFFER>")]
    pub send_buffer_bytes: u32,
}

/// A source that sends packets at a rate, and pauses.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Rate while it sends, bit/s of IP.
    #[serde(deserialize_with = "whole::<_, _, 1, MAX_RATE_BPS>")]
    pub rate_bps: u64,
    /// How long it sends, s.
    #[serde(deserialize_with = "described")]
    on: Distribution,
    /// How long it pauses, s.
    #[serde(deserialize_with = "described")]
    off: Distribution,
    /// Size of its packets, bytes of IP.
    #[serde(deserialize_with = "whole::<_, _, LEAST_PACKET, LARGEST_PACKET>")]
    pub packet_bytes: u32,
    /// Whether the gaps between its packets vary.
    #[serde(default)]
    pub vary_gaps: bool,
    /// Of the random numbers.
    #[serde(deserialize_with = "whole::<_, _, 0, { i64::MAX }>")]
    seed: u64,
}

/// Packets over UDP that the client returns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Time between them, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub every_ns: i64,
    /// Size of each, bytes of IP.
    #[serde(deserialize_with = "whole::<_, _, LEAST_PACKET, LARGEST_PACKET>")]
    pub packet_bytes: u32,
}

impl Workload {
    /// Bytes that a connection asks for; None: as many as go through until it is stopped.
    /// (Each of `requests` asks for its own.)
    #[must_use]
    pub fn wanted_bytes(&self) -> Option<u64> {
        match self {
            Workload::File { bytes } => Some(*bytes),
            Workload::Video(video) => Some(video.total_bytes()),
            Workload::Bulk {} | Workload::Requests(_) | Workload::OnOff(_) | Workload::Ping(_) => {
                None
            }
        }
    }
}

impl Description for Workload {
    const TAG: Option<&'static str> = Some("kind");

    fn check(&self) -> Result<(), String> {
        match self {
            Workload::File { .. } | Workload::Bulk {} | Workload::Ping(_) => Ok(()),
            Workload::Video(video) => video.check(),
            Workload::Requests(requests) => requests.check(),
            Workload::OnOff(onoff) => lasting(&onoff.on, "on"),
        }
    }
}

impl Video {
    fn check(&self) -> Result<(), String> {
        within("factor", self.factor, 0.001, 1e6)?;
        if self.stall_ns >= self.play_ns {
            return Err("`stall_ns` must be less than `play_ns`".into());
        }
        if self.bytes_of(self.length_ns) > MAX_BYTES as u64 {
            return Err("`length_ns` is too long".into());
        }
        Ok(())
    }

    /// Size of the whole video, bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.bytes_of(self.length_ns)
    }

    /// Size of the bytes that hold this playing time, rounded up; at most that of the whole video.
    #[must_use]
    pub fn bytes_of(&self, playing_ns: i64) -> u64 {
        let bit_ns = u128::from(self.bitrate_bps) * playing_ns.clamp(0, self.length_ns) as u128;
        u64::try_from(bit_ns.div_ceil(8_000_000_000)).unwrap_or(u64::MAX)
    }

    /// Playing time that these first bytes hold, ns, rounded down; at most the video's length.
    #[must_use]
    pub fn playing_ns(&self, bytes: u64) -> i64 {
        let ns = u128::from(bytes) * 8_000_000_000 / u128::from(self.bitrate_bps);
        i64::try_from(ns).unwrap_or(i64::MAX).min(self.length_ns)
    }

    /// Time between the pieces that are sent after the burst, ns.
    #[must_use]
    pub fn chunk_every_ns(&self) -> i64 {
        let bits = self.chunk_bytes as f64 * 8.0;
        (bits * 1e9 / (self.factor * self.bitrate_bps as f64)).round() as i64
    }
}

impl OnOff {
    /// Of all its streams of random numbers.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Lengths of a connection's on and off periods.
    #[must_use]
    pub fn periods_of(&self, connection: u32) -> (Draws, Draws) {
        (
            Draws::new(&self.on, self.seed, connection, 0),
            Draws::new(&self.off, self.seed, connection, 1),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIDEO: &str = r#"{"kind": "video", "bitrate_bps": 1128000, "length_ns": 300000000000,
        "burst_ns": 40000000000, "chunk_bytes": 65536, "factor": 1.25, "play_ns": 2200000000,
        "stall_ns": 400000000, "send_buffer_bytes": 2000000}"#;
    const REQUESTS: &str = r#"{"kind": "requests",
        "size": {"kind": "pareto", "parameters": {"mean": 15000, "shape": 1.5}},
        "every": {"kind": "exponential", "parameters": {"mean": 0.1}}, "seed": 7}"#;
    const ONOFF: &str = r#"{"kind": "onoff", "rate_bps": 1000000,
        "on": {"kind": "constant", "parameters": {"value": 1}},
        "off": {"kind": "constant", "parameters": {"value": 2.0}}, "packet_bytes": 1500, "seed": 0}"#;

    const PING: &str = r#"{"kind": "ping", "every_ns": 20000000, "packet_bytes": 84}"#;

    fn take(text: &str) -> Result<Workload, String> {
        crate::json::read(text)
    }

    #[test]
    fn a_video_has_the_bytes_of_its_length_and_rate() {
        let Workload::Video(video) = take(VIDEO).unwrap() else {
            unreachable!("it is a video");
        };
        // 300 s at 1128 kbit/s.
        assert_eq!(video.total_bytes(), 42_300_000);
        assert_eq!(video.bytes_of(video.burst_ns), 5_640_000);
        assert_eq!(video.bytes_of(i64::MAX), 42_300_000);
        assert_eq!(video.playing_ns(42_300_000), 300_000_000_000);
        assert_eq!(video.playing_ns(141), 1_000_000);
        // 65536 * 8 / (1.25 * 1128000) s
        assert_eq!(video.chunk_every_ns(), 371_835_461);
        assert_eq!(take(VIDEO).unwrap().wanted_bytes(), Some(42_300_000));
    }

    #[test]
    fn wrong_workloads_are_refused_by_name() {
        for (text, from, to, words) in [
            (
                VIDEO,
                "video",
                "film",
                "`kind`: unknown variant `film`, expected one of `file`, `bulk`, `video`",
            ),
            (VIDEO, "1128000", "0", "`bitrate_bps` is 0"),
            (VIDEO, "300000000000", "0", "`length_ns` is 0"),
            (VIDEO, "65536", "0", "`chunk_bytes` is 0"),
            (VIDEO, "1.25", "0", "`factor` is 0"),
            (VIDEO, "1.25", "\"fast\"", "`factor`: invalid type: string \"fast\""),
            (
                VIDEO,
                "\"stall_ns\": 400000000",
                "\"stall_ns\": 2200000000",
                "`stall_ns` must be less than `play_ns`",
            ),
            (VIDEO, "2000000}", "0}", "`send_buffer_bytes` is 0"),
            (REQUESTS, "0.1", "0", "`every` has a mean below"),
            (REQUESTS, "1.5", "0.5", "`size.parameters.shape`"),
            (REQUESTS, ", \"seed\": 7", "", "`seed` is missing"),
            (PING, "20000000", "0", "`every_ns` is 0"),
            (PING, "84", "63", "`packet_bytes` is 63"),
            (ONOFF, "1000000,", "0,", "`rate_bps` is 0"),
            (ONOFF, "1500", "63", "`packet_bytes` is 63"),
            (ONOFF, "1500", "65536", "`packet_bytes` is 65536"),
            (ONOFF, "{\"value\": 1}", "{\"value\": 0}", "`on` has a mean below"),
            (ONOFF, "\"seed\"", "\"vary_gaps\": 1, \"seed\"", "`vary_gaps`: invalid type"),
            (ONOFF, "\"seed\"", "\"colour\": 1, \"seed\"", "unknown field `colour`"),
        ] {
            assert!(text.contains(from), "{from}");
            let message = take(&text.replacen(from, to, 1)).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
        let long = VIDEO
            .replace("1128000", "1000000000000")
            .replace("300000000000", "1000000000000000000");
        assert!(take(&long).unwrap_err().contains("`length_ns` is too long"));
    }
}
