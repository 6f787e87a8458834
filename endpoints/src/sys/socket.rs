//! Sockets over IPv4 that do not block: options, addresses, connections, data.

use super::{checked, owned};
use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

/// A TCP socket over IPv4 that does not block.
///
/// # Errors
/// What the kernel says.
pub fn tcp_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointer.
    owned(unsafe { libc::socket(libc::AF_INET, kind, 0) })
}

/// A UDP socket over IPv4 that does not block.
///
/// # Errors
/// What the kernel says.
pub fn udp_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointer.
    owned(unsafe { libc::socket(libc::AF_INET, kind, 0) })
}

/// Sets a socket option that is a number.
///
/// # Errors
/// What the kernel says.
pub fn set_option(socket: &OwnedFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    set_option_bytes(socket, level, option, &value.to_ne_bytes())
}

/// Sets a socket option that is a string or a structure.
///
/// # Errors
/// What the kernel says.
pub fn set_option_bytes(socket: &OwnedFd, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: `value` is live and has this length.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), length)
    };
    checked(result.into()).map(drop)
}

/// Reads a socket option into `value` and returns how many bytes the kernel filled.
///
/// # Errors
/// What the kernel says.
pub fn get_option(
    socket: &OwnedFd,
    level: i32,
    option: i32,
    value: &mut [u8],
) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: `value` is live and has this length; `length` is live.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    checked(result.into())?;
    Ok(length as usize)
}

/// Makes a socket block, or not.
///
/// # Errors
/// What the kernel says.
pub fn set_blocking(socket: &OwnedFd, blocks: bool) -> io::Result<()> {
    let mut not = libc::c_int::from(!blocks);
    // SAFETY: `not` is live, and FIONBIO reads one int.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::FIONBIO, &raw mut not) }.into())
        .map(drop)
}

fn socket_address(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
        sin_zero: [0; 8],
    }
}

fn internet_address(name: libc::sockaddr_in) -> SocketAddrV4 {
    let ip = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
    SocketAddrV4::new(ip, u16::from_be(name.sin_port))
}

/// Gives a socket its local address.
///
/// # Errors
/// What the kernel says.
pub fn bind(socket: &OwnedFd, address: SocketAddrV4) -> io::Result<()> {
    let name = socket_address(address);
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let pointer: *const libc::sockaddr_in = &raw const name;
    // SAFETY: `name` is a live sockaddr_in of this length.
    checked(unsafe { libc::bind(socket.as_raw_fd(), pointer.cast(), length) }.into()).map(drop)
}

/// Binds a socket and listens.
///
/// # Errors
/// What the kernel says.
pub fn listen(socket: &OwnedFd, address: SocketAddrV4, backlog: i32) -> io::Result<()> {
    bind(socket, address)?;
    // SAFETY: takes no pointer.
    checked(unsafe { libc::listen(socket.as_raw_fd(), backlog) }.into()).map(drop)
}

/// Starts to connect.
///
/// # Errors
/// What the kernel says; `EINPROGRESS` is not an error.
pub fn connect(socket: &OwnedFd, address: SocketAddrV4) -> io::Result<()> {
    let name = socket_address(address);
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let pointer: *const libc::sockaddr_in = &raw const name;
    // SAFETY: `name` is a live sockaddr_in of this length.
    let result = unsafe { libc::connect(socket.as_raw_fd(), pointer.cast(), length) };
    match checked(result.into()) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other.map(drop),
    }
}

/// Starts to connect with data in the first packet, if a cookie of the server is known (tcp(7),
/// `MSG_FASTOPEN`); true: the data is on its way, false: it has to be sent once connected.
///
/// # Errors
/// What the kernel says; `EOPNOTSUPP` where the machine does not allow it.
pub fn connect_with(socket: &OwnedFd, address: SocketAddrV4, bytes: &[u8]) -> io::Result<bool> {
    let name = socket_address(address);
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let pointer: *const libc::sockaddr_in = &raw const name;
    let flags = libc::MSG_FASTOPEN | libc::MSG_NOSIGNAL;
    // SAFETY: `name` is a live sockaddr_in of this length; `bytes` is live and has this length.
    let result = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            flags,
            pointer.cast(),
            length,
        )
    };
    match checked(result as i64) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(false),
        Err(error) => Err(error),
        Ok(_) => Ok(true),
    }
}

