//! Role `tcp-client`: opens connections, asks for data and counts it.

use crate::clock::Timer;
use crate::description::{self, TcpClient};
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::player::Player;
use crate::reactor::{Interest, Reactor, Wake};
use crate::request::Request;
use crate::roles::tcp_download::{Connection, State};
use crate::roles::tcp_requests;
use crate::socket::{self, RETRY_NS};
use crate::sys;
use crate::tcp::fetch::{may_pass, Dial, Fetch, Taken};
use crate::tcp::sink::{Sinks, Sunk};
use crate::workload::Workload;
use std::io;

const ALARM: u64 = 0;
const TICK: u64 = 1;
const SUNK: u64 = 2;
/// Token of connection 0; the others follow.
const FIRST_CONNECTION: u64 = 3;

/// Works until every connection has its bytes, until `stop_ns`, or until SIGTERM.
///
/// # Errors
/// A bad description, or a machine that refuses timers or sockets.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: TcpClient = description::read(text).map_err(Failure::Description)?;
    sys::raise_file_limit();
    socket::warm_up()?;
    if let Workload::Requests(requests) = &description.workload {
        return tcp_requests::run(&description, requests, log);
    }
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
                Wake::Ready(SUNK) => client.sunk(&reactor, log)?,
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
    dial: Dial,
    /// Bytes that each connection asks for; None for as many as go through.
    wanted: Option<u64>,
    /// Fires at every start, at the stop, when a connection is to be tried again, and when a video
    /// all bytes of which are there has been shown.
    alarms: Timer,
    ticks: Timer,
    /// Take the data of long transfers.
    sinks: Sinks,
    connections: Vec<Connection>,
    /// Connections that have not ended, each with its player, and those of them that are established.
    open: usize,
    live: usize,
}

impl Client {
    fn new(description: TcpClient, reactor: &Reactor, log: &Log) -> Result<Self, Failure> {
        let alarms = Timer::new(log.clock())?;
        let ticks = Timer::new(log.clock())?;
        reactor.add(&alarms, Interest::Read, ALARM)?;
        reactor.add(&ticks, Interest::Read, TICK)?;
        let sinks = Sinks::new(log.clock())?;
        reactor.add(&sinks, Interest::Read, SUNK)?;
        let player = match &description.workload {
            Workload::Video(video) => Some(Player::new(video)),
            _ => None,
        };
        let connections: Vec<Connection> = (0..)
            .zip(&description.starts_ns)
            .map(|(number, start_ns)| Connection {
                number,
                state: State::Waiting(*start_ns),
                sinks: false,
                player: player.clone(),
                bytes: 0,
                refused: None,
            })
            .collect();
        let client = Client {
            dial: description.dial(),
            wanted: description.workload.wanted_bytes(),
            description,
            alarms,
            ticks,
            sinks,
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
            self.show(index, now_ns, log);
            if matches!(self.connections[index].state, State::Waiting(due_ns) if due_ns <= now_ns) {
                self.connect(index, reactor, log)?;
            }
        }
        self.set_alarm()
    }

