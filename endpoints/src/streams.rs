//! Streams of requests, whatever carries them: when each asks next, what is under way, and what it
//! reports.
//!
//! What a description calls a connection is a stream of requests, each of which is a connection of
//! its own, opened when its time has come, whether those before it have ended or not (an open
//! loop). A stream's first request reports as a connection does; then there is one line per
//! request.

use crate::agenda::Agenda;
use crate::arrivals::{Arrival, Arrivals, Requests};
use crate::clock::Timer;
use crate::downloads::{START, TICK};
use crate::events::{Event, Log};
use crate::failure::{Break, Failure, Refusal};
use crate::reactor::{Interest, Reactor};
use crate::request::Request;
use crate::slots::Slots;
use crate::socket::RETRY_NS;
use serde::Serialize;

/// A stream of requests.
struct Stream {
    number: u32,
    arrivals: Arrivals,
    next: Arrival,
    start_ns: i64,
    requests: u64,
    late_ns: i64,
    connected: bool,
    bytes: u64,
}

/// Client: what a stream has asked for, at its end.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename = "asked")]
pub(crate) struct Asked {
    /// Number of the stream.
    connection: u32,
    /// Requests that were begun.
    requests: u64,
    /// Longest time between when a request was due and when it was begun, us.
    late_us: i64,
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

/// How far a request is.
#[derive(Debug)]
pub enum State {
    /// Its last attempt to connect failed so; it is tried again later.
    Refused(Refusal),
    /// The handshake is under way.
    Connecting,
    /// Data comes in.
    Receiving,
    /// All bytes are there; the server has not said yet that these are all.
    Closing,
    /// It is closed, and stays to answer what is under way.
    Closed,
}

/// A request, from when it is begun. `L`: what carries it.
pub struct Pending<L> {
    stream: u32,
    /// Its number in the stream, from 0.
    number: u64,
    /// Bytes that it asks for.
    pub wanted: u64,
    /// When it was begun, ns after the epoch.
    opened_ns: i64,
    /// When its first data came.
    first_byte_ns: i64,
    /// How far it is.
    pub state: State,
    /// What carries it, while there is anything.
    pub link: Option<L>,
    /// Delivered so far.
    pub bytes: u64,
}

/// All streams of a flow.
pub struct Streams<L> {
    /// What happens when.
    pub due: Agenda<Due>,
    /// Requests that are under way, by slot.
    pub pending: Slots<Pending<L>>,
    ticks: Timer,
    /// By number.
    all: Vec<Stream>,
}

impl<L> Streams<L> {
    /// Streams that start at these times; all are stopped at `stop_ns`. Times in ns after the
    /// epoch.
    ///
    /// # Errors
    /// A part of a shared process that is too small; a machine that refuses timers.
    pub fn new(
        requests: &Requests,
        starts_ns: &[i64],
        stop_ns: Option<i64>,
        progress_every_ns: i64,
        reactor: &Reactor,
        log: &Log,
    ) -> Result<Self, Failure> {
        let mut due = Agenda::new(log.clock())?;
        let mut all = Vec::new();
        for (number, start_ns) in (0..).zip(starts_ns) {
            let connections = starts_ns.len() as u32;
            let mut arrivals = requests.of(number, connections).map_err(Failure::Description)?;
            let stream = Stream {
                number,
                next: arrivals.follow(),
                arrivals,
                start_ns: *start_ns,
                requests: 0,
                late_ns: 0,
                connected: false,
                bytes: 0,
            };
            due.put(stream.next_ns(), Due::Ask(all.len()));
            all.push(stream);
        }
        if let Some(stop_ns) = stop_ns {
            due.put(stop_ns, Due::Stop);
        }
        due.arm()?;
        let ticks = Timer::new(log.clock())?;
        reactor.add(&due, Interest::Read, START)?;
        reactor.add(&ticks, Interest::Read, TICK)?;
        ticks.every(progress_every_ns)?;
        Ok(Streams { due, pending: Slots::new(), ticks, all })
    }

    /// Begins the next request of a stream now; returns its slot and itself.
    pub fn ask(&mut self, index: usize, log: &mut Log) -> (usize, Pending<L>) {
        let stream = &mut self.all[index];
        let opened_ns = log.clock().now_ns();
        if stream.requests == 0 {
            log.at(opened_ns, &Event::Opened { connection: stream.number });
        }
        stream.late_ns = stream.late_ns.max(opened_ns.saturating_sub(stream.next_ns()));
        let pending = Pending {
            stream: stream.number,
            number: stream.requests,
            wanted: stream.next.bytes,
            opened_ns,
            first_byte_ns: opened_ns,
            state: State::Connecting,
            link: None,
            bytes: 0,
        };
        stream.requests += 1;
        stream.next = stream.arrivals.follow();
        self.due.put(stream.next_ns(), Due::Ask(index));
        (self.pending.reserve(), pending)
    }

