//! The workload `requests` of role `quic-client`: each request is a connection of its own
//! (`request_streams`), with a socket of its own.
//!
//! A connection that has all its bytes is closed and stays for three probe timeouts to answer what
//! is still under way (RFC 9000, section 10.2), so many more are open than are under way. Each
//! wake-up therefore looks only at those that something happened to; deadlines are in a heap, where
//! one that has moved on is put back when its old time comes.

use crate::agenda::Agenda;
use crate::arrivals::Requests;
use crate::clock::Timer;
use crate::events::Log;
use crate::failure::Failure;
use crate::quic::alarm::Alarm;
use crate::quic::description::QuicClient;
use crate::quic::link::{trust, Link, Refusal, LONGEST_GOODBYE};
use crate::reactor::{Interest, Reactor, Wake};
use crate::roles::quic_fetch::{Fetch, State};
use crate::roles::request_streams::{agenda, streams, Due, Stream};
use crate::slots::Slots;
use crate::socket::RETRY_NS;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{Event as QuicEvent, StreamEvent};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

const ALARM: u64 = 0;
const TICK: u64 = 1;
const DUE: u64 = 2;
/// Token of the request in slot 0; the others follow.
const FIRST_SLOT: u64 = 3;

/// Asks until `stop_ns` or SIGTERM.
///
/// # Errors
/// A request that failed, or a machine that refuses timers or sockets.
pub fn run(description: &QuicClient, requests: &Requests, log: &mut Log) -> Result<(), Failure> {
    let mut reactor = Reactor::new()?;
    let mut client = Client::new(description, requests, &reactor, log)?;
    let mut wakes = Vec::new();
    while !client.left() {
        reactor.wait(&mut wakes)?;
        client.pending.turn();
        for wake in &wakes {
            match *wake {
                Wake::Stop if client.goodbye.is_some() => return Ok(()),
                Wake::Stop => client.stop(&reactor, log)?,
                Wake::Ready(DUE) => client.due(&reactor, log)?,
                Wake::Ready(TICK) => client.tick(log)?,
                Wake::Ready(ALARM) => client.expire(&reactor, log)?,
                Wake::Ready(token) => {
                    client.receive((token - FIRST_SLOT) as usize, &reactor, log)?;
                }
            }
        }
        client.set_alarm()?;
    }
    if client.dropped > 0 {
        let dropped = client.dropped;
        let message =
            format!("the sockets' receive buffers were full: {dropped} datagrams dropped");
        log.error(None, &message);
    }
    Ok(())
}

/// The state of the workload.
struct Client<'a> {
    description: &'a QuicClient,
    /// The server's certificate, once it was there.
    trusted: Option<Arc<QuicClientConfig>>,
    due: Agenda<Due>,
    ticks: Timer,
    alarm: Alarm,
    /// When QUIC has something to do, by slot; not before the slot's own deadline.
    deadlines: BinaryHeap<Reverse<(Instant, usize)>>,
    streams: Vec<Stream>,
    pending: Slots<Fetch>,
    /// Requests whose connection has not been forgotten.
    open: usize,
    /// Datagrams that found no room in the buffers of sockets that are closed by now.
    dropped: u32,
    /// Since the stop: until when to answer servers that did not hear of it.
    goodbye: Option<Instant>,
}

impl<'a> Client<'a> {
    fn new(
        description: &'a QuicClient,
        requests: &Requests,
        reactor: &Reactor,
        log: &Log,
    ) -> Result<Self, Failure> {
        let streams = streams(requests, &description.starts_ns)?;
        let due = agenda(&streams, description.stop_ns, log.clock())?;
        let (ticks, alarm) = (Timer::new(log.clock())?, Alarm::new()?);
        reactor.add(&due, Interest::Read, DUE)?;
        reactor.add(&ticks, Interest::Read, TICK)?;
        reactor.add(&alarm, Interest::Read, ALARM)?;
        ticks.every(description.progress_every_ns)?;
        Ok(Client {
            description,
            trusted: None,
            due,
            ticks,
            alarm,
            deadlines: BinaryHeap::new(),
            streams,
            pending: Slots::new(),
            open: 0,
            dropped: 0,
            goodbye: None,
        })
    }

