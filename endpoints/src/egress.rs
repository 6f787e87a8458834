//! Sends on what a policer forwards, or a tunnel: whole frames, through the queue of an interface.

use crate::packet_ring::{bind, interface_index, VNET_HEADER_BYTES};
use crate::sys::{checked, owned, set_option};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

/// The kernel counts what waits in the interface's queue against this socket, bytes: more than any
/// queue here holds.
const SEND_BUFFER: i32 = 1 << 28;
const ADDRESSES: usize = 12;

/// A socket that sends frames by one interface.
#[derive(Debug)]
pub struct Egress {
    socket: OwnedFd,
    addresses: [u8; ADDRESSES],
}

impl Egress {
    /// Sends by an interface, under these Ethernet addresses (destination, source).
    ///
    /// # Errors
    /// What the kernel says: no such interface, no permission.
    pub fn open(interface: &str, addresses: [u8; ADDRESSES]) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: takes no pointer.
        let socket = owned(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER)?;
        // Of no protocol: it receives nothing.
        bind(&socket, interface_index(interface)?, 0)?;
        Ok(Egress { socket, addresses })
    }

    /// Sends a frame as a ring has it, behind its header of `VNET_HEADER_BYTES`, by which a
    /// checksum that is still to be computed stays so. Returns whether the queue took it.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        let (header, packet) = frame.split_at(VNET_HEADER_BYTES);
        let parts = [header, &self.addresses, packet.get(ADDRESSES..).unwrap_or_default()];
        let mut vectors = parts.map(|part| libc::iovec {
            iov_base: part.as_ptr().cast_mut().cast(),
            iov_len: part.len(),
        });
        // SAFETY: all bytes zero are a valid msghdr.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = vectors.as_mut_ptr();
        message.msg_iovlen = vectors.len() as _;
        // SAFETY: `message` and what it points to are live, and are only read.
        let result = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const message, 0) };
        match checked(result as i64) {
            Ok(_) => Ok(true),
            // What the queue of an interface says when it drops a packet.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
