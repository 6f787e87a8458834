//! Role `quic-client`: opens QUIC connections, requests data and counts it.
//!
//! Each connection has a socket of its own, and so a port of its own, like a connection of TCP.

use crate::description;
use crate::downloads::{Download, Downloads, State, START, TICK};
use crate::events::Log;
use crate::failure::{Break, Failure, Refusal};
use crate::quic::alarm::Alarm;
use crate::quic::description::QuicClient;
use crate::quic::link::{why_lost, Link, LONGEST_GOODBYE};
use crate::quic::report::QuicEvent;
use crate::quic::{DONE, REFUSED, STOPPED};
use crate::reactor::{Interest, Reactor, Wake};
use crate::request::Request;
use crate::roles::quic_requests;
use crate::sys;
use crate::workload::Workload;
use quinn_proto::{ConnectionError, Event, StreamEvent, VarInt};
use std::io;
use std::time::Instant;

const ALARM: u64 = 2;
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
    (0..client.downloads.all.len()).for_each(|index| client.hang_up(index));
    if client.dropped > 0 {
        let dropped = client.dropped;
        let message = format!("the socket's receive buffer was full: {dropped} datagrams dropped");
        log.error(None, &message);
    }
    Ok(())
}

/// The state of the role.
struct Client {
    description: QuicClient,
    downloads: Downloads<Link>,
    /// Fires when QUIC has something to do.
    alarm: Alarm,
    /// Datagrams that found no room in the buffers of sockets that are closed by now.
    dropped: u32,
    /// Until when to answer servers that did not hear that a connection is stopped.
    goodbye: Option<Instant>,
}

impl Client {
    fn new(description: QuicClient, reactor: &Reactor, log: &Log) -> Result<Self, Failure> {
        let QuicClient { workload, starts_ns, stop_ns, progress_every_ns, .. } = &description;
        let (stop_ns, every_ns) = (*stop_ns, *progress_every_ns);
        let downloads = Downloads::new(workload, starts_ns, stop_ns, every_ns, reactor, log)?;
        let alarm = Alarm::new()?;
        reactor.add(&alarm, Interest::Read, ALARM)?;
        Ok(Client { description, downloads, alarm, dropped: 0, goodbye: None })
    }

    /// Does what there is to do until every connection has ended.
    fn work(&mut self, reactor: &mut Reactor, log: &mut Log) -> Result<(), Failure> {
        let mut wakes = Vec::new();
        while self.downloads.open > 0 || self.says_goodbye() {
            reactor.wait(&mut wakes)?;
            for wake in &wakes {
                match *wake {
                    Wake::Stop if self.downloads.open == 0 => return Ok(()),
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

    /// Stops when it is time to, opens what is due, and sets the next start.
    fn start(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let Some(now_ns) = self.downloads.started(log)? else {
            return Ok(());
        };
        if self.downloads.stops(now_ns) {
            return self.stop(log);
        }
        for index in 0..self.downloads.all.len() {
            if self.downloads.is_due(index, now_ns, log) {
                self.connect(index, reactor, log)?;
            }
        }
        self.downloads.set_start()
    }

    /// Starts to open a connection.
    fn connect(&mut self, index: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        self.downloads.begin(index, log);
        match Link::open(&self.description) {
            Ok(link) => {
                reactor.add(&link.driver, Interest::Read, FIRST_CONNECTION + index as u64)?;
                let download = &mut self.downloads.all[index];
                (download.state, download.link) = (State::Connecting, Some(link));
                Ok(())
            }
            Err(refusal) => self.downloads.refuse(index, refusal, log),
        }
    }

    /// Tells QUIC what time it is.
    fn expire(&mut self) -> Result<(), Failure> {
        if self.alarm.fired()? {
            for link in self.downloads.all.iter_mut().filter_map(|one| one.link.as_mut()) {
                link.driver.expire();
            }
        }
        Ok(())
    }

    /// Reports how much every connection that is not complete has delivered.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.downloads.ticked()? {
            return Ok(());
        }
        for index in 0..self.downloads.all.len() {
            self.catch_up(index, log)?;
            let Download { state, bytes, .. } = self.downloads.all[index];
            if state == State::Receiving {
                self.downloads.progress(index, bytes, log);
            }
        }
        Ok(())
    }

    /// Takes what the kernel holds for a connection.
    fn catch_up(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        if matches!(self.downloads.all[index].state, State::Receiving | State::Closing) {
            self.receive(index, log)?;
            self.serve(index, log)?;
        }
        Ok(())
    }

    /// Ends everything: with what has arrived by now, and without waiting for more.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        for index in 0..self.downloads.all.len() {
            self.catch_up(index, log)?;
            if self.downloads.stop(index, log) {
                // The server shall not go on sending to nobody.
                self.close(index, STOPPED, "stopped");
            }
        }
        self.goodbye = Some(Instant::now() + LONGEST_GOODBYE);
        self.downloads.end()
    }

    /// Whether a server may still have to be told that its connection is stopped.
    fn says_goodbye(&mut self) -> bool {
        let Some(goodbye) = self.goodbye else {
            return false;
        };
        let mut links = self.downloads.all.iter_mut().filter_map(|one| one.link.as_mut());
        Instant::now() < goodbye && links.any(|link| link.quic().is_some())
    }

