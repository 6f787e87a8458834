//! Takes the data of long transfers out of their sockets without leaving the kernel.
//!
//! A program that waits with epoll enters the kernel twice for every segment that arrives: to wait,
//! and to take it. Here a thread for each connection asks for all that is missing at once
//! (`MSG_WAITALL`): the kernel still takes each segment when it arrives, so the window is opened
//! and acknowledgements are sent when they were, but the program comes back only at the end.

use crate::clock::Clock;
use crate::sys;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use socket2::Socket;
use std::env;
use std::io::{self, ErrorKind::Interrupted};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A transfer with less to come is over before a thread has paid for itself, bytes.
pub const LEAST_BYTES: u64 = 64 << 10;
/// Most bytes to ask for at once; the kernel cuts off at 2^31.
const MOST_BYTES: u64 = 1 << 30;
/// The stack of a thread, bytes: it calls the kernel and notes what came of it.
const STACK_BYTES: usize = 64 << 10;
/// With this variable set to anything every segment wakes the program up: tests compare the two.
const WAKE_VARIABLE: &str = "FAIRC_WAKE_PER_SEGMENT";

/// A connection whose data has come to an end.
#[derive(Debug)]
pub struct Sunk {
    /// Which one, as its owner counts.
    pub index: usize,
    /// What was taken, bytes.
    pub bytes: u64,
    /// When it ended, ns after the epoch.
    pub ended_ns: i64,
    /// Why there is no more; None: all that was wanted has come.
    pub error: Option<Short>,
}

/// Why fewer bytes came than were wanted.
#[derive(Debug)]
pub enum Short {
    /// The other end, or this one, has closed.
    Closed,
    /// What the kernel says.
    Failed(io::Error),
}

/// The threads of a client, and those of them that have ended.
#[derive(Debug)]
pub struct Sinks {
    clock: Clock,
    over: Arc<Over>,
    running: usize,
    off: bool,
}

#[derive(Debug)]
struct Over {
    list: Mutex<Vec<Sunk>>,
    /// Readable while the list may have something.
    bell: EventFd,
}

impl Sinks {
    /// No thread so far.
    pub fn new(clock: Clock) -> io::Result<Self> {
        let bell = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let over = Arc::new(Over { list: Mutex::default(), bell });
        Ok(Sinks { clock, over, running: 0, off: env::var_os(WAKE_VARIABLE).is_some() })
    }

    /// Whether a thread is worth its cost for `missing` bytes (None: endless).
    #[must_use]
    pub fn pays(&self, missing: Option<u64>) -> bool {
        !self.off && missing.is_none_or(|bytes| bytes >= LEAST_BYTES)
    }

    /// Takes `missing` bytes (None: as many as come) out of a socket, which nobody else may read
    /// until it is told in `ended`.
    pub fn start(
        &mut self,
        index: usize,
        socket: &Arc<Socket>,
        missing: Option<u64>,
    ) -> io::Result<()> {
        sys::one_arena();
        socket.set_nonblocking(false)?;
        let (socket, over, clock) = (Arc::clone(socket), Arc::clone(&self.over), self.clock);
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            let (bytes, error) = take(&socket, missing.unwrap_or(u64::MAX));
            drop(socket);
            let sunk = Sunk { index, bytes, ended_ns: clock.now_ns(), error };
            over.list.lock().unwrap_or_else(PoisonError::into_inner).push(sunk);
            // A counter that is not at its limit always takes one more.
            let _ = over.bell.write(1);
            drop(over);
            // A kernel looks at its clock when a thread ends, which moves what happens after it: in
            // virtual time by 1 ns. It ends with the program.
            loop {
                thread::park();
            }
        })?;
        self.running += 1;
        Ok(())
    }

    /// What has ended since this was last asked. The sockets do not block again.
    pub fn ended(&mut self) -> Vec<Sunk> {
        // Nothing to read: it was read already.
        let _ = self.over.bell.read();
        self.collect()
    }

    /// Waits until every thread has ended; what their connections bring must have been shut off.
    #[must_use]
    pub fn join(&mut self) -> Vec<Sunk> {
        let mut all = Vec::new();
        while self.running > 0 {
            let ended = self.collect();
            if ended.is_empty() {
                // Whatever they say, the list is looked at next.
                wait_readable(&self.over.bell);
                let _ = self.over.bell.read();
            }
            all.extend(ended);
        }
        all
    }

    fn collect(&mut self) -> Vec<Sunk> {
        let mut list = self.over.list.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = std::mem::take(&mut *list);
        self.running -= ended.len();
        ended
    }
}

