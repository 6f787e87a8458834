//! Datagrams in and out of a UDP socket: several per system call in, one each out.
//!
//! No segmentation or receive offload: what goes out in one call is one IP packet, as on the wire.
//! The unsafe code of the QUIC roles is here.

use crate::socket;
use crate::sys;
use bytes::BytesMut;
use socket2::{Socket, Type};
use std::io::{self, IoSliceMut};
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicU32, AtomicU8, Ordering::Relaxed};
use std::sync::Arc;

/// Most datagrams to take with one system call.
pub const MOST_AT_ONCE: usize = 16;
/// No datagram: to begin with.
pub const NOTHING: Arrived =
    Arrived { from: SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0), ecn: 0, bytes: 0 };
/// Room for one datagram; the largest that is announced to the peer is smaller.
const SLOT_BYTES: usize = 1536;
/// Room for one control message that holds a byte: `CMSG_SPACE(1)`, aligned as `cmsghdr`.
type Control = [u64; 3];
/// Of a receive buffer, bytes. Small datagrams count with their overhead, about 1 kB each.
const LEAST_RECEIVE_BUFFER: u32 = 4 << 20;
/// What may arrive before the program takes it, where no window limits it, bytes.
const UNLIMITED_WINDOW: u32 = 32 << 20;

/// A datagram that has arrived.
#[derive(Debug)]
pub struct Received {
    /// Who sent it.
    pub from: SocketAddrV4,
    /// The two ECN bits of its IP header, 0 where they are not asked for.
    pub ecn: u8,
    /// Its payload.
    pub payload: BytesMut,
}

/// A UDP socket over IPv4 that does not block.
#[derive(Debug)]
pub struct Datagrams {
    socket: Socket,
    storage: BytesMut,
    /// The ECN bits that the socket marks datagrams with.
    marks: AtomicU8,
    /// How many datagrams the kernel has accepted.
    accepted: Arc<AtomicU32>,
}

/// What the kernel says of a datagram beside its payload.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    /// Who sent it.
    pub from: SocketAddrV4,
    /// The two ECN bits of its IP header, 0 where they are not asked for.
    pub ecn: u8,
    /// Length of its payload.
    pub bytes: usize,
}

impl Datagrams {
    /// Opens a socket at `address` (port 0: any), with room for `window_bytes` that arrive at once;
    /// None: for more than a program ever leaves there.
    pub fn bind(address: SocketAddrV4, window_bytes: Option<u32>, ecn: bool) -> io::Result<Self> {
        let socket = socket::open(Type::DGRAM)?;
        // A datagram counts with its overhead, which is less than twice its bytes when it is full.
        let window_bytes = window_bytes.unwrap_or(UNLIMITED_WINDOW);
        let bytes = window_bytes.saturating_mul(2).max(LEAST_RECEIVE_BUFFER);
        socket::set_buffer(&socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, bytes)?;
        // Never fragmented, and no path MTU taken from anywhere: QUIC minds its own (RFC 9000, 14).
        let probe = libc::IP_PMTUDISC_PROBE;
        sys::set_option(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, probe)?;
        if ecn {
            socket.set_recv_tos_v4(true)?;
        }
        socket.bind(&address.into())?;
        let (storage, marks) = (BytesMut::new(), AtomicU8::new(0));
        Ok(Datagrams { socket, storage, marks, accepted: Arc::default() })
    }

    /// Receives from this peer only, and learns when nobody listens there.
    pub fn connect(&self, peer: SocketAddrV4) -> io::Result<()> {
        socket::connect(&self.socket, peer)
    }

    /// The MTU of the link that leads to `peer`, bytes of an IP packet.
    pub fn link_mtu(peer: SocketAddrV4) -> io::Result<u32> {
        let socket = socket::open(Type::DGRAM)?;
        socket::connect(&socket, peer)?;
        let mut value = [0; 4];
        sys::get_option(&socket, libc::IPPROTO_IP, libc::IP_MTU, &mut value)?;
        Ok(u32::from_ne_bytes(value))
    }

