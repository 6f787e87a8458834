//! What the roles `web-server` and `web-client` are asked to do.

use crate::description::{
    every_connection_starts, kernel_cca, stops_after_starts, Description, SHORTEST_PERIOD,
};
use crate::json::{described, or_null, text, whole, whole_or_null};
use crate::options::TransportOptions;
use crate::quic::description::{file_name, Cca, Controller};
use crate::web::page::Page;
use crate::workload::MAX_BUFFER;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::net::Ipv4Addr;

/// Of role `web-server`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WebServer {
    /// Name of the flow: also of the files that the server leaves.
    #[serde(deserialize_with = "file_name")]
    pub flow: String,
    /// Address to listen on.
    pub address: Ipv4Addr,
    /// Port to listen on, of TCP and UDP.
    #[serde(deserialize_with = "whole::<_, _, 1, 65_535>")]
    pub port: u16,
    /// The page, and how it is loaded.
    #[serde(deserialize_with = "described")]
    pub workload: Loads,
    /// Options of the transports.
    pub options: TransportOptions,
    /// Send buffer of each connection, bytes; None: it limits nothing.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_BUFFER>")]
    pub buffer_bytes: Option<u32>,
    /// Congestion control of TCP, by the kernel's name.
    #[serde(deserialize_with = "kernel_cca")]
    pub cca: String,
    /// Congestion controller of QUIC; null: no HTTP/3.
    #[serde(deserialize_with = "or_null")]
    quic: Option<Controller>,
    /// How often a client loads the page.
    #[serde(deserialize_with = "whole::<_, _, 1, { u16::MAX as i64 }>")]
    connections: u32,
    /// Not waited for: clients come when they start.
    starts_ns: Vec<i64>,
    /// Nothing: loads have no limit of their rate.
    #[serde(deserialize_with = "or_null")]
    #[cfg_attr(test, schemars(with = "Option<()>"))]
    rate_bps: Option<IgnoredAny>,
    /// Time between samples, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub sample_every_ns: i64,
}

/// Of role `web-client`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WebClient {
    /// Name of the flow: also of the file that holds the server's certificate.
    #[serde(deserialize_with = "file_name")]
    pub flow: String,
    /// The server's address.
    pub address: Ipv4Addr,
    /// The server's port.
    #[serde(deserialize_with = "whole::<_, _, 1, 65_535>")]
    pub port: u16,
    /// The server's host name.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// The page, and how it is loaded.
    #[serde(deserialize_with = "described")]
    pub workload: Loads,
    /// Options of the transports.
    pub options: TransportOptions,
    /// Receive window of each connection, bytes; None: it limits nothing.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_BUFFER>")]
    pub buffer_bytes: Option<u32>,
    /// When the first load begins, ns after the epoch: one time.
    starts_ns: Vec<i64>,
    /// When to stop, ns after the epoch; None: when the loads are done.
    #[serde(deserialize_with = "or_null")]
    pub stop_ns: Option<i64>,
    /// Loads report themselves when they end; there is no progress between.
    #[serde(deserialize_with = "whole::<_, i64, SHORTEST_PERIOD, { i64::MAX }>")]
    #[serde(rename = "progress_every_ns")]
    _progress_every_ns: i64,
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP/1.1 over TLS over TCP.
    H1,
    /// HTTP/2 over TLS over TCP.
    H2,
    /// HTTP/3 over QUIC.
    H3,
}

impl Protocol {
    /// Its name in descriptions and events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Protocol::H1 => "h1",
            Protocol::H2 => "h2",
            Protocol::H3 => "h3",
        }
    }

    /// Its name in TLS (ALPN).
    #[must_use]
    pub fn alpn(self) -> &'static [u8] {
        match self {
            Protocol::H1 => b"http/1.1",
            Protocol::H2 => b"h2",
            Protocol::H3 => b"h3",
        }
    }

    /// How many connections a client has to one host at most: six with HTTP/1.1, as browsers have.
    #[must_use]
    pub fn most_connections(self) -> usize {
        match self {
            Protocol::H1 => 6,
            Protocol::H2 | Protocol::H3 => 1,
        }
    }
}

/// The workload: a page that is loaded several times.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Loads {
    /// The kind of workload.
    #[serde(rename = "kind")]
    _kind: Kind,
    /// Which client a load has is decided by who is started.
    #[serde(rename = "client", deserialize_with = "text")]
    _client: String,
    /// Of the server they stand in its own field.
    #[serde(rename = "quic_parameters")]
    _quic_parameters: Map<String, Value>,
    /// The page.
    #[cfg_attr(test, schemars(with = "Vec<super::page::Entry>"))]
    pub page: Page,
    /// The version of HTTP of each load.
    protocols: Vec<Protocol>,
    /// The pause before each load, ns.
    idle_ns: Vec<i64>,
    /// A load begins no earlier than this after the start of the flow, times how many came before,
    /// ns.
    #[serde(deserialize_with = "whole::<_, _, 0, { i64::MAX }>")]
    every_ns: i64,
    /// A load that takes longer has failed, ns.
    #[serde(deserialize_with = "whole::<_, _, 1, { i64::MAX }>")]
    pub timeout_ns: i64,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Loads of a page.
    Load,
}

impl Loads {
    /// The version of HTTP of each load, the pause before it, and the earliest time at which it
    /// begins after the flow's start, ns.
    pub fn each(&self) -> impl Iterator<Item = (Protocol, i64, i64)> + '_ {
        let earliest = (0..).map(|before: i64| self.every_ns.saturating_mul(before));
        let paused = self.protocols.iter().copied().zip(self.idle_ns.iter().copied());
        paused.zip(earliest).map(|((wanted, pause_ns), after_ns)| (wanted, pause_ns, after_ns))
    }
}

impl Description for Loads {
    fn check(&self) -> Result<(), String> {
        let (loads, pauses) = (self.protocols.len(), self.idle_ns.len());
        if loads == 0 || loads != pauses {
            return Err(format!("has {loads} `protocols` and {pauses} `idle_ns`"));
        }
        match self.idle_ns.iter().find(|ns| **ns < 0) {
            Some(negative) => Err(format!("`idle_ns` has {negative}, which is negative")),
            None => Ok(()),
        }
    }
}

impl Description for WebServer {
    fn check(&self) -> Result<(), String> {
        every_connection_starts(self.connections, &self.starts_ns)?;
        if self.rate_bps.is_some() {
            return Err("`rate_bps` is not supported for page loads".into());
        }
        self.quic().map(drop)
    }
}

impl WebServer {
    /// Congestion controller of QUIC; None: no HTTP/3.
    ///
    /// # Errors
    /// A message that names what is unknown or out of range.
    pub fn quic(&self) -> Result<Option<Cca>, String> {
        let packets = self.options.initial_window_packets;
        self.quic.as_ref().map(|controller| controller.cca(packets)).transpose()
    }
}

impl Description for WebClient {
    fn check(&self) -> Result<(), String> {
        every_connection_starts(1, &self.starts_ns)?;
        stops_after_starts(self.stop_ns, &self.starts_ns)
    }
}

impl WebClient {
    /// When the first load begins, ns after the epoch.
    #[must_use]
    pub fn start_ns(&self) -> i64 {
        self.starts_ns[0]
    }

    /// Window for the data of a connection, bytes; None: nothing limits it.
    #[must_use]
    pub fn receive_window_bytes(&self) -> Option<u32> {
        self.options.receive_window_bytes.or(self.buffer_bytes)
    }
}
