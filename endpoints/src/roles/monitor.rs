//! Role `monitor`: the CPU time of the whole machine, at every multiple of a period.

use crate::clock::Timer;
use crate::description::{self, Monitor};
use crate::events::{Log, Usage};
use crate::failure::Failure;
use crate::reactor::{Interest, Reactor, Wake};
use nix::unistd::{sysconf, SysconfVar};
use std::fs::File;
use std::os::unix::fs::FileExt;

const SOURCE: &str = "/proc/stat";
/// /proc/stat counts in 1/100 s (`USER_HZ`) on every architecture that Debian has.
const NS_PER_COUNT: i64 = 10_000_000;

/// Writes a line at the epoch (or at once, if that has passed), which is the baseline, and then
/// one at every multiple of the period, until SIGTERM.
///
/// # Errors
/// A bad description, or CPU time that cannot be read.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: Monitor = description::read(text).map_err(Failure::Description)?;
    let mut meter = Meter::new()?;
    let mut reactor = Reactor::new()?;
    let timer = Timer::new(log.clock())?;
    reactor.add(&timer, Interest::Read, 0)?;
    timer.every(description.every_ns)?;
    if log.clock().now_ns() > 0 {
        record(&mut meter, log)?;
    }
    let mut wakes = Vec::new();
    loop {
        reactor.wait(&mut wakes)?;
        for wake in &wakes {
            match wake {
                Wake::Stop => return Ok(()),
                Wake::Ready(_) if timer.fired()? => record(&mut meter, log)?,
                Wake::Ready(_) => {}
            }
        }
    }
}

fn record(meter: &mut Meter, log: &mut Log) -> Result<(), Failure> {
    let t_ns = log.clock().now_ns();
    let usage = meter.read(t_ns)?;
    log.at(t_ns, &usage);
    Ok(())
}

/// Reads the machine's CPU time. The file stays open: a reading is one system call.
struct Meter {
    file: File,
    cpus: i64,
    before: Option<Reading>,
}

/// Number of CPUs that are online, at least 1.
fn online_cpus() -> i64 {
    sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten().map_or(1, |cpus| cpus.max(1))
}

/// CPU time since some moment, all CPUs together, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    passed: i64,
    busy: i64,
}

impl Meter {
    fn new() -> Result<Self, Failure> {
        let file = File::open(SOURCE)
            .map_err(|error| Failure::Work(format!("cannot open {SOURCE}: {error}")))?;
        Ok(Meter { file, cpus: online_cpus(), before: None })
    }

    /// The usage since the last reading; zero at the first.
    fn read(&mut self, t_ns: i64) -> Result<Usage, Failure> {
        let mut head = [0; 256];
        let length = self.file.read_at(&mut head, 0)?;
        let idle = idle_counts(&head[..length])
            .ok_or_else(|| Failure::Work(format!("cannot read the first line of {SOURCE}")))?;
        let now = Reading::new(t_ns * self.cpus, idle * NS_PER_COUNT, self.before);
        let before = self.before.replace(now).unwrap_or(now);
        Ok(Usage { busy_ns: now.busy - before.busy, total_ns: now.passed - before.passed })
    }
}

impl Reading {
    /// What was not idle was busy, whoever used it: processes, the kernel, interrupts.
    ///
    /// The sum of the busy columns is not used: a kernel that stops its tick when idle takes them
    /// by sampling at ticks and misses short work, while it measures idle time by the clock
    /// (docs/build/endpoints.md has the numbers). Idle time comes in counts of 10 ms and can be
    /// ahead of the clock by one; busy time then stands still, so that nothing is counted twice.
    fn new(passed: i64, idle: i64, before: Option<Reading>) -> Self {
        let least = before.map_or(i64::MIN, |before| before.busy);
        Reading { passed, busy: (passed - idle).max(least) }
    }
}

/// Idle and waiting for a disk, from the line `cpu  user nice system idle iowait irq ...`.
fn idle_counts(text: &[u8]) -> Option<i64> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.strip_prefix("cpu ")?;
    let mut columns = line.split_ascii_whitespace().skip(3);
    let idle: i64 = columns.next()?.parse().ok()?;
    let waiting: i64 = columns.next()?.parse().ok()?;
    Some(idle + waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_is_idle_and_waiting() {
        let text = b"cpu  10 20 30 400 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!(idle_counts(text), Some(450));
        assert_eq!(idle_counts(b"cpu0 1 2 3 4 5"), None);
        assert_eq!(idle_counts(b"cpu  1 2 3\n"), None);
        assert_eq!(idle_counts(b""), None);
    }

    #[test]
    fn what_is_not_idle_is_busy() {
        let reading = Reading::new(1_200, 190, None);
        assert_eq!(reading, Reading { passed: 1_200, busy: 1_010 });
    }

    #[test]
    fn busy_time_never_decreases_and_none_is_counted_twice() {
        let first = Reading::new(100, 90, None);
        let second = Reading::new(200, 195, Some(first));
        let third = Reading::new(300, 280, Some(second));
        assert_eq!((first.busy, second.busy, third.busy), (10, 10, 20));
    }
}
