//! What the proxies report, beside samples and errors.

use crate::events::Report;
use crate::json::Line;
use std::io;
use std::net::SocketAddrV4;

/// One line.
#[derive(Debug)]
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
#[derive(Debug)]
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

impl Report for PepEvent<'_> {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        match self {
            PepEvent::Ready(ready) => line
                .field("event", "ready")?
                .field("connections", &ready.connections)?
                .field("cca", ready.cca)?
                .field("window_packets", &ready.window_packets)?
                .field("mss", &ready.mss)?
                .field("peer_window_bytes", &ready.peer_window_bytes)?
                .field("max_pacing_bps", &ready.max_pacing_bps)?
                .field("send_buffer_bytes", &ready.send_buffer_bytes)?
                .field("receive_buffer_bytes", &ready.receive_buffer_bytes)?,
            PepEvent::Split { connection, client, server } => line
                .field("event", "split")?
                .field("connection", connection)?
                .field("client", &client.to_string())?
                .field("server", &server.to_string())?,
            PepEvent::Joined { connection, window_packets } => line
                .field("event", "joined")?
                .field("connection", connection)?
                .field("window_packets", window_packets)?,
            PepEvent::Closed { connection, up_bytes, down_bytes, error } => line
                .field("event", "closed")?
                .field("connection", connection)?
                .field("up_bytes", up_bytes)?
                .field("down_bytes", down_bytes)?
                .field("error", error)?,
        };
        Ok(())
    }
}
