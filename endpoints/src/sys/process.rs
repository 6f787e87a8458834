//! What a process asks for itself: priority, open files, memory, signals.

use super::{checked, owned};
use std::io;
use std::mem::zeroed;
use std::os::fd::OwnedFd;

/// Puts this process in front of all ordinary ones (`SCHED_FIFO`); whether it may.
#[must_use]
pub fn go_first() -> bool {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: `first` is live; 0 is this process.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const first) == 0 }
}

/// Number of CPUs that are online, at least 1.
#[must_use]
pub fn online_cpus() -> i64 {
    // SAFETY: takes no pointer.
    unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1)
}

/// Allows this process as many open files as the machine lets it have: every connection is one.
pub fn raise_file_limit() {
    // More than this no process of a default machine may have (fs.nr_open).
    let wanted = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `wanted` and `limit` are live. Whoever may not raise the hard limit takes it as it is.
    unsafe {
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) != 0
            && libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0
        {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Keeps all threads' memory in one arena: otherwise the first allocation of each reserves one.
pub fn one_arena() {
    // SAFETY: takes no pointer; where there is no such option nothing happens.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Turns SIGTERM and SIGINT from now on into input of the descriptor that is returned, and a
/// write to a connection that is gone into an error (std has done so already; `sendfile` has no
/// flag for it, so it must not depend on that).
///
/// # Errors
/// What the kernel says.
pub fn stop_signals() -> io::Result<OwnedFd> {
    // SAFETY: `set` is a live signal set, emptied before use; SIG_IGN is a valid disposition.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::sigaddset(&raw mut set, libc::SIGINT);
        checked(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()).into())?;
        owned(libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC))
    }
}