    fn set_alarm(&self) -> Result<(), Failure> {
        let due = self.connections.iter().filter_map(|connection| match connection.state {
            State::Waiting(due_ns) => Some(due_ns),
            // Until all bytes are there, what a player did is told when the next ones come.
            State::Closing(_) | State::Showing => {
                connection.player.as_ref().and_then(Player::due_ns)
            }
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
        let connection = self.connections[index].number;
        if self.connections[index].refused.is_none() {
            log.now(&Event::Opened { connection });
        }
        match Fetch::open(&self.dial, Request { connection, bytes: self.wanted }) {
            Ok(fetch) => {
                reactor.add(fetch.socket(), Interest::Write, FIRST_CONNECTION + index as u64)?;
                self.connections[index].state = State::Connecting(fetch);
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
            State::Connecting(mut fetch) => match fetch.connected() {
                Ok(buffers) => self.ask(index, fetch, buffers, reactor, log),
                Err(error) => self.not_connected(index, error, log),
            },
            state => {
                self.connections[index].state = state;
                self.take(index, log)?;
                self.sink(index, reactor)
            }
        }
    }

    /// Waits for the data of a connection that is established.
    fn ask(
        &mut self,
        index: usize,
        fetch: Fetch,
        (receive_buffer_bytes, receive_window_bytes): (u32, u32),
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let connection = self.connections[index].number;
        log.now(&Event::Connected { connection, receive_buffer_bytes, receive_window_bytes });
        reactor.change(fetch.socket(), Interest::Read, FIRST_CONNECTION + index as u64)?;
        self.connections[index].state = State::Receiving(fetch);
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
            State::Receiving(_) if connection.sinks => return Ok(()),
            State::Receiving(_) => connection.receive(log),
            State::Closing(fetch) => fetch.closed(),
            _ => return Ok(()),
        };
        self.settle(index, over, log)
    }

    /// Hands a connection whose first data is there to a thread, if that pays.
    fn sink(&mut self, index: usize, reactor: &Reactor) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        let State::Receiving(fetch) = &connection.state else {
            return Ok(());
        };
        let begun = fetch.bytes() > 0 && connection.player.is_none();
        if begun && self.sinks.pays(fetch.missing()) {
            self.sinks.start(index, fetch.socket(), fetch.missing())?;
            reactor.remove(fetch.socket())?;
            connection.sinks = true;
        }
        Ok(())
    }

    /// Takes note of connections whose threads have ended.
    fn sunk(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        for Sunk { index, bytes, ended_ns, error } in self.sinks.ended()? {
            let connection = &mut self.connections[index];
            let State::Receiving(fetch) = &mut connection.state else {
                continue;
            };
            connection.sinks = false;
            let taken = fetch.sunk(bytes, error);
            if taken.is_ok() {
                // What is left is the end, for which the reactor waits.
                sys::set_blocking(fetch.socket(), false)?;
                reactor.add(fetch.socket(), Interest::Read, FIRST_CONNECTION + index as u64)?;
            }
            let over = taken.map(|taken| connection.took(taken, Some(ended_ns), log));
            self.settle(index, over, log)?;
        }
        Ok(())
    }

    /// Ends a connection if `over` says so, or why it failed.
    fn settle(
        &mut self,
        index: usize,
        over: Result<bool, String>,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        let complete = matches!(connection.state, State::Closing(_));
        match over {
            Ok(false) if complete && connection.player.is_some() => return self.set_alarm(),
            Ok(false) => return Ok(()),
            Ok(true) if connection.player.as_ref().is_some_and(|player| !player.ended()) => {
                connection.state = State::Showing;
            }
            Ok(true) => {
                connection.state = State::Ended;
                self.open -= 1;
            }
            Err(message) => {
                log.error(Some(connection.number), &message);
                connection.state = State::Ended;
                self.open -= 1;
            }
        }
        self.live -= 1;
        if self.live == 0 {
            self.ticks.disarm()?;
        }
        Ok(())
    }

    /// Tells what a player did until now, and ends a connection that waits for nothing else.
    fn show(&mut self, index: usize, now_ns: i64, log: &mut Log) {
        let connection = &mut self.connections[index];
        connection.play(now_ns, log);
        let ended = connection.player.as_ref().is_some_and(Player::ended);
        if ended && matches!(connection.state, State::Showing) {
            connection.state = State::Ended;
            self.open -= 1;
        }
    }

    /// Reports how much every connection that is not complete has delivered: what has arrived, which
    /// is taken at the same instant. Looking costs no attempt to take what may not be there.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.ticks.fired()? {
            return Ok(());
        }
        for index in 0..self.connections.len() {
            let Connection { number, state: State::Receiving(fetch), .. } =
                &self.connections[index]
            else {
                continue;
            };
            fetch.keep_window()?;
            let (connection, bytes) = (*number, fetch.arrived()?);
            // All of it is there, as is about to be told.
            if bytes > 0 && Some(bytes) == self.wanted {
                continue;
            }
            log.now(&Event::Progress { connection, bytes });
            self.show(index, log.clock().now_ns(), log);
        }
        Ok(())
    }

    /// Ends everything: with what has arrived by now, and without waiting for more.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        self.stop_sinks(log)?;
        for index in 0..self.connections.len() {
            self.take(index, log)?;
            self.show(index, log.clock().now_ns(), log);
            let Connection { number, state, bytes, refused, .. } = &mut self.connections[index];
            match (std::mem::replace(state, State::Ended), refused) {
                (State::Closing(_) | State::Showing | State::Ended, _) => {}
                (State::Waiting(_) | State::Connecting(_), Some(error)) => {
                    log.error(Some(*number), &format!("could not connect: {error}"));
                }
                (state, _) => {
                    log.now(&Event::Stopped { connection: *number, bytes: Some(*bytes) });
                    if let State::Receiving(fetch) = state {
                        fetch.reset()?;
                    }
                }
            }
        }
        self.open = 0;
        Ok(())
    }

    /// Ends the threads, each with what has arrived by now.
    fn stop_sinks(&mut self, log: &mut Log) -> Result<(), Failure> {
        for connection in self.connections.iter().filter(|connection| connection.sinks) {
            if let State::Receiving(fetch) = &connection.state {
                // Of a connection that the server has just reset there is nothing left to read.
                let _ = sys::shutdown_read(fetch.socket());
            }
        }
        for Sunk { index, bytes, ended_ns, error } in self.sinks.join() {
            let connection = &mut self.connections[index];
            if let State::Receiving(fetch) = &mut connection.state {
                let taken = fetch.sunk(bytes, error).unwrap_or(Taken::Data);
                let over = connection.took(taken, Some(ended_ns), log);
                self.settle(index, Ok(over), log)?;
            }
        }
        Ok(())
    }
}
