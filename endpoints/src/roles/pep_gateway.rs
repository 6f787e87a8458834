//! `pep-gateway`: carries what comes from a terminal to servers, from the clients' own addresses.

use crate::clock::Timer;
use crate::description;
use crate::events::Log;
use crate::failure::Failure;
use crate::pep::description::Pep;
use crate::pep::events::PepEvent;
use crate::pep::header::{Header, IncomingHeader, GREETING};
use crate::pep::middle::{self, Begin, Settled, Unfit};
use crate::pep::relays::{Names, Relays, Side};
use crate::pep::sockets;
use crate::pep::token::Token;
use crate::pep::watched::Watched;
use crate::reactor::{Interest, Reactor, Wake};
use crate::slots::Slots;
use crate::{socket, sys};
use socket2::Socket;
use std::io;
use std::time::Duration;

const NAMES: Names = Names { outer: "the server", inner: "the terminal" };
/// Until it is ready it looks so often whether its greetings have arrived.
const SETTLE_NS: i64 = 50_000_000;

/// Serves the terminal until SIGTERM.
///
/// # Errors
/// A bad description, or a machine or network that does not give what was described.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let pep: Pep = description::read(text).map_err(Failure::Description)?;
    sys::raise_file_limit();
    let mut reactor = Reactor::new()?;
    let mut gateway = Gateway::new(pep, &reactor, log)?;
    let mut wakes = Vec::new();
    loop {
        reactor.wait(&mut wakes)?;
        gateway.relays.turn();
        gateway.middles.turn();
        for wake in &wakes {
            match *wake {
                Wake::Stop => return Ok(gateway.relays.stop(log)?),
                Wake::Ready(token) => gateway.serve(Token::decode(token), &reactor, log)?,
            }
        }
    }
}

/// The state of the role.
struct Gateway {
    pep: Pep,
    listener: Socket,
    relays: Relays,
    /// Middle connections that carry nobody's bytes yet.
    middles: Slots<Middle>,
    /// Fires when to look at them again.
    settle: Timer,
    ready: bool,
}

/// A middle connection that no client has taken.
struct Middle {
    watched: Watched,
    begin: Begin,
    header: IncomingHeader,
}

impl Gateway {
    fn new(pep: Pep, reactor: &Reactor, log: &Log) -> Result<Self, Failure> {
        let listener = sockets::middle_listener(&pep).map_err(Failure::Work)?;
        reactor.add(&listener, Interest::Read, Token::Listener(0).encode())?;
        let settle = Timer::new(log.clock())?;
        reactor.add(&settle, Interest::Read, Token::Retry.encode())?;
        Ok(Gateway {
            relays: Relays::new(NAMES, false, pep.sample_every_ns, reactor, log)?,
            pep,
            listener,
            middles: Slots::new(),
            settle,
            ready: false,
        })
    }

    /// Does what there is to do.
    fn serve(&mut self, token: Token, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        match token {
            Token::Listener(_) => self.accept(reactor, log)?,
            Token::Tick => self.relays.tick(log)?,
            Token::Middle(slot) => self.hear(slot, reactor, log)?,
            Token::Outer(slot) => self.relays.serve(slot, Side::Outer, reactor, log)?,
            Token::Inner(slot) => self.relays.serve(slot, Side::Inner, reactor, log)?,
            Token::Retry => {
                if self.settle.fired()? {
                    self.settle(log)?;
                }
            }
            Token::Client(_) => {}
        }
        Ok(())
    }

    /// Accepts and greets every middle connection that waits.
    fn accept(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let refused = |error: io::Error| Failure::Work(format!("cannot accept: {error}"));
        while let Some(socket) = socket::accept(&self.listener).map_err(refused)? {
            let begin = match middle::begin(&socket, &self.pep) {
                Ok(begin) => begin,
                // The terminal opens another one.
                Err(Unfit::Unlucky) => continue,
                Err(Unfit::Narrow(message)) => return Err(Failure::Work(message)),
            };
            // An empty send buffer takes four bytes at once. If the terminal has gone, the reactor
            // tells.
            let _ = socket.send(&GREETING);
            let slot = self.middles.reserve();
            let watched = Watched::add(socket, Token::Middle(slot), Interest::Read, reactor)?;
            self.middles.put(slot, Middle { watched, begin, header: IncomingHeader::new() });
        }
        self.settle(log)
    }

    /// Says when the pool is open the first time: once all greetings have arrived. A connection
    /// that lost its greeting has not its whole window any more: it is reset, and the terminal
    /// opens another one.
    fn settle(&mut self, log: &mut Log) -> Result<(), Failure> {
        if self.ready {
            return Ok(());
        }
        let mut open = 0;
        for slot in 0..self.middles.len() {
            let Some(middle) = self.middles.take(slot) else {
                continue;
            };
            let settled = middle::settled(middle.watched.socket(), middle.begin)?;
            if settled == Settled::Reduced {
                middle.watched.socket().set_linger(Some(Duration::ZERO))?;
                self.middles.give_up(slot);
                continue;
            }
            self.middles.put(slot, middle);
            if settled == Settled::Whole {
                open += 1;
            }
        }
        if open < self.pep.pool {
            let again_ns = log.clock().now_ns().saturating_add(SETTLE_NS);
            return Ok(self.settle.once(again_ns)?);
        }
        let open: Vec<_> =
            self.middles.iter().map(|one| (one.watched.socket(), one.begin)).collect();
        if let Some(ready) = middle::ready(&open, &self.pep.cca)? {
            log.now(&PepEvent::Ready(ready));
            // Whoever started this may wait for this line.
            log.flush();
            self.ready = true;
        }
        Ok(())
    }

    /// Takes the header of a middle connection, and opens the connection to its server.
    fn hear(&mut self, slot: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let Some(mut middle) = self.middles.take(slot) else {
            return Ok(());
        };
        let bytes = match middle.header.take(middle.watched.socket()) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                self.middles.put(slot, middle);
                return Ok(());
            }
            // The terminal has closed a connection that nobody took.
            Err(_) => {
                self.middles.give_up(slot);
                return Ok(());
            }
        };
        self.middles.give_up(slot);
        let header = match Header::decode(&bytes) {
            Ok(header) => header,
            Err(message) => {
                log.error(None, &message);
                return Ok(middle.watched.socket().set_linger(Some(Duration::ZERO))?);
            }
        };
        let Header { connection, client, server } = header;
        log.now(&PepEvent::Split { connection, client, server });
        match sockets::outer(client, server, &self.pep) {
            Ok(outer) => {
                self.relays.join_to(connection, outer, middle.watched, reactor)?;
            }
            Err(error) => {
                let reason = format!("{}: {error}", NAMES.outer);
                let error = Some(reason.as_str());
                log.now(&PepEvent::Closed { connection, up_bytes: 0, down_bytes: 0, error });
                middle.watched.socket().set_linger(Some(Duration::ZERO))?;
            }
        }
        Ok(())
    }
}