    /// Closes a connection, if there is one.
    fn close(&mut self, index: usize, code: VarInt, reason: &str) {
        if let Some(link) = &mut self.downloads.all[index].link {
            link.close(code, reason);
        }
    }

    /// Closes a socket, if there is one; what it had no room for is remembered.
    fn hang_up(&mut self, index: usize) {
        if let Some(link) = self.downloads.all[index].link.take() {
            self.dropped += link.dropped();
        }
    }

    /// Takes what has arrived at a socket into QUIC.
    fn receive(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        let link = &mut self.downloads.all[index].link;
        match link.as_mut().map_or(Ok(()), Link::receive) {
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
        let Download { state, bytes, .. } = self.downloads.all[index];
        // What a network does that loses its way for a while, QUIC lives through.
        if state == State::Receiving && error.raw_os_error() != Some(libc::ECONNREFUSED) {
            return Ok(());
        }
        self.hang_up(index);
        match state {
            State::Connecting => {
                self.downloads.refuse(index, Refusal::Passing(error.to_string()), log)
            }
            State::Receiving => {
                let message = format!("receiving after {bytes} bytes: {error}");
                self.downloads.settle(index, Err(Break::Failed(message)), log)
            }
            // All bytes are there: how the connection is taken down no longer matters.
            State::Closing => self.downloads.settle(index, Ok(true), log),
            State::Waiting(_) | State::Showing | State::Ended => Ok(()),
        }
    }

    /// Serves every connection that something happened to, and sets when to wake up.
    fn serve_all(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        for index in 0..self.downloads.all.len() {
            self.serve(index, log)?;
            if let Some(link) = &mut self.downloads.all[index].link {
                link.set_waits(reactor, FIRST_CONNECTION + index as u64)?;
            }
        }
        let links = self.downloads.all.iter().filter_map(|download| download.link.as_ref());
        let deadline = links.filter_map(|link| link.driver.deadline()).min();
        self.alarm.by(deadline.into_iter().chain(self.goodbye).min())?;
        Ok(())
    }

    /// Does what can be done for one connection.
    fn serve(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        while let Some(link) = &mut self.downloads.all[index].link {
            let Some(handle) = link.driver.next_touched() else {
                break;
            };
            while let Some(event) = self.downloads.all[index].link.as_mut().and_then(Link::event) {
                match event {
                    Event::Connected => self.ask(index, log)?,
                    Event::ConnectionLost { reason } => self.lost(index, &reason, log)?,
                    Event::Stream(StreamEvent::Readable { .. }) => self.take(index, log)?,
                    _ => {}
                }
            }
            let Some(link) = &mut self.downloads.all[index].link else {
                break;
            };
            if let Err(error) = link.driver.flush(handle) {
                self.unreachable(index, &error, log)?;
            }
        }
        Ok(())
    }

    /// Sends the request on a connection that is established.
    fn ask(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        let receive_window_bytes = self.description.receive_window_bytes();
        let bytes = self.downloads.wanted;
        let Download { number, link: Some(link), .. } = &mut self.downloads.all[index] else {
            return Ok(());
        };
        let (connection, mtu) = (*number, link.mtu);
        log.now(&QuicEvent::Connected { connection, receive_window_bytes, mtu });
        match link.ask(Request { connection, bytes }) {
            Ok(true) => self.downloads.establish(index),
            Ok(false) => Ok(()),
            Err(message) => {
                self.downloads.establish(index)?;
                self.downloads.settle(index, Err(message.into()), log)
            }
        }
    }

    /// Takes what has arrived on a connection, and ends it if that was the end.
    fn take(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        let over = deliver(&mut self.downloads.all[index], self.downloads.wanted, log);
        match &over {
            Ok(false) => {}
            Ok(true) => self.close(index, DONE, ""),
            Err(message) => self.close(index, REFUSED, message),
        }
        self.downloads.settle(index, over.map_err(Break::Failed), log)
    }

    /// Does what the loss of a connection means.
    fn lost(
        &mut self,
        index: usize,
        reason: &ConnectionError,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let Download { state, bytes, .. } = self.downloads.all[index];
        match state {
            State::Waiting(_) | State::Showing | State::Ended => Ok(()),
            State::Connecting => {
                self.hang_up(index);
                self.downloads.refuse(index, reason.into(), log)
            }
            State::Closing => self.downloads.settle(index, Ok(true), log),
            State::Receiving => {
                let why = why_lost(bytes, reason, self.description.idle_timeout_ns);
                self.downloads.settle(index, Err(why), log)
            }
        }
    }
}

/// Takes what has arrived on a connection; true: nothing more will come, and that is well.
fn deliver(
    download: &mut Download<Link>,
    wanted: Option<u64>,
    log: &mut Log,
) -> Result<bool, String> {
    let receiving = download.state == State::Receiving;
    if !receiving && download.state != State::Closing {
        return Ok(false);
    }
    let Some((bytes, end)) = download.link.as_mut().and_then(|link| link.take(download.bytes))
    else {
        return Ok(false);
    };
    let all = wanted == Some(bytes);
    let complete = all && receiving && (bytes > 0 || end == Ok(true));
    download.deliver(bytes, complete, Some(log.clock().now_ns()), log);
    if wanted.is_some_and(|wanted| bytes > wanted) {
        return Err("the server sent more than was requested".into());
    }
    match end? {
        true if !all => Err(format!("the server closed after {bytes} bytes")),
        finished => Ok(finished),
    }
}
