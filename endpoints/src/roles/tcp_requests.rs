//! The workload `requests` of role `tcp-client`: each request is a connection of its own
//! (`request_streams`).

use crate::agenda::Agenda;
use crate::arrivals::Requests;
use crate::clock::Timer;
use crate::description::TcpClient;
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::reactor::{Interest, Reactor, Wake};
use crate::request::Request;
use crate::roles::request_streams::{agenda, streams, Asked, Due, Stream};
use crate::slots::Slots;
use crate::socket::RETRY_NS;
use crate::tcp::fetch::{may_pass, Dial, Fetch, Taken};
use std::io;

const ALARM: u64 = 0;
const TICK: u64 = 1;
/// Token of the request in slot 0; the others follow.
const FIRST_SLOT: u64 = 2;

/// Asks until `stop_ns` or SIGTERM.
///
/// # Errors
/// A request that failed, or a machine that refuses timers or sockets.
pub fn run(description: &TcpClient, requests: &Requests, log: &mut Log) -> Result<(), Failure> {
    let mut reactor = Reactor::new()?;
    let mut client = Client::new(description, requests, &reactor, log)?;
    let mut wakes = Vec::new();
    loop {
        reactor.wait(&mut wakes)?;
        client.pending.turn();
        for wake in &wakes {
            let goes_on = match *wake {
                Wake::Stop => false,
                Wake::Ready(ALARM) => client.alarm(&reactor, log)?,
                Wake::Ready(TICK) => client.tick(log)?,
                Wake::Ready(token) => {
                    client.serve((token - FIRST_SLOT) as usize, &reactor, log)?;
                    true
                }
            };
            if !goes_on {
                return client.stop(log);
            }
        }
    }
}

/// The state of the workload.
struct Client {
    dial: Dial,
    due: Agenda<Due>,
    ticks: Timer,
    streams: Vec<Stream>,
    pending: Slots<Pending>,
}

/// A request that is under way.
struct Pending {
    asked: Asked,
    state: State,
}

/// How far a request is.
enum State {
    /// Its last attempt to connect failed so; it is tried again later.
    Refused(io::Error),
    Connecting(Fetch),
    Receiving(Fetch),
    /// All bytes are there; the server has not closed yet.
    Closing(Fetch),
}

impl Client {
    fn new(
        description: &TcpClient,
        requests: &Requests,
        reactor: &Reactor,
        log: &Log,
    ) -> Result<Self, Failure> {
        let streams = streams(requests, &description.starts_ns)?;
        let due = agenda(&streams, description.stop_ns, log.clock())?;
        let ticks = Timer::new(log.clock())?;
        reactor.add(&due, Interest::Read, ALARM)?;
        reactor.add(&ticks, Interest::Read, TICK)?;
        ticks.every(description.progress_every_ns)?;
        let (dial, pending) = (description.dial(), Slots::new());
        Ok(Client { dial, due, ticks, streams, pending })
    }

    /// Does what is due, and sets the next alarm; false when it is time to stop.
    fn alarm(&mut self, reactor: &Reactor, log: &mut Log) -> Result<bool, Failure> {
        if !self.due.fired()? {
            return Ok(true);
        }
        let now_ns = log.clock().now_ns();
        while let Some((_, due)) = self.due.due(now_ns) {
            match due {
                Due::Stop => return Ok(false),
                Due::Ask(stream) => self.ask(stream, reactor, log)?,
                Due::Again(slot) => {
                    if let Some(pending) = self.pending.take(slot) {
                        self.open(slot, pending, reactor, log)?;
                    }
                }
            }
        }
        self.due.arm()?;
        Ok(true)
    }

    /// Makes the next request of a stream.
    fn ask(&mut self, index: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let stream = &mut self.streams[index];
        let pending = Pending {
            asked: stream.ask(log),
            state: State::Refused(io::ErrorKind::NotConnected.into()),
        };
        self.due.put(stream.next_ns(), Due::Ask(index));
        let slot = self.pending.reserve();
        self.open(slot, pending, reactor, log)
    }

    /// Starts to open the connection of a request.
    fn open(
        &mut self,
        slot: usize,
        mut pending: Pending,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let (connection, bytes) = (pending.asked.stream, Some(pending.asked.wanted));
        match Fetch::open(&self.dial, Request { connection, bytes }) {
            Ok(fetch) => {
                reactor.add(fetch.socket(), Interest::Write, FIRST_SLOT + slot as u64)?;
                pending.state = State::Connecting(fetch);
                self.pending.put(slot, pending);
                Ok(())
            }
            Err(error) => self.not_connected(slot, pending, error, log),
        }
    }

