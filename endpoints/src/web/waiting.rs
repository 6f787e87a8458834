//! Waiting on tokio's loop for times of the cell and for the signal to stop.
//!
//! Timers of the kernel on absolute times instead of tokio's, which are rounded to ms.

use crate::clock::{Clock, Timer};
use crate::failure::Failure;
use crate::quic::alarm::Alarm;
use crate::quic::datagrams::Datagrams;
use crate::sys;
use nix::sys::signalfd::SignalFd;
use socket2::Socket;
use std::future::Future;
use std::io;
use std::os::fd::AsRawFd;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::runtime::Builder;
use tokio::task::{spawn_local, LocalSet};

/// Runs a role's future to its end, on this thread alone. Whatever it has spawned ends with it.
///
/// # Errors
/// Those of the future, or what the kernel says.
pub fn run<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let local = LocalSet::new();
    local.block_on(&runtime, work)
}

/// What owns one descriptor from its beginning to its end.
pub trait Owner: AsRawFd {}
impl Owner for Socket {}
impl Owner for SignalFd {}
impl Owner for Timer {}
impl Owner for Alarm {}
impl Owner for Datagrams {}

/// Puts a descriptor on the loop, to wait until it can be read or written.
pub fn watched<T: Owner>(inner: T) -> io::Result<AsyncFd<T>> {
    // SAFETY: an `Owner` keeps its descriptor, and the same one, open for as long as it lives.
    let watched =
        unsafe { AsyncFd::register_with_interest(inner, Interest::READABLE | Interest::WRITABLE) };
    Ok(watched?)
}

/// Spawns what hyper wants to have spawned.
#[derive(Debug, Clone, Copy)]
pub struct Spawner;

impl<F: Future<Output = ()> + 'static> hyper::rt::Executor<F> for Spawner {
    fn execute(&self, future: F) {
        spawn_local(future);
    }
}

/// Waits for times.
#[derive(Debug)]
pub struct Sleeper(AsyncFd<Timer>);

impl Sleeper {
    /// One that waits for nothing.
    pub fn new(clock: Clock) -> io::Result<Self> {
        watched(Timer::new(clock)?).map(Sleeper)
    }

    /// Waits until `at_ns` after the epoch.
    pub async fn until(&self, at_ns: i64) -> io::Result<()> {
        self.0.get_ref().once(at_ns)?;
        self.tick().await
    }

    /// Waits until a time; for ever without one.
    pub async fn until_some(&self, at_ns: Option<i64>) -> io::Result<()> {
        match at_ns {
            Some(at_ns) => self.until(at_ns).await,
            None => std::future::pending().await,
        }
    }

    /// Ticks from now on at every multiple of `every_ns` after the epoch.
    pub fn every(&self, every_ns: i64) -> io::Result<()> {
        self.0.get_ref().every(every_ns)
    }

    /// Ticks no more.
    pub fn disarm(&self) -> io::Result<()> {
        self.0.get_ref().disarm()
    }

    /// Waits for the next tick.
    pub async fn tick(&self) -> io::Result<()> {
        loop {
            let mut ready = self.0.readable().await?;
            ready.clear_ready();
            if self.0.get_ref().fired()? {
                return Ok(());
            }
        }
    }
}

/// SIGTERM and SIGINT.
#[derive(Debug)]
pub struct Stop(AsyncFd<SignalFd>);

impl Stop {
    /// Takes the signals from now on.
    pub fn new() -> io::Result<Self> {
        watched(sys::stop_signals()?).map(Stop)
    }

    /// Waits for one.
    pub async fn wait(&self) -> io::Result<()> {
        self.0.readable().await.map(drop)
    }
}
