//! The log of a role: newline-delimited JSON on standard output, each line with its time.

use super::{Event, Report};
use crate::clock::Clock;
use crate::json::Line;
use crate::sys;
use std::io;

/// Appends one line.
pub(super) fn write_line(text: &mut Vec<u8>, t_ns: i64, report: &impl Report) -> io::Result<()> {
    let mut line = Line::begin(text);
    line.field("t_ns", &t_ns)?;
    report.write(&mut line)?;
    line.end();
    Ok(())
}

/// Collects lines and writes them in large blocks; `flush` and `close` write at once.
#[derive(Debug)]
pub struct Log {
    clock: Clock,
    lines: Vec<u8>,
    clean: bool,
    broken: Option<io::Error>,
}

/// A write costs about as much as handling a packet: some hundred lines share one.
const BLOCK_BYTES: usize = 64 << 10;

impl Log {
    /// An empty log to standard output.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Log { clock, lines: Vec::with_capacity(BLOCK_BYTES + 4096), clean: true, broken: None }
    }

    /// The clock that the lines' times are taken from.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Writes an event that happens now.
    pub fn now(&mut self, report: &impl Report) {
        self.at(self.clock.now_ns(), report);
    }

    /// Writes an event that happened at `t_ns` after the epoch.
    pub fn at(&mut self, t_ns: i64, report: &impl Report) {
        if let Err(error) = write_line(&mut self.lines, t_ns, report) {
            self.broken.get_or_insert(error);
        }
        if self.lines.len() >= BLOCK_BYTES {
            self.flush();
        }
    }

    /// Writes an `error` event and remembers that there was one.
    pub fn error(&mut self, connection: Option<u32>, message: &str) {
        self.clean = false;
        self.now(&Event::Error { connection, message });
    }

    /// Writes out what was collected. A failure is kept for `close`.
    pub fn flush(&mut self) {
        if let Err(error) = sys::write_all(1, &self.lines) {
            self.broken.get_or_insert(error);
        }
        self.lines.clear();
    }

    /// Writes out the rest and returns whether no error was reported.
    ///
    /// # Errors
    /// The first failure to write.
    pub fn close(mut self) -> io::Result<bool> {
        self.flush();
        self.broken.map_or(Ok(self.clean), Err)
    }
}
