//! What an end is asked to do.

use crate::description::{stops_after_starts, Description, SHORTEST_PERIOD};
use crate::json::{or_null, text, whole, whole_or_null, within};
use crate::options::TransportOptions;
use crate::quic::description::{file_name, Cca, Controller};
use crate::workload::{LARGEST_PACKET, MAX_BUFFER, MAX_RATE_BPS};
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The least packet, bytes of IP: headers, what a packet tells, and some data.
const LEAST_PACKET: i64 = 128;
/// What a part of a frame begins with, bytes.
pub const PART_BYTES: usize = 20;
/// The least frame, bytes: what each of its packets tells.
pub const LEAST_FRAME: i64 = PART_BYTES as i64;
/// The largest frame, bytes.
pub const LARGEST_FRAME: i64 = 1 << 24;

/// What carries the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Packets of RTP.
    Udp,
    /// One connection.
    Tcp,
    /// One connection.
    Quic,
}

/// Which end this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// It waits for the client.
    Server,
    /// It opens the connection.
    Client,
}

impl Side {
    /// As in the names of files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Side::Server => "server",
            Side::Client => "client",
        }
    }
}

/// What has a stream of QUIC of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Streams {
    /// Nothing: packets go in datagrams (RFC 9221).
    Datagram,
    /// Each frame.
    Frame,
    /// Each group of pictures; audio has one for each frame.
    Group,
}

/// What goes first of all that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Audio, then what was captured first.
    Audio,
    /// Audio, then the newest group.
    Newest,
    /// What was captured first.
    None,
}

/// A video and its encoder.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Bytes of frames per second, as bit/s: what a fixed encoder has, and the most of any other.
    #[serde(deserialize_with = "whole::<_, _, 1, MAX_RATE_BPS>")]
    pub rate_bps: u64,
    /// Frames per second.
    pub frames_per_s: f64,
    /// Frames of a group of pictures, the key frame first.
    #[serde(deserialize_with = "whole::<_, _, 1, 1_000_000>")]
    pub group_frames: u32,
    /// Size of a key frame over the mean size of all.
    pub key: f64,
    /// Whether sizes and intervals vary as in RFC 8593, section 5.3.
    pub varies: bool,
    /// Sizes of frames, bytes, again and again; a key frame's is negative. Empty: by the rate.
    pub recorded: Vec<i64>,
    /// The rates that the encoder has, ascending, bit/s; empty: it has others.
    pub ladder_bps: Vec<u64>,
    /// The least rate of an encoder that follows the transport, bit/s; None: it does not.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_RATE_BPS>")]
    pub lowest_bps: Option<u64>,
    /// How much of the transport's rate the encoder aims at.
    pub share: f64,
    /// The least time between two changes of the rate, ns.
    #[serde(deserialize_with = "whole::<_, _, 0, { i64::MAX }>")]
    pub reaction_ns: i64,
}