    /// Whether all is over: stopped, and said to every server that has to hear it.
    fn left(&self) -> bool {
        self.goodbye.is_some_and(|until| self.open == 0 || until <= Instant::now())
    }

    /// Does what is due, and sets when it is to be woken next.
    fn due(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        if !self.due.fired()? {
            return Ok(());
        }
        let now_ns = log.clock().now_ns();
        while let Some((_, due)) = self.due.due(now_ns) {
            if self.goodbye.is_some() {
                break;
            }
            match due {
                Due::Stop => self.stop(reactor, log)?,
                Due::Ask(stream) => self.ask(stream, reactor, log)?,
                Due::Again(slot) => {
                    if let Some(pending) = self.pending.take(slot) {
                        self.connect(slot, pending, reactor, log)?;
                    }
                }
            }
        }
        Ok(self.due.arm()?)
    }

    /// Makes the next request of a stream.
    fn ask(&mut self, index: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let stream = &mut self.streams[index];
        let asked = stream.ask(log);
        self.due.put(stream.next_ns(), Due::Ask(index));
        let pending = Fetch::new(asked);
        let slot = self.pending.reserve();
        self.open += 1;
        self.connect(slot, pending, reactor, log)
    }

    /// Starts to open the connection of a request.
    fn connect(
        &mut self,
        slot: usize,
        mut pending: Fetch,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        match self.link() {
            Ok(link) => {
                reactor.add(&link.driver, Interest::Read, FIRST_SLOT + slot as u64)?;
                pending.link = Some(link);
                pending.state = State::Connecting;
                self.serve(slot, pending, reactor, log)
            }
            Err(refusal) => self.not_connected(slot, pending, refusal, log),
        }
    }

    fn link(&mut self) -> Result<Link, Refusal> {
        let crypto = match &self.trusted {
            Some(crypto) => Arc::clone(crypto),
            None => Arc::clone(self.trusted.insert(trust(self.description)?)),
        };
        Link::with(self.description, crypto)
    }

    /// Tries again later, if that can help.
    fn not_connected(
        &mut self,
        slot: usize,
        mut pending: Fetch,
        refusal: Refusal,
        log: &Log,
    ) -> Result<(), Failure> {
        self.hang_up(&mut pending);
        match refusal {
            Refusal::Passing(reason) => {
                pending.state = State::Refused(reason);
                pending.noted = None;
                self.pending.put(slot, pending);
                let again_ns = log.clock().now_ns().saturating_add(RETRY_NS);
                self.due.put(again_ns, Due::Again(slot));
                Ok(self.due.arm()?)
            }
            Refusal::Lasting(reason) => Err(pending.asked.failed(&format!("connecting: {reason}"))),
        }
    }

    /// Closes the socket of a request; what it had no room for is remembered.
    fn hang_up(&mut self, pending: &mut Fetch) {
        if let Some(link) = pending.link.take() {
            self.dropped += link.driver.datagrams().dropped().unwrap_or(0);
        }
    }

    /// Takes what has arrived at a socket into QUIC.
    fn receive(&mut self, slot: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let Some(mut pending) = self.pending.take(slot) else {
            return Ok(());
        };
        let Some(link) = &mut pending.link else {
            self.pending.put(slot, pending);
            return Ok(());
        };
        match link.driver.retry().and_then(|()| link.driver.receive(&mut Vec::new())) {
            Ok(()) => self.serve(slot, pending, reactor, log),
            Err(error) => self.unreachable(slot, pending, &error, reactor, log),
        }
    }

    /// Does what a socket's error means: that nobody listens at the server's port, or no way leads
    /// there.
    fn unreachable(
        &mut self,
        slot: usize,
        mut pending: Fetch,
        error: &io::Error,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        match pending.state {
            State::Connecting => {
                self.not_connected(slot, pending, Refusal::Passing(error.to_string()), log)
            }
            // What a network does that loses its way for a while, QUIC lives through.
            State::Receiving(_) if error.raw_os_error() != Some(libc::ECONNREFUSED) => {
                self.note(slot, pending, reactor)
            }
            State::Receiving(_) => {
                let bytes = pending.bytes;
                Err(pending.asked.failed(&format!("receiving after {bytes} bytes: {error}")))
            }
            // All bytes are there, or it was stopped: how it is taken down no longer matters.
            State::Refused(_) | State::Closing(_) | State::Closed => {
                self.hang_up(&mut pending);
                self.forget(slot);
                Ok(())
            }
        }
    }

