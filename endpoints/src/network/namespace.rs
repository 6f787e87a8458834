//! Network namespaces: each is held open by a descriptor, and gone with it and its last process.

use nix::sched::{setns, unshare, CloneFlags};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

const OWN: &str = "/proc/thread-self/ns/net";

/// The namespace of this thread.
pub fn own() -> io::Result<OwnedFd> {
    File::open(OWN).map(OwnedFd::from)
}

/// Makes a namespace and moves this thread into it.
pub fn create() -> io::Result<OwnedFd> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    own()
}

/// Moves this thread into a namespace.
pub fn enter(namespace: &OwnedFd) -> io::Result<()> {
    Ok(setns(namespace, CloneFlags::CLONE_NEWNET)?)
}