/// Accepts a connection; the new socket does not block either.
///
/// # Errors
/// What the kernel says.
pub fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let none = std::ptr::null_mut();
    // SAFETY: null pointers say that the peer's address is not wanted.
    owned(unsafe { libc::accept4(listener.as_raw_fd(), none, std::ptr::null_mut(), flags) })
}

/// The local address of a socket.
///
/// # Errors
/// What the kernel says.
pub fn local_address(socket: &OwnedFd) -> io::Result<SocketAddrV4> {
    let mut name = socket_address(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
    let mut length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let pointer: *mut libc::sockaddr_in = &raw mut name;
    // SAFETY: `name` is a live sockaddr_in of this length, `length` is live.
    checked(
        unsafe { libc::getsockname(socket.as_raw_fd(), pointer.cast(), &raw mut length) }.into(),
    )?;
    Ok(internet_address(name))
}

/// The address that a socket is connected to.
///
/// # Errors
/// What the kernel says.
pub fn peer_address(socket: &OwnedFd) -> io::Result<SocketAddrV4> {
    let mut name = socket_address(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
    let mut length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let pointer: *mut libc::sockaddr_in = &raw mut name;
    // SAFETY: `name` is a live sockaddr_in of this length, `length` is live.
    checked(
        unsafe { libc::getpeername(socket.as_raw_fd(), pointer.cast(), &raw mut length) }.into(),
    )?;
    Ok(internet_address(name))
}

/// Receives at most `bytes.len()` bytes; 0 at the end of the stream.
///
/// # Errors
/// What the kernel says.
pub fn receive(socket: &OwnedFd, bytes: &mut [u8]) -> io::Result<usize> {
    // SAFETY: `bytes` is live and has this length.
    let result =
        unsafe { libc::recv(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    checked(result as i64)
}

/// Takes at most `most` bytes out of a TCP socket without copying them anywhere (tcp(7),
/// `MSG_TRUNC`); 0 at the end of the stream.
///
/// # Errors
/// What the kernel says.
pub fn discard(socket: &OwnedFd, most: usize) -> io::Result<usize> {
    let nowhere = std::ptr::null_mut();
    // SAFETY: with MSG_TRUNC a TCP socket writes nothing to the buffer, so it may be null.
    let result = unsafe { libc::recv(socket.as_raw_fd(), nowhere, most, libc::MSG_TRUNC) };
    checked(result as i64)
}

/// Takes `most` bytes out of a TCP socket that blocks, without copying them and as they arrive; fewer
/// when the connection comes to its end, 0 at the end.
///
/// # Errors
/// What the kernel says.
pub fn discard_all(socket: &OwnedFd, most: usize) -> io::Result<usize> {
    let (nowhere, flags) = (std::ptr::null_mut(), libc::MSG_TRUNC | libc::MSG_WAITALL);
    // SAFETY: with MSG_TRUNC a TCP socket writes nothing to the buffer, so it may be null.
    let result = unsafe { libc::recv(socket.as_raw_fd(), nowhere, most, flags) };
    checked(result as i64)
}

/// Sends as many of the bytes as fit.
///
/// # Errors
/// What the kernel says.
pub fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: `bytes` is live and has this length.
    let result = unsafe {
        libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL)
    };
    checked(result as i64)
}

/// Sends one datagram.
///
/// # Errors
/// What the kernel says.
pub fn send_to(socket: &OwnedFd, bytes: &[u8], to: SocketAddrV4) -> io::Result<usize> {
    let name = socket_address(to);
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let pointer: *const libc::sockaddr_in = &raw const name;
    // SAFETY: `bytes` is live and has this length, and so has `name`.
    let result = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
            pointer.cast(),
            length,
        )
    };
    checked(result as i64)
}

/// Says to the peer that no more data will come.
///
/// # Errors
/// What the kernel says.
pub fn shutdown_write(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes no pointer.
    checked(unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_WR) }.into()).map(drop)
}

/// Says that nothing more will be read: whoever waits for data gets what has arrived. The peer learns
/// nothing of it.
///
/// # Errors
/// What the kernel says.
pub fn shutdown_read(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes no pointer.
    checked(unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RD) }.into()).map(drop)
}