    /// Does what can be done for one request, whose connection something happened to.
    fn serve(
        &mut self,
        slot: usize,
        mut pending: Fetch,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        while let Some(link) = &mut pending.link {
            let Some(handle) = link.driver.next_touched() else {
                break;
            };
            while let Some(event) =
                pending.link.as_mut().and_then(Link::quic).and_then(quinn_proto::Connection::poll)
            {
                let of = &mut self.streams[pending.asked.stream as usize];
                match event {
                    QuicEvent::Connected => pending.send(self.description, of, log)?,
                    QuicEvent::Stream(StreamEvent::Readable { .. }) => pending.take(of, log)?,
                    QuicEvent::ConnectionLost { reason } if pending.connecting() => {
                        return self.not_connected(slot, pending, Refusal::of(&reason), log);
                    }
                    QuicEvent::ConnectionLost { reason } => {
                        pending.lost(&reason, self.description.idle_timeout_ns)?;
                    }
                    _ => {}
                }
            }
            let Some(link) = &mut pending.link else {
                break;
            };
            if let Err(error) = link.driver.flush(handle) {
                return self.unreachable(slot, pending, &error, reactor, log);
            }
        }
        self.note(slot, pending, reactor)
    }

    /// Puts a request back, with what it waits for; or forgets it, if its connection is gone.
    fn note(&mut self, slot: usize, mut pending: Fetch, reactor: &Reactor) -> Result<(), Failure> {
        let Some(link) = &mut pending.link else {
            self.pending.put(slot, pending);
            return Ok(());
        };
        if link.quic().is_none() && matches!(pending.state, State::Closed) {
            self.hang_up(&mut pending);
            self.forget(slot);
            return Ok(());
        }
        link.set_waits(reactor, FIRST_SLOT + slot as u64)?;
        if let Some(deadline) = link.driver.deadline() {
            if pending.noted.is_none_or(|noted| deadline < noted) {
                self.deadlines.push(Reverse((deadline, slot)));
                pending.noted = Some(deadline);
            }
        }
        self.pending.put(slot, pending);
        Ok(())
    }

    fn forget(&mut self, slot: usize) {
        self.pending.give_up(slot);
        self.open -= 1;
    }

    /// Tells QUIC what time it is, where that was waited for.
    fn expire(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        self.alarm.fired()?;
        let now = Instant::now();
        while let Some(Reverse((at, slot))) = self.deadlines.peek().copied() {
            if at > now {
                break;
            }
            self.deadlines.pop();
            // The slot may be another request's by now, or have a later deadline: it knows.
            let Some(mut pending) = self.pending.take(slot) else {
                continue;
            };
            if pending.noted == Some(at) {
                pending.noted = None;
                if let Some(link) = &mut pending.link {
                    link.driver.expire();
                }
                self.serve(slot, pending, reactor, log)?;
            } else {
                self.pending.put(slot, pending);
            }
        }
        Ok(())
    }

    /// Sets when QUIC is to be told the time, or when to leave.
    fn set_alarm(&mut self) -> Result<(), Failure> {
        let first = self.deadlines.peek().map(|Reverse((at, _))| *at);
        Ok(self.alarm.by(first.into_iter().chain(self.goodbye).min())?)
    }

    /// Reports how much every stream has delivered.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if self.ticks.fired()? && self.goodbye.is_none() {
            self.streams.iter().for_each(|stream| stream.progress(log));
        }
        Ok(())
    }

    /// Ends everything: with what has arrived by now, and without waiting for more.
    fn stop(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        for slot in 0..self.pending.len() {
            self.receive(slot, reactor, log)?;
            let Some(mut pending) = self.pending.take(slot) else {
                continue;
            };
            pending.stop(log)?;
            self.serve(slot, pending, reactor, log)?;
        }
        self.streams.iter().for_each(|stream| stream.stop(log));
        self.ticks.disarm()?;
        self.goodbye = Some(Instant::now() + LONGEST_GOODBYE);
        Ok(())
    }
}
