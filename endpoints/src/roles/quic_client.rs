//! Role `quic-client`: opens QUIC connections, requests data and counts it.
//!
//! Each connection has a socket of its own, and so a port of its own, like a connection of TCP.

mod serving;

use crate::clock::Timer;
use crate::description;
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::player::Player;
use crate::quic::alarm::Alarm;
use crate::quic::description::QuicClient;
use crate::quic::link::LONGEST_GOODBYE;
use crate::quic::STOPPED;
use crate::reactor::{Interest, Reactor, Wake};
use crate::roles::playing::play;
use crate::roles::quic_download::{Download, State};
use crate::roles::quic_requests;
use crate::sys;
use crate::workload::Workload;
use std::time::Instant;

const ALARM: u64 = 0;
const TICK: u64 = 1;
const START: u64 = 2;
/// Token of connection 0; the others follow.
const FIRST_CONNECTION: u64 = 3;

/// Works until every connection has its bytes, until `stop_ns`, or until SIGTERM.
///
/// # Errors
/// A bad description, or a machine that refuses timers or sockets.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: QuicClient = description::read(text).map_err(Failure::Description)?;
    sys::raise_file_limit();
    if let Workload::Requests(requests) = &description.workload {
        return quic_requests::run(&description, requests, log);
    }
    let mut reactor = Reactor::new()?;
    let mut client = Client::new(description, &reactor, log)?;
    client.work(&mut reactor, log)?;
    client.connections.iter_mut().for_each(Download::hang_up);
    let dropped: u32 = client.connections.iter().map(|connection| connection.dropped).sum();
    if dropped > 0 {
        let message = format!("the socket's receive buffer was full: {dropped} datagrams dropped");
        log.error(None, &message);
    }
    Ok(())
}

/// The state of the role.
struct Client {
    description: QuicClient,
    /// Bytes that each connection asks for; None for bulk.
    wanted: Option<u64>,
    /// Fires at every start, at the stop, when a connection is to be tried again, and when a video all
    /// bytes of which are there has been shown.
    starts: Timer,
    /// Fires when QUIC has something to do.
    alarm: Alarm,
    ticks: Timer,
    connections: Vec<Download>,
    /// Connections that have not ended, and those of them that are established.
    open: usize,
    live: usize,
    /// Until when to answer servers that did not hear that a connection is stopped.
    goodbye: Option<Instant>,
}

impl Client {
    fn new(description: QuicClient, reactor: &Reactor, log: &Log) -> Result<Self, Failure> {
        let player = match &description.workload {
            Workload::Video(video) => Some(Player::new(video)),
            _ => None,
        };
        let connections: Vec<Download> = (0..)
            .zip(&description.starts_ns)
            .map(|(number, start_ns)| {
                let window_bytes = u64::from(description.receive_window_bytes());
                Download::new(number, *start_ns, player.clone(), window_bytes)
            })
            .collect();
        let client = Client {
            wanted: description.workload.wanted_bytes(),
            description,
            starts: Timer::new(log.clock())?,
            alarm: Alarm::new()?,
            ticks: Timer::new(log.clock())?,
            open: connections.len(),
            live: 0,
            connections,
            goodbye: None,
        };
        reactor.add(&client.starts, Interest::Read, START)?;
        reactor.add(&client.alarm, Interest::Read, ALARM)?;
        reactor.add(&client.ticks, Interest::Read, TICK)?;
        client.set_start()?;
        Ok(client)
    }

