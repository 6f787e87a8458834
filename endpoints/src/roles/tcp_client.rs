//! Role `tcp-client`: opens connections, asks for data and counts it.

use crate::clock::Timer;
use crate::description::{self, TcpClient, Workload};
use crate::events::{Event, Log};
use crate::reactor::{Interest, Reactor, Wake};
use crate::request::Request;
use crate::roles::Failure;
use crate::{socket, sys};
use std::io::{self, ErrorKind::WouldBlock};
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;

const ALARM: u64 = 0;
const TICK: u64 = 1;
/// Token of connection 0; the others follow.
const FIRST_CONNECTION: u64 = 2;

/// Time before a connection that failed to open is tried again, ns.
const RETRY_NS: i64 = 100_000_000;
/// Most bytes to take out of a socket at once.
const MOST_BYTES: u64 = 1 << 30;

/// Works until every connection has its bytes, until `stop_ns`, or until SIGTERM.
///
/// # Errors
/// A bad description, or a machine that refuses timers or sockets.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: TcpClient = description::read(text).map_err(Failure::Description)?;
    let mut reactor = Reactor::new()?;
    let mut client = Client::new(description, &reactor, log)?;
    let mut wakes = Vec::new();
    while client.open > 0 {
        reactor.wait(&mut wakes)?;
        for wake in &wakes {
            match *wake {
                Wake::Stop => return client.stop(log),
                Wake::Ready(ALARM) => client.alarm(&reactor, log)?,
                Wake::Ready(TICK) => client.tick(log)?,
                Wake::Ready(token) => {
                    client.serve((token - FIRST_CONNECTION) as usize, &reactor, log)?;
                }
            }
        }
    }
    Ok(())
}

/// The state of the role.
struct Client {
    description: TcpClient,
    /// Bytes that each connection asks for; None for bulk.
    wanted: Option<u64>,
    /// Fires at every start, at the stop, and when a connection is to be tried again.
    alarms: Timer,
    ticks: Timer,
    connections: Vec<Connection>,
    /// Connections that have not ended, and those of them that are established.
    open: usize,
    live: usize,
}

struct Connection {
    number: u32,
    state: State,
    /// Delivered so far.
    bytes: u64,
    /// Why the last attempt to connect failed.
    refused: Option<io::Error>,
}

/// How far a connection is.
enum State {
    /// It is to be opened at this time, ns after the epoch.
    Waiting(i64),
    /// The handshake is under way.
    Connecting(OwnedFd),
    /// Data comes in. The kernel wakes up when this many bytes are there.
    Receiving { socket: OwnedFd },
    /// All bytes are there; the server has not closed yet.
    Closing(OwnedFd),
    /// Over, for better or worse.
    Ended,
}

impl Client {
    fn new(description: TcpClient, reactor: &Reactor, log: &Log) -> Result<Self, Failure> {
        let alarms = Timer::new(log.clock())?;
        let ticks = Timer::new(log.clock())?;
        reactor.add(&alarms, Interest::Read, ALARM)?;
        reactor.add(&ticks, Interest::Read, TICK)?;
        let connections: Vec<Connection> = (0..)
            .zip(&description.starts_ns)
            .map(|(number, start_ns)| Connection {
                number,
                state: State::Waiting(*start_ns),
                bytes: 0,
                refused: None,
            })
            .collect();
        let client = Client {
            wanted: match description.workload {
                Workload::File { bytes } => Some(bytes),
                Workload::Bulk => None,
            },
            description,
            alarms,
            ticks,
            open: connections.len(),
            live: 0,
            connections,
        };
        client.set_alarm()?;
        Ok(client)
    }

    /// Stops when it is time to, opens what is due, and sets the next alarm.
    fn alarm(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        if !self.alarms.fired()? {
            return Ok(());
        }
        let now_ns = log.clock().now_ns();
        if self.description.stop_ns.is_some_and(|stop_ns| stop_ns <= now_ns) {
            return self.stop(log);
        }
        for index in 0..self.connections.len() {
            if matches!(self.connections[index].state, State::Waiting(due_ns) if due_ns <= now_ns) {
                self.connect(index, reactor, log)?;
            }
        }
        self.set_alarm()
    }

    fn set_alarm(&self) -> Result<(), Failure> {
        let states = self.connections.iter().map(|connection| &connection.state);
        let due = states.filter_map(|state| match state {
            State::Waiting(due_ns) => Some(*due_ns),
            _ => None,
        });
        match due.chain(self.description.stop_ns).min() {
            Some(at_ns) => self.alarms.once(at_ns)?,
            None => self.alarms.disarm()?,
        }
        Ok(())
    }

    /// Starts to open a connection.
    fn connect(&mut self, index: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let TcpClient { address, port, buffer_bytes, .. } = self.description;
        if self.connections[index].refused.is_none() {
            log.now(&Event::Opened { connection: self.connections[index].number });
        }
        match socket::connecting(SocketAddrV4::new(address, port), buffer_bytes) {
            Ok(socket) => {
                reactor.add(&socket, Interest::Write, FIRST_CONNECTION + index as u64)?;
                self.connections[index].state = State::Connecting(socket);
                Ok(())
            }
            Err(error) => self.not_connected(index, error, log),
        }
    }

