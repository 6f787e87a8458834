//! What the roles `quic-server` and `quic-client` are asked to do.

use crate::congestion::{self, Factory};
use crate::description::{
    every_connection_starts, stops_after_starts, Description, SHORTEST_PERIOD,
};
use crate::json::{described, or_null, text, whole, whole_or_null};
use crate::options::TransportOptions;
use crate::quic::pacer::Quantum;
use crate::quic::transport::LARGEST_PAYLOAD;
use crate::request::MAX_CONNECTIONS;
use crate::workload::{Workload, MAX_BUFFER};
use quinn_proto::congestion::ControllerFactory;
use serde::de::{Deserializer, Error};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

/// The least idle timeout, ns: QUIC counts it in ms.
const LEAST_IDLE_TIMEOUT_NS: i64 = 1_000_000;

/// Of role `quic-server`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QuicServer {
    /// Name of the flow: also of the files that the server leaves.
    #[serde(deserialize_with = "file_name")]
    pub flow: String,
    /// Address to listen on.
    pub address: Ipv4Addr,
    /// Port to listen on.
    #[serde(deserialize_with = "whole::<_, _, 1, 65_535>")]
    pub port: u16,
    /// Congestion controller.
    cca: Controller,
    /// How many connections will come; the server ends after the last.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_CONNECTIONS as i64 }>")]
    pub connections: u32,
    /// Send buffer of each connection, bytes; None: it limits nothing.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_BUFFER>")]
    pub buffer_bytes: Option<u32>,
    /// What each connection moves.
    #[serde(deserialize_with = "described")]
    pub workload: Workload,
    /// Limit of the sending rate of each connection, bit/s of IP packets.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, { i64::MAX }>")]
    pub rate_bps: Option<u64>,
    /// Options of the transport.
    #[serde(deserialize_with = "options")]
    pub options: TransportOptions,
    /// Time between samples, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub sample_every_ns: i64,
    /// Whether to write a qlog file.
    pub qlog: bool,
    /// Not waited for: clients come when they start.
    starts_ns: Vec<i64>,
    /// When the certificate expires, ns after the epoch; None: in ten years.
    #[serde(default)]
    pub certificate_expires_ns: Option<i64>,
    /// How long nothing has to come from a client until the connection ends, ns; None: it does not.
    #[serde(deserialize_with = "whole_or_null::<_, _, LEAST_IDLE_TIMEOUT_NS, { i64::MAX }>")]
    pub idle_timeout_ns: Option<i64>,
}

/// Of role `quic-client`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QuicClient {
    /// Name of the flow: also of the file that holds the server's certificate.
    #[serde(deserialize_with = "file_name")]
    pub flow: String,
    /// The server's address.
    pub address: Ipv4Addr,
    /// The server's port.
    #[serde(deserialize_with = "whole::<_, _, 1, 65_535>")]
    pub port: u16,
    /// Receive window of each connection, bytes; None: it limits nothing.
    #[serde(deserialize_with = "whole_or_null::<_, _, 1, MAX_BUFFER>")]
    pub buffer_bytes: Option<u32>,
    /// What each connection moves.
    #[serde(deserialize_with = "described")]
    pub workload: Workload,
    /// Options of the transport.
    #[serde(deserialize_with = "options")]
    pub options: TransportOptions,
    /// How many connections it opens.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_CONNECTIONS as i64 }>")]
    connections: u32,
    /// When to open each connection, ns after the epoch.
    pub starts_ns: Vec<i64>,
    /// When to stop, ns after the epoch; None: when the work is done.
    #[serde(deserialize_with = "or_null")]
    pub stop_ns: Option<i64>,
    /// Time between `progress` events, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub progress_every_ns: i64,
    /// How long nothing has to come from the server until the connection ends, ns; None: it does
    /// not.
    #[serde(deserialize_with = "whole_or_null::<_, _, LEAST_IDLE_TIMEOUT_NS, { i64::MAX }>")]
    pub idle_timeout_ns: Option<i64>,
}

/// A congestion controller, as a description names it.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Controller {
    /// Its name.
    #[serde(deserialize_with = "text")]
    name: String,
    /// Those of its parameters that are not as by default.
    parameters: Map<String, Value>,
}

impl Controller {
    /// With all its parameters.
    ///
    /// # Errors
    /// A message that names what is unknown or out of range.
    pub(crate) fn cca(&self, initial_window_packets: u32) -> Result<Cca, String> {
        let Controller { name, parameters } = self;
        let wrong = |what| format!("`cca`: {what}");
        let factory =
            congestion::factory(name, parameters, initial_window_packets.into()).map_err(wrong)?;
        let parameters = congestion::complete(name, parameters).map_err(wrong)?;
        Ok(Cca { name: name.clone(), parameters, factory })
    }
}

/// A congestion controller.
pub struct Cca {
    /// Its name.
    pub name: String,
    /// All its parameters, also those that it has by default.
    pub parameters: Map<String, Value>,
    /// What makes one for each connection.
    pub factory: Arc<Factory>,
}

impl Cca {
    /// How much leaves together, if it asks for a rate at which to pace.
    #[must_use]
    pub fn paces(&self) -> Option<Quantum> {
        self.factory.entry().paces
    }

    /// Whether it answers each mark, so that its packets are L4S (RFC 9331).
    #[must_use]
    pub fn l4s(&self) -> bool {
        self.factory.entry().l4s
    }

    /// Congestion window of a new connection on a link with an MTU of 1500 bytes, bytes.
    #[must_use]
    pub fn initial_window_bytes(&self) -> u64 {
        Arc::clone(&self.factory).build(Instant::now(), LARGEST_PAYLOAD).initial_window()
    }
}

impl Description for QuicServer {
    fn check(&self) -> Result<(), String> {
        every_connection_starts(self.connections, &self.starts_ns)?;
        self.cca().map(drop)
    }
}

impl QuicServer {
    /// The congestion controller.
    ///
    /// # Errors
    /// A message that names what is unknown or out of range.
    pub fn cca(&self) -> Result<Cca, String> {
        self.cca.cca(self.options.initial_window_packets)
    }
}

impl Description for QuicClient {
    fn check(&self) -> Result<(), String> {
        every_connection_starts(self.connections, &self.starts_ns)?;
        stops_after_starts(self.stop_ns, &self.starts_ns)
    }
}

impl QuicClient {
    /// Window for the data of a connection, bytes; None: nothing limits it.
    #[must_use]
    pub fn receive_window_bytes(&self) -> Option<u32> {
        self.options.receive_window_bytes.or(self.buffer_bytes)
    }
}

/// Reads a name that files can begin with.
pub(crate) fn file_name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = text(from)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.starts_with('.') || name.len() > 200 || !name.bytes().all(plain) {
        return Err(D::Error::custom(format!("is `{name}`, which cannot be a file name")));
    }
    Ok(name)
}

/// Reads the options and refuses those that QUIC cannot have.
fn options<'de, D: Deserializer<'de>>(from: D) -> Result<TransportOptions, D::Error> {
    let options = TransportOptions::deserialize(from)?;
    for (wrong, what) in [
        (!options.pacing, "`pacing` is false, but this QUIC stack always paces"),
        (!options.sack, "`sack` is false, but QUIC acknowledgements always have ranges"),
        (
            options.fast_open,
            "`fast_open` is true, but data in the first packet is not supported over QUIC",
        ),
    ] {
        if wrong {
            return Err(D::Error::custom(what));
        }
    }
    Ok(options)
}
