//! The system calls that neither the standard library nor the crates `nix` and `socket2` have, each
//! as a safe function.
//!
//! All unsafe code of the crate is here; in `packet_ring`, which shares memory with the kernel; in
//! `udp::sockets`, `quic::datagrams` and `policer::egress`, which lend it buffers; in `network`,
//! which speaks netlink and ioctl; and in `web::waiting`, for tokio. Every pointer that is passed
//! to the kernel is derived from a live reference in the same call, with the length of what it
//! points to.

use nix::sys::resource::{getrlimit, setrlimit, Resource};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// More open files than this no process of a default machine may have (`fs.nr_open`).
const MOST_FILES: u64 = 1 << 20;

/// Turns -1 into the error that the kernel left.
pub fn checked(result: i64) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Takes charge of a descriptor that the kernel has just returned, or turns -1 into its error.
pub fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    checked(result.into())?;
    // SAFETY: the kernel has just returned this descriptor, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

/// Puts this process in front of all ordinary ones (`SCHED_FIFO`); whether it may.
#[must_use]
pub fn go_first() -> bool {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: `first` is live; 0 is this process.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const first) == 0 }
}

/// Allows this process as many open files as the machine lets it have: every connection is one.
pub fn raise_file_limit() {
    let kind = Resource::RLIMIT_NOFILE;
    if setrlimit(kind, MOST_FILES, MOST_FILES).is_err() {
        // Whoever may not raise the hard limit takes it as it is.
        let _ = getrlimit(kind).and_then(|(_, hard)| setrlimit(kind, hard, hard));
    }
}

/// Keeps all threads' memory in one arena: otherwise the first allocation of each reserves one.
pub fn one_arena() {
    // SAFETY: takes no pointer; where there is no such option nothing happens.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Turns SIGTERM and SIGINT from now on into input of what is returned, and a write to a connection
/// that is gone into an error.
pub fn stop_signals() -> io::Result<SignalFd> {
    let stops: SigSet = [Signal::SIGTERM, Signal::SIGINT].into_iter().collect();
    let mut blocked = stops;
    blocked.add(Signal::SIGPIPE);
    blocked.thread_block()?;
    Ok(SignalFd::with_flags(&stops, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
}

/// Sets a socket option that is a number.
pub fn set_option(socket: &impl AsRawFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    set_option_bytes(socket, level, option, &value.to_ne_bytes())
}

/// Sets a socket option that is a structure.
pub fn set_option_bytes(
    socket: &impl AsRawFd,
    level: i32,
    option: i32,
    value: &[u8],
) -> io::Result<()> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: `value` is live and has this length.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), length)
    };
    checked(result.into()).map(drop)
}

/// Reads a socket option into `value` and returns how many bytes the kernel filled.
pub fn get_option(
    socket: &impl AsRawFd,
    level: i32,
    option: i32,
    value: &mut [u8],
) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    let into = value.as_mut_ptr().cast();
    // SAFETY: `value` is live and has this length; `length` is live.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, into, &raw mut length) };
    checked(result.into())?;
    Ok(length as usize)
}

/// Takes at most `most` bytes out of a TCP socket without copying them anywhere (tcp(7),
/// `MSG_TRUNC`); 0 at the end of the stream. With `MSG_WAITALL` among the flags a socket that
/// blocks waits for all of them, or the end.
pub fn discard(socket: &impl AsRawFd, most: usize, flags: i32) -> io::Result<usize> {
    let nowhere = std::ptr::null_mut();
    // SAFETY: with MSG_TRUNC a TCP socket writes nothing to the buffer, so it may be null.
    let result = unsafe { libc::recv(socket.as_raw_fd(), nowhere, most, libc::MSG_TRUNC | flags) };
    checked(result as i64)
}
