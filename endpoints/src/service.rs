//! What the connections of a server come to, whatever carries them: which are admitted, how each
//! ends, and when they are sampled.

use crate::clock::{Clock, Timer};
use crate::events::{Event, Log};
use crate::request::Request;
use crate::workload::Workload;
use std::io;

/// How a connection ended.
#[derive(Debug)]
pub enum End {
    /// The client has all its data.
    Complete,
    /// The client went away, or SIGTERM came.
    Stopped,
    /// The transport gave up on a client that it had not heard of for too long.
    GaveUp(String),
    /// Something failed.
    Failed(String),
    /// It never said what it wants. A client that was stopped that early tells so itself.
    Silent,
}

/// The connections that were announced.
#[derive(Debug)]
pub struct Service {
    /// Connections are short ones, which are counted instead of reported one by one.
    pub short: bool,
    /// Fires when connections that live are to be sampled.
    pub ticks: Timer,
    sample_every_ns: i64,
    /// By number; with `requests` each is a stream of connections.
    announced: Vec<Served>,
    /// Connections whose request has been read: those that live, and those that have ended.
    live: usize,
    over: usize,
}

/// What has come of a number: requests that were admitted, and bytes that were sent for them.
#[derive(Debug, Clone, Copy, Default)]
struct Served {
    requests: u64,
    bytes: u64,
}

impl Service {
    /// For this number of connections, before any has been accepted.
    pub fn new(
        workload: &Workload,
        connections: u32,
        sample_every_ns: i64,
        clock: Clock,
    ) -> io::Result<Self> {
        Ok(Service {
            short: matches!(workload, Workload::Requests(_)),
            ticks: Timer::new(clock)?,
            sample_every_ns,
            announced: vec![Served::default(); connections as usize],
            live: 0,
            over: 0,
        })
    }

    /// Whether nothing more will come. Nobody knows how many requests a stream will make.
    #[must_use]
    pub fn ended(&self) -> bool {
        !self.short && self.over == self.announced.len()
    }

    /// Admits a request if it is one of those that were announced; true: the first of its number.
    ///
    /// # Errors
    /// A message that says why not.
    pub fn admit(&mut self, request: Request) -> Result<bool, String> {
        let (number, announced) = (request.connection, self.announced.len());
        match self.announced.get_mut(number as usize) {
            None => Err(format!(
                "a request has number {number}, but {announced} connections were announced"
            )),
            Some(served) if served.requests > 0 && !self.short => {
                Err(format!("two requests have number {number}"))
            }
            Some(served) => {
                served.requests += 1;
                Ok(served.requests == 1)
            }
        }
    }

    /// Takes note of a connection that was admitted, and samples it from now on.
    pub fn begin(&mut self, request: Request, log: &mut Log) -> io::Result<()> {
        let Request { connection, bytes } = request;
        if !self.short {
            log.now(&Event::Request { connection, bytes });
            if self.live == 0 {
                self.ticks.every(self.sample_every_ns)?;
            }
        }
        self.live += 1;
        Ok(())
    }

    /// Takes note of the end of a connection that had begun, after `sent` bytes.
    pub fn end(&mut self, connection: u32, sent: u64) -> io::Result<()> {
        self.announced[connection as usize].bytes += sent;
        self.live -= 1;
        self.over += 1;
        if self.live == 0 {
            self.ticks.disarm()?;
        }
        Ok(())
    }

    /// Reports what came of short connections, once all have ended.
    pub fn stop(&self, log: &mut Log) {
        for (connection, Served { requests, bytes }) in (0..).zip(&self.announced) {
            if self.short {
                let (requests, bytes) = (*requests, *bytes);
                log.now(&Event::Served { connection, requests, bytes });
            }
        }
    }
}
