//! A client's connection with the socket that is its own, as a connection of TCP has one.

use crate::failure::{Break, Refusal};
use crate::quic::datagrams::Datagrams;
use crate::quic::description::QuicClient;
use crate::quic::driver::Driver;
use crate::quic::inbox::Inbox;
use crate::quic::transfer::{send_request, take_data};
use crate::quic::{tls, transport, STOPPED};
use crate::reactor::{Interest, Reactor};
use crate::request::Request;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, Event, StreamId, VarInt,
};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a stopped client stays to tell servers that did not hear it, at most. It leaves earlier
/// when three probe timeouts have passed (RFC 9000, section 10.2).
pub const LONGEST_GOODBYE: Duration = Duration::from_millis(500);

/// A socket and the QUIC connection over it.
pub struct Link {
    /// Carries its packets.
    pub driver: Driver,
    handle: ConnectionHandle,
    /// Largest payload of a datagram, bytes.
    pub mtu: u16,
    waits_for_room: bool,
    /// That of the request, once it has been sent.
    stream: Option<StreamId>,
    /// What has arrived behind gaps.
    inbox: Inbox,
    /// The earliest of its deadlines that somebody has taken note of.
    pub noted: Option<Instant>,
}

impl From<&ConnectionError> for Refusal {
    /// From how a handshake ended.
    fn from(reason: &ConnectionError) -> Self {
        match reason {
            ConnectionError::TimedOut => Refusal::Unanswered(reason.to_string()),
            ConnectionError::Reset => Refusal::Passing(reason.to_string()),
            _ => Refusal::Lasting(reason.to_string()),
        }
    }
}

/// Reads the server's certificate, which is the only one to trust.
///
/// # Errors
/// Why that failed, and whether it is worth another try.
pub fn trust(description: &QuicClient) -> Result<Arc<QuicClientConfig>, Refusal> {
    let file = tls::certificate_file(&description.flow);
    let certificate = std::fs::read(&file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Refusal::Passing(format!("{file} does not exist yet")),
        _ => Refusal::Lasting(format!("cannot read {file}: {error}")),
    })?;
    tls::client(certificate).map(Arc::new).map_err(Refusal::Lasting)
}

impl Link {
    /// Opens a socket and starts the handshake.
    ///
    /// # Errors
    /// Why that failed, and whether it is worth another try.
    pub fn open(description: &QuicClient) -> Result<Self, Refusal> {
        Link::with(description, trust(description)?)
    }

    /// The same, with what `trust` has read.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn with(description: &QuicClient, crypto: Arc<QuicClientConfig>) -> Result<Self, Refusal> {
        let lasting = |error: io::Error| Refusal::Lasting(error.to_string());
        let QuicClient { address, port, .. } = *description;
        let server = SocketAddrV4::new(address, port);
        let window = description.receive_window_bytes();
        let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        let datagrams = Datagrams::bind(any, window, description.options.ecn).map_err(lasting)?;
        let passing = |error: io::Error| Refusal::Passing(error.to_string());
        datagrams.connect(server).map_err(passing)?;
        let mtu = transport::payload_bytes(server).map_err(passing)?;
        let mut config = ClientConfig::new(crypto);
        let mut settings = transport::client(mtu, window, description.idle_timeout_ns)
            .map_err(Refusal::Lasting)?;
        if description.options.discovers_mtu {
            transport::discover(&mut settings, mtu);
        }
        config.transport_config(Arc::new(settings));
        let mut driver = Driver::new(datagrams, None, description.options.ecn);
        let handle = driver.connect(config, server).map_err(Refusal::Lasting)?;
        Ok(Link {
            driver,
            handle,
            mtu,
            waits_for_room: false,
            stream: None,
            inbox: Inbox::new(window),
            noted: None,
        })
    }

    /// The connection; None once both ends have forgotten it.
    pub fn quic(&mut self) -> Option<&mut Connection> {
        self.driver.connection(self.handle)
    }

    /// The next thing that has happened to the connection.
    pub fn event(&mut self) -> Option<Event> {
        self.quic()?.poll()
    }

    /// Takes what has arrived at the socket into QUIC.
    ///
    /// # Errors
    /// What the kernel says, also of datagrams that were sent before.
    pub fn receive(&mut self) -> io::Result<()> {
        self.driver.retry()?;
        self.driver.receive(&mut Vec::new())
    }

    /// Asks, on a connection that is established; false: there is none any more.
    ///
    /// # Errors
    /// A message, if the server allows no stream.
    pub fn ask(&mut self, request: Request) -> Result<bool, String> {
        self.stream = self.quic().map(|quic| send_request(quic, request)).transpose()?;
        Ok(self.stream.is_some())
    }

    /// Takes what has come of what was asked for: what there is of it without a gap, which was
    /// `bytes` before, and whether this is the end, or why there will be none. None: nothing can
    /// come.
    pub fn take(&mut self, bytes: u64) -> Option<(u64, Result<bool, String>)> {
        let stream = self.stream?;
        let quic = self.driver.connection(self.handle)?;
        let mut bytes = bytes;
        let end = take_data(quic, stream, &mut bytes, &mut self.inbox);
        Some((bytes, end))
    }

    /// Datagrams that have found no room in the socket's receive buffer so far.
    #[must_use]
    pub fn dropped(&self) -> u32 {
        self.driver.datagrams().dropped().unwrap_or(0)
    }

    /// Waits for room in the socket as well, while there is none.
    pub fn set_waits(&mut self, reactor: &Reactor, token: u64) -> io::Result<()> {
        if self.driver.blocked() != self.waits_for_room {
            self.waits_for_room = self.driver.blocked();
            let interest = if self.waits_for_room { Interest::Both } else { Interest::Read };
            reactor.change(&self.driver, interest, token)?;
        }
        Ok(())
    }

    /// Closes the connection, if there still is one; it is said when the driver is flushed.
    pub fn close(&mut self, code: VarInt, reason: &str) {
        let handle = self.handle;
        if let Some(quic) = self.quic() {
            quic.close(Instant::now(), code, reason.to_owned().into());
            self.driver.touch(handle);
        }
    }
}

/// Why a connection was lost after `bytes` bytes; `idle_timeout_ns`: its idle timeout.
#[must_use]
pub fn why_lost(bytes: u64, reason: &ConnectionError, idle_timeout_ns: Option<i64>) -> Break {
    match reason {
        ConnectionError::ApplicationClosed(close) if close.error_code == STOPPED => {
            Break::Failed(format!("the server closed after {bytes} bytes"))
        }
        ConnectionError::TimedOut => Break::GaveUp(silent("server", idle_timeout_ns)),
        _ => Break::Failed(format!("receiving after {bytes} bytes: {reason}")),
    }
}

/// Says that a peer was silent for longer than the idle timeout.
#[must_use]
pub fn silent(peer: &str, idle_timeout_ns: Option<i64>) -> String {
    let seconds = idle_timeout_ns.unwrap_or(0) as f64 / 1e9;
    format!("nothing has come from the {peer} for longer than the idle timeout of {seconds} s")
}
