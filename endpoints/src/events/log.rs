//! The log of a role: newline-delimited JSON on standard output, each line with its time.

use super::Event;
use crate::clock::Clock;
use nix::errno::Errno;
use serde::Serialize;
use std::io;

/// Appends one line: an event, which is an object with at least one field, behind its time.
pub(super) fn write_line(text: &mut Vec<u8>, t_ns: i64, event: &impl Serialize) -> io::Result<()> {
    text.extend_from_slice(b"{\"t_ns\":");
    serde_json::to_writer(&mut *text, &t_ns)?;
    let begin = text.len();
    serde_json::to_writer(&mut *text, event)?;
    text[begin] = b',';
    text.push(b'\n');
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
    pub fn now(&mut self, event: &impl Serialize) {
        self.at(self.clock.now_ns(), event);
    }

    /// Writes an event that happened at `t_ns` after the epoch.
    pub fn at(&mut self, t_ns: i64, event: &impl Serialize) {
        if let Err(error) = write_line(&mut self.lines, t_ns, event) {
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
        let mut left = &self.lines[..];
        while !left.is_empty() {
            match nix::unistd::write(io::stdout(), left) {
                Ok(written) => left = &left[written..],
                Err(Errno::EINTR) => {}
                Err(error) => {
                    self.broken.get_or_insert(error.into());
                    break;
                }
            }
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