    /// Sends one datagram, marked with these ECN bits.
    ///
    /// # Errors
    /// What the kernel says; `WouldBlock` when there is no room.
    pub fn send(&self, payload: &[u8], to: SocketAddrV4, marks: u8) -> io::Result<()> {
        if marks != self.marks.load(Relaxed) {
            self.socket.set_tos_v4(marks.into())?;
            self.marks.store(marks, Relaxed);
        }
        self.socket.send_to(payload, &to.into())?;
        self.accepted.fetch_add(1, Relaxed);
        Ok(())
    }

    /// How many datagrams the kernel has accepted, now and later.
    #[must_use]
    pub fn accepted(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.accepted)
    }

    /// Takes what has arrived, up to a limit; true: there may be more.
    ///
    /// # Errors
    /// What the kernel says: on a connected socket also what became of datagrams sent before.
    pub fn receive(&mut self, into: &mut Vec<Received>) -> io::Result<bool> {
        self.storage.reserve(MOST_AT_ONCE * SLOT_BYTES);
        // SAFETY: a plain structure of the kernel that may be zero.
        let mut slots: [libc::iovec; MOST_AT_ONCE] = unsafe { zeroed() };
        let rooms = self.storage.spare_capacity_mut().chunks_exact_mut(SLOT_BYTES);
        for (slot, room) in slots.iter_mut().zip(rooms) {
            *slot = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: SLOT_BYTES };
        }
        let mut arrived = [NOTHING; MOST_AT_ONCE];
        // SAFETY: every slot is live memory of the length that it states: the storage's spare
        // capacity.
        let count = unsafe { self.fill(&mut slots, &mut arrived) }?;
        for Arrived { from, ecn, bytes } in &arrived[..count] {
            let rest = self.storage.split_off(SLOT_BYTES);
            // SAFETY: the kernel has filled this many bytes of the slot, which is at most its
            // length.
            unsafe { self.storage.set_len((*bytes).min(SLOT_BYTES)) };
            into.push(Received {
                from: *from,
                ecn: *ecn,
                payload: std::mem::replace(&mut self.storage, rest),
            });
        }
        Ok(count == MOST_AT_ONCE)
    }

    /// Takes what has arrived into `rooms`, each of which has room for a whole datagram, and says
    /// in `arrived` what it is; returns how many have come.
    ///
    /// # Errors
    /// Those of `receive`.
    pub fn receive_into(
        &self,
        rooms: &mut [IoSliceMut],
        arrived: &mut [Arrived; MOST_AT_ONCE],
    ) -> io::Result<usize> {
        // SAFETY: a plain structure of the kernel that may be zero.
        let mut slots: [libc::iovec; MOST_AT_ONCE] = unsafe { zeroed() };
        let count = rooms.len().min(MOST_AT_ONCE);
        for (slot, room) in slots.iter_mut().zip(rooms) {
            *slot = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        }
        // SAFETY: every slot is live memory of the length that it states: one of the rooms.
        unsafe { self.fill(&mut slots[..count], arrived) }
    }

    /// Fills slots with datagrams and returns how many.
    ///
    /// # Safety
    /// Every slot has to be live memory of the length that it states, at most `MOST_AT_ONCE` of
    /// them.
    unsafe fn fill(
        &self,
        slots: &mut [libc::iovec],
        arrived: &mut [Arrived; MOST_AT_ONCE],
    ) -> io::Result<usize> {
        let mut controls: [Control; MOST_AT_ONCE] = [[0; 3]; MOST_AT_ONCE];
        // SAFETY: both are plain structures of the kernel that may be zero.
        let (mut names, mut headers): (
            [libc::sockaddr_in; MOST_AT_ONCE],
            [libc::mmsghdr; MOST_AT_ONCE],
        ) = unsafe { (zeroed(), zeroed()) };
        let wanted = slots.len().min(MOST_AT_ONCE);
        for (index, slot) in slots.iter_mut().enumerate().take(wanted) {
            let header = &mut headers[index].msg_hdr;
            header.msg_name = (&raw mut names[index]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            header.msg_iov = slot;
            header.msg_iovlen = 1;
            header.msg_control = (&raw mut controls[index]).cast();
            header.msg_controllen = size_of::<Control>();
        }
        // SAFETY: every header points to live memory of the length that it states: a name, a slot,
        // as the caller promises, and room for control messages.
        let count = sys::checked(i64::from(unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                wanted as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        }))?;
        for index in 0..count {
            arrived[index] = Arrived {
                from: SocketAddrV4::new(
                    Ipv4Addr::from(u32::from_be(names[index].sin_addr.s_addr)),
                    u16::from_be(names[index].sin_port),
                ),
                ecn: ecn_bits(&headers[index].msg_hdr),
                bytes: headers[index].msg_len as usize,
            };
        }
        Ok(count)
    }

    /// The port that it is at.
    pub fn local_port(&self) -> io::Result<u16> {
        socket::local_address(&self.socket).map(|address| address.port())
    }

    /// Datagrams that have found no room in the receive buffer so far.
    pub fn dropped(&self) -> io::Result<u32> {
        socket::dropped(&self.socket)
    }
}