impl AsFd for Sinks {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.over.bell.as_fd()
    }
}

/// Waits until a descriptor is readable; a signal merely ends the wait early.
fn wait_readable(fd: &impl AsFd) {
    let _ = poll(&mut [PollFd::new(fd.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE);
}

/// Takes `missing` bytes out of a socket that blocks.
fn take(socket: &Socket, missing: u64) -> (u64, Option<Short>) {
    let mut bytes = 0;
    while bytes < missing {
        let most = (missing - bytes).min(MOST_BYTES) as usize;
        match sys::discard(socket, most, libc::MSG_WAITALL) {
            Ok(0) => return (bytes, Some(Short::Closed)),
            Ok(taken) => bytes += taken as u64,
            Err(error) if error.kind() == Interrupted => {}
            Err(error) => return (bytes, Some(Short::Failed(error))),
        }
    }
    (bytes, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket;
    use socket2::Type;
    use std::net::Shutdown;
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::time::Duration;

    /// Two ends of a connection; neither blocks.
    fn pair() -> (Socket, Socket) {
        let listener = socket::open(Type::STREAM).unwrap();
        socket::listen(&listener, SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0), 1).unwrap();
        let near = socket::open(Type::STREAM).unwrap();
        socket::connect(&near, socket::local_address(&listener).unwrap()).unwrap();
        wait_readable(&listener);
        (near, socket::accept(&listener).unwrap().unwrap())
    }

    fn sinks() -> Sinks {
        Sinks::new(Clock::new(crate::clock::realtime_ns())).unwrap()
    }

    #[test]
    fn a_thread_takes_exactly_what_is_missing_and_says_when() {
        let (mut sinks, (near, far)) = (sinks(), pair());
        let near = Arc::new(near);
        sinks.start(7, &near, Some(100_000)).unwrap();
        assert!(sinks.ended().is_empty());
        let mut sent = 0;
        while sent < 100_001 {
            match far.send(&vec![1; 100_001 - sent]) {
                Ok(bytes) => sent += bytes,
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
        let ended = sinks.join();
        assert_eq!((ended.len(), ended[0].index, ended[0].bytes), (1, 7, 100_000));
        assert!(ended[0].error.is_none() && ended[0].ended_ns > 0);
        near.set_nonblocking(true).unwrap();
        // The byte that is too many is still there.
        assert_eq!(sys::discard(&near, 9, 0).unwrap(), 1);
    }

    #[test]
    fn an_end_from_either_side_is_told_with_what_came_before() {
        for ours in [false, true] {
            let (mut sinks, (near, far)) = (sinks(), pair());
            let near = Arc::new(near);
            sinks.start(0, &near, None).unwrap();
            far.send(&[1; 500]).unwrap();
            while crate::tcp_info::bytes_received(&near).unwrap() < 500 {
                thread::yield_now();
            }
            if ours {
                near.shutdown(Shutdown::Read).unwrap();
            } else {
                far.shutdown(Shutdown::Write).unwrap();
            }
            let ended = sinks.join();
            assert_eq!(ended[0].bytes, 500);
            assert!(matches!(ended[0].error, Some(Short::Closed)), "{ended:?}");
        }
    }

    #[test]
    fn short_transfers_are_not_worth_a_thread() {
        let sinks = sinks();
        assert!(sinks.pays(None) && sinks.pays(Some(LEAST_BYTES)));
        assert!(!sinks.pays(Some(LEAST_BYTES - 1)));
    }
}
