//! Pipes, through which splice(2) moves bytes between two sockets without copying them.
//!
//! A direction has a pipe only while it holds bytes that the other socket does not take, so there
//! are as many as there are directions that are held up, and a few spare ones.

use nix::fcntl::{fcntl, FcntlArg, OFlag};
use nix::unistd::pipe2;
use std::io;
use std::os::fd::OwnedFd;

/// What a pipe holds: 64 pieces, each a packet or a part of one, and at most this many bytes.
pub const PIPE_BYTES: usize = 256 << 10;
/// Empty pipes that are kept for the next direction that needs one.
const MOST_SPARE: usize = 64;

/// An empty pipe, or one with a direction's bytes.
#[derive(Debug)]
pub struct Pipe {
    /// The end to read from.
    pub exit: OwnedFd,
    /// The end to write to.
    pub entry: OwnedFd,
}

/// The empty pipes.
#[derive(Debug, Default)]
pub struct Pipes {
    pub(super) spare: Vec<Pipe>,
}

impl Pipes {
    /// Takes an empty pipe, or makes one.
    pub fn take(&mut self) -> io::Result<Pipe> {
        if let Some(pipe) = self.spare.pop() {
            return Ok(pipe);
        }
        let (exit, entry) = pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC)?;
        // Where this process may not have such a large one, it holds what pipes hold by default.
        let _ = fcntl(&entry, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES as i32));
        Ok(Pipe { exit, entry })
    }

    /// Gives back a pipe that is empty.
    pub fn give_back(&mut self, pipe: Pipe) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(pipe);
        }
    }
}
