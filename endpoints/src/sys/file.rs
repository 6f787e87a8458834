//! Files in memory, pipes, and bytes that move between descriptors without a copy.

use super::{checked, owned};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Writes all bytes to a descriptor of this process, for instance 1.
///
/// # Errors
/// What the kernel says.
pub fn write_all(fd: i32, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        // SAFETY: `bytes` is live and has this length.
        let result = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        match checked(result as i64) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A file in memory, without a name in any file system.
///
/// # Errors
/// What the kernel says.
pub fn memory_file(name: &str) -> io::Result<OwnedFd> {
    let name = CString::new(name)?;
    // SAFETY: `name` is live and ends in zero.
    owned(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) })
}

/// Sends at most `most` bytes of a file from `offset` on, as many as fit, without copying them.
///
/// # Errors
/// What the kernel says.
pub fn send_file(
    socket: &OwnedFd,
    file: &OwnedFd,
    offset: usize,
    most: usize,
) -> io::Result<usize> {
    let mut offset = offset as libc::off_t;
    // SAFETY: `offset` is live.
    let result =
        unsafe { libc::sendfile(socket.as_raw_fd(), file.as_raw_fd(), &raw mut offset, most) };
    checked(result as i64)
}

/// A pipe that does not block, as its ends to read and to write. It holds `bytes` where this process
/// may have so large ones, else what pipes hold by default.
///
/// # Errors
/// What the kernel says.
pub fn pipe(bytes: i32) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` is live and has two entries.
    let result = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK | libc::O_CLOEXEC) };
    checked(result.into())?;
    let (read, write) = (owned(ends[0])?, owned(ends[1])?);
    // SAFETY: takes no pointer.
    unsafe { libc::fcntl(write.as_raw_fd(), libc::F_SETPIPE_SZ, bytes) };
    Ok((read, write))
}

/// Moves at most `most` bytes between a pipe and a socket without copying them (splice(2)); 0 at the
/// end of a socket's stream.
///
/// # Errors
/// What the kernel says.
pub fn splice(from: &OwnedFd, to: &OwnedFd, most: usize) -> io::Result<usize> {
    let (none, flags) = (std::ptr::null_mut(), libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK);
    // SAFETY: null offsets are allowed, and needed for pipes and sockets.
    let result = unsafe { libc::splice(from.as_raw_fd(), none, to.as_raw_fd(), none, most, flags) };
    checked(result as i64)
}
