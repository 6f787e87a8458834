//! The sockets of split connections.
//!
//! Nagle's algorithm is off everywhere: what a client sent in a packet of its own goes on in one.
//! Outer connections have the congestion control that the host gives by itself.

use super::description::Pep;
use crate::{socket, sys};
use socket2::{Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// As many connections may wait to be accepted as the kernel lets by default.
const BACKLOG: i32 = 4_096;

/// Listens for clients' connections to any address at this port.
///
/// # Errors
/// A message that says what failed.
pub fn outer_listener(port: u16, pep: &Pep) -> Result<Socket, String> {
    let address = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port);
    transparent(pep)
        .and_then(|socket| socket::listen(&socket, address, BACKLOG).map(|()| socket))
        .map_err(|error| {
            format!("cannot listen transparently on {address}: {}", privileged(&error))
        })
}

/// Starts to connect to a server from a client's address.
pub fn outer(client: SocketAddrV4, server: SocketAddrV4, pep: &Pep) -> io::Result<Socket> {
    let socket = transparent(pep)?;
    socket.bind(&client.into())?;
    socket::connect(&socket, server)?;
    Ok(socket)
}

/// Listens for the terminal.
///
/// # Errors
/// A message that says what failed.
pub fn middle_listener(pep: &Pep) -> Result<Socket, String> {
    let socket = middle(pep)?;
    socket
        .set_reuse_address(true)
        .and_then(|()| socket::listen(&socket, pep.gateway(), BACKLOG))
        .map_err(|error| format!("cannot listen on {}: {error}", pep.gateway()))?;
    Ok(socket)
}

/// A socket for a connection to the gateway, to be connected. early: no client is waiting for it,
/// so that another one may be opened soon where its handshake is lost.
///
/// # Errors
/// A message that says what failed.
pub fn to_gateway(pep: &Pep, early: bool) -> Result<Socket, String> {
    let socket = middle(pep)?;
    let local = SocketAddrV4::new(pep.terminal, 0);
    sys::set_option(&socket, libc::SOL_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
        .and_then(|()| {
            if !early {
                return Ok(());
            }
            sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_SYNCNT, pep.syn_retries)
        })
        .and_then(|()| socket.bind(&local.into()))
        .map_err(|error| format!("cannot use the address {}: {error}", pep.terminal))?;
    Ok(socket)
}

fn middle(pep: &Pep) -> Result<Socket, String> {
    let prepared = || {
        let socket = socket::open(Type::STREAM)?;
        let bytes = pep.middle_buffer_bytes();
        shape(&socket, bytes, bytes)?;
        Ok(socket)
    };
    let socket = prepared().map_err(|error: io::Error| format!("cannot open a socket: {error}"))?;
    socket::set_congestion_control(&socket, &pep.cca)?;
    Ok(socket)
}

/// A socket that may have any address.
fn transparent(pep: &Pep) -> io::Result<Socket> {
    let socket = socket::open(Type::STREAM)?;
    shape(&socket, pep.buffer_bytes, pep.outer_receive_bytes())?;
    socket.set_reuse_address(true)?;
    socket.set_ip_transparent_v4(true)?;
    Ok(socket)
}

/// Buffers have to be set before the handshake, which settles the scale of the window. Little waits
/// to be sent in any of them: what a proxy holds back is in the receive buffer before it.
fn shape(socket: &Socket, send_bytes: u32, receive_bytes: u32) -> io::Result<()> {
    socket::set_buffer(socket, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, send_bytes)?;
    socket::set_buffer(socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, receive_bytes)?;
    socket.set_tcp_notsent_lowat(socket::UNSENT_BYTES)?;
    socket.set_tcp_nodelay(true)
}

fn privileged(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM) => format!("{error}; it needs CAP_NET_ADMIN"),
        _ => error.to_string(),
    }
}
