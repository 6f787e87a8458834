//! All split connections of one of the two proxies.

use super::events::PepEvent;
use super::pipes::Pipes;
use super::relay::{Course, Relay};
use super::token::Token;
use super::watched::Watched;
use crate::clock::Timer;
use crate::events::{Event, Log};
use crate::reactor::{Interest, Reactor};
use crate::slots::Slots;
use socket2::Socket;
use std::io;

pub use super::relay::{Names, Side};

/// Why what was under way is reset at the end.
pub const STOPPED: &str = "stopped";

/// The table.
#[derive(Debug)]
pub struct Relays {
    names: Names,
    /// Whether the outer connection is the client's: what goes inward then goes up.
    up_is_inward: bool,
    every_ns: i64,
    table: Slots<Relay>,
    pipes: Pipes,
    ticks: Timer,
    live: usize,
}

impl Relays {
    /// An empty table; living connections are sampled every `every_ns`.
    pub fn new(
        names: Names,
        up_is_inward: bool,
        every_ns: i64,
        reactor: &Reactor,
        log: &Log,
    ) -> io::Result<Self> {
        let ticks = Timer::new(log.clock())?;
        reactor.add(&ticks, Interest::Read, Token::Tick.encode())?;
        let (table, pipes) = (Slots::new(), Pipes::default());
        Ok(Relays { names, up_is_inward, every_ns, table, pipes, ticks, live: 0 })
    }

    /// Lets numbers that were given up be used again.
    pub fn turn(&mut self) {
        self.table.turn();
    }

    /// Joins a client's connection, which the reactor knows, and a middle one.
    pub fn join(
        &mut self,
        number: u32,
        outer: Watched,
        inner: Watched,
        reactor: &Reactor,
        log: &mut Log,
    ) -> io::Result<()> {
        let slot = self.table.reserve();
        let (first_outer, first_inner) = Relay::first_interests(false);
        let outer = outer.renamed(Token::Outer(slot), first_outer, reactor)?;
        let inner = inner.renamed(Token::Inner(slot), first_inner, reactor)?;
        let relay = Relay::new(number, outer, inner, false);
        log.now(&joined(&relay)?);
        self.table.put(slot, relay);
        self.begun()
    }

    /// Joins a middle connection and one to a server that is still being opened.
    pub fn join_to(
        &mut self,
        number: u32,
        outer: Socket,
        inner: Watched,
        reactor: &Reactor,
    ) -> io::Result<()> {
        let slot = self.table.reserve();
        let (first_outer, first_inner) = Relay::first_interests(true);
        let outer = Watched::add(outer, Token::Outer(slot), first_outer, reactor)?;
        let inner = inner.renamed(Token::Inner(slot), first_inner, reactor)?;
        self.table.put(slot, Relay::new(number, outer, inner, true));
        self.begun()
    }

    fn begun(&mut self) -> io::Result<()> {
        if self.live == 0 {
            self.ticks.every(self.every_ns)?;
        }
        self.live += 1;
        Ok(())
    }

    /// Does what can be done after something has happened to a connection.
    ///
    /// # Errors
    /// What this machine lacks.
    pub fn serve(
        &mut self,
        slot: usize,
        side: Side,
        reactor: &Reactor,
        log: &mut Log,
    ) -> io::Result<()> {
        // It may have ended by an earlier event of the same wake-up.
        let Some(mut relay) = self.table.take(slot) else {
            return Ok(());
        };
        let error = match relay.serve(side, self.names, &mut self.pipes, reactor)? {
            Course::On => {
                self.table.put(slot, relay);
                return Ok(());
            }
            Course::Joined => {
                log.now(&joined(&relay)?);
                self.table.put(slot, relay);
                return Ok(());
            }
            Course::Over => None,
            Course::Broken(message) => Some(message),
        };
        self.table.give_up(slot);
        self.live -= 1;
        if self.live == 0 {
            self.ticks.disarm()?;
        }
        self.end(relay, error.as_deref(), log)
    }

    /// Takes the last sample of a connection, and closes or resets it.
    fn end(&self, relay: Relay, error: Option<&str>, log: &mut Log) -> io::Result<()> {
        log.now(&Event::Sample { connection: relay.number, sample: relay.sample()? });
        let (inward, outward) = relay.bytes();
        let (up_bytes, down_bytes) =
            if self.up_is_inward { (inward, outward) } else { (outward, inward) };
        log.now(&PepEvent::Closed { connection: relay.number, up_bytes, down_bytes, error });
        match error {
            Some(_) => relay.reset(),
            None => Ok(()),
        }
    }

    /// Samples the middle connection of every split connection.
    pub fn tick(&mut self, log: &mut Log) -> io::Result<()> {
        if !self.ticks.fired()? {
            return Ok(());
        }
        for relay in self.table.iter().filter(|relay| relay.joined()) {
            log.now(&Event::Sample { connection: relay.number, sample: relay.sample()? });
        }
        Ok(())
    }

    /// Resets every connection, as SIGTERM asks.
    pub fn stop(&mut self, log: &mut Log) -> io::Result<()> {
        let relays: Vec<Relay> = self.table.drain().collect();
        relays.into_iter().try_for_each(|relay| self.end(relay, Some(STOPPED), log))
    }
}

fn joined(relay: &Relay) -> io::Result<PepEvent<'static>> {
    let window_packets = relay.sample()?.cwnd;
    Ok(PepEvent::Joined { connection: relay.number, window_packets })
}
