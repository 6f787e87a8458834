//! The clocks of the kernel, and timers on them.

use super::{checked, owned};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const NS_PER_S: i64 = 1_000_000_000;

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