    /// Tries again later, if that can help.
    fn not_connected(
        &mut self,
        index: usize,
        error: io::Error,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        if may_pass(&error) {
            connection.refused = Some(error);
            connection.state = State::Waiting(log.clock().now_ns().saturating_add(RETRY_NS));
            return self.set_alarm();
        }
        log.error(Some(connection.number), &format!("connecting: {error}"));
        connection.state = State::Ended;
        self.open -= 1;
        Ok(())
    }

    /// Does what can be done for one connection.
    fn serve(&mut self, index: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        match std::mem::replace(&mut self.connections[index].state, State::Ended) {
            State::Connecting(socket) => match socket::pending_error(&socket) {
                Ok(()) => self.ask(index, socket, reactor, log),
                Err(error) => self.not_connected(index, error, log),
            },
            state => {
                self.connections[index].state = state;
                self.take(index, log)
            }
        }
    }

    /// Sends the request on a connection that is established.
    fn ask(
        &mut self,
        index: usize,
        socket: OwnedFd,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let connection = self.connections[index].number;
        log.now(&Event::Connected {
            connection,
            receive_buffer_bytes: socket::number(&socket, libc::SO_RCVBUF)?,
        });
        let request = Request { connection, bytes: self.wanted };
        // An empty send buffer takes 16 bytes at once, so there is no shorter count.
        if let Err(error) = sys::send(&socket, &request.encode()) {
            log.error(Some(connection), &format!("sending the request: {error}"));
            self.open -= 1;
            return Ok(());
        }
        reactor.change(&socket, Interest::Read, FIRST_CONNECTION + index as u64)?;
        self.connections[index].state = State::Receiving { socket };
        if self.live == 0 {
            self.ticks.every(self.description.progress_every_ns)?;
        }
        self.live += 1;
        Ok(())
    }

    /// Takes what has arrived on a connection, and ends it if that was the end.
    fn take(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        let over = match &connection.state {
            State::Receiving { .. } => connection.receive(self.wanted, log),
            State::Closing(socket) => await_close(socket),
            _ => return Ok(()),
        };
        match over {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(message) => log.error(Some(connection.number), &message),
        }
        connection.state = State::Ended;
        self.open -= 1;
        self.live -= 1;
        if self.live == 0 {
            self.ticks.disarm()?;
        }
        Ok(())
    }

    /// Reports how much every connection that is not complete has delivered.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.ticks.fired()? {
            return Ok(());
        }
        for index in 0..self.connections.len() {
            self.take(index, log)?;
            let Connection { number, ref state, bytes, .. } = self.connections[index];
            if matches!(state, State::Receiving { .. }) {
                log.now(&Event::Progress { connection: number, bytes });
            }
        }
        Ok(())
    }

    /// Ends everything: with what has arrived by now, and without waiting for more.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        for index in 0..self.connections.len() {
            self.take(index, log)?;
            let Connection { number, state, bytes, refused } = &mut self.connections[index];
            match (std::mem::replace(state, State::Ended), refused) {
                (State::Closing(_) | State::Ended, _) => {}
                (State::Waiting(_) | State::Connecting(_), Some(error)) => {
                    log.error(Some(*number), &format!("could not connect: {error}"));
                }
                (state, _) => {
                    log.now(&Event::Stopped { connection: *number, bytes: *bytes });
                    if let State::Receiving { socket } = state {
                        // The server shall not go on sending to nobody.
                        socket::reset_on_close(&socket)?;
                    }
                }
            }
        }
        self.open = 0;
        Ok(())
    }
}

impl Connection {
    /// Takes what has arrived; true: nothing more will come, and that is well.
    fn receive(&mut self, wanted: Option<u64>, log: &mut Log) -> Result<bool, String> {
        let State::Receiving { socket } = &mut self.state else {
            return Ok(false);
        };
        let connection = self.number;
        let missing = wanted.map_or(u64::MAX, |wanted| wanted - self.bytes);
        // One byte more than is missing, to see whether more comes than was asked for.
        let most = missing.saturating_add(1).min(MOST_BYTES) as usize;
        let taken = match sys::discard(socket, most) {
            Err(error) if error.kind() == WouldBlock => return Ok(false),
            Err(error) => return Err(format!("receiving after {} bytes: {error}", self.bytes)),
            Ok(0) if missing == 0 => {
                log.now(&Event::Done { connection, bytes: 0 });
                return Ok(true);
            }
            Ok(0) => return Err(format!("the server closed after {} bytes", self.bytes)),
            Ok(taken) => taken as u64,
        };
        if taken > missing {
            return Err(TOO_MUCH.into());
        }
        if self.bytes == 0 {
            log.now(&Event::FirstByte { connection });
        }
        self.bytes += taken;
        let complete = taken == missing;
        if complete {
            log.now(&Event::Done { connection, bytes: self.bytes });
            if let State::Receiving { socket } = std::mem::replace(&mut self.state, State::Ended) {
                self.state = State::Closing(socket);
            }
        }
        Ok(false)
    }
}

const TOO_MUCH: &str = "the server sent more than was asked for";

/// Looks whether the server has closed a connection that is complete; true: it has.
fn await_close(socket: &OwnedFd) -> Result<bool, String> {
    match sys::discard(socket, 1) {
        Err(error) if error.kind() == WouldBlock => Ok(false),
        // All bytes are there: how the connection is taken down no longer matters.
        Ok(0) | Err(_) => Ok(true),
        Ok(_) => Err(TOO_MUCH.into()),
    }
}

/// Whether a connection that failed to open so may open later.
fn may_pass(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::ECONNRESET
                | libc::ETIMEDOUT
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
        )
    )
}
