//! What the UDP roles are asked to do.

use super::{every_connection_starts, stops_after_starts, Description, SHORTEST_PERIOD};
use crate::json::{described, or_null, whole, whole_or_null};
use crate::options::TransportOptions;
use crate::packet_times::PacketTimes;
use crate::quic::description::file_name;
use crate::request::MAX_CONNECTIONS;
use crate::udp::datagram::UDP_IP_BYTES;
use crate::workload::{OnOff, Ping, Workload, LARGEST_PACKET, LEAST_PACKET, MAX_RATE_BPS};
use serde::Deserialize;
use std::net::Ipv4Addr;

/// What a UDP connection sends, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    times: Times,
    /// Size of a datagram with its IP header, bytes.
    pub packet_bytes: u32,
    /// Bytes of payload in all; None: until the flow is stopped.
    pub bytes: Option<u64>,
    /// Whether the client sends back what arrives.
    pub echoes: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Times {
    /// `gaps_seed`: that of the gaps between datagrams; None: all are equal.
    Constant {
        rate_bps: u64,
        gaps_seed: Option<u64>,
    },
    OnOff(OnOff),
    Every {
        every_ns: i64,
    },
}

impl Pattern {
    /// What a workload is over UDP. `packet_bytes` and `gaps_seed` are not those of `onoff` and
    /// `ping`, which have their own.
    fn new(
        workload: &Workload,
        rate_bps: Option<u64>,
        packet_bytes: Option<u32>,
        gaps_seed: Option<u64>,
    ) -> Result<Self, String> {
        let bytes = match workload {
            Workload::File { bytes } => Some(*bytes),
            Workload::Bulk {} => None,
            Workload::OnOff(_) | Workload::Ping(_)
                if packet_bytes.is_some() || gaps_seed.is_some() =>
            {
                return Err(
                    "unknown field `packet_bytes` or `gaps_seed`: the workload has its own".into(),
                );
            }
            Workload::Ping(Ping { every_ns, packet_bytes }) => {
                let times = Times::Every { every_ns: *every_ns };
                return Ok(Pattern {
                    times,
                    packet_bytes: *packet_bytes,
                    bytes: None,
                    echoes: true,
                });
            }
            Workload::OnOff(onoff) => {
                let mut onoff = onoff.clone();
                onoff.rate_bps = rate_bps.unwrap_or(u64::MAX).min(onoff.rate_bps);
                let packet_bytes = onoff.packet_bytes;
                let times = Times::OnOff(onoff);
                return Ok(Pattern { times, packet_bytes, bytes: None, echoes: false });
            }
            _ => {
                let needed =
                    "`workload.kind` is not `file`, `bulk`, `onoff` or `ping`, which UDP can carry";
                return Err(needed.into());
            }
        };
        let rate_bps =
            rate_bps.ok_or("`rate_bps` is null: `file` and `bulk` over UDP need a rate")?;
        let packet_bytes = packet_bytes.ok_or("`packet_bytes` is missing")?;
        let times = Times::Constant { rate_bps, gaps_seed };
        Ok(Pattern { times, packet_bytes, bytes, echoes: false })
    }

    /// Payload of a full datagram, bytes.
    #[must_use]
    pub fn payload_bytes(&self) -> u64 {
        u64::from(self.packet_bytes - UDP_IP_BYTES)
    }

    /// Datagrams in all; None: until the flow is stopped. A file of nothing is one empty datagram.
    #[must_use]
    pub fn packets(&self) -> Option<u64> {
        self.bytes.map(|bytes| bytes.div_ceil(self.payload_bytes()).max(1))
    }

    /// Of datagram `number`, the bytes that count: in the last of a file less than fit.
    #[must_use]
    pub fn useful_bytes(&self, number: u64) -> u64 {
        let before = number.saturating_mul(self.payload_bytes());
        let left = self.bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(before));
        left.min(self.payload_bytes())
    }

    /// When a connection's datagrams are sent, after its start.
    #[must_use]
    pub fn times_of(&self, connection: u32) -> PacketTimes {
        match &self.times {
            Times::Constant { rate_bps, gaps_seed } => {
                let times = PacketTimes::constant(*rate_bps, self.packet_bytes);
                match gaps_seed {
                    None => times,
                    Some(seed) => times.vary_gaps(*seed, connection),
                }
            }
            Times::OnOff(onoff) => PacketTimes::on_off(onoff, connection),
            Times::Every { every_ns } => PacketTimes::every(*every_ns),
        }
    }

    /// What tells when a connection's last datagram is sent; None: it ends when the flow is
    /// stopped.
    #[must_use]
    pub fn last_of(&self, connection: u32) -> Option<Last> {
        Some(Last { times: self.times_of(connection), to_come: self.packets()? - 1 })
    }
}

