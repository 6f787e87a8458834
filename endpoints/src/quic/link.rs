//! A client's connection with the socket that is its own, as a connection of TCP has one.

use crate::quic::datagrams::Datagrams;
use crate::quic::description::QuicClient;
use crate::quic::driver::Driver;
use crate::quic::{tls, transport};
use crate::reactor::{Interest, Reactor};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{ClientConfig, Connection, ConnectionError, ConnectionHandle, VarInt};
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
}

/// Why a connection did not open.
pub enum Refusal {
    /// It may later.
    Passing(String),
    /// It never will.
    Lasting(String),
}

impl Refusal {
    /// From how a handshake ended.
    #[must_use]
    pub fn of(reason: &ConnectionError) -> Self {
        match reason {
            ConnectionError::TimedOut | ConnectionError::Reset => {
                Refusal::Passing(reason.to_string())
            }
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
        config.transport_config(Arc::new(
            transport::client(mtu, window, description.idle_timeout_ns)
                .map_err(Refusal::Lasting)?,
        ));
        let mut driver = Driver::new(datagrams, None, description.options.ecn);
        let handle = driver.connect(config, server).map_err(Refusal::Lasting)?;
        Ok(Link { driver, handle, mtu, waits_for_room: false })
    }

    /// The connection; None once both ends have forgotten it.
    pub fn quic(&mut self) -> Option<&mut Connection> {
        self.driver.connection(self.handle)
    }

    /// Waits for room in the socket as well, while there is none.
    ///
    /// # Errors
    /// What the kernel says.
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
