//! The client's end of a connection: opens it, asks, and takes what comes.

use crate::failure::{Break, Refusal};
use crate::request::Request;
use crate::tcp::sink::Short;
use crate::tcp_info::Established;
use crate::{mptcp, socket, sys, tcp_info};
use socket2::Socket;
use std::io::{self, ErrorKind::WouldBlock};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

/// Most bytes to take out of a socket at once.
const MOST_BYTES: u64 = 1 << 30;
const TOO_MUCH: &str = "the server sent more than was requested";

/// How connections are opened.
#[derive(Debug, Clone, Copy)]
pub struct Dial {
    /// The server.
    pub address: SocketAddrV4,
    /// Receive buffer, bytes of payload; None: it limits nothing.
    pub buffer_bytes: Option<u32>,
    /// Limit of the receive window, bytes.
    pub window_bytes: Option<u32>,
    /// The request goes with the first packet.
    pub fast_open: bool,
    /// Over MPTCP, from this address first; None: over TCP.
    pub mptcp_from: Option<Ipv4Addr>,
}

/// A connection from its first packet on.
#[derive(Debug)]
pub struct Fetch {
    socket: Arc<Socket>,
    request: Request,
    window_bytes: Option<u32>,
    is_mptcp: bool,
    /// The request is in the kernel's hands.
    asked: bool,
    /// Delivered so far, bytes.
    bytes: u64,
    /// A thread takes its data.
    pub sinks: bool,
}

/// What taking from a connection has led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// There was nothing.
    Nothing,
    /// Data; more will come.
    Data,
    /// The last of the bytes that were asked for. The server has not closed yet.
    Complete,
}

impl Fetch {
    /// Starts to open a connection.
    pub fn open(dial: &Dial, request: Request) -> io::Result<Self> {
        let Dial { address, buffer_bytes, window_bytes, fast_open, mptcp_from } = *dial;
        let is_mptcp = mptcp_from.is_some();
        let socket = match mptcp_from {
            Some(from) => mptcp::connecting(buffer_bytes, from)?,
            None => socket::connecting(buffer_bytes, window_bytes)?,
        };
        let asked = if fast_open {
            socket::connect_with(&socket, address, &request.encode()).map_err(explain)?
        } else {
            socket::connect(&socket, address).map(|()| false)?
        };
        let socket = Arc::new(socket);
        Ok(Fetch { socket, request, window_bytes, is_mptcp, asked, bytes: 0, sinks: false })
    }

    /// The socket, to wait for it.
    #[must_use]
    pub fn socket(&self) -> &Arc<Socket> {
        &self.socket
    }

    /// Delivered so far, bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is missing of the bytes that were asked for; None: it has no end.
    #[must_use]
    pub fn missing(&self) -> Option<u64> {
        self.request.bytes.map(|wanted| wanted - self.bytes)
    }

    /// What has arrived, taken or not, bytes.
    pub fn arrived(&self) -> io::Result<u64> {
        let wanted = self.request.bytes.unwrap_or(u64::MAX);
        let arrived = if self.is_mptcp {
            mptcp::read(&self.socket).map(|whole| whole.bytes_received)
        } else {
            tcp_info::bytes_received(&self.socket)
        };
        arrived.map(|bytes| bytes.min(wanted))
    }

    /// Counts what a thread has taken of the missing bytes, and judges its end.
    ///
    /// # Errors
    /// A message, when this was not what was asked for.
    pub fn sunk(&mut self, bytes: u64, error: Option<Short>) -> Result<Taken, Break> {
        self.bytes += bytes;
        match error {
            None => Ok(Taken::Complete),
            Some(Short::Closed) => Err(self.cut_off().into()),
            Some(Short::Failed(error)) => Err(self.failed(&error)),
        }
    }

    fn cut_off(&self) -> String {
        format!("the server closed after {} bytes", self.bytes)
    }

