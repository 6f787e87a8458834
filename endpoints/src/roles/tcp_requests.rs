//! The workload `requests` of role `tcp-client`: each request is a connection of its own
//! (`streams`).

use crate::arrivals::Requests;
use crate::description::TcpClient;
use crate::downloads::{START, TICK};
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::reactor::{Interest, Reactor, Wake};
use crate::streams::{Due, Pending, State, Streams};
use crate::tcp::fetch::{Dial, Fetch, Taken};

/// Token of the request in slot 0; the others follow.
const FIRST_SLOT: u64 = 2;

/// Asks until `stop_ns` or SIGTERM.
///
/// # Errors
/// A request that failed, or a machine that refuses timers or sockets.
pub fn run(description: &TcpClient, requests: &Requests, log: &mut Log) -> Result<(), Failure> {
    let TcpClient { starts_ns, stop_ns, progress_every_ns, .. } = description;
    let mut reactor = Reactor::new()?;
    let streams = Streams::new(requests, starts_ns, *stop_ns, *progress_every_ns, &reactor, log)?;
    let mut client = Client { dial: description.dial(), streams };
    let mut wakes = Vec::new();
    loop {
        reactor.wait(&mut wakes)?;
        client.streams.pending.turn();
        for wake in &wakes {
            let goes_on = match *wake {
                Wake::Stop => false,
                Wake::Ready(START) => client.due(&reactor, log)?,
                Wake::Ready(TICK) => {
                    if client.streams.ticked()? {
                        client.streams.progress(log);
                    }
                    true
                }
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
    streams: Streams<Fetch>,
}

impl Client {
    /// Does what is due, and sets when to look again; false when it is time to stop.
    fn due(&mut self, reactor: &Reactor, log: &mut Log) -> Result<bool, Failure> {
        if !self.streams.due.fired()? {
            return Ok(true);
        }
        let now_ns = log.clock().now_ns();
        while let Some((_, due)) = self.streams.due.due(now_ns) {
            match due {
                Due::Stop => return Ok(false),
                Due::Ask(stream) => {
                    let (slot, pending) = self.streams.ask(stream, log);
                    self.open(slot, pending, reactor, log)?;
                }
                Due::Again(slot) => {
                    if let Some(pending) = self.streams.pending.take(slot) {
                        self.open(slot, pending, reactor, log)?;
                    }
                }
            }
        }
        self.streams.due.arm()?;
        Ok(true)
    }

    /// Starts to open the connection of a request.
    fn open(
        &mut self,
        slot: usize,
        mut pending: Pending<Fetch>,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        match Fetch::open(&self.dial, pending.request()) {
            Ok(fetch) => {
                reactor.add(fetch.socket(), Interest::Write, FIRST_SLOT + slot as u64)?;
                (pending.state, pending.link) = (State::Connecting, Some(fetch));
                self.streams.pending.put(slot, pending);
                Ok(())
            }
            Err(error) => self.streams.refuse(slot, pending, error.into(), log),
        }
    }

    /// Does what can be done for one request.
    fn serve(&mut self, slot: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let Some(mut pending) = self.streams.pending.take(slot) else {
            return Ok(());
        };
        if let (State::Connecting, Some(fetch)) = (&pending.state, &mut pending.link) {
            match fetch.connected() {
                Ok(established) => {
                    reactor.change(fetch.socket(), Interest::Read, FIRST_SLOT + slot as u64)?;
                    pending.state = State::Receiving;
                    if self.streams.connects(&pending) {
                        let connection = pending.request().connection;
                        log.now(&Event::Connected { connection, established });
                    }
                }
                Err(error) => return self.streams.refuse(slot, pending, error.into(), log),
            }
        } else {
            self.take(&mut pending, log)?;
        }
        if let (State::Closing, Some(fetch)) = (&pending.state, &pending.link) {
            if fetch.closed().map_err(|message| pending.failed(&message))? {
                self.streams.pending.give_up(slot);
                return Ok(());
            }
        }
        if matches!(pending.state, State::Closed) {
            self.streams.pending.give_up(slot);
            return Ok(());
        }
        self.streams.pending.put(slot, pending);
        Ok(())
    }

    /// Takes what has arrived for a request.
    fn take(&mut self, pending: &mut Pending<Fetch>, log: &mut Log) -> Result<(), Failure> {
        let (State::Receiving, Some(fetch)) = (&pending.state, &mut pending.link) else {
            return Ok(());
        };
        let result = fetch.take();
        let bytes = fetch.bytes();
        match result {
            Ok(Taken::Nothing) => {}
            Ok(_) => self.streams.deliver(pending, bytes, log),
            Err(broken) => pending.broke(broken, log)?,
        }
        Ok(())
    }

    /// Ends everything: with what has arrived by now, and without waiting for more.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        let pending: Vec<_> = self.streams.pending.drain().collect();
        for mut pending in pending {
            self.take(&mut pending, log)?;
            let receiving = matches!(pending.state, State::Receiving);
            pending.stop(log)?;
            if let Some(fetch) = pending.link.filter(|_| receiving) {
                fetch.reset()?;
            }
        }
        self.streams.stop(log);
        Ok(())
    }
}
