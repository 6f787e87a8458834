//! Sockets with the options that an experiment needs, and the reading back of what took effect.

use crate::sys;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Of include/uapi/linux/in.h.
const IPPROTO_MPTCP: i32 = 262;

/// SYNs (or answers to one) that are repeated before a connection attempt fails. At 20 % loss both
/// ways an exchange fails with probability 0.36, so that 20 of them never do.
const SYN_RETRIES: i32 = 20;

/// A buffer that limits nothing, bytes: the kernel keeps twice this in a signed number, and half of
/// that is a window that no path of fairc's fills (`buffer-too-large`). It takes no memory before
/// it is used.
pub const LARGEST_BUFFER: u32 = 1 << 29;

/// Bytes that a connection's send buffer takes beyond what has been sent. The buffer itself has
/// room for whatever is under way; to fill and to free that much for dozens of connections at once
/// keeps the one processor of all emulated hosts busy for 38 ms (32 connections at 100 Mbit/s).
pub const UNSENT_BYTES: u32 = 128 << 10;

/// Time before a connection that failed to open is tried again, ns.
pub const RETRY_NS: i64 = 100_000_000;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// A socket over IPv4 of a kind, that does not block.
pub fn open(kind: Type) -> io::Result<Socket> {
    open_over(kind, None)
}

/// A socket over MPTCP, that does not block.
///
/// # Errors
/// `EPROTONOSUPPORT` for a kernel without MPTCP.
pub fn open_mptcp() -> io::Result<Socket> {
    open_over(Type::STREAM, Some(Protocol::from(IPPROTO_MPTCP)))
}

fn open_over(kind: Type, protocol: Option<Protocol>) -> io::Result<Socket> {
    Socket::new_raw(Domain::IPV4, kind.nonblocking().cloexec(), protocol)
}

/// Binds a socket and listens.
pub fn listen(socket: &Socket, address: SocketAddrV4, backlog: i32) -> io::Result<()> {
    socket.bind(&address.into())?;
    socket.listen(backlog)
}

/// Starts to connect.
pub fn connect(socket: &Socket, address: SocketAddrV4) -> io::Result<()> {
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other,
    }
}

/// Starts to connect with data in the first packet, if a cookie of the server is known (tcp(7),
/// `MSG_FASTOPEN`); true: the data is on its way, false: it has to be sent once connected. An error
/// is `EOPNOTSUPP` where the machine does not allow it.
pub fn connect_with(socket: &Socket, address: SocketAddrV4, bytes: &[u8]) -> io::Result<bool> {
    match socket.send_to_with_flags(bytes, &address.into(), libc::MSG_FASTOPEN) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(false),
        other => other.map(|_| true),
    }
}

/// The local address of a socket.
pub fn local_address(socket: &Socket) -> io::Result<SocketAddrV4> {
    socket.local_addr().and_then(|address| over_ipv4(&address))
}

/// The address that a socket is connected to.
pub fn peer_address(socket: &Socket) -> io::Result<SocketAddrV4> {
    socket.peer_addr().and_then(|address| over_ipv4(&address))
}

fn over_ipv4(address: &SockAddr) -> io::Result<SocketAddrV4> {
    address.as_socket_ipv4().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// How a listening socket and its connections are to be.
#[derive(Debug, Clone, Copy)]
pub struct Listening<'a> {
    /// Where.
    pub address: SocketAddrV4,
    /// Congestion control, by the kernel's name.
    pub cca: &'a str,
    /// Send buffer, bytes of payload; None: it limits nothing.
    pub buffer_bytes: Option<u32>,
    /// The whole send buffer may wait to be sent, as with a source that it holds up.
    pub fills: bool,
    /// As much may wait to be sent, bytes, whatever the source; None: as `fills` says.
    pub unsent_bytes: Option<u32>,
    /// Connections that may wait to be accepted.
    pub backlog: u32,
    /// Data may come with the first packet.
    pub fast_open: bool,
    /// MPTCP instead of TCP.
    pub mptcp: bool,
}

