//! How a middle connection begins: with its whole window, as both ends' routes and buffers allow.

use super::description::Pep;
use super::events::Ready;
use crate::{socket, tcp_info};
use socket2::Socket;
use std::io;

/// What a middle connection begins with.
#[derive(Debug, Clone, Copy)]
pub struct Begin {
    /// Congestion window, packets.
    window_packets: u32,
    /// Payload of a full packet, bytes.
    mss: u32,
    /// Receive window that the other end offers, bytes.
    peer_window_bytes: u32,
}

/// Why a middle connection cannot be used.
#[derive(Debug)]
pub enum Unfit {
    /// Packets of its handshake were lost, and the kernel begins carefully: another one may do.
    Unlucky,
    /// It will be so with every one.
    Narrow(String),
}

impl From<io::Error> for Unfit {
    fn from(error: io::Error) -> Self {
        Unfit::Narrow(error.to_string())
    }
}

/// Limits the rate of a connection that has just been established, and looks at its window.
///
/// # Errors
/// Why it cannot be used.
pub fn begin(socket: &Socket, pep: &Pep) -> Result<Begin, Unfit> {
    let (agreed, state, _) = tcp_info::agreed(socket)?;
    let peer_window_bytes = tcp_info::peer_window(socket)?;
    let (cwnd, mss, headers) = (state.cwnd, state.mss, agreed.header_bytes());
    socket::limit_rate(socket, pep.rate_bps, mss, headers)?;
    // The kernel counts a window in full packets of payload.
    let wanted = pep.window_bytes.div_ceil(mss + headers);
    if cwnd < wanted && state.retransmits > 0 {
        return Err(Unfit::Unlucky);
    }
    if cwnd < wanted {
        return Err(Unfit::Narrow(format!(
            "a middle connection begins with {cwnd} packets, not with {wanted} ({} bytes): the \
             route to its other end needs `initcwnd`",
            pep.window_bytes
        )));
    }
    if peer_window_bytes < wanted.saturating_mul(mss) {
        return Err(Unfit::Narrow(format!(
            "the other end of a middle connection offers a window of {peer_window_bytes} bytes, not \
             {}: its route back needs `initrwnd`",
            wanted.saturating_mul(mss)
        )));
    }
    Ok(Begin { window_packets: cwnd, mss, peer_window_bytes })
}

/// How a connection is after its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// They have not arrived.
    NotYet,
    /// They have, and it still begins with its whole window.
    Whole,
    /// They were lost at first, which has reduced the window.
    Reduced,
}

/// Looks whether the first bytes that this end has sent have arrived, and what that left of its
/// window.
///
/// # Errors
/// What the kernel says.
pub fn settled(socket: &Socket, begin: Begin) -> io::Result<Settled> {
    let state = tcp_info::read(socket)?;
    Ok(match (state.unacked, state.cwnd < begin.window_packets) {
        (0, false) => Settled::Whole,
        (0, true) => Settled::Reduced,
        _ => Settled::NotYet,
    })
}

/// What to report of middle connections that are open; None without any.
pub fn ready<'a>(open: &[(&Socket, Begin)], cca: &'a str) -> io::Result<Option<Ready<'a>>> {
    let Some((socket, first)) = open.first() else {
        return Ok(None);
    };
    let least = |of: fn(&Begin) -> u32| open.iter().map(|(_, begin)| of(begin)).min();
    Ok(Some(Ready {
        connections: open.len(),
        cca,
        window_packets: least(|begin| begin.window_packets).unwrap_or(0),
        mss: first.mss,
        peer_window_bytes: least(|begin| begin.peer_window_bytes).unwrap_or(0),
        max_pacing_bps: socket::pacing_limit(socket)?.unwrap_or(0).saturating_mul(8),
        send_buffer_bytes: socket::number(socket, libc::SO_SNDBUF)?,
        receive_buffer_bytes: socket::number(socket, libc::SO_RCVBUF)?,
    }))
}
