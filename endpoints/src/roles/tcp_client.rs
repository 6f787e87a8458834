//! Role `tcp-client`: opens connections, asks for data and counts it.

use crate::clock::Timer;
use crate::description::{self, TcpClient, Workload};
use crate::events::{Event, Log};
use crate::reactor::{Interest, Reactor, Wake};
use crate::request::Request;
use crate::roles::Failure;
use crate::{socket, sys};
use std::io;
use std::net::SocketAddrV4;
use std::os::unix::io::OwnedFd;

const ALARM: u64 = 0;
const TICK: u64 = 1;
/// Token of connection 0; the others follow.
const FIRST_CONNECTION: u64 = 2;

/// Time before a connection that failed to open is tried again, ns.
const RETRY_NS: i64 = 100_000_000;
/// Most bytes to take out of a socket at once.
const MOST_BYTES: u64 = 1 << 30;
/// Share of the receive buffer that may fill before the client is woken up.
const WAKE_SHARE: u32 = 8;

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
                Wake::Stop => client.stop(log),
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
    address: SocketAddrV4,
    /// Bytes that each connection asks for; None for bulk.
    wanted: Option<u64>,
    /// Fires at the start, at the stop, and when a connection is to be tried again.
    alarms: Timer,
    ticks: Timer,
    connections: Vec<Connection>,
    /// Connections that have not ended, and those that are established.
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
    Receiving { socket: OwnedFd, low_water: u64 },
    /// All bytes are there; the server has not closed yet.
    Closing(OwnedFd),
    /// Over, for better or worse.
    Ended,
}

impl Client {
    fn new(description: TcpClient, reactor: &Reactor, log: &mut Log) -> Result<Self, Failure> {
        let alarms = Timer::new(log.clock())?;
        let ticks = Timer::new(log.clock())?;
        reactor.add(&alarms, Interest::Read, ALARM)?;
        reactor.add(&ticks, Interest::Read, TICK)?;
        alarms.once(description.start_ns)?;
        let connections: Vec<Connection> = (0..description.connections)
            .map(|number| Connection {
                number,
                state: State::Waiting(description.start_ns),
                bytes: 0,
                refused: None,
            })
            .collect();
        Ok(Client {
            address: SocketAddrV4::new(description.address, description.port),
            wanted: match description.workload {
                Workload::File { bytes } => Some(bytes),
                Workload::Bulk => None,
            },
            alarms,
            ticks,
            open: connections.len(),
            live: 0,
            connections,
            description,
        })
    }

    /// Stops when it is time to, opens what is due, and sets the next alarm.
    fn alarm(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        if !self.alarms.fired()? {
            return Ok(());
        }
        let now_ns = log.clock().now_ns();
        if self
            .description
            .stop_ns
            .map_or(false, |stop_ns| stop_ns <= now_ns)
        {
            self.stop(log);
            return Ok(());
        }
        for index in 0..self.connections.len() {
            if matches!(self.connections[index].state, State::Waiting(due_ns) if due_ns <= now_ns) {
                self.connect(index, reactor, log)?;
            }
        }
        self.set_alarm()
    }

