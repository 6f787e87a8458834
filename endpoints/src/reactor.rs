//! The loop's heart: waits for sockets, timers and the signal to stop, in one epoll instance.

use crate::sys;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// What woke the loop up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// SIGTERM or SIGINT.
    Stop,
    /// The socket or timer that was added under this number.
    Ready(u64),
}

/// What to wait for at a socket. Errors and a closed connection always wake up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Data, a connection to accept, the end of the stream, a timer.
    Read,
    /// Room in the send buffer, an established connection.
    Write,
    /// Both.
    Both,
    /// Neither: only errors, and the end of both directions.
    Neither,
}

impl Interest {
    fn mask(self) -> libc::c_int {
        match self {
            Interest::Read => libc::EPOLLIN,
            Interest::Write => libc::EPOLLOUT,
            Interest::Both => libc::EPOLLIN | libc::EPOLLOUT,
            Interest::Neither => 0,
        }
    }
}

/// Everything that a role waits for.
#[derive(Debug)]
pub struct Reactor {
    epoll: OwnedFd,
    /// Kept open: SIGTERM and SIGINT arrive here.
    _signals: OwnedFd,
    ready: Vec<libc::epoll_event>,
}

const STOP: u64 = u64::MAX;
const MOST_AT_ONCE: usize = 64;

impl Reactor {
    /// A reactor that so far waits for SIGTERM and SIGINT only.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new() -> io::Result<Self> {
        let epoll = sys::epoll()?;
        let signals = sys::stop_signals()?;
        sys::epoll_control(&epoll, libc::EPOLL_CTL_ADD, &signals, libc::EPOLLIN, STOP)?;
        let ready = vec![libc::epoll_event { events: 0, u64: 0 }; MOST_AT_ONCE];
        Ok(Reactor { epoll, _signals: signals, ready })
    }

    /// Waits for a socket or timer as well, until it is closed.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add(&self, fd: &impl AsRawFd, interest: Interest, token: u64) -> io::Result<()> {
        sys::epoll_control(&self.epoll, libc::EPOLL_CTL_ADD, fd, interest.mask(), token)
    }

    /// Changes what is waited for at a socket.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn change(&self, fd: &impl AsRawFd, interest: Interest, token: u64) -> io::Result<()> {
        sys::epoll_control(&self.epoll, libc::EPOLL_CTL_MOD, fd, interest.mask(), token)
    }

    /// Waits for a socket no longer, not even for its errors.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn remove(&self, fd: &impl AsRawFd) -> io::Result<()> {
        sys::epoll_control(&self.epoll, libc::EPOLL_CTL_DEL, fd, 0, 0)
    }

    /// Waits; replaces the content of `wakes` by what woke it up, a stop last.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wait(&mut self, wakes: &mut Vec<Wake>) -> io::Result<()> {
        wakes.clear();
        let count = sys::epoll_wait(&self.epoll, &mut self.ready)?;
        let tokens = self.ready[..count].iter().map(|event| event.u64);
        wakes.extend(tokens.clone().filter(|token| *token != STOP).map(Wake::Ready));
        wakes.extend(tokens.filter(|token| *token == STOP).map(|_| Wake::Stop));
        Ok(())
    }
}
