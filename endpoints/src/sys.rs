//! The system calls that the standard library does not offer, each as a safe function.
//!
//! All unsafe code of the crate is here, in `packet_ring`, which shares memory with the kernel, and in
//! `udp::sockets`, `quic::datagrams` and `policer::egress`, which lend it buffers.
//! Every pointer that is passed to the kernel is derived from a live reference in the same call,
//! with the length of what it points to.

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const NS_PER_S: i64 = 1_000_000_000;

/// Turns -1 into the error that the kernel left.
///
/// # Errors
/// That error.
pub(crate) fn checked(result: i64) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Takes charge of a descriptor that the kernel has just returned, or turns -1 into its error.
///
/// # Errors
/// That error.
pub(crate) fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    checked(result.into())?;
    // SAFETY: the kernel has just returned this descriptor, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

fn timespec(ns: i64) -> libc::timespec {
    libc::timespec { tv_sec: ns.div_euclid(NS_PER_S), tv_nsec: ns.rem_euclid(NS_PER_S) }
}

/// `CLOCK_REALTIME`, ns.
#[must_use]
pub fn realtime_ns() -> i64 {
    let mut now = timespec(0);
    // SAFETY: `now` is a live timespec; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    now.tv_sec * NS_PER_S + now.tv_nsec
}

/// Puts this process in front of all ordinary ones (`SCHED_FIFO`); whether it may.
#[must_use]
pub fn go_first() -> bool {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: `first` is live; 0 is this process.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const first) == 0 }
}

/// Number of CPUs that are online, at least 1.
#[must_use]
pub fn online_cpus() -> i64 {
    // SAFETY: takes no pointer.
    unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1)
}

/// Writes all bytes to a descriptor of this process, for instance 1.
///
/// # Errors
/// What the kernel says.
pub fn write_all(fd: i32, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        // SAFETY: `bytes` is live and has this length.
        let result = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        match checked(result as i64) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// `CLOCK_MONOTONIC`, ns.
#[must_use]
pub fn monotonic_ns() -> i64 {
    let mut now = timespec(0);
    // SAFETY: `now` is a live timespec; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec * NS_PER_S + now.tv_nsec
}

/// A timer on a clock of the kernel, not armed, that does not block.
///
/// # Errors
/// What the kernel says.
pub fn timer(clock: libc::clockid_t) -> io::Result<OwnedFd> {
    let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
    // SAFETY: takes no pointer.
    owned(unsafe { libc::timerfd_create(clock, flags) })
}

/// Arms a timer at an absolute time (0 disarms) and from then on every `interval_ns` (0: once).
///
/// # Errors
/// What the kernel says.
pub fn timer_set(timer: &OwnedFd, at_ns: i64, interval_ns: i64) -> io::Result<()> {
    let spec = libc::itimerspec { it_interval: timespec(interval_ns), it_value: timespec(at_ns) };
    let flags = libc::TFD_TIMER_ABSTIME;
    // SAFETY: `spec` is live; a null old value is allowed.
    let result = unsafe {
        libc::timerfd_settime(timer.as_raw_fd(), flags, &raw const spec, std::ptr::null_mut())
    };
    checked(result.into()).map(drop)
}

/// Returns whether a timer has fired since it was last read or set.
///
/// # Errors
/// What the kernel says.
pub fn timer_read(timer: &OwnedFd) -> io::Result<bool> {
    let mut count = [0_u8; 8];
    // SAFETY: `times` is live and has this length.
    let result = unsafe { libc::read(timer.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    match checked(result as i64) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

/// Turns SIGTERM and SIGINT from now on into input of the descriptor that is returned, and a
/// write to a connection that is gone into an error (std has done so already; `sendfile` has no
/// flag for it, so it must not depend on that).
///
/// # Errors
/// What the kernel says.
pub fn stop_signals() -> io::Result<OwnedFd> {
    // SAFETY: `set` is a live signal set, emptied before use; SIG_IGN is a valid disposition.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::sigaddset(&raw mut set, libc::SIGINT);
        checked(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()).into())?;
        owned(libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC))
    }
}

/// A new epoll instance.
///
/// # Errors
/// What the kernel says.
pub fn epoll() -> io::Result<OwnedFd> {
    // SAFETY: takes no pointer.
    owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
}

/// Adds (`EPOLL_CTL_ADD`) or changes (`EPOLL_CTL_MOD`) what an epoll instance waits for.
///
/// # Errors
/// What the kernel says.
pub fn epoll_control(
    epoll: &OwnedFd,
    operation: libc::c_int,
    fd: &impl AsRawFd,
    interest: libc::c_int,
    token: u64,
) -> io::Result<()> {
    let mut event = libc::epoll_event { events: interest as u32, u64: token };
    // SAFETY: `event` is live.
    let result =
        unsafe { libc::epoll_ctl(epoll.as_raw_fd(), operation, fd.as_raw_fd(), &raw mut event) };
    checked(result.into()).map(drop)
}

/// Waits until something is ready and returns how many entries of `events` were filled.
///
/// # Errors
/// What the kernel says.
pub fn epoll_wait(epoll: &OwnedFd, events: &mut [libc::epoll_event]) -> io::Result<usize> {
    let most = libc::c_int::try_from(events.len()).unwrap_or(libc::c_int::MAX);
    // SAFETY: `events` is live and holds at least `most` entries.
    let result = unsafe { libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), most, -1) };
    match checked(result.into()) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        other => other,
    }
}

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

