//! Time: ns after the epoch on `CLOCK_REALTIME`, and timers on absolute times of that clock.

use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::SystemTime;

/// `CLOCK_REALTIME`, ns.
#[must_use]
pub fn realtime_ns() -> i64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as i64)
}

/// The experiment's clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch_ns: i64,
}

impl Clock {
    /// A clock that shows 0 at `epoch_ns` (ns of `CLOCK_REALTIME`).
    #[must_use]
    pub fn new(epoch_ns: i64) -> Self {
        Clock { epoch_ns }
    }

    /// Turns a time of `CLOCK_REALTIME`, ns, into one after the epoch.
    #[must_use]
    pub fn after_epoch(self, realtime_ns: i64) -> i64 {
        realtime_ns - self.epoch_ns
    }

    /// The time now, ns after the epoch; negative before it.
    #[must_use]
    pub fn now_ns(self) -> i64 {
        realtime_ns() - self.epoch_ns
    }

    /// The first multiple of `every_ns` after the epoch that lies strictly after `now_ns`; never
    /// before the epoch itself.
    #[must_use]
    pub fn next_multiple(now_ns: i64, every_ns: i64) -> i64 {
        if now_ns < 0 {
            return 0;
        }
        (now_ns / every_ns + 1).saturating_mul(every_ns)
    }
}

/// A kernel timer on absolute times of a clock: once, or at every multiple of a period.
///
/// It stays armed in the kernel while packets come and go, so a wake-up by a packet costs no timer
/// operation (a timeout of `epoll_wait` would be started and cancelled every time).
#[derive(Debug)]
pub struct Timer {
    clock: Clock,
    fd: TimerFd,
}

impl Timer {
    /// A timer that is not armed.
    pub fn new(clock: Clock) -> io::Result<Self> {
        Ok(Timer { clock, fd: timer(ClockId::CLOCK_REALTIME)? })
    }

    /// Fires once at `at_ns` after the epoch; at once if that has passed.
    pub fn once(&self, at_ns: i64) -> io::Result<()> {
        set(&self.fd, Expiration::OneShot(self.absolute(at_ns)))
    }

    /// Fires at every multiple of `every_ns` after the epoch, from the next one on.
    pub fn every(&self, every_ns: i64) -> io::Result<()> {
        let first = Clock::next_multiple(self.clock.now_ns(), every_ns);
        let every = TimeSpec::nanoseconds(every_ns);
        set(&self.fd, Expiration::IntervalDelayed(self.absolute(first), every))
    }

    /// Fires no more.
    pub fn disarm(&self) -> io::Result<()> {
        Ok(self.fd.unset()?)
    }

    /// Returns at `at_ns` after the epoch; at once if that has passed.
    pub fn wait_until(&self, at_ns: i64) -> io::Result<()> {
        self.once(at_ns)?;
        while !self.fired()? {
            match poll(&mut [PollFd::new(self.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes note of what has fired; false if nothing has (the timer was set anew meanwhile).
    pub fn fired(&self) -> io::Result<bool> {
        fired(&self.fd)
    }

    /// Absolute time on `CLOCK_REALTIME`; at least 1, because 0 disarms.
    fn absolute(&self, at_ns: i64) -> TimeSpec {
        TimeSpec::nanoseconds(self.clock.epoch_ns.saturating_add(at_ns).max(1))
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

/// A timer of the kernel that does not block.
pub fn timer(clock: ClockId) -> io::Result<TimerFd> {
    Ok(TimerFd::new(clock, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?)
}

/// Arms a timer of the kernel at absolute times.
pub fn set(timer: &TimerFd, at: Expiration) -> io::Result<()> {
    Ok(timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?)
}

/// Whether a timer of the kernel has fired since it was last asked or set.
pub fn fired(timer: &TimerFd) -> io::Result<bool> {
    match timer.wait() {
        Err(Errno::EAGAIN) => Ok(false),
        other => Ok(other.map(|()| true)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_multiples_after_the_epoch() {
        assert_eq!(Clock::next_multiple(-1_000, 100), 0);
        assert_eq!(Clock::next_multiple(0, 100), 100);
        assert_eq!(Clock::next_multiple(99, 100), 100);
        assert_eq!(Clock::next_multiple(100, 100), 200);
        assert_eq!(Clock::next_multiple(i64::MAX - 1, i64::MAX), i64::MAX);
    }

    #[test]
    fn a_wait_ends_at_its_time_or_at_once() {
        let clock = Clock::new(realtime_ns());
        let timer = Timer::new(clock).unwrap();
        for at_ns in [2_000_000, -5] {
            timer.wait_until(at_ns).unwrap();
            assert!(clock.now_ns() >= at_ns);
            assert!(!timer.fired().unwrap());
        }
    }

    #[test]
    fn a_time_that_has_passed_fires_at_once_and_a_disarmed_timer_never() {
        let timer = Timer::new(Clock::new(realtime_ns())).unwrap();
        timer.once(-5).unwrap();
        assert!(timer.fired().unwrap());
        assert!(!timer.fired().unwrap());
        timer.once(-5).unwrap();
        timer.disarm().unwrap();
        assert!(!timer.fired().unwrap());
    }
}
