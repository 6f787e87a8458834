//! Sockets of the UDP roles. The unsafe code of these roles is here.

use crate::packet_ring;
use crate::socket::{self, set_buffer};
use crate::sys;
use crate::udp::datagram::{Datagram, HEADER_BYTES};
use socket2::{Socket, Type};
use std::io::{self, ErrorKind::WouldBlock};
use std::mem::{size_of, zeroed, MaybeUninit};
use std::net::SocketAddrV4;
use std::os::fd::AsRawFd;
use std::ptr;

/// Memory that the kernel may use for what waits in a socket, bytes. Where it waits is for the
/// queues of the network to say, not for a socket's limit.
const BUFFER_BYTES: u32 = 64 << 20;
/// Datagrams that are taken with one system call.
const BATCH: usize = 64;
/// Room for one control message with a timestamp (`struct cmsghdr` and `struct timespec`), in words
/// so that it is aligned.
const CONTROL_WORDS: usize = 8;

/// A socket that sends to one peer, and hears nothing: echoes are for the captures to see.
#[derive(Debug)]
pub struct Sender {
    socket: Socket,
    packet: Vec<u8>,
}

/// What became of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The kernel has it.
    Taken,
    /// The kernel had no room for it.
    Refused,
}

impl Sender {
    /// A socket at `from` that sends datagrams of up to `payload_bytes` to `to`, and never cut up.
    ///
    /// # Errors
    /// A message that says what cannot be had.
    pub fn new(from: SocketAddrV4, to: SocketAddrV4, payload_bytes: usize) -> Result<Self, String> {
        let socket = connected(from, to)?;
        set_buffer(&socket, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, BUFFER_BYTES)
            .and_then(|()| {
                let never = libc::IP_PMTUDISC_DO;
                sys::set_option(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, never)
            })
            .and_then(|()| packet_ring::attach(&socket, &[KEEPS_NOTHING]))
            .map_err(|error| format!("cannot prepare the socket: {error}"))?;
        Ok(Sender { socket, packet: vec![0; payload_bytes.max(HEADER_BYTES)] })
    }

    /// Sends a datagram with this many bytes of payload, what it tells included.
    ///
    /// # Errors
    /// A message, when no datagram will ever get through.
    pub fn send(&mut self, datagram: Datagram, payload_bytes: usize) -> Result<Sent, String> {
        self.packet[..HEADER_BYTES].copy_from_slice(&datagram.encode());
        let payload = &self.packet[..payload_bytes.clamp(HEADER_BYTES, self.packet.len())];
        // The second attempt is for the error of an earlier datagram that nobody received.
        let result = self.socket.send(payload).or_else(|error| match error.raw_os_error() {
            Some(libc::ECONNREFUSED) => self.socket.send(payload),
            _ => Err(error),
        });
        match result {
            Ok(_) => Ok(Sent::Taken),
            Err(error) if error.kind() == WouldBlock => Ok(Sent::Refused),
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOBUFS | libc::ECONNREFUSED) => Ok(Sent::Refused),
                Some(libc::EMSGSIZE) => {
                    Err(format!("packets of {} bytes exceed the path's MTU", payload.len() + 28))
                }
                _ => Err(format!("sending: {error}")),
            },
        }
    }
}

/// The classic filter that keeps nothing of a packet.
const KEEPS_NOTHING: libc::sock_filter =
    libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };

/// A socket that receives from one peer.
#[derive(Debug)]
pub struct Receiver {
    socket: Socket,
}

/// A datagram that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// What it tells; None for one of somebody else.
    pub datagram: Option<Datagram>,
    /// When the kernel got it, ns of `CLOCK_REALTIME`; None if it does not say.
    pub arrived_ns: Option<i64>,
}

