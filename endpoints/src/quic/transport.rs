//! What quinn is told about a connection, from what a role is told.
//!
//! Equal conditions with TCP: no ECN unless it is asked for, IP packets of the link's MTU and at
//! most 1500 bytes from the first data on, one datagram per IP packet, and windows from
//! `buffer_bytes`. No keep-alive, and no idle timeout unless one is given: a connection lives
//! through any outage.

use crate::options::TransportOptions;
use crate::quic::datagrams::Datagrams;
use crate::quic::limit::HEADER_BYTES;
use crate::quic::observed::Observing;
use crate::quic::packets::PacketLog;
use crate::socket::LARGEST_BUFFER;
use quinn_proto::congestion::ControllerFactory;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    IdleTimeout, MtuDiscoveryConfig, QlogStream, ServerConfig, TransportConfig,
    ValidationTokenConfig, VarInt,
};
use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::time::Duration;

/// Largest IP packet, bytes: what an Ethernet carries. Loopback would carry more.
const LARGEST_PACKET: u32 = 1500;
/// Largest payload of a datagram, bytes.
pub const LARGEST_PAYLOAD: u16 = (LARGEST_PACKET - HEADER_BYTES) as u16;
/// What QUIC and what is below it add to the data of a full packet, bytes: IP and UDP, short header
/// with a connection id of 8 and a packet number of 2, frame type, stream id and offset of 4, tag.
pub const PACKET_OVERHEAD: u32 = HEADER_BYTES + (1 + 8 + 2) + (1 + 1 + 4) + 16;
/// A window that limits nothing, bytes: more than any connection transfers.
const UNLIMITED: u64 = 1 << 60;
/// What a path must carry for QUIC (RFC 9000, section 14), bytes of a datagram.
const LEAST_PAYLOAD: u16 = 1200;
/// Window for what a client sends: its request.
const REQUEST_WINDOW: u32 = 4096;

/// Largest payload of a datagram to `peer`, bytes.
pub fn payload_bytes(peer: SocketAddrV4) -> io::Result<u16> {
    let packet = Datagrams::link_mtu(peer)?.min(LARGEST_PACKET);
    Ok(packet.saturating_sub(HEADER_BYTES) as u16)
}

/// Of a server, for connections whose transport is to be set one by one.
#[must_use]
pub fn server_config(crypto: QuicServerConfig, options: &TransportOptions) -> ServerConfig {
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    let mut tokens = ValidationTokenConfig::default();
    // No client comes a second time with a token of the first.
    tokens.sent(0);
    config.migration(options.follows).validation_token_config(tokens);
    config
}

/// Of a server's connection; `limited`: something else than QUIC limits its sending rate.
///
/// Routes have the path's MTU, so its packets fit. quinn is told so (`min_mtu`), because it takes
/// several bursts of loss for a smaller MTU, and without discovery never returns to the larger one.
///
/// # Errors
/// A message, if the idle timeout is too long for QUIC.
pub fn server(
    factory: Arc<dyn ControllerFactory + Send + Sync>,
    payload_bytes: u16,
    send_buffer_bytes: Option<u32>,
    limited: bool,
    idle_timeout_ns: Option<i64>,
    packets: &PacketLog,
    trace: Option<QlogStream>,
) -> Result<TransportConfig, String> {
    let mut config = common(payload_bytes, idle_timeout_ns)?;
    config
        .congestion_controller_factory(Arc::new(Observing {
            inner: factory,
            limited,
            packets: packets.clone(),
        }))
        .min_mtu(payload_bytes)
        .send_window(send_buffer_bytes.map_or(LARGEST_BUFFER.into(), u64::from))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .stream_receive_window(VarInt::from_u32(REQUEST_WINDOW))
        .receive_window(VarInt::from_u32(REQUEST_WINDOW))
        .qlog_stream(trace);
    Ok(config)
}

/// Makes a connection find out how large its datagrams can be (RFC 8899; RFC 9000, section 14.3):
/// it begins with the least that QUIC needs, and probes up to `most`, what its own link takes.
pub fn discover(config: &mut TransportConfig, most: u16) {
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(most);
    config.initial_mtu(LEAST_PAYLOAD).min_mtu(LEAST_PAYLOAD).mtu_discovery_config(Some(discovery));
}

/// Of a client's connection.
///
/// # Errors
/// A message, if the idle timeout is too long for QUIC.
pub fn client(
    payload_bytes: u16,
    receive_window_bytes: Option<u32>,
    idle_timeout_ns: Option<i64>,
) -> Result<TransportConfig, String> {
    let mut config = common(payload_bytes, idle_timeout_ns)?;
    let window = receive_window_bytes.map_or(UNLIMITED, u64::from);
    let window = VarInt::from_u64(window).map_err(|_| format!("a window of {window} bytes"))?;
    config
        .stream_receive_window(window)
        .receive_window(window)
        .max_concurrent_bidi_streams(VarInt::from_u32(0));
    Ok(config)
}

fn common(payload_bytes: u16, idle_timeout_ns: Option<i64>) -> Result<TransportConfig, String> {
    let too_long = |ns| format!("`idle_timeout_ns` {ns} is too long");
    let idle = idle_timeout_ns
        .map(|ns| IdleTimeout::try_from(Duration::from_nanos(ns as u64)).map_err(|_| too_long(ns)))
        .transpose()?;
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(idle)
        .initial_mtu(payload_bytes)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None);
    Ok(config)
}