    /// Gives up an attempt to connect; tries again later, if that can help.
    ///
    /// # Errors
    /// That it cannot help.
    pub fn refuse(
        &mut self,
        slot: usize,
        mut pending: Pending<L>,
        refusal: Refusal,
        log: &Log,
    ) -> Result<(), Failure> {
        pending.link = None;
        match refusal {
            Refusal::Passing(_) | Refusal::Unanswered(_) => {
                pending.state = State::Refused(refusal);
                self.pending.put(slot, pending);
                let again_ns = log.clock().now_ns().saturating_add(RETRY_NS);
                self.due.put(again_ns, Due::Again(slot));
                Ok(self.due.arm()?)
            }
            Refusal::Lasting(reason) => Err(pending.failed(&format!("connecting: {reason}"))),
        }
    }

    /// Whether a request is the first of its stream whose connection is established.
    pub fn connects(&mut self, pending: &Pending<L>) -> bool {
        !std::mem::replace(&mut self.all[pending.stream as usize].connected, true)
    }

    /// Takes note of data of a request, which has `bytes` in all now.
    pub fn deliver(&mut self, pending: &mut Pending<L>, bytes: u64, log: &mut Log) {
        let stream = &mut self.all[pending.stream as usize];
        let now_ns = log.clock().now_ns();
        if stream.bytes == 0 {
            log.at(now_ns, &Event::FirstByte { connection: stream.number });
        }
        let before = std::mem::replace(&mut pending.bytes, bytes);
        if before == 0 {
            pending.first_byte_ns = now_ns;
        }
        stream.bytes += bytes - before;
        if bytes == pending.wanted {
            pending.state = State::Closing;
            let Pending { stream: connection, number: request, opened_ns, first_byte_ns, .. } =
                *pending;
            let event = Event::Fetched { connection, request, bytes, opened_ns, first_byte_ns };
            log.at(now_ns, &event);
        }
    }

    /// Whether it is time to report progress.
    pub fn ticked(&self) -> Result<bool, Failure> {
        Ok(self.ticks.fired()?)
    }

    /// Reports how much every stream has delivered, if anything.
    pub fn progress(&self, log: &mut Log) {
        for Stream { number, bytes, .. } in self.all.iter().filter(|stream| stream.bytes > 0) {
            log.now(&Event::Progress { connection: *number, bytes: *bytes });
        }
    }

    /// Reports the end of every stream.
    pub fn stop(&self, log: &mut Log) {
        for Stream { number, requests, bytes, late_ns, .. } in &self.all {
            let (connection, requests) = (*number, *requests);
            log.now(&Asked { connection, requests, late_us: late_ns / 1000 });
            log.now(&Event::Stopped { connection, bytes: Some(*bytes), reason: None });
        }
    }

    /// Reports no progress any more.
    pub fn end(&self) -> Result<(), Failure> {
        Ok(self.ticks.disarm()?)
    }
}

impl Stream {
    /// When it makes its next request.
    fn next_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.next.at_ns)
    }
}

impl<L> Pending<L> {
    /// What it asks for.
    pub fn request(&self) -> Request {
        Request { connection: self.stream, bytes: Some(self.wanted) }
    }

    /// Ends it as it is, because the flow ends; true: its server does not know.
    ///
    /// # Errors
    /// It never had a connection, for a reason.
    pub fn stop(&mut self, log: &mut Log) -> Result<bool, Failure> {
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Refused(Refusal::Unanswered(why)) => {
                self.unfinished(Some(&format!("could not connect: {why}")), log);
                Ok(true)
            }
            State::Refused(Refusal::Passing(why) | Refusal::Lasting(why)) => {
                Err(self.failed(&format!("could not connect: {why}")))
            }
            State::Connecting | State::Receiving => {
                self.unfinished(None, log);
                Ok(true)
            }
            State::Closing | State::Closed => Ok(false),
        }
    }

    /// Takes note of a connection that broke before all bytes were there.
    ///
    /// # Errors
    /// It did not end by itself: something failed.
    pub fn broke(&mut self, broken: Break, log: &mut Log) -> Result<(), Failure> {
        match broken {
            Break::Failed(message) => Err(self.failed(&message)),
            Break::GaveUp(reason) => {
                self.unfinished(Some(&reason), log);
                self.state = State::Closed;
                Ok(())
            }
        }
    }

    /// Reports what had come.
    fn unfinished(&self, reason: Option<&str>, log: &mut Log) {
        let Pending { stream: connection, number: request, opened_ns, wanted, bytes, .. } = *self;
        log.now(&Event::Unfinished { connection, request, bytes, wanted, opened_ns, reason });
    }

    /// Why the whole role fails: one request that does says that the rest are worth nothing.
    pub fn failed(&self, message: &str) -> Failure {
        let Pending { stream, number, .. } = self;
        Failure::Work(format!("request {number} of connection {stream}: {message}"))
    }
}