/// Tells when the last datagram of a connection is sent.
#[derive(Debug)]
pub struct Last {
    times: PacketTimes,
    /// Datagrams after the one that `times` is at.
    to_come: u64,
}

impl Last {
    /// When the last one was sent, ns after the start, if it was by `now_ns`, which never
    /// decreases.
    pub fn sent_ns(&mut self, now_ns: i64) -> Option<i64> {
        while self.to_come > 0 && self.times.next_ns() <= now_ns {
            self.times.advance();
            self.to_come -= 1;
        }
        Some(self.times.next_ns()).filter(|last_ns| self.to_come == 0 && *last_ns <= now_ns)
    }
}

/// Of the roles `udp-server` and `udp-client`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Udp {
    /// Name of the flow: also of the file that the client leaves.
    #[serde(deserialize_with = "file_name")]
    pub flow: String,
    /// The server's address.
    pub address: Ipv4Addr,
    /// The server's port; connection k goes to the port k above it.
    #[serde(deserialize_with = "whole::<_, _, 1, 65_535>")]
    pub port: u16,
    /// The client's address.
    pub peer: Ipv4Addr,
    /// How many connections there are.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_CONNECTIONS as i64 }>")]
    connections: u32,
    /// What each connection moves.
    #[serde(deserialize_with = "described")]
    workload: Workload,
    /// Limit of the rate of each connection, bit/s of IP; null: none.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_RATE_BPS>")]
    rate_bps: Option<u64>,
    /// Of the workload for `onoff` and `ping`.
    #[serde(default, deserialize_with = "whole_or_null::<_, _, LEAST_PACKET, LARGEST_PACKET>")]
    packet_bytes: Option<u32>,
    /// Of the gaps between datagrams, at both ends; null: they do not vary.
    #[serde(default, deserialize_with = "whole_or_null::<_, _, 0, { i64::MAX }>")]
    gaps_seed: Option<u64>,
    /// Options of the transport: of no use here.
    #[serde(rename = "options")]
    _options: TransportOptions,
    /// When each connection starts, ns after the epoch.
    pub starts_ns: Vec<i64>,
    /// When to stop, ns after the epoch; None: when the work is done.
    #[serde(deserialize_with = "or_null")]
    pub stop_ns: Option<i64>,
    /// Of a client alone: time between `progress` events, ns.
    #[serde(default, deserialize_with = "whole_or_null::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    progress_every_ns: Option<i64>,
    /// Of a client alone: longest time between two reads of its sockets, ns; their memory holds what
    /// comes until then.
    #[serde(default, deserialize_with = "whole_or_null::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    poll_every_ns: Option<i64>,
}

impl Description for Udp {
    fn check(&self) -> Result<(), String> {
        has_ports(self.port, self.connections)?;
        self.pattern()?;
        every_connection_starts(self.connections, &self.starts_ns)?;
        stops_after_starts(self.stop_ns, &self.starts_ns)
    }
}

impl Udp {
    /// What each connection sends.
    ///
    /// # Errors
    /// A message that says what UDP cannot carry.
    pub fn pattern(&self) -> Result<Pattern, String> {
        Pattern::new(&self.workload, self.rate_bps, self.packet_bytes, self.gaps_seed)
    }

    /// A client's time between `progress` events, ns.
    ///
    /// # Errors
    /// A message, if it is missing.
    pub fn progress_every_ns(&self) -> Result<i64, String> {
        self.progress_every_ns.ok_or("bad description: `progress_every_ns` is missing".into())
    }

    /// A client's longest time between two looks at its sockets, ns: what comes in it has to fit
    /// into their memory.
    ///
    /// # Errors
    /// A message, if it is missing.
    pub fn poll_every_ns(&self) -> Result<i64, String> {
        self.poll_every_ns.ok_or("bad description: `poll_every_ns` is missing".into())
    }

    /// Whether this is a server's.
    ///
    /// # Errors
    /// A message that names a client's field.
    pub fn is_server(&self) -> Result<(), String> {
        match (self.progress_every_ns, self.poll_every_ns) {
            (Some(_), _) => Err("bad description: unknown field `progress_every_ns`".into()),
            (_, Some(_)) => Err("bad description: unknown field `poll_every_ns`".into()),
            _ => Ok(()),
        }
    }
}