    /// Stops when it is time to, opens what is due, and sets the next start.
    fn start(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        if !self.starts.fired()? {
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
        self.set_start()
    }

    fn set_start(&self) -> Result<(), Failure> {
        let due = self.connections.iter().filter_map(|connection| match connection.state {
            State::Waiting(due_ns) => Some(due_ns),
            // Until all bytes are there, what a player did is told when the next ones come.
            State::Closing(_) | State::Showing => {
                connection.player.as_ref().and_then(Player::due_ns)
            }
            _ => None,
        });
        let stop = self.description.stop_ns.filter(|_| self.open > 0);
        match due.chain(stop).min() {
            Some(at_ns) => self.starts.once(at_ns)?,
            None => self.starts.disarm()?,
        }
        Ok(())
    }

    /// Does what there is to do until every connection has ended.
    fn work(&mut self, reactor: &mut Reactor, log: &mut Log) -> Result<(), Failure> {
        let mut wakes = Vec::new();
        while self.open > 0 || self.says_goodbye() {
            reactor.wait(&mut wakes)?;
            for wake in &wakes {
                match *wake {
                    Wake::Stop if self.open == 0 => return Ok(()),
                    Wake::Stop => self.stop(log)?,
                    Wake::Ready(START) => self.start(reactor, log)?,
                    Wake::Ready(TICK) => self.tick(log)?,
                    Wake::Ready(ALARM) => self.expire()?,
                    Wake::Ready(token) => {
                        self.receive((token - FIRST_CONNECTION) as usize, log)?;
                    }
                }
            }
            self.serve_all(reactor, log)?;
        }
        Ok(())
    }

    /// Tells QUIC what time it is.
    fn expire(&mut self) -> Result<(), Failure> {
        if self.alarm.fired()? {
            for connection in &mut self.connections {
                if let Some(link) = &mut connection.link {
                    link.driver.expire();
                }
            }
        }
        Ok(())
    }

    /// Tells what a player did until now, and ends a connection that waits for nothing else.
    fn show(&mut self, index: usize, now_ns: i64, log: &mut Log) {
        let connection = &mut self.connections[index];
        let Some(player) = &mut connection.player else {
            return;
        };
        play(player, connection.number, connection.bytes, now_ns, log);
        if player.ended() && connection.state == State::Showing {
            connection.state = State::Ended;
            self.open -= 1;
        }
    }

    /// Reports how much every connection that is not complete has delivered.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.ticks.fired()? {
            return Ok(());
        }
        for index in 0..self.connections.len() {
            self.catch_up(index, log)?;
            let Download { number, state, bytes, .. } = &self.connections[index];
            let (number, state, bytes) = (*number, *state, *bytes);
            if matches!(state, State::Receiving(_)) {
                log.now(&Event::Progress { connection: number, bytes });
                self.show(index, log.clock().now_ns(), log);
            }
        }
        Ok(())
    }

    /// Takes what the kernel holds for a connection.
    fn catch_up(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        if matches!(self.connections[index].state, State::Receiving(_) | State::Closing(_)) {
            self.receive(index, log)?;
            self.serve(index, log)?;
        }
        Ok(())
    }

    /// Ends everything: with what has arrived by now, and without waiting for more.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        for index in 0..self.connections.len() {
            self.catch_up(index, log)?;
            self.show(index, log.clock().now_ns(), log);
            let connection = &mut self.connections[index];
            match (std::mem::replace(&mut connection.state, State::Ended), &connection.refused) {
                (State::Closing(_) | State::Showing | State::Ended, _) => {}
                (State::Waiting(_) | State::Connecting, Some(reason)) => {
                    log.error(Some(connection.number), &format!("could not connect: {reason}"));
                }
                _ => {
                    let Download { number, bytes, .. } = connection;
                    log.now(&Event::Stopped { connection: *number, bytes: Some(*bytes) });
                    // The server shall not go on sending to nobody.
                    connection.close(STOPPED, "stopped");
                }
            }
        }
        self.open = 0;
        self.live = 0;
        self.ticks.disarm()?;
        self.goodbye = Some(Instant::now() + LONGEST_GOODBYE);
        Ok(())
    }

    /// Whether a server may still have to be told that its connection is stopped.
    fn says_goodbye(&mut self) -> bool {
        let Some(goodbye) = self.goodbye else {
            return false;
        };
        let mut links = self.connections.iter_mut().filter_map(|one| one.link.as_mut());
        Instant::now() < goodbye && links.any(|link| link.quic().is_some())
    }
}
