//! One split connection at one of the two proxies.

use super::direction::{Direction, Trouble};
use super::pipes::Pipes;
use super::watched::Watched;
use crate::reactor::{Interest, Reactor};
use crate::{socket, tcp_info};
use std::io;
use std::time::Duration;

/// One of the two connections that are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// To the client (terminal) or to the server (gateway).
    Outer,
    /// To the other proxy.
    Inner,
}

/// What became of a split connection when something happened to it.
#[derive(Debug)]
pub enum Course {
    /// It goes on.
    On,
    /// The server has answered: it goes on.
    Joined,
    /// Both directions have ended.
    Over,
    /// It has to be reset, for this reason.
    Broken(String),
}

/// The connection.
#[derive(Debug)]
pub struct Relay {
    /// Its number.
    pub number: u32,
    outer: Watched,
    inner: Watched,
    /// The outer connection is not established yet.
    connecting: bool,
    /// From the outer connection to the inner one.
    inward: Direction,
    outward: Direction,
}

/// How the peers of the two sides are called.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// Of the outer connection.
    pub outer: &'static str,
    /// Of the inner one.
    pub inner: &'static str,
}

impl Relay {
    /// Joins two connections; both are to be waited for as `new` says.
    #[must_use]
    pub fn new(number: u32, outer: Watched, inner: Watched, connecting: bool) -> Self {
        let (inward, outward) = (Direction::default(), Direction::default());
        Relay { number, outer, inner, connecting, inward, outward }
    }

    /// What is waited for at first: at the outer connection, and at the inner one.
    #[must_use]
    pub fn first_interests(connecting: bool) -> (Interest, Interest) {
        if connecting {
            (Interest::Write, Interest::Neither)
        } else {
            (Interest::Read, Interest::Read)
        }
    }

    /// Does what can be done after something has happened on one side.
    ///
    /// # Errors
    /// What this machine lacks.
    pub fn serve(
        &mut self,
        side: Side,
        names: Names,
        pipes: &mut Pipes,
        reactor: &Reactor,
    ) -> io::Result<Course> {
        if self.connecting {
            return self.established(side, names, reactor);
        }
        let moved = match self.carry(side, pipes) {
            Ok(moved) => moved,
            Err((_, Trouble::Pipes(error))) => return Err(error),
            Err((from, Trouble::Source(error))) => return Ok(broken(from, names, &error)),
            Err((from, Trouble::Sink(error))) => return Ok(broken(other(from), names, &error)),
        };
        if self.inward.over() && self.outward.over() {
            return Ok(Course::Over);
        }
        if !moved {
            if let Some(course) = self.look(side, names, reactor)? {
                return Ok(course);
            }
        }
        let (outer, inner) = (
            interest(self.inward.reads(), self.outward.writes()),
            interest(self.outward.reads(), self.inward.writes()),
        );
        self.outer.wait_for(outer, reactor)?;
        self.inner.wait_for(inner, reactor)?;
        Ok(Course::On)
    }

    /// Looks whether the server has answered.
    fn established(&mut self, side: Side, names: Names, reactor: &Reactor) -> io::Result<Course> {
        if side == Side::Inner {
            return Ok(self.look(side, names, reactor)?.unwrap_or(Course::On));
        }
        if let Err(error) = socket::pending_error(self.outer.socket()) {
            return Ok(broken(side, names, &error));
        }
        self.connecting = false;
        self.outer.wait_for(Interest::Read, reactor)?;
        self.inner.wait_for(Interest::Read, reactor)?;
        Ok(Course::Joined)
    }

    /// Carries in the directions that waited for this side; whether anything moved. What failed
    /// comes with the side that is its direction's source.
    fn carry(&mut self, side: Side, pipes: &mut Pipes) -> Result<bool, (Side, Trouble)> {
        let Relay { outer, inner, inward, outward, .. } = self;
        let (outer, inner) = (outer.socket(), inner.socket());
        let (reads, writes) = match side {
            Side::Outer => (inward.reads(), outward.writes()),
            Side::Inner => (outward.reads(), inward.writes()),
        };
        let mut moved = false;
        if (side == Side::Outer && reads) || (side == Side::Inner && writes) {
            moved |= inward.carry(outer, inner, pipes).map_err(|error| (Side::Outer, error))?;
        }
        if (side == Side::Inner && reads) || (side == Side::Outer && writes) {
            moved |= outward.carry(inner, outer, pipes).map_err(|error| (Side::Inner, error))?;
        }
        Ok(moved)
    }

    /// Looks for what else has woken a side up: a reset while nothing was waited for, or the end of
    /// both directions while what has come before cannot be taken yet.
    fn look(&mut self, side: Side, names: Names, reactor: &Reactor) -> io::Result<Option<Course>> {
        let watched = match side {
            Side::Outer => &mut self.outer,
            Side::Inner => &mut self.inner,
        };
        if let Err(error) = socket::pending_error(watched.socket()) {
            return Ok(Some(broken(side, names, &error)));
        }
        if watched.interest() == Some(Interest::Neither) {
            watched.deafen(reactor)?;
        }
        Ok(None)
    }

    /// The state of this end of the middle connection.
    pub fn sample(&self) -> io::Result<tcp_info::Sample> {
        tcp_info::read(self.inner.socket())
    }

    /// Bytes that went from the outer connection to the inner one, and the other way.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        (self.inward.bytes(), self.outward.bytes())
    }

    /// Whether it is established on both sides.
    #[must_use]
    pub fn joined(&self) -> bool {
        !self.connecting
    }

    /// Resets both connections.
    pub fn reset(self) -> io::Result<()> {
        self.outer.socket().set_linger(Some(Duration::ZERO))?;
        self.inner.socket().set_linger(Some(Duration::ZERO))
    }
}

fn other(side: Side) -> Side {
    match side {
        Side::Outer => Side::Inner,
        Side::Inner => Side::Outer,
    }
}

fn broken(side: Side, names: Names, error: &io::Error) -> Course {
    let name = match side {
        Side::Outer => names.outer,
        Side::Inner => names.inner,
    };
    Course::Broken(format!("{name}: {error}"))
}

fn interest(reads: bool, writes: bool) -> Interest {
    match (reads, writes) {
        (true, true) => Interest::Both,
        (true, false) => Interest::Read,
        (false, true) => Interest::Write,
        (false, false) => Interest::Neither,
    }
}
