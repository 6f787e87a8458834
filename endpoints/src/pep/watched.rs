//! A socket and what the reactor waits for at it.

use super::token::Token;
use crate::reactor::{Interest, Reactor};
use socket2::Socket;
use std::io;

/// The socket.
#[derive(Debug)]
pub struct Watched {
    socket: Socket,
    token: u64,
    /// None: nothing is waited for, not even an error.
    interest: Option<Interest>,
}

impl Watched {
    /// Waits for a socket that the reactor does not know.
    pub fn add(
        socket: Socket,
        token: Token,
        interest: Interest,
        reactor: &Reactor,
    ) -> io::Result<Self> {
        reactor.add(&socket, interest, token.encode())?;
        Ok(Watched { socket, token: token.encode(), interest: Some(interest) })
    }

    /// The socket under another token.
    pub fn renamed(
        mut self,
        token: Token,
        interest: Interest,
        reactor: &Reactor,
    ) -> io::Result<Self> {
        self.token = token.encode();
        match self.interest {
            None => reactor.add(&self.socket, interest, self.token)?,
            Some(_) => reactor.change(&self.socket, interest, self.token)?,
        }
        self.interest = Some(interest);
        Ok(self)
    }

    /// The socket itself.
    #[must_use]
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// What is waited for now.
    #[must_use]
    pub fn interest(&self) -> Option<Interest> {
        self.interest
    }

    /// Waits for this from now on. Who is deaf stays deaf for `Neither`.
    pub fn wait_for(&mut self, wanted: Interest, reactor: &Reactor) -> io::Result<()> {
        match self.interest {
            Some(interest) if interest == wanted => return Ok(()),
            None if wanted == Interest::Neither => return Ok(()),
            Some(_) => reactor.change(&self.socket, wanted, self.token)?,
            None => reactor.add(&self.socket, wanted, self.token)?,
        }
        self.interest = Some(wanted);
        Ok(())
    }

    /// Waits for nothing any more: both directions have ended, which would wake up for ever.
    pub fn deafen(&mut self, reactor: &Reactor) -> io::Result<()> {
        if self.interest.take().is_some() {
            reactor.remove(&self.socket)?;
        }
        Ok(())
    }
}