/// Of both roles.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Media {
    /// Name of the flow: also of the files that the ends leave.
    #[serde(deserialize_with = "file_name")]
    pub flow: String,
    /// Which end this is.
    pub side: Side,
    /// What carries the frames.
    pub transport: Transport,
    /// The server's address.
    pub address: Ipv4Addr,
    /// The server's port; over UDP the client's, too.
    #[serde(deserialize_with = "whole::<_, _, 1, 65_535>")]
    pub port: u16,
    /// The client's address.
    pub peer: Ipv4Addr,
    /// Congestion controller of TCP, by the kernel's name.
    #[serde(deserialize_with = "or_null")]
    pub kernel_cca: Option<String>,
    /// Congestion controller of QUIC.
    #[serde(deserialize_with = "or_null")]
    cca: Option<Controller>,
    /// Options of the transport.
    pub options: TransportOptions,
    /// Send buffer, bytes; None: it limits nothing.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_BUFFER>")]
    pub send_buffer_bytes: Option<u32>,
    /// Receive buffer, bytes; None: it limits nothing.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_BUFFER>")]
    pub receive_buffer_bytes: Option<u32>,
    /// When it starts, ns after the epoch.
    #[serde(deserialize_with = "whole::<_, _, 0, { i64::MAX }>")]
    pub start_ns: i64,
    /// When it stops, ns after the epoch; None: on SIGTERM.
    #[serde(deserialize_with = "or_null")]
    pub stop_ns: Option<i64>,
    /// Time between samples of a server, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub sample_every_ns: i64,
    /// Time between `progress` events of a client, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub progress_every_ns: i64,
    /// How long nothing has to come until a connection of QUIC ends, ns; None: it does not.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1_000_000, { i64::MAX }>")]
    pub idle_timeout_ns: Option<i64>,
    /// Whether this end sends.
    pub sends: bool,
    /// Bytes of an audio frame; None: no audio.
    #[serde(deserialize_with = "whole_or_null::<_, _, LEAST_FRAME, LARGEST_FRAME>")]
    pub audio_bytes: Option<u32>,
    /// Time between audio frames, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub audio_every_ns: i64,
    /// The video; None: there is none.
    #[serde(deserialize_with = "or_null")]
    pub video: Option<Video>,
    /// The largest packet over UDP, bytes of IP.
    #[serde(deserialize_with = "whole::<_, _, LEAST_PACKET, LARGEST_PACKET>")]
    pub packet_bytes: u32,
    /// What has a stream of its own; of QUIC alone.
    pub streams: Streams,
    /// What goes first; of QUIC alone.
    pub priority: Priority,
    /// How long a frame of video may wait at the sender until its group is cancelled, ns; None: for
    /// ever. Of QUIC alone.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, { i64::MAX }>")]
    pub cancel_ns: Option<i64>,
    /// Of the encoder's random numbers.
    #[serde(deserialize_with = "whole::<_, _, 0, { i64::MAX }>")]
    pub seed: u64,
}

impl Description for Media {
    fn check(&self) -> Result<(), String> {
        stops_after_starts(self.stop_ns, &[self.start_ns])?;
        if let Some(video) = &self.video {
            video.check()?;
        }
        match self.transport {
            Transport::Udp => Ok(()),
            Transport::Tcp => self.kernel_cca.as_deref().map_or_else(
                || Err("`kernel_cca` is null: TCP needs one".into()),
                |name| text(serde_json::Value::from(name)).map(drop).map_err(|e| e.to_string()),
            ),
            Transport::Quic => self.cca().map(drop),
        }
    }
}

impl Media {
    /// The congestion controller of QUIC.
    ///
    /// # Errors
    /// A message that names what is unknown or out of range.
    pub fn cca(&self) -> Result<Cca, String> {
        let named = self.cca.as_ref().ok_or("`cca` is null: QUIC needs one")?;
        named.cca(self.options.initial_window_packets)
    }

    /// Where the server is.
    #[must_use]
    pub fn server(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.address, self.port)
    }

    /// Whether this end is the server.
    #[must_use]
    pub fn is_server(&self) -> bool {
        self.side == Side::Server
    }
}

impl Video {
    fn check(&self) -> Result<(), String> {
        within("video.frames_per_s", self.frames_per_s, 0.001, 10_000.0)?;
        within("video.key", self.key, 0.01, 1e6)?;
        within("video.share", self.share, 0.01, 1.0)?;
        if self.group_frames > 1 && self.key >= f64::from(self.group_frames) {
            return Err("`video.key` leaves nothing for the other frames of a group".into());
        }
        if !self.recorded.iter().all(|size| (LEAST_FRAME..=LARGEST_FRAME).contains(&size.abs())) {
            return Err(format!(
                "`video.recorded` has a frame that is not from {LEAST_FRAME} to {LARGEST_FRAME} bytes"
            ));
        }
        if !self.ladder_bps.is_sorted() || self.ladder_bps.first() == Some(&0) {
            return Err("`video.ladder_bps` does not ascend from above 0".into());
        }
        Ok(())
    }
}
