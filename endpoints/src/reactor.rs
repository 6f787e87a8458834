//! The loop's heart: waits for sockets, timers and the signal to stop, in one epoll instance.

use crate::sys;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signalfd::SignalFd;
use std::io;
use std::os::fd::AsFd;

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
    fn event(self, token: u64) -> EpollEvent {
        let flags = match self {
            Interest::Read => EpollFlags::EPOLLIN,
            Interest::Write => EpollFlags::EPOLLOUT,
            Interest::Both => EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT,
            Interest::Neither => EpollFlags::empty(),
        };
        EpollEvent::new(flags, token)
    }
}

/// Everything that a role waits for.
#[derive(Debug)]
pub struct Reactor {
    epoll: Epoll,
    /// Kept open: SIGTERM and SIGINT arrive here.
    _signals: SignalFd,
    ready: Vec<EpollEvent>,
}

const STOP: u64 = u64::MAX;
const MOST_AT_ONCE: usize = 64;

impl Reactor {
    /// A reactor that so far waits for SIGTERM and SIGINT only.
    pub fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let signals = sys::stop_signals()?;
        epoll.add(&signals, Interest::Read.event(STOP))?;
        let ready = vec![EpollEvent::empty(); MOST_AT_ONCE];
        Ok(Reactor { epoll, _signals: signals, ready })
    }

    /// Waits for a socket or timer as well, until it is closed.
    pub fn add(&self, fd: &impl AsFd, interest: Interest, token: u64) -> io::Result<()> {
        Ok(self.epoll.add(fd, interest.event(token))?)
    }

    /// Changes what is waited for at a socket.
    pub fn change(&self, fd: &impl AsFd, interest: Interest, token: u64) -> io::Result<()> {
        Ok(self.epoll.modify(fd, &mut interest.event(token))?)
    }

    /// Waits for a socket no longer, not even for its errors.
    pub fn remove(&self, fd: &impl AsFd) -> io::Result<()> {
        Ok(self.epoll.delete(fd)?)
    }

    /// Waits; replaces the content of `wakes` by what woke it up, a stop last.
    pub fn wait(&mut self, wakes: &mut Vec<Wake>) -> io::Result<()> {
        wakes.clear();
        let count = match self.epoll.wait(&mut self.ready, EpollTimeout::NONE) {
            Err(Errno::EINTR) => 0,
            other => other?,
        };
        let tokens = self.ready[..count].iter().map(EpollEvent::data);
        wakes.extend(tokens.clone().filter(|token| *token != STOP).map(Wake::Ready));
        wakes.extend(tokens.filter(|token| *token == STOP).map(|_| Wake::Stop));
        Ok(())
    }
}
