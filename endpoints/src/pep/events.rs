//! What the proxies report, beside samples and errors.

use serde::Serialize;
use std::net::SocketAddrV4;

/// One line.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum PepEvent<'a> {
    /// All middle connections of the pool are open.
    Ready(Ready<'a>),
    /// A client's connection was accepted (terminal), or its header has come (gateway).
    Split {
        /// Number of the split connection, the same at both ends.
        connection: u32,
        /// The client.
        client: SocketAddrV4,
        /// The server.
        server: SocketAddrV4,
    },
    /// It has its middle connection (terminal), or is connected to the server (gateway).
    Joined {
        /// Number of the split connection.
        connection: u32,
        /// Congestion window of this end of the middle connection at this moment, packets.
        window_packets: u32,
    },
    /// It is over.
    Closed {
        /// Number of the split connection.
        connection: u32,
        /// Bytes from the client that the next socket has taken.
        up_bytes: u64,
        /// Bytes to the client that the next socket has taken.
        down_bytes: u64,
        /// Why it was reset; None: both directions have ended.
        error: Option<&'a str>,
    },
}

/// How middle connections begin, read back from the sockets; of all that are open the least.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ready<'a> {
    /// How many are open.
    pub connections: usize,
    /// Their congestion control.
    pub cca: &'a str,
    /// Congestion window, packets.
    pub window_packets: u32,
    /// Payload of a full packet, bytes.
    pub mss: u32,
    /// The receive window that the other end offers, bytes.
    pub peer_window_bytes: u32,
    /// Limit of the pacing rate as the kernel counts it, in payload, bit/s.
    pub max_pacing_bps: u64,
    /// `SO_SNDBUF` and `SO_RCVBUF` as the kernel counts them.
    pub send_buffer_bytes: u32,
    /// See `send_buffer_bytes`.
    pub receive_buffer_bytes: u32,
}
