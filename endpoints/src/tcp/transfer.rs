//! The server's end of a connection: hears a request, then sends what its source allows.

use crate::block::Block;
use crate::clock::Clock;
use crate::failure::Break;
use crate::reactor::Interest;
use crate::request::{Request, REQUEST_BYTES};
use crate::service::End;
use crate::source::Source;
use crate::sys;
use socket2::Socket;
use std::io::{self, ErrorKind::WouldBlock, Read};
use std::net::Shutdown;

/// Most bytes to hand over before timers, signals and other connections get their turn again; only
/// a client on the same machine takes so much without a pause.
const MOST_BYTES: u64 = 4 << 20;

/// Where serving a connection has led to.
#[derive(Debug)]
pub enum Step {
    /// It waits until something can be read or written.
    For(Interest),
    /// It waits until this time, ns after the epoch, and for the client to go away.
    Until(i64),
    /// All data is in the kernel's hands; it waits until the client closes.
    Close,
    /// It is over.
    Over(End),
}

/// A request that may not have come completely.
#[derive(Debug)]
pub struct Header {
    bytes: [u8; REQUEST_BYTES],
    length: usize,
}

impl Header {
    /// Nothing has come.
    #[must_use]
    pub fn new() -> Self {
        Header { bytes: [0; REQUEST_BYTES], length: 0 }
    }

    /// Reads as much of the request as has come; None while it is not complete.
    ///
    /// # Errors
    /// How the connection ended instead.
    pub fn hear(&mut self, socket: &Socket) -> Result<Option<Request>, End> {
        match { socket }.read(&mut self.bytes[self.length..]) {
            Err(error) if error.kind() == WouldBlock => return Ok(None),
            Ok(0) | Err(_) => return Err(End::Silent),
            Ok(read) => self.length += read,
        }
        if self.length < REQUEST_BYTES {
            return Ok(None);
        }
        Request::decode(&self.bytes).map(Some).map_err(End::Failed)
    }
}

/// What a connection asked for, and how much of it the kernel has taken.
#[derive(Debug)]
pub struct Transfer {
    /// The request.
    pub request: Request,
    /// Bytes that the kernel has taken.
    pub sent: u64,
    source: Source,
    began_ns: i64,
}

impl Transfer {
    /// A transfer that begins at `began_ns` after the epoch.
    #[must_use]
    pub fn new(request: Request, source: Source, began_ns: i64) -> Self {
        Transfer { request, sent: 0, source, began_ns }
    }

    /// Hands data to the kernel: until its buffer is full, until nothing more is allowed, until it
    /// is the others' turn, or until all of it has been sent.
    pub fn send(&mut self, block: &Block, socket: &Socket, clock: Clock) -> Step {
        let wanted = self.source.wanted().unwrap_or(u64::MAX);
        let pause = self.sent.saturating_add(MOST_BYTES);
        while self.sent < wanted {
            if self.sent >= pause {
                return Step::For(Interest::Write);
            }
            // Most sources ask for no time, and a packet should not cost one more look at the
            // clock.
            let now_ns = if self.source.timed() { clock.now_ns() - self.began_ns } else { 0 };
            let allowed = self.source.allowed(self.sent, now_ns);
            if self.sent >= allowed {
                let next_ns = self.source.next_ns().unwrap_or(now_ns);
                return Step::Until(self.began_ns.saturating_add(next_ns));
            }
            match block.send(socket, self.sent, allowed - self.sent) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == WouldBlock => return Step::For(Interest::Write),
                Err(error) => return Step::Over(broken(&error)),
            }
        }
        match socket.shutdown(Shutdown::Write) {
            Ok(()) => Step::Close,
            Err(error) => Step::Over(broken(&error)),
        }
    }
}

/// Looks whether the client has closed a connection all data of which has been sent, or gone away
/// from one that waits to send; None: neither.
#[must_use]
pub fn closed(socket: &Socket, all_sent: bool) -> Option<End> {
    match sys::discard(socket, 1, 0) {
        Ok(0) => Some(if all_sent { End::Complete } else { End::Stopped }),
        Ok(_) => Some(End::Failed("the client sent more than its request".into())),
        Err(error) if error.kind() == WouldBlock => None,
        Err(error) => Some(broken(&error)),
    }
}

/// How a connection ended that the kernel gave up. A client that resets it wants no more: whether
/// that was meant is the client's to say.
fn broken(error: &io::Error) -> End {
    match error.raw_os_error() {
        // ENOTCONN: the reset came between the last byte and the shutdown.
        Some(libc::ECONNRESET | libc::EPIPE | libc::ENOTCONN) => End::Stopped,
        _ => match Break::of(error, format!("sending: {error}")) {
            Break::GaveUp(reason) => End::GaveUp(reason),
            Break::Failed(message) => End::Failed(message),
        },
    }
}
