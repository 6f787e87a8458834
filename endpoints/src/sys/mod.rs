//! The system calls that the standard library does not offer, each as a safe function.
//!
//! All unsafe code of the crate is here; in `packet_ring`, which shares memory with the kernel; in
//! `udp::sockets`, `quic::datagrams` and `policer::egress`, which lend it buffers; in `network`, which
//! changes namespaces and speaks netlink and ioctl; and in `web::waiting`, for tokio.
//! Every pointer that is passed to the kernel is derived from a live reference in the same call,
//! with the length of what it points to.

mod file;
mod process;
mod socket;
mod time;
mod waiting;

pub use file::{memory_file, pipe, send_file, splice, write_all};
pub use process::{go_first, one_arena, online_cpus, raise_file_limit, stop_signals};
pub use socket::{
    accept, bind, connect, connect_with, discard, discard_all, get_option, listen, local_address,
    peer_address, receive, send, send_to, set_blocking, set_option, set_option_bytes,
    shutdown_read, shutdown_write, tcp_socket, udp_socket,
};
pub use time::{monotonic_ns, realtime_ns, timer, timer_read, timer_set};
pub use waiting::{bell, epoll, epoll_control, epoll_wait, ring, wait_readable};

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Turns -1 into the error that the kernel left.
///
/// # Errors
/// That error.
pub(crate) fn checked(result: i64) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Takes charge of a descriptor that the kernel has just returned, or turns -1 into its error.
///
/// # Errors
/// That error.
pub(crate) fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    checked(result.into())?;
    // SAFETY: the kernel has just returned this descriptor, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}
