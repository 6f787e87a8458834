//! A socket and what the reactor waits for at it.

use super::token::Token;
use crate::reactor::{Interest, Reactor};
use std::io;
use std::os::fd::OwnedFd;

/// The socket.
#[derive(Debug)]
pub struct Watched {
    socket: OwnedFd,
    token: u64,
    /// None: nothing is waited for, not even an error.
    interest: Option<Interest>,
}

impl Watched {
    /// Waits for a socket that the reactor does not know.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add(
        socket: OwnedFd,
        token: Token,
        interest: Interest,
        reactor: &Reactor,
    ) -> io::Result<Self> {
        reactor.add(&socket, interest, token.encode())?;
        Ok(Watched { socket, token: token.encode(), interest: Some(interest) })
    }

    /// The socket under another token.
    ///
    /// # Errors
    /// What the kernel says.
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
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// What is waited for now.
    #[must_use]
    pub fn interest(&self) -> Option<Interest> {
        self.interest
    }

    /// Waits for this from now on. Who is deaf stays deaf for `Neither`.
    ///
    /// # Errors
    /// What the kernel says.
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
    ///
    /// # Errors
    /// What the kernel says.
    pub fn deafen(&mut self, reactor: &Reactor) -> io::Result<()> {
        if self.interest.take().is_some() {
            reactor.remove(&self.socket)?;
        }
        Ok(())
    }
}
