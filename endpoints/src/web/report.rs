//! What the web roles report beside the events that they share with others.

use crate::events::Report;
use crate::json::Line;
use crate::quic::report::stack;
use crate::tcp_info::Agreed;
use crate::web::description::Protocol;
use serde_json::{json, Map, Value};
use std::io;
use std::net::SocketAddrV4;

/// Event `listening` of a web server.
pub struct Listening<'a> {
    /// Congestion control of TCP, read back.
    pub cca: &'a str,
    /// `SO_SNDBUF` as the kernel counts it.
    pub send_buffer_bytes: u32,
    /// What the certificate is pinned by.
    pub spki: &'a str,
    /// Of HTTP/3.
    pub quic: Option<ListeningQuic<'a>>,
}

/// The QUIC side of a web server.
pub struct ListeningQuic<'a> {
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
}

impl Report for Listening<'_> {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        let quic = self.quic.as_ref().map(|quic| {
            json!({"cca": quic.cca, "parameters": quic.parameters, "stack": stack(),
                "ecn": quic.ecn, "pacing": true,
                "initial_window_bytes": quic.initial_window_bytes,
                "send_buffer_bytes": quic.send_buffer_bytes})
        });
        line.field("event", "listening")?
            .field("cca", self.cca)?
            .field("send_buffer_bytes", &self.send_buffer_bytes)?
            .field("spki", self.spki)?
            .field("quic", &quic)
            .map(drop)
    }
}

/// Event `accepted` of a web server over TCP.
pub struct AcceptedTcp<'a> {
    /// Number of the connection.
    pub connection: u32,
    /// What the ends have agreed on (ALPN); null: no TLS came about.
    pub protocol: Option<Protocol>,
    /// The client.
    pub peer: SocketAddrV4,
    /// Congestion control, read back from the connection.
    pub cca: &'a str,
    /// Congestion window before the first data packet.
    pub initial_window_packets: u32,
    /// What the ends have agreed on.
    pub agreed: Agreed,
    /// Limit of the pacing rate as the kernel counts it, in payload, bit/s; null without one.
    pub max_pacing_bps: Option<u64>,
}

impl Report for AcceptedTcp<'_> {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "accepted")?
            .field("connection", &self.connection)?
            .field("transport", "tcp")?
            .field("protocol", &self.protocol.map(Protocol::name))?
            .field("peer", &self.peer.to_string())?
            .field("cca", self.cca)?
            .field("initial_window_packets", &self.initial_window_packets)?
            .field("ecn", &self.agreed.ecn)?
            .field("accurate_ecn", &self.agreed.accurate_ecn)?
            .field("sack", &self.agreed.sack)?
            .field("timestamps", &self.agreed.timestamps)?
            .field("fast_open", &self.agreed.fast_open)?
            .field("max_pacing_bps", &self.max_pacing_bps)
            .map(drop)
    }
}

/// Event `accepted` of a web server over QUIC.
pub struct AcceptedQuic<'a> {
    /// Number of the connection.
    pub connection: u32,
    /// HTTP/3; null: no handshake came about.
    pub protocol: Option<Protocol>,
    /// The client.
    pub peer: SocketAddrV4,
    /// Name of the congestion controller.
    pub cca: &'a str,
    /// Congestion window before the first data, bytes; null: no handshake came about.
    pub initial_window_bytes: Option<u64>,
    /// Largest payload of a datagram, bytes.
    pub mtu: u16,
}

impl Report for AcceptedQuic<'_> {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "accepted")?
            .field("connection", &self.connection)?
            .field("transport", "quic")?
            .field("protocol", &self.protocol.map(Protocol::name))?
            .field("peer", &self.peer.to_string())?
            .field("cca", self.cca)?
            .field("initial_window_bytes", &self.initial_window_bytes)?
            .field("mtu", &self.mtu)
            .map(drop)
    }
}

/// Event `request` of a web server: a request was answered.
pub struct Answered<'a> {
    /// Number of the connection.
    pub connection: u32,
    /// What was asked for.
    pub path: &'a str,
    /// Status of the answer.
    pub status: u16,
    /// How.
    pub protocol: Protocol,
    /// When the request was there, ns after the epoch.
    pub begin_ns: i64,
    /// When the last of the answer was handed over to the transport, ns after the epoch.
    pub end_ns: i64,
    /// Bytes of the body that were handed over.
    pub bytes: u64,
}

impl Report for Answered<'_> {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "request")?
            .field("connection", &self.connection)?
            .field("path", self.path)?
            .field("status", &self.status)?
            .field("protocol", self.protocol.name())?
            .field("begin_ns", &self.begin_ns)?
            .field("end_ns", &self.end_ns)?
            .field("bytes", &self.bytes)
            .map(drop)
    }
}

/// Event `closed` of a web server: a connection has ended.
pub struct Closed<'a> {
    /// Number of the connection.
    pub connection: u32,
    /// Bytes of bodies that were handed over.
    pub bytes: u64,
    /// Why, if not in order.
    pub error: Option<&'a str>,
}

impl Report for Closed<'_> {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "closed")?
            .field("connection", &self.connection)?
            .field("bytes", &self.bytes)?
            .field("error", &self.error)
            .map(drop)
    }
}

/// Event `load` of a web client: a load has ended. The fields are those of the object.
pub struct Load(pub Map<String, Value>);

impl Report for Load {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "load")?;
        for (name, value) in &self.0 {
            line.field(name, value)?;
        }
        Ok(())
    }
}

/// Event `done` of a web client: all loads have ended.
pub struct Done {
    /// How many.
    pub loads: usize,
}

impl Report for Done {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "done")?.field("loads", &self.loads).map(drop)
    }
}
