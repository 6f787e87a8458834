//! Streams of requests, whatever they are sent over: when each asks next, and what it reports.
//!
//! What a description calls a connection is a stream of requests, each of which is a connection of
//! its own, opened when its time has come, whether those before it have ended or not (an open loop).
//! A stream's first request reports as a connection does; then there is one line per request.

use crate::agenda::Agenda;
use crate::arrivals::{Arrival, Arrivals, Requests};
use crate::clock::Clock;
use crate::events::{Event, Log};
use crate::failure::Failure;
use serde::Serialize;
use std::io;

/// A stream of requests.
pub struct Stream {
    number: u32,
    arrivals: Arrivals,
    next: Arrival,
    start_ns: i64,
    requests: u64,
    late_ns: i64,
    connected: bool,
    bytes: u64,
}

/// Event of a client: what a stream has asked for, at its end.
#[derive(Serialize)]
#[serde(tag = "event", rename = "asked")]
struct Begun {
    connection: u32,
    requests: u64,
    /// Longest time between when a request was due and when it was begun.
    late_us: i64,
}

/// A request, from when it is begun.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Number of its stream.
    pub stream: u32,
    /// Its number in the stream, from 0.
    pub number: u64,
    /// Bytes that it asks for.
    pub wanted: u64,
    /// When it was begun, ns after the epoch.
    pub opened_ns: i64,
    /// When its first data came.
    pub first_byte_ns: i64,
}

/// All streams of a flow, the first of which starts at the first of `starts_ns`.
///
/// # Errors
/// A part of a shared process that is too small.
pub fn streams(requests: &Requests, starts_ns: &[i64]) -> Result<Vec<Stream>, Failure> {
    let connections = starts_ns.len() as u32;
    (0..)
        .zip(starts_ns)
        .map(|(number, at_ns)| {
            let mut arrivals = requests.of(number, connections).map_err(Failure::Description)?;
            let next = arrivals.follow();
            let (requests, late_ns, connected, bytes) = (0, 0, false, 0);
            let stream = Stream {
                number,
                arrivals,
                next,
                start_ns: *at_ns,
                requests,
                late_ns,
                connected,
                bytes,
            };
            Ok(stream)
        })
        .collect()
}

/// What happens at a time, the first of these first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// The end.
    Stop,
    /// The next request of this stream.
    Ask(usize),
    /// Another attempt of the request in this slot to connect.
    Again(usize),
}

/// When each stream asks first, and when all end.
///
/// # Errors
/// A machine that refuses timers.
pub fn agenda(streams: &[Stream], stop_ns: Option<i64>, clock: Clock) -> io::Result<Agenda<Due>> {
    let mut due = Agenda::new(clock)?;
    for (index, stream) in streams.iter().enumerate() {
        due.put(stream.next_ns(), Due::Ask(index));
    }
    if let Some(stop_ns) = stop_ns {
        due.put(stop_ns, Due::Stop);
    }
    due.arm()?;
    Ok(due)
}

impl Stream {
    /// When it makes its next request.
    pub fn next_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.next.at_ns)
    }

    /// Begins its next request now.
    pub fn ask(&mut self, log: &mut Log) -> Asked {
        let opened_ns = log.clock().now_ns();
        if self.requests == 0 {
            log.at(opened_ns, &Event::Opened { connection: self.number });
        }
        self.late_ns = self.late_ns.max(opened_ns.saturating_sub(self.next_ns()));
        let asked = Asked {
            stream: self.number,
            number: self.requests,
            wanted: self.next.bytes,
            opened_ns,
            first_byte_ns: opened_ns,
        };
        self.requests += 1;
        self.next = self.arrivals.follow();
        asked
    }

    /// Whether this is its first connection that is established.
    pub fn connects(&mut self) -> bool {
        !std::mem::replace(&mut self.connected, true)
    }

    /// Takes note of data of a request, which had `before` bytes until now.
    pub fn deliver(&mut self, asked: &mut Asked, before: u64, bytes: u64, log: &mut Log) -> i64 {
        let now_ns = log.clock().now_ns();
        if self.bytes == 0 {
            log.at(now_ns, &Event::FirstByte { connection: self.number });
        }
        if before == 0 {
            asked.first_byte_ns = now_ns;
        }
        self.bytes += bytes - before;
        now_ns
    }

    /// Reports how much it has delivered, if anything.
    pub fn progress(&self, log: &mut Log) {
        if self.bytes > 0 {
            log.now(&Event::Progress { connection: self.number, bytes: self.bytes });
        }
    }

    /// Reports its end.
    pub fn stop(&self, log: &mut Log) {
        let Stream { number: connection, requests, bytes, late_ns, .. } = *self;
        log.now(&Begun { connection, requests, late_us: late_ns / 1000 });
        log.now(&Event::Stopped { connection, bytes: Some(bytes) });
    }
}

impl Asked {
    /// Reports that all of it has come, `now_ns` after the epoch.
    pub fn fetched(&self, now_ns: i64, log: &mut Log) {
        let Asked { stream: connection, number: request, opened_ns, first_byte_ns, wanted } = *self;
        let event = Event::Fetched { connection, request, bytes: wanted, opened_ns, first_byte_ns };
        log.at(now_ns, &event);
    }

    /// Reports that the flow ends while it is under way, with so many bytes.
    pub fn unfinished(&self, bytes: u64, log: &mut Log) {
        let Asked { stream: connection, number: request, opened_ns, wanted, .. } = *self;
        log.now(&Event::Unfinished { connection, request, bytes, wanted, opened_ns });
    }

    /// Why the whole role fails: one request that does says that the rest are worth nothing.
    pub fn failed(&self, message: &str) -> Failure {
        let Asked { stream, number, .. } = self;
        Failure::Work(format!("request {number} of connection {stream}: {message}"))
    }
}
