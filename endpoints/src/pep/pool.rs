//! The terminal's middle connections that no client has taken yet.

use super::description::Pep;
use super::events::Ready;
use super::header::{IncomingGreeting, GREETING};
use super::middle::{self, Begin, Unfit};
use super::sockets;
use super::token::Token;
use super::watched::Watched;
use crate::clock::Timer;
use crate::events::Log;
use crate::failure::Failure;
use crate::reactor::{Interest, Reactor};
use crate::slots::Slots;
use crate::socket::{self, RETRY_NS};
use std::collections::VecDeque;
use std::io;

/// Handshakes that may be under way at once, so that the gateway's backlog holds them.
const MOST_OPENING: usize = 1_024;

/// A connection to the gateway.
struct Middle {
    watched: Watched,
    state: State,
}

/// How far it is.
enum State {
    /// Its handshake is under way.
    Connecting,
    /// The gateway has not greeted completely.
    Greeting(IncomingGreeting),
    /// A client can have it.
    Open(Begin),
}

/// The connections.
pub struct Pool {
    middles: Slots<Middle>,
    /// Slots of those that a client can have, the one that has waited longest first.
    open: VecDeque<usize>,
    opening: usize,
    /// Fires when to try again after a failure; nothing is opened before.
    retry: Timer,
    paused: bool,
}

/// What an event has led to.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing that matters to clients.
    Nothing,
    /// One more is open.
    Opened,
    /// An attempt to open one has failed, for this reason.
    Failed(String),
}

impl Pool {
    /// An empty pool.
    pub fn new(reactor: &Reactor, log: &Log) -> io::Result<Self> {
        let retry = Timer::new(log.clock())?;
        reactor.add(&retry, Interest::Read, Token::Retry.encode())?;
        let (middles, open) = (Slots::new(), VecDeque::new());
        Ok(Pool { middles, open, opening: 0, retry, paused: false })
    }

    /// Lets numbers that were given up be used again.
    pub fn turn(&mut self) {
        self.middles.turn();
    }

    /// How many connections a client can have.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Opens as many connections as are missing for the pool and for the clients that wait. early:
    /// the pool has not been open yet.
    ///
    /// # Errors
    /// What cannot be had as described.
    pub fn fill(
        &mut self,
        pep: &Pep,
        waiting: usize,
        early: bool,
        reactor: &Reactor,
        log: &Log,
    ) -> Result<Outcome, Failure> {
        while !self.paused
            && self.opening < MOST_OPENING
            && self.opening + self.open.len() < pep.pool + waiting
        {
            let socket = sockets::to_gateway(pep, early).map_err(Failure::Work)?;
            if let Err(error) = socket::connect(&socket, pep.gateway()) {
                return self.failed(&error, log);
            }
            let slot = self.middles.reserve();
            let watched = Watched::add(socket, Token::Middle(slot), Interest::Write, reactor)?;
            self.middles.put(slot, Middle { watched, state: State::Connecting });
            self.opening += 1;
        }
        Ok(Outcome::Nothing)
    }

    /// Allows new attempts when it is time.
    pub fn retry(&mut self) -> io::Result<()> {
        if self.retry.fired()? {
            self.paused = false;
        }
        Ok(())
    }

    fn failed(&mut self, error: &io::Error, log: &Log) -> Result<Outcome, Failure> {
        self.paused = true;
        self.retry.once(log.clock().now_ns().saturating_add(RETRY_NS))?;
        Ok(Outcome::Failed(error.to_string()))
    }

    /// Does what can be done after something has happened to a connection.
    ///
    /// # Errors
    /// That middle connections cannot be had as described.
    pub fn serve(
        &mut self,
        slot: usize,
        pep: &Pep,
        reactor: &Reactor,
        log: &Log,
    ) -> Result<Outcome, Failure> {
        // A client may have taken it earlier in the same wake-up.
        let Some(mut middle) = self.middles.take(slot) else {
            return Ok(Outcome::Nothing);
        };
        let (error, is_greeting) = match middle.state {
            State::Connecting => match socket::pending_error(middle.watched.socket()) {
                Ok(()) => {
                    middle.watched.wait_for(Interest::Read, reactor)?;
                    middle.state = State::Greeting(IncomingGreeting::new());
                    self.middles.put(slot, middle);
                    return Ok(Outcome::Nothing);
                }
                Err(error) => (error, false),
            },
            State::Greeting(ref mut greeting) => match greeting.take(middle.watched.socket()) {
                Ok(Some(GREETING)) => match middle::begin(middle.watched.socket(), pep) {
                    Ok(begin) => {
                        middle.state = State::Open(begin);
                        self.middles.put(slot, middle);
                        self.opening -= 1;
                        self.open.push_back(slot);
                        return Ok(Outcome::Opened);
                    }
                    Err(Unfit::Narrow(message)) => return Err(Failure::Work(message)),
                    Err(Unfit::Unlucky) => (io::Error::other("its handshake lost packets"), true),
                },
                Ok(Some(_)) => {
                    let message = format!("{} is not the address of a gateway", pep.gateway());
                    return Err(Failure::Work(message));
                }
                Ok(None) => {
                    self.middles.put(slot, middle);
                    return Ok(Outcome::Nothing);
                }
                Err(error) => (error, true),
            },
            State::Open(_) => {
                // The gateway says nothing more before a client's bytes: this is its end.
                self.open.retain(|open| *open != slot);
                self.middles.give_up(slot);
                self.failed(&io::ErrorKind::ConnectionReset.into(), log)?;
                return Ok(Outcome::Nothing);
            }
        };
        self.middles.give_up(slot);
        self.opening -= 1;
        let outcome = self.failed(&error, log)?;
        // There is a gateway, and one of the two was not content with this connection: no client is
        // refused for that, another one will do.
        Ok(if is_greeting { Outcome::Nothing } else { outcome })
    }

    /// Takes the connection that has waited longest.
    pub fn take(&mut self) -> Option<Watched> {
        let slot = self.open.pop_front()?;
        let middle = self.middles.take(slot)?;
        self.middles.give_up(slot);
        Some(middle.watched)
    }

    /// What to report of those that are open; None without any.
    pub fn ready<'a>(&self, cca: &'a str) -> io::Result<Option<Ready<'a>>> {
        let open: Vec<_> = self
            .middles
            .iter()
            .filter_map(|middle| match middle.state {
                State::Open(begin) => Some((middle.watched.socket(), begin)),
                _ => None,
            })
            .collect();
        middle::ready(&open, cca)
    }
}
