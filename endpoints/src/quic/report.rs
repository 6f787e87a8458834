//! What the QUIC roles report beside the events that they share with TCP's.

use crate::events::Report;
use crate::json::Line;
use crate::quic::observed::{self, Seen};
use quinn_proto::congestion::Controller;
use quinn_proto::{Connection, ConnectionStats};
use serde_json::{Map, Value};
use std::io;
use std::time::Duration;

/// The pacer sends at this much more than a window per smoothed round trip (quinn-proto, `Pacer`;
/// RFC 9002, section 7.7): 5/4.
const PACING_GAIN: (u64, u64) = (5, 4);

/// Event `listening` of a QUIC server.
pub struct Listening<'a> {
    /// Name of the congestion controller.
    pub cca: &'a str,
    /// Its parameters.
    pub parameters: &'a Map<String, Value>,
    /// Whether packets are marked as able of ECN.
    pub ecn: bool,
    /// Congestion window of a new connection on a link with an MTU of 1500 bytes, bytes.
    pub initial_window_bytes: u64,
    /// Send buffer of a connection, bytes.
    pub send_buffer_bytes: u32,
    /// Limit of the sending rate of a connection, bit/s of IP packets.
    pub rate_bps: Option<u64>,
}

impl Report for Listening<'_> {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "listening")?
            .field("cca", self.cca)?
            .field("parameters", self.parameters)?
            .field("stack", &stack())?
            .field("ecn", &self.ecn)?
            .field("pacing", &true)?
            .field("initial_window_bytes", &self.initial_window_bytes)?
            .field("send_buffer_bytes", &self.send_buffer_bytes)?
            .field("rate_bps", &self.rate_bps)
            .map(drop)
    }
}

/// Event `accepted` of a QUIC server.
pub struct Accepted<'a> {
    /// Number of the connection.
    pub connection: u32,
    /// Name of the congestion controller.
    pub cca: &'a str,
    /// Congestion window before the first data, bytes.
    pub initial_window_bytes: u64,
    /// Largest payload of a datagram, bytes.
    pub mtu: u16,
}

impl Report for Accepted<'_> {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "accepted")?
            .field("connection", &self.connection)?
            .field("cca", self.cca)?
            .field("initial_window_bytes", &self.initial_window_bytes)?
            .field("mtu", &self.mtu)
            .map(drop)
    }
}

/// Event `connected` of a QUIC client.
pub struct Connected {
    /// Number of the connection.
    pub connection: u32,
    /// Window for the data of the connection (flow control), bytes.
    pub receive_window_bytes: u32,
    /// Largest payload of a datagram that the client sends, bytes.
    pub mtu: u16,
}

impl Report for Connected {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "connected")?
            .field("connection", &self.connection)?
            .field("receive_window_bytes", &self.receive_window_bytes)?
            .field("mtu", &self.mtu)
            .map(drop)
    }
}

/// Event `stopped` of a QUIC server.
pub struct Stopped {
    /// Number of the connection.
    pub connection: u32,
}

impl Report for Stopped {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        // quinn does not say how much of a stream has been acknowledged.
        line.field("event", "stopped")?
            .field("connection", &self.connection)?
            .field("bytes", &None::<u64>)
            .map(drop)
    }
}

/// Event `logged` of a QUIC server: its file of packets is whole.
pub struct Logged<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// How many records it has.
    pub records: u64,
}

impl Report for Logged<'_> {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "logged")?
            .field("file", self.file)?
            .field("records", &self.records)
            .map(drop)
    }
}

/// Event `traced` of a QUIC server: its qlog file is whole.
pub struct Traced<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// Its length, bytes.
    pub bytes: u64,
}

impl Report for Traced<'_> {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "traced")?
            .field("file", self.file)?
            .field("bytes", &self.bytes)
            .map(drop)
    }
}

/// Event `sample` of a QUIC server: the state of a connection.
pub struct Sample {
    connection: u32,
    stats: ConnectionStats,
    rtt: Duration,
    cwnd_bytes: u64,
    ssthresh_bytes: Option<u64>,
    seen: Option<Seen>,
}

impl Sample {
    /// Reads a connection.
    #[must_use]
    pub fn of(number: u32, connection: &Connection) -> Self {
        let (stats, rtt) = (connection.stats(), connection.rtt());
        Sample::from(number, &stats, rtt, connection.congestion_state())
    }

    /// From what a connection says of itself.
    #[must_use]
    pub fn from(
        number: u32,
        stats: &ConnectionStats,
        rtt: Duration,
        controller: &dyn Controller,
    ) -> Self {
        let metrics = controller.metrics();
        Sample {
            connection: number,
            stats: *stats,
            rtt,
            cwnd_bytes: metrics.congestion_window,
            ssthresh_bytes: metrics.ssthresh.filter(|bytes| *bytes != u64::MAX),
            seen: observed::seen(controller),
        }
    }

    /// What the pacer allows, bit/s; null while it has no round trip to divide by.
    fn pacing_bps(&self) -> Option<u64> {
        let bits = u128::from(self.cwnd_bytes) * 8 * u128::from(PACING_GAIN.0);
        let ns = self.rtt.as_nanos() * u128::from(PACING_GAIN.1);
        bits.checked_mul(1_000_000_000)?.checked_div(ns).and_then(|bps| u64::try_from(bps).ok())
    }
}

impl Report for Sample {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        let path = &self.stats.path;
        let microseconds = |duration: Duration| duration.as_micros() as u64;
        line.field("event", "sample")?
            .field("connection", &self.connection)?
            .field("cwnd_bytes", &self.cwnd_bytes)?
            .field("ssthresh_bytes", &self.ssthresh_bytes)?
            .field("rtt_us", &microseconds(self.rtt))?
            .field("min_rtt_us", &microseconds(path.min_rtt))?
            .field("mtu", &path.current_mtu)?
            .field("in_flight_bytes", &self.seen.map(|seen| seen.in_flight_bytes))?
            .field("bytes_sent", &self.stats.udp_tx.bytes)?
            .field("packets_sent", &path.sent_packets)?
            .field("packets_lost", &path.lost_packets)?
            .field("bytes_lost", &path.lost_bytes)?
            .field("congestion_events", &path.congestion_events)?
            .field("pacing_bps", &self.pacing_bps())?
            .field("flow_limited_us", &None::<u64>)?
            .field("app_limited", &self.seen.and_then(|seen| seen.app_limited))?
            .field("app_limited_us", &self.seen.map(|seen| microseconds(seen.app_limited_time)))
            .map(drop)
    }
}

/// Name and version of the QUIC stack, as the build locked it.
#[must_use]
pub fn stack() -> String {
    const NAME: &str = "quinn-proto";
    let lock = include_str!("../../Cargo.lock");
    let after = lock.split_once(&format!("name = \"{NAME}\"\nversion = \"")).map(|(_, rest)| rest);
    let version = after.and_then(|rest| rest.split('"').next()).unwrap_or("unknown");
    format!("{NAME} {version}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_stack_has_a_version() {
        let stack = super::stack();
        assert!(stack.starts_with("quinn-proto 0."), "{stack}");
    }
}
