//! Waiting until a descriptor is ready, and waking another thread.

use super::{checked, owned, write_all};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

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

/// Waits until a descriptor is readable.
pub fn wait_readable(fd: &OwnedFd) {
    let mut wanted = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `wanted` is live, and one is its number. A signal merely ends the wait early.
    unsafe { libc::poll(&raw mut wanted, 1, -1) };
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
