//! What a role is asked to do: one JSON object.

pub mod network;
pub mod udp;

pub use crate::json::{read, Description};

use crate::json::{described, or_null, text, whole, whole_or_null};
use crate::network::ip::mac;
use crate::options::TransportOptions;
use crate::request::MAX_CONNECTIONS;
use crate::tcp::fetch::Dial;
use crate::workload::{Workload, MAX_BUFFER, MAX_RATE_BPS};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddrV4};

pub(crate) use crate::workload::SHORTEST_PERIOD;

/// The largest frame of any link that is emulated, bytes.
const MAX_SNAPLEN: i64 = 9_216;
/// More than the kernel would find memory for.
const MAX_RING: i64 = 1 << 20;

/// Reads an Ethernet address.
///
/// # Errors
/// What is no such address.
pub fn mac_address<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 6], D::Error> {
    let word = text(from)?;
    mac(&word).map_err(|_| D::Error::custom(format!("is `{word}`, not an Ethernet address")))
}

/// Of role `tcp-server`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TcpServer {
    /// Name of the flow, for people who look at a process list.
    #[serde(rename = "flow", deserialize_with = "text")]
    _flow: String,
    /// Address to listen on.
    pub address: Ipv4Addr,
    /// Port to listen on.
    #[serde(deserialize_with = "whole::<_, _, 1, 65_535>")]
    pub port: u16,
    /// Congestion control algorithm, by the kernel's name.
    #[serde(deserialize_with = "kernel_cca")]
    pub cca: String,
    /// How many connections will come; the server ends after the last.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_CONNECTIONS as i64 }>")]
    pub connections: u32,
    /// Send buffer of each connection, bytes of payload; None: it limits nothing. A video brings
    /// its own.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_BUFFER>")]
    pub buffer_bytes: Option<u32>,
    /// What each connection moves; how much the client's request says.
    #[serde(deserialize_with = "described")]
    pub workload: Workload,
    /// Limit of the sending rate, bit/s of IP.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_RATE_BPS>")]
    pub rate_bps: Option<u64>,
    /// How TCP is to work.
    pub options: TransportOptions,
    /// Time between samples of `TCP_INFO`, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub sample_every_ns: i64,
    /// Not waited for: clients come when they start.
    starts_ns: Vec<i64>,
    /// Over MPTCP: the addresses of server and client of each path; empty: over TCP.
    #[serde(default)]
    pub subflows: Vec<(Ipv4Addr, Ipv4Addr)>,
}

/// Of role `tcp-client`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TcpClient {
    /// Name of the flow, for people who look at a process list.
    #[serde(rename = "flow", deserialize_with = "text")]
    _flow: String,
    /// How many connections it opens.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_CONNECTIONS as i64 }>")]
    connections: u32,
    /// The server's address.
    pub address: Ipv4Addr,
    /// The server's port.
    #[serde(deserialize_with = "whole::<_, _, 1, 65_535>")]
    pub port: u16,
    /// Receive buffer of each connection, bytes of payload; None: it limits nothing.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_BUFFER>")]
    pub buffer_bytes: Option<u32>,
    /// What each connection moves; with `requests`, each is a stream of them.
    #[serde(deserialize_with = "described")]
    pub workload: Workload,
    /// How TCP is to work.
    pub options: TransportOptions,
    /// When to open each connection, ns after the epoch.
    pub starts_ns: Vec<i64>,
    /// When to stop, ns after the epoch; None: when the work is done.
    #[serde(deserialize_with = "or_null")]
    pub stop_ns: Option<i64>,
    /// Time between `progress` events, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub progress_every_ns: i64,
    /// Over MPTCP, from this address first; None: over TCP.
    #[serde(default)]
    pub mptcp_from: Option<Ipv4Addr>,
}

/// Of role `monitor`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Monitor {
    /// Time between lines, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub every_ns: i64,
}

/// Of role `qdiscs`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Qdiscs {
    /// Lines as of `tc -batch`.
    pub lines: Vec<String>,
}

