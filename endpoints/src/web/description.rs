//! What the roles `web-server` and `web-client` are asked to do.

use crate::description::{
    address, cca, starts, stops_after_starts, Description, MAX_BUFFER, SHORTEST_PERIOD,
};
use crate::json::Fields;
use crate::options::TransportOptions;
use crate::quic::description::{cca as controller, flow, Cca};
use crate::web::page::Page;
use std::net::Ipv4Addr;

/// Of role `web-server`.
pub struct WebServer {
    /// Name of the flow: also of the files that the server leaves.
    pub flow: String,
    /// Address to listen on.
    pub address: Ipv4Addr,
    /// Port to listen on, of TCP and UDP.
    pub port: u16,
    /// The page, and how it is loaded.
    pub workload: Loads,
    /// Options of the transports.
    pub options: TransportOptions,
    /// Send buffer of each connection, bytes.
    pub buffer_bytes: u32,
    /// Congestion control of TCP, by the kernel's name.
    pub cca: String,
    /// Congestion controller of QUIC; None: no HTTP/3.
    pub quic: Option<Cca>,
    /// Time between samples, ns.
    pub sample_every_ns: i64,
}

/// Of role `web-client`.
#[derive(Debug)]
pub struct WebClient {
    /// Name of the flow: also of the file that holds the server's certificate.
    pub flow: String,
    /// The server's address.
    pub address: Ipv4Addr,
    /// The server's port.
    pub port: u16,
    /// The server's host name.
    pub name: String,
    /// The page, and how it is loaded.
    pub workload: Loads,
    /// Options of the transports.
    pub options: TransportOptions,
    /// Receive window of each connection, bytes.
    pub buffer_bytes: u32,
    /// When the first load begins, ns after the epoch.
    pub start_ns: i64,
    /// When to stop, ns after the epoch; None: when the loads are done.
    pub stop_ns: Option<i64>,
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loads {
    /// The page.
    pub page: Page,
    /// The version of HTTP of each load, and the pause before it, ns.
    pub each: Vec<(Protocol, i64)>,
    /// A load that takes longer has failed, ns.
    pub timeout_ns: i64,
}

impl Loads {
    fn take(fields: &mut Fields) -> Result<Self, String> {
        let kind = fields.text("kind")?;
        if kind != "load" {
            return Err(format!("{} is `{kind}`, not `load`", fields.name("kind")));
        }
        // Which client a load has is decided by who is started.
        fields.text("client")?;
        // Of the server they stand in its own field.
        let _ = fields.object("quic_parameters")?;
        let idle_ns = fields.numbers("idle_ns")?;
        let protocols = fields.texts("protocols")?;
        if protocols.is_empty() || protocols.len() != idle_ns.len() {
            let (loads, pauses) = (protocols.len(), idle_ns.len());
            return Err(format!("`workload` has {loads} `protocols` and {pauses} `idle_ns`"));
        }
        if let Some(negative) = idle_ns.iter().find(|ns| **ns < 0) {
            return Err(format!("{} has {negative}, which is negative", fields.name("idle_ns")));
        }
        let mut each = Vec::new();
        for (name, pause_ns) in protocols.iter().zip(idle_ns) {
            let protocol = match name.as_str() {
                "h1" => Protocol::H1,
                "h2" => Protocol::H2,
                "h3" => Protocol::H3,
                _ => {
                    return Err(format!(
                        "{} has `{name}`, not h1, h2 or h3",
                        fields.name("protocols")
                    ))
                }
            };
            each.push((protocol, pause_ns));
        }
        let timeout_ns = fields.number("timeout_ns", 1, i64::MAX)?;
        let loads = Loads { page: Page::take(fields, "page")?, each, timeout_ns };
        fields.end().map(|()| loads)
    }
}

impl Description for WebServer {
    fn take(fields: &mut Fields) -> Result<Self, String> {
        let options = TransportOptions::take(&mut fields.object("options")?)?;
        // A server waits for its clients, however often and whenever they come.
        let connections = fields.number("connections", 1, i64::from(u16::MAX))? as u32;
        starts(fields, connections)?;
        if fields.number_or_null("rate_bps", 1, i64::MAX)?.is_some() {
            return Err("`rate_bps` is not supported for page loads".into());
        }
        let quic = match fields.object_or_null("quic")? {
            Some(mut fields) => Some(controller(&mut fields, options.initial_window_packets)?),
            None => None,
        };
        Ok(WebServer {
            flow: flow(fields)?,
            address: address(fields, "address")?,
            port: fields.number("port", 1, 65_535)? as u16,
            workload: Loads::take(&mut fields.object("workload")?)?,
            options,
            buffer_bytes: fields.number("buffer_bytes", 1, MAX_BUFFER)? as u32,
            cca: cca(fields)?,
            quic,
            sample_every_ns: fields.number("sample_every_ns", SHORTEST_PERIOD, i64::MAX)?,
        })
    }
}

impl Description for WebClient {
    fn take(fields: &mut Fields) -> Result<Self, String> {
        // Loads report themselves when they end; there is no progress between.
        fields.number("progress_every_ns", SHORTEST_PERIOD, i64::MAX)?;
        let starts_ns = starts(fields, 1)?;
        let client = WebClient {
            flow: flow(fields)?,
            address: address(fields, "address")?,
            port: fields.number("port", 1, 65_535)? as u16,
            name: fields.text("name")?,
            workload: Loads::take(&mut fields.object("workload")?)?,
            options: TransportOptions::take(&mut fields.object("options")?)?,
            buffer_bytes: fields.number("buffer_bytes", 1, MAX_BUFFER)? as u32,
            start_ns: starts_ns[0],
            stop_ns: fields.number_or_null("stop_ns", i64::MIN, i64::MAX)?,
        };
        stops_after_starts(client.stop_ns, &starts_ns).map(|()| client)
    }
}

impl WebClient {
    /// Window for the data of a connection, bytes.
    #[must_use]
    pub fn receive_window_bytes(&self) -> u32 {
        self.options.receive_window_bytes.unwrap_or(self.buffer_bytes)
    }
}