/// Opens a listening socket.
///
/// # Errors
/// A message that says which step failed; for a CCA also which there are.
pub fn listener(wanted: Listening) -> Result<Socket, String> {
    let Listening { address, cca, buffer_bytes, fills, unsent_bytes, backlog, fast_open, mptcp } =
        wanted;
    let socket = if mptcp { open_mptcp() } else { open(Type::STREAM) }
        .map_err(|error| format!("cannot open a socket: {error}"))?;
    set_congestion_control(&socket, cca)?;
    // Every subflow would have a buffer of this size, and fill it whatever its rate; and MPTCP does
    // not have the other option.
    let of_tcp = if mptcp {
        Ok(())
    } else {
        let bytes = buffer_bytes.unwrap_or(LARGEST_BUFFER);
        set_buffer(&socket, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, bytes).and_then(|()| {
            sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_SYNCNT, SYN_RETRIES)
        })
    };
    of_tcp
        .and_then(|()| socket.set_reuse_address(true))
        .and_then(|()| {
            let usual = if fills { 0 } else { UNSENT_BYTES }; // 0: as much as there is room for
            socket.set_tcp_notsent_lowat(unsent_bytes.unwrap_or(usual))
        })
        .map_err(|error| format!("cannot prepare the listening socket: {error}"))?;
    let backlog = i32::try_from(backlog).unwrap_or(i32::MAX).max(128);
    if fast_open {
        sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, backlog)
            .map_err(|error| format!("cannot allow TCP Fast Open: {error}"))?;
    }
    listen(&socket, address, backlog)
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    Ok(socket)
}

/// Sets the congestion control, by the kernel's name.
///
/// # Errors
/// A message that says which there are.
pub fn set_congestion_control(socket: &Socket, cca: &str) -> Result<(), String> {
    socket.set_tcp_congestion(cca.as_bytes()).map_err(|error| {
        let available = fs::read_to_string(AVAILABLE).unwrap_or_else(|_| "unknown".into());
        format!(
            "congestion control `{}` is not available ({}); available: {}",
            cca,
            error,
            available.trim_end()
        )
    })
}

/// Accepts the next connection; None: there is no other.
///
/// # Errors
/// What the kernel says of the listening socket.
pub fn accept(listener: &Socket) -> io::Result<Option<Socket>> {
    loop {
        match listener.accept4(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) {
            Ok((socket, _)) => return Ok(Some(socket)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) if is_of_the_connection(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether `accept` reports an error of the connection that waited, which is gone, instead of one
/// of the listening socket (accept(2), "Error handling").
fn is_of_the_connection(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNABORTED
                | libc::EINTR
                | libc::ENETDOWN
                | libc::EPROTO
                | libc::ENOPROTOOPT
                | libc::EHOSTDOWN
                | libc::ENONET
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
        )
    )
}

/// Opens a socket that is about to connect, with a fixed receive buffer for `buffer_bytes` of
/// payload (None: it limits nothing) and at most `window_bytes` of receive window. Both are set
/// before the handshake, which settles the scale of the window.
pub fn connecting(buffer_bytes: Option<u32>, window_bytes: Option<u32>) -> io::Result<Socket> {
    let socket = open(Type::STREAM)?;
    // The kernel offers about half of a buffer: twice the window leaves the limit to the window.
    let buffer_bytes = match buffer_bytes {
        None => LARGEST_BUFFER,
        Some(bytes) => bytes.max(window_bytes.unwrap_or(0).saturating_mul(2)),
    };
    set_buffer(&socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, buffer_bytes)?;
    if let Some(bytes) = window_bytes {
        set_window(&socket, bytes)?;
    }
    sys::set_option(&socket, libc::IPPROTO_TCP, libc::TCP_SYNCNT, SYN_RETRIES)?;
    Ok(socket)
}

/// Begins a connection to nobody on this machine. For the first one that it begins a kernel draws
/// 256 KiB of random numbers (`table_perturb`): in an emulated processor 6 ms between `connect` and
/// the SYN, which would be a part of what is measured.
///
/// # Errors
/// There is no socket. That nobody answers is none.
pub fn warm_up() -> io::Result<()> {
    let nobody = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9); // discard
    drop(connect(&open(Type::STREAM)?, nobody));
    Ok(())
}

/// Limits the receive window (`TCP_WINDOW_CLAMP`).
pub fn set_window(socket: &Socket, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes)
}

/// The largest receive window that the kernel will offer, bytes.
pub fn window(socket: &Socket) -> io::Result<u32> {
    let mut value = [0; 4];
    sys::get_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &mut value)?;
    Ok(u32::from_ne_bytes(value))
}

/// Limits the pacing rate, bytes/s as the kernel counts them, and makes TCP pace where the
/// congestion control does not.
pub fn limit_pacing(socket: &Socket, bytes_per_s: u64) -> io::Result<()> {
    let value = bytes_per_s.to_ne_bytes();
    sys::set_option_bytes(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &value)
}

/// Limits the sending rate to `bps` of IP packets: the kernel counts payload, without headers.
pub fn limit_rate(socket: &Socket, bps: u64, mss: u32, header_bytes: u32) -> io::Result<()> {
    let packet_bits = 8 * u64::from(mss + header_bytes);
    let bytes_per_s = u128::from(bps) * u128::from(mss) / u128::from(packet_bits);
    limit_pacing(socket, (bytes_per_s as u64).max(1))
}

