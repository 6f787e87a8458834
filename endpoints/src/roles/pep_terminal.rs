//! `pep-terminal`: accepts what clients send to servers, and carries it to the gateway.

use crate::description;
use crate::events::Log;
use crate::failure::Failure;
use crate::pep::description::Pep;
use crate::pep::events::PepEvent;
use crate::pep::header::Header;
use crate::pep::pool::{Outcome, Pool};
use crate::pep::relays::{Names, Relays, Side, STOPPED};
use crate::pep::sockets;
use crate::pep::token::Token;
use crate::pep::watched::Watched;
use crate::reactor::{Interest, Reactor, Wake};
use crate::slots::Slots;
use crate::{socket, sys};
use socket2::Socket;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

const NAMES: Names = Names { outer: "the client", inner: "the gateway" };

/// Splits clients' connections until SIGTERM.
///
/// # Errors
/// A bad description, or a machine or network that does not give what was described.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let pep: Pep = description::read(text).map_err(Failure::Description)?;
    sys::raise_file_limit();
    let mut reactor = Reactor::new()?;
    let mut terminal = Terminal::new(pep, &reactor, log)?;
    let mut wakes = Vec::new();
    loop {
        terminal.fill(&reactor, log)?;
        reactor.wait(&mut wakes)?;
        terminal.turn();
        for wake in &wakes {
            match *wake {
                Wake::Stop => return terminal.stop(log),
                Wake::Ready(token) => terminal.serve(Token::decode(token), &reactor, log)?,
            }
        }
    }
}

/// The state of the role.
struct Terminal {
    pep: Pep,
    listeners: Vec<Socket>,
    pool: Pool,
    relays: Relays,
    /// Clients that wait for a middle connection, and their slots in the order in which they came.
    clients: Slots<Client>,
    queue: VecDeque<usize>,
    /// Clients that have come.
    number: u32,
    ready: bool,
}

/// A client that waits.
struct Client {
    header: Header,
    watched: Watched,
}

impl Terminal {
    fn new(pep: Pep, reactor: &Reactor, log: &Log) -> Result<Self, Failure> {
        let mut listeners = Vec::new();
        for port in &pep.ports {
            let listener = sockets::outer_listener(*port, &pep).map_err(Failure::Work)?;
            reactor.add(&listener, Interest::Read, Token::Listener(listeners.len()).encode())?;
            listeners.push(listener);
        }
        Ok(Terminal {
            relays: Relays::new(NAMES, true, pep.sample_every_ns, reactor, log)?,
            pool: Pool::new(reactor, log)?,
            pep,
            listeners,
            clients: Slots::new(),
            queue: VecDeque::new(),
            number: 0,
            ready: false,
        })
    }

    fn turn(&mut self) {
        self.relays.turn();
        self.pool.turn();
        self.clients.turn();
    }

    /// Opens the middle connections that are missing, and says when the pool is open the first
    /// time.
    fn fill(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let outcome = self.pool.fill(&self.pep, self.queue.len(), !self.ready, reactor, log)?;
        self.settle(outcome, reactor, log)?;
        if !self.ready && self.pool.open() >= self.pep.pool {
            if let Some(ready) = self.pool.ready(&self.pep.cca)? {
                log.now(&PepEvent::Ready(ready));
                // Whoever started this may wait for this line.
                log.flush();
                self.ready = true;
            }
        }
        Ok(())
    }

    /// Does what there is to do.
    fn serve(&mut self, token: Token, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        match token {
            Token::Listener(index) => self.accept(index, reactor, log)?,
            Token::Tick => self.relays.tick(log)?,
            Token::Retry => self.pool.retry()?,
            Token::Middle(slot) => {
                let outcome = self.pool.serve(slot, &self.pep, reactor, log)?;
                self.settle(outcome, reactor, log)?;
            }
            Token::Client(slot) => self.look(slot, reactor, log)?,
            Token::Outer(slot) => self.relays.serve(slot, Side::Outer, reactor, log)?,
            Token::Inner(slot) => self.relays.serve(slot, Side::Inner, reactor, log)?,
        }
        Ok(())
    }

    /// Accepts every connection that waits, and gives each a middle connection if there is one.
    fn accept(&mut self, index: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let refused = |error: io::Error| Failure::Work(format!("cannot accept: {error}"));
        while let Some(socket) = socket::accept(&self.listeners[index]).map_err(refused)? {
            // A client that has reset its connection already has no address any more.
            let Ok(client) = socket::peer_address(&socket) else {
                continue;
            };
            let server = socket::local_address(&socket)?;
            let header = Header { connection: self.number, client, server };
            self.number = self.number.wrapping_add(1);
            log.now(&PepEvent::Split { connection: header.connection, client, server });
            let slot = self.clients.reserve();
            let watched = Watched::add(socket, Token::Client(slot), Interest::Neither, reactor)?;
            self.clients.put(slot, Client { header, watched });
            self.queue.push_back(slot);
        }
        self.assign(reactor, log)
    }

    /// Gives the clients that wait the middle connections that are open.
    fn assign(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        while !self.queue.is_empty() {
            let Some(middle) = self.pool.take() else {
                break;
            };
            let Some(Client { header, watched }) = self.first() else {
                break;
            };
            // An empty send buffer takes 20 bytes at once. If the gateway has just gone, the
            // reactor tells.
            let _ = middle.socket().send(&header.encode());
            self.relays.join(header.connection, watched, middle, reactor, log)?;
        }
        Ok(())
    }

    /// Takes the client that has waited longest.
    fn first(&mut self) -> Option<Client> {
        let slot = self.queue.pop_front()?;
        let client = self.clients.take(slot);
        self.clients.give_up(slot);
        client
    }

    /// Does for the clients that wait what has become of a middle connection.
    fn settle(
        &mut self,
        outcome: Outcome,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        match outcome {
            Outcome::Nothing => Ok(()),
            Outcome::Opened => self.assign(reactor, log),
            Outcome::Failed(reason) => {
                if !self.ready {
                    // The end of it says why the terminal was not ready in time.
                    eprintln!("no connection to the gateway {}: {reason}", self.pep.gateway());
                }
                if let Some(client) = self.first() {
                    client.refuse(&format!("{}: {reason}", NAMES.inner), log)?;
                }
                Ok(())
            }
        }
    }

    /// Looks whether a client that waits has reset its connection.
    fn look(&mut self, slot: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let Some(mut client) = self.clients.take(slot) else {
            return Ok(());
        };
        if let Err(error) = socket::pending_error(client.watched.socket()) {
            self.queue.retain(|waiting| *waiting != slot);
            self.clients.give_up(slot);
            return client.refuse(&format!("{}: {error}", NAMES.outer), log);
        }
        client.watched.deafen(reactor)?;
        self.clients.put(slot, client);
        Ok(())
    }

    /// Resets every connection, as SIGTERM asks.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        self.relays.stop(log)?;
        for client in self.clients.drain() {
            client.refuse(STOPPED, log)?;
        }
        Ok(())
    }
}

impl Client {
    /// Resets the connection of a client that has had no middle connection.
    fn refuse(self, reason: &str, log: &mut Log) -> Result<(), Failure> {
        log.now(&PepEvent::Closed {
            connection: self.header.connection,
            up_bytes: 0,
            down_bytes: 0,
            error: Some(reason),
        });
        Ok(self.watched.socket().set_linger(Some(Duration::ZERO))?)
    }
}
