//! What is under quinn: datagrams that go out one per system call, unmarked unless ECN is asked
//! for, and timers of the kernel. tokio's are rounded to ms, in which 100 Mbit/s send 8 packets.

use crate::quic::alarm::Alarm;
use crate::quic::datagrams::{Datagrams, MOST_AT_ONCE, NOTHING};
use crate::web::waiting::watched;
use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, UdpPoller};
use std::future::Future;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{ready, Context, Poll, Waker};
use std::time::Instant;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// A socket for quinn.
#[derive(Debug)]
pub struct Socket {
    datagrams: AsyncFd<Datagrams>,
    ecn: bool,
    refused: OnceLock<String>,
    /// Who waits for datagrams, to be told that none will come.
    receiver: Mutex<Option<Waker>>,
}

impl Socket {
    /// Puts a socket on the loop. `ecn`: packets are marked.
    pub fn new(datagrams: Datagrams, ecn: bool) -> io::Result<Arc<Self>> {
        let datagrams = watched(datagrams)?;
        Ok(Arc::new(Socket {
            datagrams,
            ecn,
            refused: OnceLock::new(),
            receiver: Mutex::default(),
        }))
    }

    /// What the kernel has said of the peer's port, if it is closed.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        self.refused.get().map(String::as_str)
    }

    /// Datagrams that have found no room in the receive buffer so far.
    pub fn dropped(&self) -> io::Result<u32> {
        self.datagrams.get_ref().dropped()
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Room(self))
    }

    fn try_send(&self, transmit: &Transmit) -> io::Result<()> {
        let SocketAddr::V4(to) = transmit.destination else {
            return Ok(());
        };
        let marks = transmit.ecn.filter(|_| self.ecn).map_or(0, |mark| mark as u8);
        let send = |datagrams: &Datagrams| datagrams.send(transmit.contents, to, marks);
        match self.datagrams.try_io(Interest::WRITABLE, send) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(error),
            // The kernel says it once, to whoever calls first: quinn listens where it receives.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                self.refused.get_or_init(|| error.to_string());
                if let Ok(Some(waker)) = self.receiver.lock().as_deref() {
                    waker.wake_by_ref();
                }
                Ok(())
            }
            // A packet that got lost: QUIC finds out as it does elsewhere in the network.
            _ => Ok(()),
        }
    }

    fn poll_recv(
        &self,
        context: &mut Context,
        rooms: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        if self.refused.get().is_some() {
            return Poll::Ready(Err(ErrorKind::ConnectionRefused.into()));
        }
        if let Ok(mut receiver) = self.receiver.lock() {
            match &mut *receiver {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
        }
        loop {
            let mut ready = ready!(self.datagrams.poll_read_ready(context))?;
            let mut arrived = [NOTHING; MOST_AT_ONCE];
            match self.datagrams.get_ref().receive_into(rooms, &mut arrived) {
                Ok(count) => {
                    for (meta, one) in meta.iter_mut().zip(&arrived[..count]) {
                        *meta = RecvMeta {
                            addr: one.from.into(),
                            len: one.bytes,
                            stride: one.bytes,
                            ecn: EcnCodepoint::from_bits(one.ecn),
                            dst_ip: None,
                        };
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => ready.clear_ready(),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    self.refused.get_or_init(|| error.to_string());
                    return Poll::Ready(Err(error));
                }
                // What a network does that loses its way for a while, QUIC lives through.
                Err(_) => {}
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        // quinn wants to know whether it is of IPv4.
        Ok(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0).into())
    }

    fn may_fragment(&self) -> bool {
        false
    }
}

/// Waits for room in a socket.
#[derive(Debug)]
struct Room(Arc<Socket>);

impl UdpPoller for Room {
    fn poll_writable(self: Pin<&mut Self>, context: &mut Context) -> Poll<io::Result<()>> {
        self.0.datagrams.poll_write_ready(context).map_ok(drop)
    }
}

/// Time and tasks for quinn.
#[derive(Debug)]
pub struct Machine;

impl Runtime for Machine {
    fn new_timer(&self, deadline: Instant) -> Pin<Box<dyn AsyncTimer>> {
        let alarm = Alarm::new().and_then(watched).expect("the kernel has a timer");
        let mut timer = Box::pin(Deadline { alarm, deadline });
        timer.as_mut().reset(deadline);
        timer
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        tokio::task::spawn_local(future);
    }

    fn wrap_udp_socket(&self, _: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Err(ErrorKind::Unsupported.into())
    }
}

/// A deadline of a connection.
#[derive(Debug)]
struct Deadline {
    alarm: AsyncFd<Alarm>,
    deadline: Instant,
}

impl AsyncTimer for Deadline {
    fn reset(mut self: Pin<&mut Self>, deadline: Instant) {
        self.deadline = deadline;
        self.alarm.get_mut().by(Some(deadline)).expect("the kernel sets its timer");
    }

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        let deadline = self.deadline;
        loop {
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            // Not yet, but perhaps an earlier deadline, for which the alarm was set, has passed.
            let mut ready = ready!(self.alarm.poll_read_ready_mut(context)).expect("a loop");
            let alarm = ready.get_inner_mut();
            let fired = alarm.fired().expect("the kernel reads its timer");
            alarm.by(Some(deadline)).expect("the kernel sets its timer");
            if !fired {
                ready.clear_ready();
            }
        }
    }
}
