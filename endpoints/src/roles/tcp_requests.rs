//! The workload `requests` of role `tcp-client`: each request is a connection of its own, opened when
//! its time has come, whether those before it have ended or not (an open loop).
//!
//! What the description calls a connection is a stream of requests here. Its first request reports as
//! a connection does; then there is one line per request.

use crate::agenda::Agenda;
use crate::clock::Timer;
use crate::description::TcpClient;
use crate::events::{Event, Log};
use crate::reactor::{Interest, Reactor, Wake};
use crate::request::Request;
use crate::roles::tcp_client::RETRY_NS;
use crate::roles::Failure;
use crate::slots::Slots;
use crate::tcp::fetch::{may_pass, Dial, Fetch, Taken};
use crate::workload::{Arrival, Arrivals, Requests};
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

/// What happens at a time, the first of these first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The end.
    Stop,
    /// The next request of this stream.
    Ask(usize),
    /// Another attempt of the request in this slot to connect.
    Again(usize),
}

/// The state of the workload.
struct Client {
    dial: Dial,
    due: Agenda<Due>,
    ticks: Timer,
    streams: Vec<Stream>,
    pending: Slots<Pending>,
}

/// A stream of requests.
struct Stream {
    arrivals: Arrivals,
    next: Arrival,
    start_ns: i64,
    /// Requests so far.
    requests: u64,
    connected: bool,
    /// Delivered so far, all requests together.
    bytes: u64,
}

/// A request that is under way.
struct Pending {
    stream: usize,
    request: u64,
    wanted: u64,
    opened_ns: i64,
    first_byte_ns: i64,
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
        let (mut due, ticks) = (Agenda::new(log.clock())?, Timer::new(log.clock())?);
        reactor.add(&due, Interest::Read, ALARM)?;
        reactor.add(&ticks, Interest::Read, TICK)?;
        let streams: Vec<Stream> = (0..)
            .zip(&description.starts_ns)
            .map(|(connection, start_ns)| {
                let mut arrivals = requests.of(connection);
                let next = arrivals.follow();
                let (requests, connected, bytes) = (0, false, 0);
                Stream { arrivals, next, start_ns: *start_ns, requests, connected, bytes }
            })
            .collect();
        for (index, stream) in streams.iter().enumerate() {
            due.put(stream.next_ns(), Due::Ask(index));
        }
        if let Some(stop_ns) = description.stop_ns {
            due.put(stop_ns, Due::Stop);
        }
        due.arm()?;
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
        let opened_ns = log.clock().now_ns();
        if stream.requests == 0 {
            log.at(opened_ns, &Event::Opened { connection: index as u32 });
        }
        let pending = Pending {
            stream: index,
            request: stream.requests,
            wanted: stream.next.bytes,
            opened_ns,
            first_byte_ns: opened_ns,
            state: State::Refused(io::ErrorKind::NotConnected.into()),
        };
        stream.requests += 1;
        stream.next = stream.arrivals.follow();
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
        let (connection, bytes) = (pending.stream as u32, Some(pending.wanted));
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
            return Err(pending.failed(&explain(&error)));
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
                    self.streams[pending.stream].connect(pending.stream as u32, buffers, log);
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
            if fetch.closed().map_err(|message| pending.failed(&message))? {
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
        let taken = result.map_err(|message| pending.failed(&message))?;
        if taken == Taken::Nothing {
            return Ok(());
        }
        let (now_ns, connection) = (log.clock().now_ns(), pending.stream as u32);
        let stream = &mut self.streams[pending.stream];
        if stream.bytes == 0 {
            log.at(now_ns, &Event::FirstByte { connection });
        }
        stream.bytes += bytes - before;
        if before == 0 {
            pending.first_byte_ns = now_ns;
        }
        if taken == Taken::Complete {
            let Pending { request, opened_ns, first_byte_ns, .. } = *pending;
            log.at(
                now_ns,
                &Event::Fetched { connection, request, bytes, opened_ns, first_byte_ns },
            );
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
            for (connection, stream) in (0..).zip(&self.streams) {
                if stream.bytes > 0 {
                    log.now(&Event::Progress { connection, bytes: stream.bytes });
                }
            }
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
                    return Err(pending.failed(&format!("could not connect: {error}")));
                }
                State::Connecting(_) => 0,
                State::Receiving(fetch) => fetch.bytes(),
            };
            let Pending { stream, request, wanted, opened_ns, .. } = pending;
            let connection = stream as u32;
            log.now(&Event::Unfinished { connection, request, bytes, wanted, opened_ns });
            if let State::Receiving(fetch) = pending.state {
                fetch.reset()?;
            }
        }
        for (connection, stream) in (0..).zip(&self.streams) {
            log.now(&Event::Stopped { connection, bytes: stream.bytes });
        }
        Ok(())
    }
}

impl Stream {
    /// When it makes its next request.
    fn next_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.next.at_ns)
    }

    /// Reports its first connection that is established.
    fn connect(&mut self, connection: u32, buffers: (u32, u32), log: &mut Log) {
        let (receive_buffer_bytes, receive_window_bytes) = buffers;
        if !std::mem::replace(&mut self.connected, true) {
            log.now(&Event::Connected { connection, receive_buffer_bytes, receive_window_bytes });
        }
    }
}

impl Pending {
    /// Why the whole role fails: one request that does says that the rest are worth nothing.
    fn failed(&self, message: &str) -> Failure {
        let Pending { stream, request, .. } = self;
        Failure::Work(format!("request {request} of connection {stream}: {message}"))
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
