//! A timer for times of the monotonic clock, as QUIC counts them.

use crate::clock;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Instant;

/// Fires at a time or earlier, never later.
///
/// Most deadlines of a connection move away with every packet. The kernel's timer is left alone
/// then: it fires where it was set, nothing is found due, and it is set anew. That costs one
/// wake-up per deadline instead of a system call per packet.
#[derive(Debug)]
pub struct Alarm {
    fd: TimerFd,
    /// The same moment on both clocks.
    origin: (Instant, i64),
    armed: Option<Instant>,
}

impl Alarm {
    /// An alarm that is not armed.
    pub fn new() -> io::Result<Self> {
        // The instant first: what lies between the two makes the timer late, not early.
        let instant = Instant::now();
        let ns = nix::time::ClockId::CLOCK_MONOTONIC.now()?.num_nanoseconds();
        let origin = (instant, ns);
        Ok(Alarm { fd: clock::timer(ClockId::CLOCK_MONOTONIC)?, origin, armed: None })
    }

    /// Makes sure that it fires by `deadline`.
    pub fn by(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        let Some(deadline) = deadline else {
            return Ok(());
        };
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return Ok(());
        }
        let (instant, ns) = self.origin;
        let after = deadline.saturating_duration_since(instant).as_nanos();
        let at_ns = ns.saturating_add(i64::try_from(after).unwrap_or(i64::MAX));
        clock::set(&self.fd, Expiration::OneShot(TimeSpec::nanoseconds(at_ns.max(1))))?;
        self.armed = Some(deadline);
        Ok(())
    }

    /// Takes note of having fired; false if it has not.
    pub fn fired(&mut self) -> io::Result<bool> {
        let fired = clock::fired(&self.fd)?;
        if fired {
            self.armed = None;
        }
        Ok(fired)
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Alarm {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_fires_once_by_the_earliest_deadline() {
        let mut alarm = Alarm::new().unwrap();
        let now = Instant::now();
        alarm.by(None).unwrap();
        assert!(!alarm.fired().unwrap());
        alarm.by(Some(now + Duration::from_secs(3600))).unwrap();
        assert!(!alarm.fired().unwrap());
        alarm.by(Some(now)).unwrap();
        alarm.by(Some(now + Duration::from_secs(60))).unwrap();
        assert!(alarm.fired().unwrap());
        assert!(!alarm.fired().unwrap());
    }
}
