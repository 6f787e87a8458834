//! Why a role ends before its work is done, and why a connection does not open.

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
    /// It never will.
    Lasting(String),
}
