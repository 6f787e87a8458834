//! The workload `requests` of role `quic-client`: each request is a connection of its own
//! (`streams`), with a socket of its own.
//!
//! A connection that has all its bytes is closed and stays for three probe timeouts to answer what
//! is still under way (RFC 9000, section 10.2), so many more are open than are under way. Each
//! wake-up therefore looks only at those that something happened to; deadlines are in a heap, where
//! one that has moved on is put back when its old time comes.

use crate::arrivals::Requests;
use crate::downloads::{START, TICK};
use crate::events::Log;
use crate::failure::{Failure, Refusal};
use crate::quic::alarm::Alarm;
use crate::quic::description::QuicClient;
use crate::quic::link::{trust, why_lost, Link, LONGEST_GOODBYE};
use crate::quic::report::QuicEvent;
use crate::quic::{DONE, STOPPED};
use crate::reactor::{Interest, Reactor, Wake};
use crate::streams::{self, Due, State, Streams};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{ConnectionError, Event, StreamEvent};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

const ALARM: u64 = 2;
/// Token of the request in slot 0; the others follow.
const FIRST_SLOT: u64 = 3;

type Pending = streams::Pending<Link>;

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
        client.streams.pending.turn();
        for wake in &wakes {
            match *wake {
                Wake::Stop if client.goodbye.is_some() => return Ok(()),
                Wake::Stop => client.stop(&reactor, log)?,
                Wake::Ready(START) => client.due(&reactor, log)?,
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
    streams: Streams<Link>,
    alarm: Alarm,
    /// When QUIC has something to do, by slot; not before the slot's own deadline.
    deadlines: BinaryHeap<Reverse<(Instant, usize)>>,
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
        let QuicClient { starts_ns, stop_ns, progress_every_ns, .. } = description;
        let (stop_ns, every_ns) = (*stop_ns, *progress_every_ns);
        let streams = Streams::new(requests, starts_ns, stop_ns, every_ns, reactor, log)?;
        let alarm = Alarm::new()?;
        reactor.add(&alarm, Interest::Read, ALARM)?;
        Ok(Client {
            description,
            trusted: None,
            streams,
            alarm,
            deadlines: BinaryHeap::new(),
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
        if !self.streams.due.fired()? {
            return Ok(());
        }
        let now_ns = log.clock().now_ns();
        while let Some((_, due)) = self.streams.due.due(now_ns) {
            if self.goodbye.is_some() {
                break;
            }
            match due {
                Due::Stop => self.stop(reactor, log)?,
                Due::Ask(stream) => self.ask(stream, reactor, log)?,
                Due::Again(slot) => {
                    if let Some(pending) = self.streams.pending.take(slot) {
                        self.connect(slot, pending, reactor, log)?;
                    }
                }
            }
        }
        Ok(self.streams.due.arm()?)
    }

    /// Makes the next request of a stream.
    fn ask(&mut self, index: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let (slot, pending) = self.streams.ask(index, log);
        self.open += 1;
        self.connect(slot, pending, reactor, log)
    }

    /// Starts to open the connection of a request.
    fn connect(
        &mut self,
        slot: usize,
        mut pending: Pending,
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
        mut pending: Pending,
        refusal: Refusal,
        log: &Log,
    ) -> Result<(), Failure> {
        self.hang_up(&mut pending);
        self.streams.refuse(slot, pending, refusal, log)
    }

    /// Closes the socket of a request; what it had no room for is remembered.
    fn hang_up(&mut self, pending: &mut Pending) {
        if let Some(link) = pending.link.take() {
            self.dropped += link.dropped();
        }
    }

    /// Takes what has arrived at a socket into QUIC.
    fn receive(&mut self, slot: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let Some(mut pending) = self.streams.pending.take(slot) else {
            return Ok(());
        };
        let Some(link) = &mut pending.link else {
            self.streams.pending.put(slot, pending);
            return Ok(());
        };
        match link.receive() {
            Ok(()) => self.serve(slot, pending, reactor, log),
            Err(error) => self.unreachable(slot, pending, &error, reactor, log),
        }
    }

    /// Does what a socket's error means: that nobody listens at the server's port, or no way leads
    /// there.
    fn unreachable(
        &mut self,
        slot: usize,
        mut pending: Pending,
        error: &io::Error,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        match pending.state {
            State::Connecting => {
                self.not_connected(slot, pending, Refusal::Passing(error.to_string()), log)
            }
            // What a network does that loses its way for a while, QUIC lives through.
            State::Receiving if error.raw_os_error() != Some(libc::ECONNREFUSED) => {
                self.note(slot, pending, reactor)
            }
            State::Receiving => {
                let bytes = pending.bytes;
                Err(pending.failed(&format!("receiving after {bytes} bytes: {error}")))
            }
            // All bytes are there, or it was stopped: how it is taken down no longer matters.
            State::Refused(_) | State::Closing | State::Closed => {
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
        mut pending: Pending,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        while let Some(link) = &mut pending.link {
            let Some(handle) = link.driver.next_touched() else {
                break;
            };
            while let Some(event) = pending.link.as_mut().and_then(Link::event) {
                match event {
                    Event::Connected => self.send(&mut pending, log)?,
                    Event::Stream(StreamEvent::Readable { .. }) => {
                        self.deliver(&mut pending, log)?;
                    }
                    Event::ConnectionLost { reason } => match pending.state {
                        State::Connecting => {
                            return self.not_connected(slot, pending, (&reason).into(), log);
                        }
                        State::Closing | State::Closed => pending.state = State::Closed,
                        _ => self.lost(&mut pending, &reason, log)?,
                    },
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

    /// Asks, on a connection that is established.
    fn send(&mut self, pending: &mut Pending, log: &mut Log) -> Result<(), Failure> {
        let first = self.streams.connects(pending);
        let request = pending.request();
        let Some(link) = &mut pending.link else {
            return Ok(());
        };
        if first {
            let (connection, mtu) = (request.connection, link.mtu);
            let receive_window_bytes = self.description.receive_window_bytes();
            log.now(&QuicEvent::Connected { connection, receive_window_bytes, mtu });
        }
        let asked = link.ask(request);
        if asked.map_err(|message| pending.failed(&message))? {
            pending.state = State::Receiving;
        }
        Ok(())
    }

    /// Takes what has arrived, and closes the connection when that is all.
    fn deliver(&mut self, pending: &mut Pending, log: &mut Log) -> Result<(), Failure> {
        let before = pending.bytes;
        let (State::Receiving | State::Closing, Some(link)) = (&pending.state, &mut pending.link)
        else {
            return Ok(());
        };
        let Some((bytes, end)) = link.take(before) else {
            return Ok(());
        };
        let finished = end.map_err(|message| pending.failed(&message))?;
        if bytes > pending.wanted {
            return Err(pending.failed("the server sent more than was requested"));
        }
        if bytes > before {
            self.streams.deliver(pending, bytes, log);
        }
        if finished && bytes < pending.wanted {
            return Err(pending.failed(&format!("the server closed after {bytes} bytes")));
        }
        if let Some(link) = pending.link.as_mut().filter(|_| finished) {
            pending.state = State::Closed;
            link.close(DONE, "");
        }
        Ok(())
    }

    /// Does what the loss of an established connection means before all bytes were there.
    fn lost(
        &self,
        pending: &mut Pending,
        reason: &ConnectionError,
        log: &mut Log,
    ) -> Result<(), Failure> {
        pending.broke(why_lost(pending.bytes, reason, self.description.idle_timeout_ns), log)
    }

    /// Puts a request back, with what it waits for; or forgets it, if its connection is gone.
    fn note(
        &mut self,
        slot: usize,
        mut pending: Pending,
        reactor: &Reactor,
    ) -> Result<(), Failure> {
        let Some(link) = &mut pending.link else {
            self.streams.pending.put(slot, pending);
            return Ok(());
        };
        if link.quic().is_none() && matches!(pending.state, State::Closed) {
            self.hang_up(&mut pending);
            self.forget(slot);
            return Ok(());
        }
        link.set_waits(reactor, FIRST_SLOT + slot as u64)?;
        if let Some(deadline) = link.driver.deadline() {
            if link.noted.is_none_or(|noted| deadline < noted) {
                self.deadlines.push(Reverse((deadline, slot)));
                link.noted = Some(deadline);
            }
        }
        self.streams.pending.put(slot, pending);
        Ok(())
    }

    fn forget(&mut self, slot: usize) {
        self.streams.pending.give_up(slot);
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
            let Some(mut pending) = self.streams.pending.take(slot) else {
                continue;
            };
            match pending.link.as_mut().filter(|link| link.noted == Some(at)) {
                Some(link) => {
                    link.noted = None;
                    link.driver.expire();
                    self.serve(slot, pending, reactor, log)?;
                }
                None => self.streams.pending.put(slot, pending),
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
        if self.streams.ticked()? && self.goodbye.is_none() {
            self.streams.progress(log);
        }
        Ok(())
    }

    /// Ends everything: with what has arrived by now, and without waiting for more.
    fn stop(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        for slot in 0..self.streams.pending.len() {
            self.receive(slot, reactor, log)?;
            let Some(mut pending) = self.streams.pending.take(slot) else {
                continue;
            };
            let closes = matches!(pending.state, State::Closing);
            let stopped = pending.stop(log)?;
            if let Some(link) = &mut pending.link {
                if stopped {
                    // The server shall not go on sending to nobody.
                    link.close(STOPPED, "stopped");
                } else if closes {
                    link.close(DONE, "");
                }
            }
            self.serve(slot, pending, reactor, log)?;
        }
        self.streams.stop(log);
        self.streams.end()?;
        self.goodbye = Some(Instant::now() + LONGEST_GOODBYE);
        Ok(())
    }
}
