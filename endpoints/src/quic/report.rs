//! What the QUIC roles report beside the events that they share with TCP's.

use crate::congestion::Model;
use crate::quic::description::Cca;
use crate::quic::observed;
use quinn_proto::congestion::Controller;
use quinn_proto::{Connection, ConnectionStats};
use serde::Serialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// The pacer sends at this much more than a window per smoothed round trip (quinn-proto, `Pacer`;
/// RFC 9002, section 7.7): 5/4.
const PACING_GAIN: (u64, u64) = (5, 4);

/// One line of a QUIC role.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum QuicEvent<'a> {
    /// Server: connections can come.
    Listening {
        /// The congestion controller.
        #[serde(flatten)]
        controller: ControllerInForce<'a>,
        /// Limit of the sending rate of a connection, bit/s of IP packets.
        rate_bps: Option<u64>,
    },
    /// Server: a connection was accepted.
    Accepted {
        /// Number of the connection.
        connection: u32,
        /// Name of the congestion controller.
        cca: &'a str,
        /// Congestion window before the first data, bytes.
        initial_window_bytes: u64,
        /// Largest payload of a datagram, bytes.
        mtu: u16,
    },
    /// Client: a connection is established.
    Connected {
        /// Number of the connection.
        connection: u32,
        /// Window for the data of the connection (flow control), bytes; null: nothing limits it.
        receive_window_bytes: Option<u32>,
        /// Largest payload of a datagram that the client sends, bytes.
        mtu: u16,
    },
    /// Server: the state of a connection.
    Sample(Sample),
    /// Server: its file of packets is whole.
    Logged {
        /// Name of the file.
        file: &'a str,
        /// How many records it has.
        records: u64,
    },
    /// Server: its qlog file is whole.
    Traced {
        /// Name of the file.
        file: &'a str,
        /// Its length, bytes.
        bytes: u64,
    },
}

/// The congestion control of a QUIC server.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ControllerInForce<'a> {
    /// Name of the congestion controller.
    pub cca: &'a str,
    /// Its parameters.
    pub parameters: &'a Map<String, Value>,
    /// Name and version of the QUIC stack.
    pub stack: String,
    /// Whether packets are marked as able of ECN.
    pub ecn: bool,
    /// Whether packets are paced: they always are.
    pub pacing: bool,
    /// Congestion window of a new connection on a link with an MTU of 1500 bytes, bytes.
    pub initial_window_bytes: u64,
    /// Send buffer of a connection, bytes; null: it limits nothing.
    pub send_buffer_bytes: Option<u32>,
}

impl<'a> ControllerInForce<'a> {
    /// That of a description.
    #[must_use]
    pub fn new(cca: &'a Cca, ecn: bool, send_buffer_bytes: Option<u32>) -> Self {
        ControllerInForce {
            cca: &cca.name,
            parameters: &cca.parameters,
            stack: stack(),
            ecn,
            pacing: true,
            initial_window_bytes: cca.initial_window_bytes(),
            send_buffer_bytes,
        }
    }
}