impl AsFd for Datagrams {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Datagrams {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// The ECN bits that came with a datagram; 0 if there is no word about them.
fn ecn_bits(header: &libc::msghdr) -> u8 {
    // SAFETY: the kernel has filled the header's control messages, and the two functions stay
    // within the length that it has set.
    unsafe {
        let message = libc::CMSG_FIRSTHDR(header);
        if message.is_null()
            || (*message).cmsg_level != libc::IPPROTO_IP
            || (*message).cmsg_type != libc::IP_TOS
        {
            return 0;
        }
        *libc::CMSG_DATA(message) & 0b11
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(ecn: bool) -> (Datagrams, Datagrams, SocketAddrV4) {
        let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let here = Datagrams::bind(any, Some(0), ecn).unwrap();
        let there = Datagrams::bind(any, Some(0), ecn).unwrap();
        let address = socket::local_address(&there.socket).unwrap();
        (here, there, address)
    }

    #[test]
    fn datagrams_arrive_whole_in_order_and_apart() {
        let (here, mut there, address) = pair(false);
        for index in 0..20_u8 {
            here.send(&vec![index; 1 + 70 * usize::from(index)], address, 0).unwrap();
        }
        let mut all = Vec::new();
        assert!(there.receive(&mut all).unwrap(), "16 of 20");
        assert!(!there.receive(&mut all).unwrap());
        assert_eq!(all.len(), 20);
        for (index, one) in (0..).zip(&all) {
            assert_eq!(one.payload[..], vec![index; 1 + 70 * usize::from(index)]);
            assert_eq!(one.from, socket::local_address(&here.socket).unwrap());
        }
        let nothing = there.receive(&mut all).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(there.dropped().unwrap(), 0);
    }

    #[test]
    fn ecn_bits_are_those_that_were_sent() {
        let (here, mut there, address) = pair(true);
        for marks in [0b10, 0b00, 0b01] {
            here.send(b"x", address, marks).unwrap();
        }
        let mut all = Vec::new();
        there.receive(&mut all).unwrap();
        assert_eq!(all.iter().map(|one| one.ecn).collect::<Vec<_>>(), [0b10, 0b00, 0b01]);
    }

    #[test]
    fn nobody_listening_is_an_error_of_a_connected_socket() {
        let (mut here, there, address) = pair(false);
        here.connect(address).unwrap();
        drop(there);
        here.send(b"x", address, 0).unwrap();
        let refused = here.receive(&mut Vec::new()).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ECONNREFUSED));
    }
}