/// Of role `capture`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The interface whose packets are wanted.
    #[serde(deserialize_with = "text")]
    pub interface: String,
    /// Which of them.
    pub direction: Direction,
    /// Where they are written; relative to the working directory.
    #[serde(deserialize_with = "text")]
    pub file: String,
    /// What is kept of them.
    pub form: Form,
    /// How much of each packet is kept, bytes.
    #[serde(deserialize_with = "whole::<_, _, 1, MAX_SNAPLEN>")]
    pub snaplen: u32,
    /// How many packets can wait between two readings.
    #[serde(deserialize_with = "whole::<_, _, 1, MAX_RING>")]
    pub ring_packets: u32,
    /// Time between two readings, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub every_ns: i64,
}

/// What a capture keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A pcap file.
    Pcap,
    /// A file of `headers`.
    Headers,
}

/// Which way a packet passes an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// It comes from outside.
    In,
    /// This machine sends it.
    Out,
    /// Either.
    Both,
}

impl TcpClient {
    /// How its connections are opened.
    #[must_use]
    pub fn dial(&self) -> Dial {
        Dial {
            address: SocketAddrV4::new(self.address, self.port),
            buffer_bytes: self.buffer_bytes,
            window_bytes: self.options.receive_window_bytes,
            fast_open: self.options.fast_open,
            mptcp_from: self.mptcp_from,
        }
    }
}

impl Description for TcpServer {
    fn check(&self) -> Result<(), String> {
        every_connection_starts(self.connections, &self.starts_ns)
    }
}

impl Description for TcpClient {
    fn check(&self) -> Result<(), String> {
        every_connection_starts(self.connections, &self.starts_ns)?;
        stops_after_starts(self.stop_ns, &self.starts_ns)
    }
}

impl Description for Qdiscs {}
impl Description for Monitor {}
impl Description for Capture {}

pub(crate) fn every_connection_starts(connections: u32, starts_ns: &[i64]) -> Result<(), String> {
    if starts_ns.len() != connections as usize {
        let entries = starts_ns.len();
        return Err(format!("`starts_ns` has {entries} entries for {connections} connections"));
    }
    Ok(())
}

pub(crate) fn stops_after_starts(stop_ns: Option<i64>, starts_ns: &[i64]) -> Result<(), String> {
    match (stop_ns, starts_ns.iter().min()) {
        (Some(stop), Some(first)) if stop <= *first => {
            Err(format!("`stop_ns` {stop} is not after the first of `starts_ns`, {first}"))
        }
        _ => Ok(()),
    }
}