    fn failed(&self, error: &io::Error) -> Break {
        Break::of(error, format!("receiving after {} bytes: {error}", self.bytes))
    }

    /// Asks for the data, if that has not been done: the handshake should be over. Returns what is
    /// in force.
    ///
    /// # Errors
    /// Why there is no connection.
    pub fn connected(&mut self) -> io::Result<Established> {
        socket::pending_error(&self.socket)?;
        // With TCP Fast Open data may have come already.
        self.keep_window()?;
        let established = tcp_info::established(&self.socket, self.is_mptcp)?;
        if !self.asked {
            // An empty send buffer takes 16 bytes at once, so there is no shorter count.
            self.socket.send(&self.request.encode())?;
            self.asked = true;
        }
        Ok(established)
    }

    /// Takes what has arrived.
    ///
    /// # Errors
    /// A message, when this was not what was asked for.
    pub fn take(&mut self) -> Result<Taken, Break> {
        let missing = self.missing().unwrap_or(u64::MAX);
        // One byte more than is missing, to see whether more comes than was asked for.
        let most = missing.saturating_add(1).min(MOST_BYTES) as usize;
        let taken = match sys::discard(&self.socket, most, 0) {
            Err(error) if error.kind() == WouldBlock => return Ok(Taken::Nothing),
            Err(error) => return Err(self.failed(&error)),
            Ok(0) if missing == 0 => return Ok(Taken::Complete),
            Ok(0) => return Err(self.cut_off().into()),
            Ok(taken) => taken as u64,
        };
        if taken > missing {
            return Err(Break::Failed(TOO_MUCH.into()));
        }
        if self.bytes == 0 {
            self.keep_window().map_err(|error| format!("setting the window: {error}"))?;
        }
        self.bytes += taken;
        Ok(if taken == missing { Taken::Complete } else { Taken::Data })
    }

    /// Limits the window again if the kernel has dropped the limit: from Linux 6.11 on it does when
    /// it first learns how much memory a packet takes, and whenever the size of packets changes.
    pub fn keep_window(&self) -> io::Result<()> {
        match self.window_bytes {
            Some(bytes) if socket::window(&self.socket)? > bytes => {
                socket::set_window(&self.socket, bytes)
            }
            _ => Ok(()),
        }
    }

    /// Looks whether the server has closed a connection that is complete; true: it has.
    ///
    /// # Errors
    /// A message, when there is more instead.
    pub fn closed(&self) -> Result<bool, String> {
        match sys::discard(&self.socket, 1, 0) {
            Err(error) if error.kind() == WouldBlock => Ok(false),
            // All bytes are there: how the connection is taken down no longer matters.
            Ok(0) | Err(_) => Ok(true),
            Ok(_) => Err(TOO_MUCH.into()),
        }
    }

    /// Ends the connection by a reset: the server shall not go on sending to nobody.
    pub fn reset(self) -> io::Result<()> {
        self.socket.set_linger(Some(Duration::ZERO))
    }
}

/// Says what is missing where the machine does not allow TCP Fast Open.
fn explain(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => {
            io::Error::other("TCP Fast Open is off on this host (net.ipv4.tcp_fastopen needs 1)")
        }
        _ => error,
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(
                libc::ECONNREFUSED | libc::ECONNRESET | libc::EHOSTUNREACH | libc::ENETUNREACH,
            ) => Refusal::Passing(error.to_string()),
            Some(libc::ETIMEDOUT) => Refusal::Unanswered(error.to_string()),
            // The program itself lacks something: one request fails as the next one will.
            Some(libc::EADDRNOTAVAIL) => Refusal::Lasting(
                "no local port is free: too many connections are under way \
                 (net.ipv4.ip_local_port_range)"
                    .into(),
            ),
            Some(libc::EMFILE | libc::ENFILE) => Refusal::Lasting(
                "too many connections are under way: no more files can be opened (ulimit -n)"
                    .into(),
            ),
            _ => Refusal::Lasting(error.to_string()),
        }
    }
}
