//! What the roles `quic-server` and `quic-client` are asked to do.

use crate::congestion;
use crate::description::{
    address, starts, stops_after_starts, Description, MAX_BUFFER, SHORTEST_PERIOD,
};
use crate::json::Fields;
use crate::options::TransportOptions;
use crate::request::MAX_CONNECTIONS;
use crate::workload::Workload;
use quinn_proto::congestion::ControllerFactory;
use serde_json::{Map, Value};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// How long nothing has to come from a peer until it counts as gone, ns, unless it is said. Far
/// longer than any outage that is emulated, and than the exponential backoff of a lossy link needs.
pub(crate) const IDLE_TIMEOUT_NS: i64 = 120_000_000_000;
/// The least, ns: idle timeouts are counted in ms.
const LEAST_IDLE_TIMEOUT_NS: i64 = 1_000_000;

/// Of role `quic-server`.
pub struct QuicServer {
    /// Name of the flow: also of the files that the server leaves.
    pub flow: String,
    /// Address to listen on.
    pub address: Ipv4Addr,
    /// Port to listen on.
    pub port: u16,
    /// Congestion controller.
    pub cca: Cca,
    /// How many connections will come; the server ends after the last.
    pub connections: u32,
    /// Send buffer of each connection, bytes.
    pub buffer_bytes: u32,
    /// What each connection moves.
    pub workload: Workload,
    /// Limit of the sending rate of each connection, bit/s of IP packets.
    pub rate_bps: Option<u64>,
    /// Options of the transport.
    pub options: TransportOptions,
    /// Time between samples, ns.
    pub sample_every_ns: i64,
    /// Whether to write a qlog file.
    pub qlog: bool,
    /// When the certificate expires, ns after the epoch; None: in ten years.
    pub certificate_expires_ns: Option<i64>,
    /// How long nothing has to come from a client until it counts as gone, ns.
    pub idle_timeout_ns: i64,
}

/// Of role `quic-client`.
#[derive(Debug)]
pub struct QuicClient {
    /// Name of the flow: also of the file that holds the server's certificate.
    pub flow: String,
    /// The server's address.
    pub address: Ipv4Addr,
    /// The server's port.
    pub port: u16,
    /// Receive window of each connection, bytes.
    pub buffer_bytes: u32,
    /// What each connection moves.
    pub workload: Workload,
    /// Options of the transport.
    pub options: TransportOptions,
    /// When to open each connection, ns after the epoch.
    pub starts_ns: Vec<i64>,
    /// When to stop, ns after the epoch; None: when the work is done.
    pub stop_ns: Option<i64>,
    /// Time between `progress` events, ns.
    pub progress_every_ns: i64,
    /// How long nothing has to come from the server until it counts as gone, ns.
    pub idle_timeout_ns: i64,
}

/// A congestion controller.
pub struct Cca {
    /// Its name.
    pub name: String,
    /// All its parameters, also those that it has by default.
    pub parameters: Map<String, Value>,
    /// What makes one for each connection.
    pub factory: Arc<dyn ControllerFactory + Send + Sync>,
}

impl Description for QuicServer {
    fn take(fields: &mut Fields) -> Result<Self, String> {
        let options = options(fields)?;
        let connections = fields.number("connections", 1, i64::from(MAX_CONNECTIONS))? as u32;
        // A server waits for its clients, whenever they start.
        starts(fields, connections)?;
        Ok(QuicServer {
            flow: flow(fields)?,
            address: address(fields, "address")?,
            port: fields.number("port", 1, 65_535)? as u16,
            cca: cca(&mut fields.object("cca")?, options.initial_window_packets)?,
            connections,
            buffer_bytes: fields.number("buffer_bytes", 1, MAX_BUFFER)? as u32,
            workload: Workload::take(&mut fields.object("workload")?)?,
            rate_bps: fields.number_or_null("rate_bps", 1, i64::MAX)?.map(|bps| bps as u64),
            options,
            sample_every_ns: fields.number("sample_every_ns", SHORTEST_PERIOD, i64::MAX)?,
            qlog: fields.switch("qlog")?,
            certificate_expires_ns: optional(fields, "certificate_expires_ns", i64::MIN)?,
            idle_timeout_ns: idle_timeout(fields)?,
        })
    }
}

impl Description for QuicClient {
    fn take(fields: &mut Fields) -> Result<Self, String> {
        let connections = fields.number("connections", 1, i64::from(MAX_CONNECTIONS))? as u32;
        let client = QuicClient {
            flow: flow(fields)?,
            address: address(fields, "address")?,
            port: fields.number("port", 1, 65_535)? as u16,
            buffer_bytes: fields.number("buffer_bytes", 1, MAX_BUFFER)? as u32,
            workload: Workload::take(&mut fields.object("workload")?)?,
            options: options(fields)?,
            starts_ns: starts(fields, connections)?,
            stop_ns: fields.number_or_null("stop_ns", i64::MIN, i64::MAX)?,
            progress_every_ns: fields.number("progress_every_ns", SHORTEST_PERIOD, i64::MAX)?,
            idle_timeout_ns: idle_timeout(fields)?,
        };
        stops_after_starts(client.stop_ns, &client.starts_ns).map(|()| client)
    }
}

impl QuicClient {
    /// Window for the data of a connection, bytes.
    #[must_use]
    pub fn receive_window_bytes(&self) -> u32 {
        self.options.receive_window_bytes.unwrap_or(self.buffer_bytes)
    }
}

/// A name that files can begin with.
pub(crate) fn flow(fields: &mut Fields) -> Result<String, String> {
    let flow = fields.text("flow")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if flow.starts_with('.') || flow.len() > 200 || !flow.bytes().all(plain) {
        return Err(format!("`flow` is `{flow}`, which cannot be a file name"));
    }
    Ok(flow)
}

fn idle_timeout(fields: &mut Fields) -> Result<i64, String> {
    let given = optional(fields, "idle_timeout_ns", LEAST_IDLE_TIMEOUT_NS)?;
    Ok(given.unwrap_or(IDLE_TIMEOUT_NS))
}

/// Takes a number that need not be there.
fn optional(fields: &mut Fields, name: &str, least: i64) -> Result<Option<i64>, String> {
    if fields.has(name) {
        fields.number_or_null(name, least, i64::MAX)
    } else {
        Ok(None)
    }
}

/// Takes a congestion controller and all its parameters.
pub(crate) fn cca(fields: &mut Fields, initial_window_packets: u32) -> Result<Cca, String> {
    let name = fields.text("name")?;
    let parameters = fields.object("parameters")?.rest();
    fields.end()?;
    let wrong = |what| format!("`cca`: {what}");
    let factory =
        congestion::factory(&name, &parameters, initial_window_packets.into()).map_err(wrong)?;
    let parameters = congestion::complete(&name, &parameters).map_err(wrong)?;
    Ok(Cca { name, parameters, factory })
}

/// Takes the options and refuses those that QUIC cannot have.
fn options(fields: &mut Fields) -> Result<TransportOptions, String> {
    let options = TransportOptions::take(&mut fields.object("options")?)?;
    for (wrong, name, why) in [
        (!options.pacing, "pacing", "false, but this QUIC stack always paces"),
        (!options.sack, "sack", "false, but QUIC acknowledgements always have ranges"),
        (
            options.fast_open,
            "fast_open",
            "true, but data in the first packet is not supported over QUIC",
        ),
    ] {
        if wrong {
            return Err(format!("`options.{name}` is {why}"));
        }
    }
    Ok(options)
}