    fn set_alarm(&self) -> Result<(), Failure> {
        let due = self
            .connections
            .iter()
            .filter_map(|connection| match connection.state {
                State::Waiting(due_ns) => Some(due_ns),
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
        match socket::connecting(self.address, self.description.buffer_bytes) {
            Ok(socket) => {
                reactor.add(&socket, Interest::Write, FIRST_CONNECTION + index as u64)?;
                self.connections[index].state = State::Connecting(socket);
            }
            Err(error) => self.not_connected(index, error, log)?,
        }
        Ok(())
    }

    /// Tries again later, if that can help.
    fn not_connected(
        &mut self,
        index: usize,
        error: io::Error,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        if !may_pass(&error) {
            log.error(Some(connection.number), &format!("connecting: {}", error));
            connection.state = State::Ended;
            self.open -= 1;
            return Ok(());
        }
        connection.refused = Some(error);
        connection.state = State::Waiting(log.clock().now_ns().saturating_add(RETRY_NS));
        self.set_alarm()
    }

    /// Does what can be done for one connection.
    fn serve(&mut self, index: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        match std::mem::replace(&mut self.connections[index].state, State::Ended) {
            State::Connecting(socket) => {
                match socket::pending_error(&socket) {
                    Ok(()) => self.ask(index, socket, reactor, log)?,
                    Err(error) => self.not_connected(index, error, log)?,
                }
                Ok(())
            }
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
        let connection = &mut self.connections[index];
        let number = connection.number;
        log.now(&Event::Connected {
            connection: number,
            receive_buffer_bytes: socket::number(&socket, libc::SO_RCVBUF)?,
        });
        let request = Request {
            connection: number,
            bytes: self.wanted,
        }
        .encode();
        // An empty send buffer always takes 16 bytes, so a shorter count cannot happen.
        if let Err(error) = sys::send(&socket, &request) {
            log.error(Some(number), &format!("sending the request: {}", error));
            self.open -= 1;
            return Ok(());
        }
        reactor.change(&socket, Interest::Read, FIRST_CONNECTION + index as u64)?;
        connection.state = State::Receiving {
            socket,
            low_water: 1,
        };
        if self.live == 0 {
            self.ticks.every(self.description.progress_every_ns)?;
        }
        self.live += 1;
        Ok(())
    }

    /// Takes what has arrived on a connection and draws the conclusions.
    fn take(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        let wanted = self.wanted;
        let share = u64::from(self.description.buffer_bytes / WAKE_SHARE).max(1);
        let connection = &mut self.connections[index];
        let number = connection.number;
        let (socket, low_water) = match &mut connection.state {
            State::Receiving { socket, low_water } => (socket, low_water),
            State::Closing(socket) => {
                match sys::discard(socket, 1) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                    Ok(0) | Err(_) => {}
                    Ok(_) => log.error(Some(number), "the server sent more than was asked for"),
                }
                return self.end(index);
            }
            _ => return Ok(()),
        };
        let missing = wanted.map_or(u64::MAX, |wanted| wanted - connection.bytes);
        // One byte more than is missing, to see if there is more than was asked for.
        let most = missing.saturating_add(1).min(MOST_BYTES) as usize;
        let taken = match sys::discard(socket, most) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => {
                let message = format!("receiving after {} bytes: {}", connection.bytes, error);
                log.error(Some(number), &message);
                return self.end(index);
            }
            Ok(taken) => taken as u64,
        };
        if taken == 0 {
            let bytes = connection.bytes;
            match wanted {
                Some(0) => log.now(&Event::Done {
                    connection: number,
                    bytes,
                }),
                Some(wanted) => log.error(
                    Some(number),
                    &format!("the server closed after {} of {} bytes", bytes, wanted),
                ),
                None => log.error(
                    Some(number),
                    &format!("the server closed after {} bytes", bytes),
                ),
            }
            return self.end(index);
        }
        if taken > missing {
            log.error(Some(number), "the server sent more than was asked for");
            return self.end(index);
        }
        if connection.bytes == 0 {
            log.now(&Event::FirstByte { connection: number });
        }
        connection.bytes += taken;
        let missing = missing - taken;
        if missing == 0 {
            log.now(&Event::Done {
                connection: number,
                bytes: connection.bytes,
            });
            sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, 1)?;
            let state = std::mem::replace(&mut connection.state, State::Ended);
            if let State::Receiving { socket, .. } = state {
                connection.state = State::Closing(socket);
            }
            return Ok(());
        }
        let next = share.min(missing);
        if next != *low_water {
            *low_water = next;
            sys::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, next as i32)?;
        }
        Ok(())
    }

    /// Forgets an established connection.
    fn end(&mut self, index: usize) -> Result<(), Failure> {
        self.connections[index].state = State::Ended;
        self.open -= 1;
        self.live -= 1;
        if self.live == 0 {
            self.ticks.disarm()?;
        }
        Ok(())
    }

    /// Reports how much every connection has delivered.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.ticks.fired()? {
            return Ok(());
        }
        for index in 0..self.connections.len() {
            if matches!(self.connections[index].state, State::Receiving { .. }) {
                self.take(index, log)?;
                self.report(index, log);
            }
        }
        Ok(())
    }

    fn report(&self, index: usize, log: &mut Log) {
        let Connection {
            number,
            state,
            bytes,
            ..
        } = &self.connections[index];
        if matches!(state, State::Receiving { .. }) {
            log.now(&Event::Progress {
                connection: *number,
                bytes: *bytes,
            });
        }
    }

    /// Ends everything: with what has arrived by now, and without waiting for more.
    fn stop(&mut self, log: &mut Log) {
        for index in 0..self.connections.len() {
            if let Err(Failure::Work(message) | Failure::Description(message)) =
                self.take(index, log)
            {
                log.error(None, &message);
            }
            let connection = &mut self.connections[index];
            let number = connection.number;
            match std::mem::replace(&mut connection.state, State::Ended) {
                State::Receiving { socket, .. } => {
                    // The server shall not go on sending to nobody.
                    if let Err(error) = socket::reset_on_close(&socket) {
                        log.error(Some(number), &error.to_string());
                    }
                    log.now(&Event::Stopped {
                        connection: number,
                        bytes: connection.bytes,
                    });
                }
                State::Waiting(_) | State::Connecting(_) => match &connection.refused {
                    Some(error) => {
                        log.error(Some(number), &format!("could not connect: {}", error));
                    }
                    None => log.now(&Event::Stopped {
                        connection: number,
                        bytes: 0,
                    }),
                },
                State::Closing(_) | State::Ended => {}
            }
        }
        self.open = 0;
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
