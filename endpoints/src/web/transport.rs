//! What quinn is told about a connection that carries HTTP/3, beyond what `quic::transport` says.

use crate::quic::packets::PacketLog;
use crate::quic::transport;
use quinn::congestion::ControllerFactory;
use quinn::{TransportConfig, VarInt};
use std::sync::Arc;

/// Requests that may be under way at once: what RFC 9114, section 6.1, asks for at least.
const MOST_REQUESTS: VarInt = VarInt::from_u32(100);
/// The control stream, the two of QPACK, and some that mean nothing (RFC 9114, section 6.2).
const MOST_OTHER_STREAMS: VarInt = VarInt::from_u32(16);
/// Windows for what a client sends: a request, and all of them.
const REQUEST_WINDOWS: (VarInt, VarInt) = (VarInt::from_u32(64 << 10), VarInt::from_u32(1 << 20));

/// Of a server's connection.
///
/// # Errors
/// Those of `quic::transport`.
pub fn server(
    factory: Arc<dyn ControllerFactory + Send + Sync>,
    payload_bytes: u16,
    send_buffer_bytes: Option<u32>,
    packets: &PacketLog,
) -> Result<TransportConfig, String> {
    let mut config =
        transport::server(factory, payload_bytes, send_buffer_bytes, false, None, packets, None)?;
    config
        .max_concurrent_bidi_streams(MOST_REQUESTS)
        .max_concurrent_uni_streams(MOST_OTHER_STREAMS)
        .stream_receive_window(REQUEST_WINDOWS.0)
        .receive_window(REQUEST_WINDOWS.1);
    Ok(config)
}

/// Of a client's connection.
///
/// # Errors
/// Those of `quic::transport`.
pub fn client(
    payload_bytes: u16,
    receive_window_bytes: Option<u32>,
) -> Result<TransportConfig, String> {
    let mut config = transport::client(payload_bytes, receive_window_bytes, None)?;
    config.max_concurrent_uni_streams(MOST_OTHER_STREAMS);
    Ok(config)
}