/// Whether every connection has a port: that of connection 0, and those above it.
fn has_ports(port: u16, connections: u32) -> Result<(), String> {
    if u32::from(port) + connections > 65_536 {
        return Err(format!("`port` {port} leaves too few ports for {connections} connections"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::read;

    const SERVER: &str = r#"{"flow": "u", "address": "10.0.0.1", "port": 5001, "peer": "10.0.0.2",
        "connections": 2, "workload": {"kind": "file", "bytes": 3000}, "rate_bps": 12000000,
        "packet_bytes": 1500, "options": {"initial_window_packets": 10, "receive_window_bytes": null, "ecn": false,
        "sack": true, "pacing": false, "fast_open": false, "idle_restart": null}, "starts_ns": [0, 5], "stop_ns": null}"#;

    #[test]
    fn a_file_is_cut_into_datagrams_at_a_rate() {
        let pattern = read::<Udp>(SERVER).unwrap().pattern().unwrap();
        assert_eq!((pattern.payload_bytes(), pattern.packets()), (1_472, Some(3)));
        assert_eq!([0, 1, 2, 3].map(|n| pattern.useful_bytes(n)), [1_472, 1_472, 56, 0]);
        // A packet takes 1 ms.
        let mut last = pattern.last_of(0).unwrap();
        assert_eq!(
            [0, 1_999_999, 2_000_000, 9_000_000].map(|ns| last.sent_ns(ns)),
            [None, None, Some(2_000_000), Some(2_000_000)]
        );
        let empty = read::<Udp>(&SERVER.replace("3000", "0")).unwrap().pattern().unwrap();
        assert_eq!((empty.packets(), empty.useful_bytes(0)), (Some(1), 0));
        let small = read::<Udp>(&SERVER.replace("1500", "1028")).unwrap().pattern().unwrap();
        assert_eq!((small.payload_bytes(), small.useful_bytes(2)), (1_000, 1_000));
    }

    #[test]
    fn a_rate_limits_a_source_and_bulk_has_no_end() {
        let onoff = r#"{"kind": "onoff", "rate_bps": 24000000, "packet_bytes": 750, "seed": 1,
            "on": {"kind": "constant", "parameters": {"value": 9}},
            "off": {"kind": "constant", "parameters": {"value": 9}}}"#;
        let text = SERVER
            .replace(r#"{"kind": "file", "bytes": 3000}"#, onoff)
            .replace(r#""packet_bytes": 1500, "#, "");
        let second_ns = |text: &str| {
            let mut times = read::<Udp>(text).unwrap().pattern().unwrap().times_of(0);
            times.advance();
            times.next_ns()
        };
        assert_eq!(second_ns(&text), 500_000);
        assert_eq!(second_ns(&text.replace("12000000,", "null,")), 250_000);
        let bulk = SERVER.replace(r#""file", "bytes": 3000"#, r#""bulk""#);
        let pattern = read::<Udp>(&bulk).unwrap().pattern().unwrap();
        assert!(pattern.packets().is_none() && pattern.last_of(0).is_none());
    }

    #[test]
    fn a_seed_makes_gaps_vary_the_same_at_both_ends() {
        let text = SERVER.replace(r#""packet_bytes""#, r#""gaps_seed": 5, "packet_bytes""#);
        let pattern = read::<Udp>(&text).unwrap().pattern().unwrap();
        let mut times = pattern.times_of(1);
        times.advance();
        assert!((500_000..=1_500_000).contains(&times.next_ns()) && times.next_ns() != 1_000_000);
        times.advance();
        let last_ns = times.next_ns();
        let mut last = pattern.last_of(1).unwrap();
        assert_eq!((last.sent_ns(last_ns - 1), last.sent_ns(last_ns)), (None, Some(last_ns)));
        let message = read::<Udp>(&text.replace(": 5,", ": -5,")).unwrap_err();
        assert!(message.contains("`gaps_seed` is -5"), "{message}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (from, to, words) in [
            ("12000000", "null", "`rate_bps` is null"),
            ("12000000", "0", "`rate_bps` is 0"),
            ("1500", "63", "`packet_bytes` is 63"),
            (r#""packet_bytes": 1500, "#, "", "`packet_bytes`"),
            (r#""file", "bytes": 3000"#, r#""film""#, "`workload.kind`: unknown variant `film`"),
            ("10.0.0.2", "there", "`peer`: invalid"),
            ("[0, 5]", "[0]", "1 entries for 2 connections"),
            ("5001", "65535", "`port` 65535 leaves too few ports"),
            ("\"stop_ns\": null", "\"stop_ns\": 0", "`stop_ns` 0"),
            (r#""flow""#, r#""cca": "cubic", "flow""#, "unknown field `cca`"),
        ] {
            let message = read::<Udp>(&SERVER.replace(from, to)).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
        let video = r#"{"kind": "video", "bitrate_bps": 1, "length_ns": 1, "burst_ns": 1,
            "chunk_bytes": 1, "factor": 1, "play_ns": 2, "stall_ns": 1, "send_buffer_bytes": 1}"#;
        let text = SERVER.replace(r#"{"kind": "file", "bytes": 3000}"#, video);
        assert!(read::<Udp>(&text).unwrap_err().contains("which UDP can carry"));
    }
}