fn socket_address(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
        sin_zero: [0; 8],
    }
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

/// Allows this process as many open files as the machine lets it have: every connection is one.
pub fn raise_file_limit() {
    // More than this no process of a default machine may have (fs.nr_open).
    let wanted = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `wanted` and `limit` are live. Whoever may not raise the hard limit takes it as it is.
    unsafe {
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) != 0
            && libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0
        {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
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

fn internet_address(name: libc::sockaddr_in) -> SocketAddrV4 {
    let ip = std::net::Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
    SocketAddrV4::new(ip, u16::from_be(name.sin_port))
}

/// The local address of a socket.
///
/// # Errors
/// What the kernel says.
pub fn local_address(socket: &OwnedFd) -> io::Result<SocketAddrV4> {
    let mut name = socket_address(SocketAddrV4::new(std::net::Ipv4Addr::UNSPECIFIED, 0));
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
    let mut name = socket_address(SocketAddrV4::new(std::net::Ipv4Addr::UNSPECIFIED, 0));
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

/// Sends at most `most` bytes of a file from `offset` on, as many as fit, without copying them.
///
/// # Errors
/// What the kernel says.
pub fn send_file(
    socket: &OwnedFd,
    file: &OwnedFd,
    offset: usize,
    most: usize,
) -> io::Result<usize> {
    let mut offset = offset as libc::off_t;
    // SAFETY: `offset` is live.
    let result =
        unsafe { libc::sendfile(socket.as_raw_fd(), file.as_raw_fd(), &raw mut offset, most) };
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

/// A descriptor that one thread makes readable (`ring`) for another, which reads it as a timer.
///
/// # Errors
/// What the kernel says.
pub fn bell() -> io::Result<OwnedFd> {
    // SAFETY: takes no pointer.
    owned(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })
}

/// Makes a bell readable.
///
/// # Errors
/// What the kernel says.
pub fn ring(bell: &OwnedFd) -> io::Result<()> {
    write_all(bell.as_raw_fd(), &1_u64.to_ne_bytes())
}

/// Waits until a descriptor is readable.
pub fn wait_readable(fd: &OwnedFd) {
    let mut wanted = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `wanted` is live, and one is its number. A signal merely ends the wait early.
    unsafe { libc::poll(&raw mut wanted, 1, -1) };
}

/// Keeps all threads' memory in one arena: otherwise the first allocation of each reserves one.
pub fn one_arena() {
    // SAFETY: takes no pointer; where there is no such option nothing happens.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// A file in memory, without a name in any file system.
///
/// # Errors
/// What the kernel says.
pub fn memory_file(name: &str) -> io::Result<OwnedFd> {
    let name = CString::new(name)?;
    // SAFETY: `name` is live and ends in zero.
    owned(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) })
}

/// A pipe that does not block, as its ends to read and to write. It holds `bytes` where this process
/// may have so large ones, else what pipes hold by default.
///
/// # Errors
/// What the kernel says.
pub fn pipe(bytes: i32) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` is live and has two entries.
    let result = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK | libc::O_CLOEXEC) };
    checked(result.into())?;
    let (read, write) = (owned(ends[0])?, owned(ends[1])?);
    // SAFETY: takes no pointer.
    unsafe { libc::fcntl(write.as_raw_fd(), libc::F_SETPIPE_SZ, bytes) };
    Ok((read, write))
}

/// Moves at most `most` bytes between a pipe and a socket without copying them (splice(2)); 0 at the
/// end of a socket's stream.
///
/// # Errors
/// What the kernel says.
pub fn splice(from: &OwnedFd, to: &OwnedFd, most: usize) -> io::Result<usize> {
    let (none, flags) = (std::ptr::null_mut(), libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK);
    // SAFETY: null offsets are allowed, and needed for pipes and sockets.
    let result = unsafe { libc::splice(from.as_raw_fd(), none, to.as_raw_fd(), none, most, flags) };
    checked(result as i64)
}