/// Reads the name of a congestion control of the kernel.
pub(crate) fn kernel_cca<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = text(from)?;
    // TCP_CA_NAME_MAX of the kernel is 16 with the closing zero.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.len() > 15 || !name.bytes().all(plain) {
        return Err(D::Error::custom(format!("is `{name}`, not a name of a congestion control")));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: &str = r#"{"flow": "a", "address": "10.0.0.1", "port": 5001, "connections": 2,
        "buffer_bytes": 65536, "workload": WORKLOAD, "options": {"initial_window_packets": 10,
        "receive_window_bytes": null, "ecn": false, "sack": true, "pacing": false,
        "fast_open": false, "idle_restart": null}, "starts_ns": STARTS, "stop_ns": STOP, "progress_every_ns": 100000000}"#;

    fn client(workload: &str, stop: &str) -> Result<TcpClient, String> {
        starting(workload, "[-5, 20]", stop)
    }

    fn starting(workload: &str, starts: &str, stop: &str) -> Result<TcpClient, String> {
        let text = CLIENT.replace("WORKLOAD", workload).replace("STARTS", starts);
        read(&text.replace("STOP", stop))
    }

    #[test]
    fn workloads_are_told_apart_by_kind() {
        let file = client(r#"{"kind": "file", "bytes": 7}"#, "null").unwrap();
        assert_eq!(file.workload, Workload::File { bytes: 7 });
        let bulk = client(r#"{"kind": "bulk"}"#, "9").unwrap();
        assert_eq!((bulk.workload, bulk.stop_ns), (Workload::Bulk {}, Some(9)));
    }

    #[test]
    fn wrong_workloads_are_refused() {
        for (workload, word) in [
            (r#"{"kind": "film"}"#, "film"),
            (r#"{"kind": "bulk", "bytes": 7}"#, "bytes"),
            (r#"{"kind": "file"}"#, "bytes"),
            (r#"{"kind": "file", "bytes": -1}"#, "-1"),
            (r#"{"kind": "file", "bytes": 1.5}"#, "1.5"),
            (r#"{"kind": "file", "bytes": 18446744073709551615}"#, "18446744073709551615"),
            (r#""bulk""#, "workload"),
        ] {
            let message = client(workload, "null").unwrap_err();
            assert!(message.contains(word), "{}", message);
        }
    }

    #[test]
    fn captures_name_a_direction_and_a_size() {
        let good = r#"{"interface": "eth0", "direction": "out", "file": "a.pcap", "form": "pcap", "snaplen": 96,
            "ring_packets": 1000, "every_ns": 100000000}"#;
        assert_eq!(read::<Capture>(good).unwrap().direction, Direction::Out);
        for (from, to, word) in [
            (r#""out""#, r#""up""#, "`direction`: unknown variant `up`"),
            (r#""pcap""#, r#""text""#, "`form`: unknown variant `text`"),
            (r#""eth0""#, r#""""#, "interface"),
            ("96", "0", "snaplen"),
            ("1000,", "0,", "ring_packets"),
        ] {
            let message = read::<Capture>(&good.replace(from, to)).unwrap_err();
            assert!(message.contains(word), "{}", message);
        }
    }

    #[test]
    fn every_connection_has_a_start() {
        let client = starting(r#"{"kind": "bulk"}"#, "[3, -4]", "null").unwrap();
        assert_eq!(client.starts_ns, [3, -4]);
        for (starts, words) in [
            ("[3]", "`starts_ns` has 1 entries for 2 connections"),
            ("[3, 4, 5]", "3 entries"),
            ("3", "`starts_ns`: invalid type"),
            ("[3, 4.5]", "`starts_ns[1]`: invalid type"),
        ] {
            let message = starting(r#"{"kind": "bulk"}"#, starts, "null").unwrap_err();
            assert!(message.contains(words), "{}", message);
        }
    }

    #[test]
    fn a_stop_before_the_first_start_is_refused() {
        assert!(client(r#"{"kind": "bulk"}"#, "-5").unwrap_err().contains("`stop_ns` -5"));
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let good = r#"{"flow": "a", "address": "10.0.0.1", "port": 1, "cca": "cubic",
            "connections": 1, "buffer_bytes": 1, "workload": {"kind": "bulk"}, "rate_bps": null,
            "options": {"initial_window_packets": 10, "receive_window_bytes": null, "ecn": false,
            "sack": true, "pacing": false, "fast_open": false, "idle_restart": null}, "starts_ns": [0],
            "sample_every_ns": 100000}"#;
        read::<TcpServer>(good).unwrap();
        for (from, to, word) in [
            (r#""flow": "a""#, r#""flow": """#, "flow"),
            (r#""10.0.0.1""#, r#""server.example""#, "IPv4"),
            (r#""port": 1"#, r#""port": 0"#, "port"),
            (r#""port": 1"#, r#""port": 65536"#, "65536"),
            (r#""cubic""#, r#""cu bic""#, "cca"),
            (r#""cubic""#, r#""a-name-that-is-too-long""#, "cca"),
            (r#""connections": 1"#, r#""connections": 0"#, "connections"),
            (r#""buffer_bytes": 1"#, r#""buffer_bytes": 2000000000"#, "buffer_bytes"),
            ("100000", "99999", "sample_every_ns"),
            (r#""flow""#, r#""colour": 1, "flow""#, "colour"),
            (r#""port": 1,"#, "", "port"),
            (r#""rate_bps": null"#, r#""rate_bps": 0"#, "`rate_bps` is 0"),
            (r#""rate_bps": null,"#, "", "`rate_bps` is missing"),
            (r#""ecn": false"#, r#""ecn": 0"#, "`options.ecn`: invalid type: integer `0`"),
            (r#""bulk""#, r#""film""#, "`workload.kind`: unknown variant `film`"),
            ("[0]", "[]", "0 entries for 1 connections"),
        ] {
            let message = read::<TcpServer>(&good.replace(from, to)).unwrap_err();
            assert!(message.contains(word), "{}", message);
        }
    }
}
