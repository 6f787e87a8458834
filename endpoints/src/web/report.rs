//! What the web roles report beside the events that they share with others.

use crate::tcp_info::Agreed;
use crate::web::description::Protocol;
use serde::Serialize;
use serde_json::{Map, Value};
use std::net::SocketAddrV4;

/// One line of a web role.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum WebEvent<'a> {
    /// Server: connections can come.
    Listening {
        /// Congestion control of TCP, read back.
        cca: &'a str,
        /// `SO_SNDBUF` as the kernel counts it.
        send_buffer_bytes: u32,
        /// What the certificate is pinned by.
        spki: &'a str,
        /// Congestion control of HTTP/3: null, or an object with the fields of a QUIC server's
        /// `listening`, less `rate_bps`.
        quic: Option<Value>,
    },
    /// Server: a connection came.
    Accepted {
        /// Number of the connection.
        connection: u32,
        /// What carries it.
        #[serde(flatten)]
        transport: AcceptedOver<'a>,
    },
    /// Server: a request was answered.
    Request {
        /// Number of the connection.
        connection: u32,
        /// What was asked for.
        path: &'a str,
        /// Status of the answer.
        status: u16,
        /// How.
        protocol: Protocol,
        /// When the request was there, ns after the epoch.
        begin_ns: i64,
        /// When the last of the answer was handed over to the transport, ns after the epoch.
        end_ns: i64,
        /// Bytes of the body that were handed over.
        bytes: u64,
    },
    /// Server: a connection has ended.
    Closed {
        /// Number of the connection.
        connection: u32,
        /// Bytes of bodies that were handed over.
        bytes: u64,
        /// Why, if not in order.
        error: Option<&'a str>,
    },
    /// Client: a load has ended.
    Load(Map<String, Value>),
    /// Client: all loads have ended.
    Done {
        /// How many.
        loads: usize,
    },
}

/// The transport of a connection, and what the ends have agreed on.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "transport", rename_all = "kebab-case")]
pub enum AcceptedOver<'a> {
    /// TCP.
    Tcp {
        /// What TLS has agreed on (ALPN); null: no TLS came about.
        protocol: Option<Protocol>,
        /// The client.
        peer: SocketAddrV4,
        /// Congestion control, read back from the connection.
        cca: &'a str,
        /// Congestion window before the first data packet.
        initial_window_packets: u32,
        /// What the ends have agreed on.
        #[serde(flatten)]
        agreed: Agreed,
        /// Limit of the pacing rate as the kernel counts it, in payload, bit/s; null without one.
        max_pacing_bps: Option<u64>,
    },
    /// QUIC.
    Quic {
        /// HTTP/3; null: no handshake came about.
        protocol: Option<Protocol>,
        /// The client.
        peer: SocketAddrV4,
        /// Name of the congestion controller.
        cca: &'a str,
        /// Congestion window before the first data, bytes; null: no handshake came about.
        initial_window_bytes: Option<u64>,
        /// Largest payload of a datagram, bytes.
        mtu: u16,
    },
}
