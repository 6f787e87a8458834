//! Multipath TCP (RFC 8684): its sockets, and what the kernel tells of a connection and its
//! subflows.

use crate::socket::{open_mptcp, set_buffer, LARGEST_BUFFER};
use crate::sys;
use crate::tcp_info::{self, Sample};
use socket2::Socket;
use std::convert::TryInto;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

// include/linux/socket.h, include/uapi/linux/mptcp.h.
const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;
const MPTCP_TCPINFO: i32 = 2;
const MPTCP_SUBFLOW_ADDRS: i32 = 3;

/// Of `struct mptcp_info` up to and with `mptcpi_bytes_acked` (Linux 6.5).
const INFO_BYTES: usize = 80;
const BYTES_RECEIVED: usize = 64;
const BYTES_ACKED: usize = 72;
/// Of `struct mptcp_subflow_data`, which precedes an array.
const DATA_BYTES: usize = 16;
/// Of `struct tcp_info` as it is asked for.
const SUBFLOW_BYTES: usize = 256;
/// Of `struct mptcp_subflow_addrs`: two `sockaddr_storage`.
const ADDRESSES_BYTES: usize = 256;
/// Most subflows that a connection has (`MPTCP_SUBFLOWS_MAX` and the first).
const MOST_SUBFLOWS: usize = 9;

/// A connection as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// Bytes that have arrived in order, taken or not (`mptcpi_bytes_received`).
    pub bytes_received: u64,
    /// Bytes acknowledged (`mptcpi_bytes_acked`).
    pub bytes_acknowledged: u64,
}

/// The addresses of a subflow: the local one, and its peer's.
pub type Ends = (Ipv4Addr, Ipv4Addr);

/// A socket that is about to connect from an address, with a fixed receive buffer for
/// `buffer_bytes` of payload; None: it limits nothing.
///
/// # Errors
/// What the kernel says.
pub fn connecting(buffer_bytes: Option<u32>, from: Ipv4Addr) -> io::Result<Socket> {
    let socket = open_mptcp()?;
    let buffer_bytes = buffer_bytes.unwrap_or(LARGEST_BUFFER);
    set_buffer(&socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, buffer_bytes)?;
    socket.bind(&SocketAddrV4::new(from, 0).into())?;
    Ok(socket)
}

/// Reads a connection's state as a whole.
///
/// # Errors
/// What the kernel says; `Unsupported` for a kernel before 6.5, or a connection that fell back to
/// TCP.
pub fn read(socket: &Socket) -> io::Result<Whole> {
    let mut raw = [0; INFO_BYTES];
    let length = sys::get_option(socket, SOL_MPTCP, MPTCP_INFO, &mut raw).map_err(explain)?;
    if length < raw.len() {
        let message = "this kernel's MPTCP_INFO has no counts of bytes";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    let at =
        |offset: usize| u64::from_ne_bytes(raw[offset..][..8].try_into().expect("eight bytes"));
    Ok(Whole { bytes_received: at(BYTES_RECEIVED), bytes_acknowledged: at(BYTES_ACKED) })
}

/// Reads the state of each subflow.
///
/// # Errors
/// Those of `read`.
pub fn subflows(socket: &Socket) -> io::Result<Vec<(Ends, Sample)>> {
    let addresses = array(socket, MPTCP_SUBFLOW_ADDRS, ADDRESSES_BYTES)?;
    let states = array(socket, MPTCP_TCPINFO, SUBFLOW_BYTES)?;
    let ends = addresses.iter().map(|one| Some((ipv4(&one[..])?, ipv4(&one[128..])?)));
    let samples = states.iter().map(|one| tcp_info::of_bytes(one));
    // One that opens between the two answers is last in the second.
    Ok(ends.zip(samples).filter_map(|(ends, sample)| Some((ends?, sample?))).collect())
}

/// Reads an array of structures, one for each subflow.
fn array(socket: &Socket, option: i32, each: usize) -> io::Result<Vec<Vec<u8>>> {
    let mut raw = vec![0; DATA_BYTES + MOST_SUBFLOWS * each];
    // Sizes of the header and of what is asked for; the kernel fills in the rest.
    raw[..4].copy_from_slice(&(DATA_BYTES as u32).to_ne_bytes());
    raw[12..16].copy_from_slice(&(each as u32).to_ne_bytes());
    let length = sys::get_option(socket, SOL_MPTCP, option, &mut raw).map_err(explain)?;
    let found = u32::from_ne_bytes(raw[4..8].try_into().expect("four bytes")) as usize;
    let there = raw[DATA_BYTES..length.max(DATA_BYTES)].chunks_exact(each);
    Ok(there.take(found).map(<[u8]>::to_vec).collect())
}

/// The address in a `struct sockaddr_in`; None: it is of another family.
fn ipv4(raw: &[u8]) -> Option<Ipv4Addr> {
    let family = u16::from_ne_bytes(raw.get(..2)?.try_into().ok()?);
    let octets: [u8; 4] = raw.get(4..8)?.try_into().ok()?;
    (i32::from(family) == libc::AF_INET).then(|| octets.into())
}

fn explain(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => {
            io::Error::other("the connection is not over MPTCP: it fell back to TCP")
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_where_the_header_declares_it() {
        let mut raw = vec![0; 128];
        raw[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        raw[4..8].copy_from_slice(&[10, 0, 0, 9]);
        assert_eq!(ipv4(&raw), Some(Ipv4Addr::new(10, 0, 0, 9)));
        raw[0] = 0;
        assert_eq!(ipv4(&raw), None);
    }
}
