//! Network namespaces: each is held open by a descriptor, and gone with it and its last process.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const OWN: &str = "/proc/thread-self/ns/net";

/// The namespace of this thread.
///
/// # Errors
/// What the kernel says.
pub fn own() -> io::Result<OwnedFd> {
    File::open(OWN).map(OwnedFd::from)
}

/// Makes a namespace and moves this thread into it.
///
/// # Errors
/// What the kernel says.
pub fn create() -> io::Result<OwnedFd> {
    // SAFETY: a plain number.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } < 0 {
        return Err(io::Error::last_os_error());
    }
    own()
}

/// Moves this thread into a namespace.
///
/// # Errors
/// What the kernel says.
pub fn enter(namespace: &OwnedFd) -> io::Result<()> {
    // SAFETY: a descriptor that is open, and a plain number.
    if unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
