//! Why a role ends before its work is done, why a connection does not open, and why one breaks.

use std::io;

/// Why a role ended before its work was done.
#[derive(Debug)]
pub enum Failure {
    /// The description cannot be read.
    Description(String),
    /// Something that the work needs failed; becomes an `error` event.
    Work(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Work(error.to_string())
    }
}

/// Why a connection did not open.
#[derive(Debug)]
pub enum Refusal {
    /// It may later.
    Passing(String),
    /// Nothing came back: it may later, and a network that stays silent is no failure of the
    /// program.
    Unanswered(String),
    /// It never will.
    Lasting(String),
}

/// Why a connection that was established ended before its work was done.
#[derive(Debug)]
pub enum Break {
    /// The transport gave up on a peer that it had not heard of for too long, or whose host knows of
    /// no such connection: an outcome.
    GaveUp(String),
    /// Something failed.
    Failed(String),
}

impl Break {
    /// What an error of a TCP socket means, with what is to be said of it.
    #[must_use]
    pub fn of(error: &io::Error, message: String) -> Self {
        match error.raw_os_error() {
            // EHOSTUNREACH, ENETUNREACH: what routers said before it gave up. ECONNRESET: a NAT has
            // given it another port; a program that dies says so itself.
            Some(libc::ETIMEDOUT | libc::EHOSTUNREACH | libc::ENETUNREACH | libc::ECONNRESET) => {
                Break::GaveUp(message)
            }
            _ => Break::Failed(message),
        }
    }
}

impl From<String> for Break {
    fn from(message: String) -> Self {
        Break::Failed(message)
    }
}