/// The state of a connection.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sample {
    /// Number of the connection.
    connection: u32,
    /// Congestion window.
    cwnd_bytes: u64,
    /// Slow-start threshold; null before the first reduction.
    ssthresh_bytes: Option<u64>,
    /// Smoothed round-trip time.
    rtt_us: u64,
    /// Smallest round-trip time.
    min_rtt_us: u64,
    /// Largest payload of a datagram, bytes.
    mtu: u16,
    /// Bytes in flight.
    in_flight_bytes: Option<u64>,
    /// Payload of datagrams that were sent.
    bytes_sent: u64,
    /// Packets that were sent.
    packets_sent: u64,
    /// Packets that were declared lost.
    packets_lost: u64,
    /// Bytes that were declared lost.
    bytes_lost: u64,
    /// Congestion events.
    congestion_events: u64,
    /// Pacing rate.
    pacing_bps: Option<u64>,
    /// Time for which flow control has limited it: null, quinn does not say.
    flow_limited_us: Option<u64>,
    /// Whether the application limits it.
    app_limited: Option<bool>,
    /// Time for which the application has limited it.
    app_limited_us: Option<u64>,
    /// Of controllers that say what they think of the path.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    model: Option<Model>,
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
        let seen = observed::seen(controller);
        let microseconds = |duration: Duration| duration.as_micros() as u64;
        Sample {
            connection: number,
            cwnd_bytes: metrics.congestion_window,
            ssthresh_bytes: metrics.ssthresh.filter(|bytes| *bytes != u64::MAX),
            rtt_us: microseconds(rtt),
            min_rtt_us: microseconds(stats.path.min_rtt),
            mtu: stats.path.current_mtu,
            in_flight_bytes: seen.map(|seen| seen.in_flight_bytes),
            bytes_sent: stats.udp_tx.bytes,
            packets_sent: stats.path.sent_packets,
            packets_lost: stats.path.lost_packets,
            bytes_lost: stats.path.lost_bytes,
            congestion_events: stats.path.congestion_events,
            pacing_bps: seen
                .and_then(|seen| seen.model?.pacing_bps)
                .or_else(|| pacing_bps(metrics.congestion_window, rtt)),
            flow_limited_us: None,
            app_limited: seen.and_then(|seen| seen.app_limited),
            app_limited_us: seen.map(|seen| microseconds(seen.app_limited_time)),
            model: seen.and_then(|seen| seen.model),
        }
    }
}

/// What the pacer allows, bit/s; None while it has no round trip to divide by.
fn pacing_bps(cwnd_bytes: u64, rtt: Duration) -> Option<u64> {
    let bits = u128::from(cwnd_bytes) * 8 * u128::from(PACING_GAIN.0);
    let ns = rtt.as_nanos() * u128::from(PACING_GAIN.1);
    bits.checked_mul(1_000_000_000)?.checked_div(ns).and_then(|bps| u64::try_from(bps).ok())
}

const STACK: &str = "quinn-proto";
/// Its version in Cargo.lock; the program holds these bytes, and not the file.
const VERSION: [u8; LOCKED.len()] = {
    let (mut bytes, mut at) = ([0; LOCKED.len()], 0);
    while at < bytes.len() {
        bytes[at] = LOCKED[at];
        at += 1;
    }
    bytes
};
const LOCKED: &[u8] =
    quoted_behind(include_bytes!("../../Cargo.lock"), b"name = \"quinn-proto\"\nversion = \"");

/// What stands behind a text, up to the next quote.
const fn quoted_behind<'a>(text: &'a [u8], before: &[u8]) -> &'a [u8] {
    let mut at = 0;
    loop {
        let mut same = 0;
        while same < before.len() && text[at + same] == before[same] {
            same += 1;
        }
        if same == before.len() {
            break;
        }
        at += 1;
    }
    let (_, rest) = text.split_at(at + before.len());
    let mut end = 0;
    while rest[end] != b'"' {
        end += 1;
    }
    rest.split_at(end).0
}

/// Name and version of the QUIC stack, as the build locked it.
#[must_use]
pub fn stack() -> String {
    format!("{STACK} {}", String::from_utf8_lossy(&VERSION))
}

#[cfg(test)]
mod tests {
    use super::{pacing_bps, Duration};

    #[test]
    fn the_pacer_allows_five_quarters_of_a_window_in_a_round_trip() {
        assert_eq!(pacing_bps(100_000, Duration::from_millis(50)), Some(20_000_000));
        assert_eq!(pacing_bps(100_000, Duration::ZERO), None);
        assert_eq!(pacing_bps(u64::MAX, Duration::from_nanos(1)), None);
    }

    #[test]
    fn the_stack_has_a_version() {
        let stack = super::stack();
        assert!(stack.starts_with("quinn-proto 0."), "{stack}");
    }
}