    /// Tries again later, if that can help.
    fn not_connected(
        &mut self,
        slot: usize,
        mut pending: Pending,
        error: io::Error,
        log: &mut Log,
    ) -> Result<(), Failure> {
        if !may_pass(&error) {
            return Err(pending.asked.failed(&explain(&error)));
        }
        pending.state = State::Refused(error);
        self.pending.put(slot, pending);
        let again_ns = log.clock().now_ns().saturating_add(RETRY_NS);
        self.due.put(again_ns, Due::Again(slot));
        Ok(self.due.arm()?)
    }

    /// Does what can be done for one request.
    fn serve(&mut self, slot: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let Some(mut pending) = self.pending.take(slot) else {
            return Ok(());
        };
        pending.state = match pending.state {
            State::Connecting(mut fetch) => match fetch.connected() {
                Ok(buffers) => {
                    self.report_connected(pending.asked.stream, buffers, log);
                    reactor.change(fetch.socket(), Interest::Read, FIRST_SLOT + slot as u64)?;
                    State::Receiving(fetch)
                }
                Err(error) => {
                    pending.state = State::Refused(io::ErrorKind::NotConnected.into());
                    return self.not_connected(slot, pending, error, log);
                }
            },
            State::Receiving(fetch) => {
                pending.state = State::Receiving(fetch);
                self.take(&mut pending, log)?;
                pending.state
            }
            state => state,
        };
        if let State::Closing(fetch) = &pending.state {
            if fetch.closed().map_err(|message| pending.asked.failed(&message))? {
                self.pending.give_up(slot);
                return Ok(());
            }
        }
        self.pending.put(slot, pending);
        Ok(())
    }

    /// Takes what has arrived for a request.
    fn take(&mut self, pending: &mut Pending, log: &mut Log) -> Result<(), Failure> {
        let State::Receiving(fetch) = &mut pending.state else {
            return Ok(());
        };
        let before = fetch.bytes();
        let result = fetch.take();
        let bytes = fetch.bytes();
        let taken = result.map_err(|message| pending.asked.failed(&message))?;
        if taken == Taken::Nothing {
            return Ok(());
        }
        let stream = &mut self.streams[pending.asked.stream as usize];
        let now_ns = stream.deliver(&mut pending.asked, before, bytes, log);
        if taken == Taken::Complete {
            pending.asked.fetched(now_ns, log);
            let nobody = State::Refused(io::ErrorKind::NotConnected.into());
            if let State::Receiving(fetch) = std::mem::replace(&mut pending.state, nobody) {
                pending.state = State::Closing(fetch);
            }
        }
        Ok(())
    }

    /// Reports how much every stream has delivered; true, because that ends nothing.
    fn tick(&mut self, log: &mut Log) -> Result<bool, Failure> {
        if self.ticks.fired()? {
            self.streams.iter().for_each(|stream| stream.progress(log));
        }
        Ok(true)
    }

    /// Ends everything: with what has arrived by now, and without waiting for more.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        let pending: Vec<Pending> = self.pending.drain().collect();
        for mut pending in pending {
            self.take(&mut pending, log)?;
            let bytes = match &pending.state {
                State::Closing(_) => continue,
                State::Refused(error) => {
                    return Err(pending.asked.failed(&format!("could not connect: {error}")));
                }
                State::Connecting(_) => 0,
                State::Receiving(fetch) => fetch.bytes(),
            };
            pending.asked.unfinished(bytes, log);
            if let State::Receiving(fetch) = pending.state {
                fetch.reset()?;
            }
        }
        self.streams.iter().for_each(|stream| stream.stop(log));
        Ok(())
    }

    /// Reports the first connection of a stream that is established.
    fn report_connected(&mut self, connection: u32, buffers: (u32, u32), log: &mut Log) {
        let (receive_buffer_bytes, receive_window_bytes) = buffers;
        if self.streams[connection as usize].connects() {
            log.now(&Event::Connected { connection, receive_buffer_bytes, receive_window_bytes });
        }
    }
}

/// Says what is missing when a machine runs out of something.
fn explain(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EADDRNOTAVAIL) => {
            "no local port is free: too many requests are under way (net.ipv4.ip_local_port_range)"
                .into()
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            "too many requests are under way: no more files can be opened (ulimit -n)".into()
        }
        _ => format!("connecting: {error}"),
    }
}