impl Receiver {
    /// A socket at `to` that receives from `from`.
    ///
    /// # Errors
    /// A message that says what cannot be had.
    pub fn new(to: SocketAddrV4, from: SocketAddrV4) -> Result<Self, String> {
        let socket = connected(to, from)?;
        set_buffer(&socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, BUFFER_BYTES)
            .and_then(|()| sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1))
            .map_err(|error| format!("cannot prepare the socket: {error}"))?;
        Ok(Receiver { socket })
    }

    /// Takes everything that has arrived.
    pub fn take(&self, mut each: impl FnMut(Arrival)) -> io::Result<()> {
        let mut headers = [[0_u8; HEADER_BYTES]; BATCH];
        let mut controls = [[0_u64; CONTROL_WORDS]; BATCH];
        let mut vectors = [MaybeUninit::<libc::iovec>::uninit(); BATCH];
        // SAFETY: all zeros are a valid `mmsghdr`: null pointers with lengths of zero.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        loop {
            for index in 0..BATCH {
                let vector = vectors[index].write(libc::iovec {
                    iov_base: headers[index].as_mut_ptr().cast(),
                    iov_len: HEADER_BYTES,
                });
                let message = &mut messages[index].msg_hdr;
                message.msg_iov = ptr::from_mut(vector);
                message.msg_iovlen = 1;
                message.msg_control = controls[index].as_mut_ptr().cast();
                message.msg_controllen = size_of::<[u64; CONTROL_WORDS]>() as _;
            }
            // SAFETY: every message points to a header, a vector and a control buffer that live
            // until the end of this function and have the lengths that it tells. The rest of a
            // datagram is dropped.
            let result = unsafe {
                libc::recvmmsg(
                    self.socket.as_raw_fd(),
                    messages.as_mut_ptr(),
                    BATCH as libc::c_uint,
                    0,
                    ptr::null_mut(),
                )
            };
            let count = match sys::checked(result.into()) {
                Ok(count) => count,
                Err(error) if error.kind() == WouldBlock => return Ok(()),
                // Of a datagram that this end never sent.
                Err(error) if error.raw_os_error() == Some(libc::ECONNREFUSED) => continue,
                Err(error) => return Err(error),
            };
            for index in 0..count {
                let length = (messages[index].msg_len as usize).min(HEADER_BYTES);
                each(Arrival {
                    datagram: Datagram::decode(&headers[index][..length]),
                    arrived_ns: stamp_ns(&messages[index].msg_hdr),
                });
            }
            if count < BATCH {
                return Ok(());
            }
        }
    }

    /// Sends a datagram back; `payload_bytes`: what the arriving one had.
    ///
    /// One that the kernel has no room for, or that nobody waits for any more, is lost like any
    /// other.
    pub fn echo(&self, datagram: Datagram, payload_bytes: usize) -> io::Result<()> {
        let mut packet = vec![0; payload_bytes.max(HEADER_BYTES)];
        packet[..HEADER_BYTES].copy_from_slice(&datagram.encode());
        match self.socket.send(&packet) {
            Err(error) if error.kind() == WouldBlock => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOBUFS | libc::ECONNREFUSED) => Ok(()),
                _ => Err(error),
            },
            Ok(_) => Ok(()),
        }
    }

    /// The socket, to wait at.
    #[must_use]
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Datagrams that found no room in the socket.
    pub fn overflowed(&self) -> io::Result<u32> {
        socket::dropped(&self.socket)
    }
}

fn connected(local: SocketAddrV4, peer: SocketAddrV4) -> Result<Socket, String> {
    let socket =
        socket::open(Type::DGRAM).map_err(|error| format!("cannot open a socket: {error}"))?;
    // Several connections may share a port of one end: their other ends differ.
    socket
        .set_reuse_address(true)
        .and_then(|()| socket.bind(&local.into()))
        .map_err(|error| format!("cannot use {local}: {error}"))?;
    socket::connect(&socket, peer).map_err(|error| format!("cannot reach {peer}: {error}"))?;
    Ok(socket)
}

/// The time of a `SCM_TIMESTAMPNS` among the control messages, ns.
fn stamp_ns(message: &libc::msghdr) -> Option<i64> {
    // SAFETY: the kernel has filled the control buffer of `message` and set its length; the macros
    // stay inside of it, and a message of this type holds a timespec.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(message);
        while let Some(control) = next.as_ref() {
            if control.cmsg_level == libc::SOL_SOCKET && control.cmsg_type == libc::SCM_TIMESTAMPNS
            {
                let time: libc::timespec = ptr::read_unaligned(libc::CMSG_DATA(control).cast());
                return Some(time.tv_sec * 1_000_000_000 + time.tv_nsec);
            }
            next = libc::CMSG_NXTHDR(message, control);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::realtime_ns;
    use std::net::Ipv4Addr;

    fn address(port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
    }

    /// Two ports that nobody uses.
    fn ports() -> (u16, u16) {
        let port = |socket: &Socket| {
            socket.bind(&address(0).into()).unwrap();
            socket::local_address(socket).unwrap().port()
        };
        let sockets = (socket::open(Type::DGRAM).unwrap(), socket::open(Type::DGRAM).unwrap());
        (port(&sockets.0), port(&sockets.1))
    }

    #[test]
    fn datagrams_arrive_with_the_time_of_the_kernel() {
        let (from, to) = ports();
        let receiver = Receiver::new(address(to), address(from)).unwrap();
        let mut sender = Sender::new(address(from), address(to), 1_000).unwrap();
        let begin_ns = realtime_ns();
        let datagram = |number| Datagram { connection: 0, number, sent_ns: 5 };
        for number in 0..200 {
            assert_eq!(sender.send(datagram(number), 1_000), Ok(Sent::Taken));
        }
        let mut arrivals = Vec::new();
        receiver.take(|arrival| arrivals.push(arrival)).unwrap();
        assert_eq!(arrivals.len(), 200);
        for (number, arrival) in (0..).zip(&arrivals) {
            assert_eq!(arrival.datagram, Some(datagram(number)));
            let arrived_ns = arrival.arrived_ns.expect("a time");
            assert!((begin_ns..=realtime_ns()).contains(&arrived_ns));
        }
        assert_eq!(receiver.overflowed().unwrap(), 0);
    }

    #[test]
    fn a_packet_that_does_not_fit_is_an_error_and_a_missing_receiver_is_not() {
        let (from, to) = ports();
        let mut sender = Sender::new(address(from), address(to), 70_000).unwrap();
        let datagram = Datagram { connection: 0, number: 0, sent_ns: 0 };
        assert!(sender.send(datagram, 70_000).unwrap_err().contains("exceed the path"));
        for _ in 0..3 {
            sender.send(datagram, 100).unwrap();
        }
    }
}