/// The limit of the pacing rate, bytes/s as the kernel counts them; None without one.
pub fn pacing_limit(socket: &Socket) -> io::Result<Option<u64>> {
    let mut value = [0; 8];
    sys::get_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &mut value)?;
    Ok(Some(u64::from_ne_bytes(value)).filter(|limit| *limit != u64::MAX))
}

/// Sets a buffer past the system's limit where that is permitted, else up to the limit; what took
/// effect is reported by the role. The kernel doubles the number to make room for its overhead.
pub fn set_buffer(socket: &Socket, force: i32, plain: i32, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX / 2);
    match sys::set_option(socket, libc::SOL_SOCKET, force, bytes) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            sys::set_option(socket, libc::SOL_SOCKET, plain, bytes)
        }
        other => other,
    }
}

/// The congestion control that a socket uses.
pub fn congestion_control(socket: &Socket) -> io::Result<String> {
    let name = socket.tcp_congestion()?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// A number of `SOL_SOCKET`, for instance `SO_SNDBUF`.
pub fn number(socket: &Socket, option: i32) -> io::Result<u32> {
    let mut value = [0; 4];
    sys::get_option(socket, libc::SOL_SOCKET, option, &mut value)?;
    Ok(u32::from_ne_bytes(value))
}

/// Datagrams that have found no room in a socket's receive buffer so far.
///
/// The socket's own count also has those with a wrong checksum, the host's of UDP has those of all
/// of its sockets.
pub fn dropped(socket: &Socket) -> io::Result<u32> {
    match dropped_or_wrong(socket)? {
        0 => Ok(0),
        most => Ok(most.min(host_dropped(&fs::read_to_string("/proc/self/net/snmp")?)?)),
    }
}

/// Datagrams that no socket of this host had room for, from its counters of UDP.
fn host_dropped(counters: &str) -> io::Result<u32> {
    let mut lines = counters.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let count = |wanted| {
        let at = names.split(' ').position(|name| name == wanted)?;
        values.split(' ').nth(at)?.parse::<u64>().ok()
    };
    let found = count("RcvbufErrors").zip(Some(count("MemErrors").unwrap_or(0)));
    let (room, memory) =
        found.ok_or_else(|| io::Error::other("this kernel counts no drops of UDP"))?;
    Ok(u32::try_from(room + memory).unwrap_or(u32::MAX))
}

fn dropped_or_wrong(socket: &Socket) -> io::Result<u32> {
    // SO_MEMINFO: nine numbers, the last is SK_MEMINFO_DROPS (linux/sock_diag.h).
    let mut numbers = [0; 36];
    sys::get_option(socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut numbers)?;
    Ok(u32::from_ne_bytes([numbers[32], numbers[33], numbers[34], numbers[35]]))
}

/// What went wrong at a socket while nobody was looking (`SO_ERROR`).
///
/// # Errors
/// That, or what the kernel says to the question.
pub fn pending_error(socket: &Socket) -> io::Result<()> {
    socket.take_error()?.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(cca: &str) -> Listening<'_> {
        Listening {
            address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0),
            cca,
            buffer_bytes: Some(50_000),
            fills: false,
            unsent_bytes: None,
            backlog: 1,
            fast_open: false,
            mptcp: false,
        }
    }

    #[test]
    fn a_listener_has_what_was_asked_for() {
        let socket = listener(wanted("reno")).unwrap();
        assert_eq!(congestion_control(&socket).unwrap(), "reno");
        assert_eq!(number(&socket, libc::SO_SNDBUF).unwrap(), 100_000);
        assert_ne!(local_address(&socket).unwrap().port(), 0);
    }

    #[test]
    fn an_unknown_congestion_control_is_answered_with_those_there_are() {
        let message = listener(wanted("nosuch")).unwrap_err();
        assert!(message.contains("`nosuch` is not available"), "{}", message);
        assert!(message.contains("reno"), "{}", message);
    }

    #[test]
    fn a_refused_connection_is_a_pending_error() {
        let address = local_address(&listener(wanted("reno")).unwrap()).unwrap();
        let socket = connecting(Some(50_000), None).unwrap();
        let error = connect(&socket, address).and_then(|()| pending_error(&socket));
        let error = error.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ECONNREFUSED));
    }

    #[test]
    fn windows_and_pacing_limits_are_read_back() {
        let socket = connecting(Some(50_000), Some(65_536)).unwrap();
        assert_eq!(window(&socket).unwrap(), 65_536);
        assert_eq!(number(&socket, libc::SO_RCVBUF).unwrap(), 4 * 65_536);
        assert_eq!(pacing_limit(&socket).unwrap(), None);
        limit_pacing(&socket, 1 << 40).unwrap();
        assert_eq!(pacing_limit(&socket).unwrap(), Some(1 << 40));
    }
}
