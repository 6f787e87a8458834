//! What happens to the connections of a client on the wire: how they open, ask, receive and end.

use super::{Client, FIRST_CONNECTION};
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::quic::link::{Link, Refusal};
use crate::quic::report;
use crate::quic::transfer::send_request;
use crate::quic::{DONE, REFUSED};
use crate::reactor::{Interest, Reactor};
use crate::request::Request;
use crate::roles::quic_download::{Download, State};
use crate::socket::RETRY_NS;
use quinn_proto::{ConnectionError, Event as QuicEvent, StreamEvent};
use std::io;

impl Client {
    /// Starts to open a connection.
    pub(super) fn connect(
        &mut self,
        index: usize,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        if connection.refused.is_none() {
            log.now(&Event::Opened { connection: connection.number });
        }
        match Link::open(&self.description) {
            Ok(link) => {
                reactor.add(&link.driver, Interest::Read, FIRST_CONNECTION + index as u64)?;
                connection.link = Some(link);
                connection.state = State::Connecting;
                Ok(())
            }
            Err(refusal) => self.not_connected(index, refusal, log),
        }
    }

    /// Tries again later, if that can help.
    fn not_connected(
        &mut self,
        index: usize,
        refusal: Refusal,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        connection.hang_up();
        match refusal {
            Refusal::Passing(reason) => {
                connection.refused = Some(reason);
                connection.state = State::Waiting(log.clock().now_ns().saturating_add(RETRY_NS));
            }
            Refusal::Lasting(reason) => {
                log.error(Some(connection.number), &format!("connecting: {reason}"));
                connection.state = State::Ended;
                self.open -= 1;
            }
        }
        self.set_start()
    }

    /// Takes what has arrived at a socket into QUIC.
    pub(super) fn receive(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        let Some(link) = &mut self.connections[index].link else {
            return Ok(());
        };
        match link.driver.retry().and_then(|()| link.driver.receive(&mut Vec::new())) {
            Ok(()) => Ok(()),
            Err(error) => self.unreachable(index, &error, log),
        }
    }

    /// Does what a socket's error means: that nobody listens at the server's port, or no way leads
    /// there.
    fn unreachable(
        &mut self,
        index: usize,
        error: &io::Error,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        match connection.state {
            State::Connecting => {
                self.not_connected(index, Refusal::Passing(error.to_string()), log)
            }
            // What a network does that loses its way for a while, QUIC lives through.
            State::Receiving(_) if error.raw_os_error() != Some(libc::ECONNREFUSED) => Ok(()),
            State::Receiving(_) => {
                let message = format!("receiving after {} bytes: {error}", connection.bytes);
                connection.hang_up();
                self.fail(index, &message, log)
            }
            State::Closing(_) => {
                // All bytes are there: how the connection is taken down no longer matters.
                connection.hang_up();
                self.over(index)
            }
            State::Waiting(_) | State::Showing | State::Ended => {
                connection.hang_up();
                Ok(())
            }
        }
    }

    /// Serves every connection that something happened to, and sets when to wake up.
    pub(super) fn serve_all(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        for index in 0..self.connections.len() {
            self.serve(index, log)?;
            if let Some(link) = &mut self.connections[index].link {
                link.set_waits(reactor, FIRST_CONNECTION + index as u64)?;
            }
        }
        let links = self.connections.iter().filter_map(|connection| connection.link.as_ref());
        let deadline = links.filter_map(|link| link.driver.deadline()).min();
        self.alarm.by(deadline.into_iter().chain(self.goodbye).min())?;
        Ok(())
    }

    /// Does what can be done for one connection.
    pub(super) fn serve(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        while let Some(link) = &mut self.connections[index].link {
            let Some(handle) = link.driver.next_touched() else {
                break;
            };
            while let Some(event) = self.event(index) {
                match event {
                    QuicEvent::Connected => self.ask(index, log)?,
                    QuicEvent::ConnectionLost { reason } => self.lost(index, &reason, log)?,
                    QuicEvent::Stream(StreamEvent::Readable { .. }) => self.take(index, log)?,
                    _ => {}
                }
            }
            let Some(link) = &mut self.connections[index].link else {
                break;
            };
            if let Err(error) = link.driver.flush(handle) {
                self.unreachable(index, &error, log)?;
            }
        }
        Ok(())
    }

    fn event(&mut self, index: usize) -> Option<QuicEvent> {
        self.connections[index].link.as_mut()?.quic()?.poll()
    }

    /// Sends the request on a connection that is established.
    fn ask(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        let receive_window_bytes = self.description.receive_window_bytes();
        let wanted = self.wanted;
        let Download { number, link: Some(link), .. } = &mut self.connections[index] else {
            return Ok(());
        };
        let (number, mtu) = (*number, link.mtu);
        log.now(&report::QuicEvent::Connected { connection: number, receive_window_bytes, mtu });
        let request = Request { connection: number, bytes: wanted };
        match link.quic().map(|quic| send_request(quic, request)) {
            Some(Ok(stream)) => self.connections[index].state = State::Receiving(stream),
            Some(Err(message)) => {
                self.live += 1;
                return self.fail(index, &message, log);
            }
            None => return Ok(()),
        }
        if self.live == 0 {
            self.ticks.every(self.description.progress_every_ns)?;
        }
        self.live += 1;
        Ok(())
    }

    /// Takes what has arrived on a connection, and ends it if that was the end.
    fn take(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        match self.connections[index].receive(self.wanted, log) {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.connections[index].close(DONE, "");
                self.over(index)
            }
            Err(message) => {
                self.connections[index].close(REFUSED, &message);
                self.fail(index, &message, log)
            }
        }
    }

    /// Does what the loss of a connection means.
    fn lost(
        &mut self,
        index: usize,
        reason: &ConnectionError,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let connection = &self.connections[index];
        match connection.state {
            State::Waiting(_) | State::Showing | State::Ended => Ok(()),
            State::Connecting => self.not_connected(index, Refusal::of(reason), log),
            State::Closing(_) => self.over(index),
            State::Receiving(_) => {
                let idle_s = self.description.idle_timeout_ns as f64 / 1e9;
                let message = connection.why_lost(reason, idle_s);
                self.fail(index, &message, log)
            }
        }
    }

    /// Ends an established connection with an error.
    fn fail(&mut self, index: usize, message: &str, log: &mut Log) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        log.error(Some(connection.number), message);
        connection.player = None;
        self.over(index)
    }

    /// Ends an established connection; a player goes on.
    fn over(&mut self, index: usize) -> Result<(), Failure> {
        let connection = &mut self.connections[index];
        if connection.player.as_ref().is_some_and(|player| !player.ended()) {
            connection.state = State::Showing;
            self.set_start()?;
        } else {
            connection.state = State::Ended;
            self.open -= 1;
        }
        self.live -= 1;
        if self.live == 0 {
            self.ticks.disarm()?;
        }
        Ok(())
    }
}
