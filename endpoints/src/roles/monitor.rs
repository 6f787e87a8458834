//! Role `monitor`: the CPU time of the whole machine, at every multiple of a period.

use crate::clock::Timer;
use crate::description::{self, Monitor};
use crate::events::{Log, Usage};
use crate::reactor::{Interest, Reactor, Wake};
use crate::roles::Failure;
use crate::sys;
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

/// Time that passed and time that the CPUs were idle, ns since some moment, all CPUs together.
#[derive(Debug, Clone, Copy)]
struct Reading {
    passed_ns: i64,
    idle_ns: i64,
}

impl Meter {
    fn new() -> Result<Self, Failure> {
        let file = File::open(SOURCE)
            .map_err(|error| Failure::Work(format!("cannot open {}: {}", SOURCE, error)))?;
        Ok(Meter {
            file,
            cpus: sys::online_cpus(),
            before: None,
        })
    }

    /// The usage since the last reading; zero at the first.
    fn read(&mut self, t_ns: i64) -> Result<Usage, Failure> {
        let mut head = [0; 256];
        let length = self.file.read_at(&mut head, 0)?;
        let idle = idle_counts(&head[..length])
            .ok_or_else(|| Failure::Work(format!("cannot read the first line of {}", SOURCE)))?;
        let now = Reading {
            passed_ns: t_ns * self.cpus,
            idle_ns: idle * NS_PER_COUNT,
        };
        let before = self.before.replace(now).unwrap_or(now);
        Ok(usage(before, now))
    }
}

/// What was not idle was busy, whoever used it: processes, the kernel, interrupts.
///
/// The sum of the busy columns is not used: a kernel without a steady tick takes them by sampling
/// at ticks and misses short work, while it measures idle time by the clock.
fn usage(before: Reading, now: Reading) -> Usage {
    let total_ns = now.passed_ns - before.passed_ns;
    let idle_ns = now.idle_ns - before.idle_ns;
    // Idle time comes in counts of 10 ms, so it can seem longer than what passed.
    Usage {
        busy_ns: (total_ns - idle_ns).max(0),
        total_ns,
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
        let before = Reading {
            passed_ns: 1_000_000_000,
            idle_ns: 40_000_000,
        };
        let now = Reading {
            passed_ns: 1_200_000_000,
            idle_ns: 190_000_000,
        };
        let expected = Usage {
            busy_ns: 50_000_000,
            total_ns: 200_000_000,
        };
        assert_eq!(usage(before, now), expected);
    }

    #[test]
    fn busy_time_is_never_negative() {
        let before = Reading {
            passed_ns: 0,
            idle_ns: 0,
        };
        let now = Reading {
            passed_ns: 100_000_000,
            idle_ns: 110_000_000,
        };
        assert_eq!(usage(before, now).busy_ns, 0);
    }
}
