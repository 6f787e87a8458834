//! One UDP socket with its QUIC endpoint and connections: carries packets and time between the
//! kernel and quinn's state machines.
//!
//! A role takes its turn like this: `receive` and `expire` bring in what has happened; each
//! connection that `next_touched` names is served by the role and then handed to `flush`, which
//! sends what it has to say; `deadline` is when something has to happen at the latest.

use crate::quic::datagrams::{Datagrams, Received};
use crate::quic::limit::RateLimit;
use crate::quic::pacer::{Pacer, Quantum};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Incoming,
    ServerConfig,
};
use std::io::{self, ErrorKind::WouldBlock};
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

/// Batches of datagrams to take before timers, signals and other sockets get their turn again.
const MOST_BATCHES: usize = 16;

/// See the module.
pub struct Driver {
    datagrams: Datagrams,
    endpoint: Endpoint,
    /// What packets are marked with, where quinn says that they are ECN-capable.
    capable: Option<EcnCodepoint>,
    /// The most that each connection sends, bit/s of IP packets.
    rate_bps: Option<u64>,
    /// How much leaves together, if congestion controllers ask for a rate at which to pace.
    paced: Option<Quantum>,
    /// By handle; None where there is none any more.
    connections: Vec<Option<Slot>>,
    /// Handles of those that something happened to.
    touched: Vec<ConnectionHandle>,
    received: Vec<Received>,
    /// The datagram that is being made.
    outgoing: Vec<u8>,
    /// The last one, if the kernel had no room for it: where it goes, and its marks.
    unsent: Option<(SocketAddrV4, u8)>,
}

struct Slot {
    connection: Connection,
    limit: Option<RateLimit>,
    pacer: Option<Pacer>,
    deadline: Option<Instant>,
    touched: bool,
}

/// A connection that a client wants to open, and what the client calls it (its source connection
/// ID), in hexadecimal.
pub struct Caller {
    /// To be accepted.
    pub incoming: Incoming,
    /// The ID.
    pub id: String,
}

/// The source connection ID of a packet with a long header (RFC 8999, section 5.1), in hexadecimal.
fn source_id(datagram: &[u8]) -> Option<String> {
    datagram.first().filter(|first| **first & 0x80 != 0)?;
    let (destination, rest) = datagram.get(5..)?.split_first()?;
    let (source, rest) = rest.get(usize::from(*destination)..)?.split_first()?;
    let id = rest.get(..usize::from(*source))?;
    Some(data_encoding::HEXLOWER.encode(id))
}

impl Driver {
    /// A driver over a socket; with a configuration it is a server's. `ecn`: packets are marked.
    #[must_use]
    pub fn new(datagrams: Datagrams, server: Option<Arc<ServerConfig>>, ecn: bool) -> Self {
        Driver {
            datagrams,
            // The MTU is discovered where a connection's transport says so.
            endpoint: Endpoint::new(Arc::default(), server, true, None),
            capable: ecn.then_some(EcnCodepoint::Ect0),
            rate_bps: None,
            paced: None,
            connections: Vec::new(),
            touched: Vec::new(),
            received: Vec::new(),
            outgoing: Vec::new(),
            unsent: None,
        }
    }

    /// The same, each of its connections with a limit of the sending rate, bit/s of IP packets.
    #[must_use]
    pub fn limited(self, rate_bps: Option<u64>) -> Self {
        Driver { rate_bps, ..self }
    }

    /// The same, each of its connections paced at its congestion controller's rate, in these
    /// quanta.
    #[must_use]
    pub fn paced(self, paced: Option<Quantum>) -> Self {
        Driver { paced, ..self }
    }

    /// The same; if `l4s`, its packets are marked with ECT(1) instead of ECT(0) (RFC 9331, section
    /// 4.1). quinn knows of it where TLS is a `feedback::Counting`.
    #[must_use]
    pub fn l4s(self, l4s: bool) -> Self {
        let capable = self.capable.map(|ect0| if l4s { EcnCodepoint::Ect1 } else { ect0 });
        Driver { capable, ..self }
    }

    /// The socket.
    #[must_use]
    pub fn datagrams(&self) -> &Datagrams {
        &self.datagrams
    }

    /// Starts to connect.
    ///
    /// # Errors
    /// A message.
    pub fn connect(
        &mut self,
        config: ClientConfig,
        server: SocketAddrV4,
    ) -> Result<ConnectionHandle, String> {
        let (handle, connection) = self
            .endpoint
            .connect(Instant::now(), config, server.into(), &server.ip().to_string())
            .map_err(|error| error.to_string())?;
        self.insert(handle, connection);
        Ok(handle)
    }

    /// Takes what has arrived and adds connections that clients want to open to `incoming`.
    ///
    /// # Errors
    /// What the kernel says: on a connected socket also what became of datagrams sent before.
    pub fn receive(&mut self, incoming: &mut Vec<Caller>) -> io::Result<()> {
        for _ in 0..MOST_BATCHES {
            let more = match self.datagrams.receive(&mut self.received) {
                Err(error) if error.kind() == WouldBlock => return Ok(()),
                other => other?,
            };
            let now = Instant::now();
            for one in std::mem::take(&mut self.received) {
                self.handle(now, one, incoming);
            }
            if !more {
                return Ok(());
            }
        }
        // The socket is still readable, so the loop comes back.
        Ok(())
    }

    fn handle(&mut self, now: Instant, received: Received, incoming: &mut Vec<Caller>) {
        let Received { from, ecn, payload } = received;
        let id = source_id(&payload);
        let mut answer = Vec::new();
        let event = self.endpoint.handle(
            now,
            from.into(),
            None,
            EcnCodepoint::from_bits(ecn),
            payload,
            &mut answer,
        );
        match event {
            None => {}
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(slot) = self.connections[handle.0].as_mut() {
                    slot.connection.handle_event(event);
                    self.touch(handle);
                }
            }
            Some(DatagramEvent::NewConnection(one)) => {
                incoming.push(Caller { incoming: one, id: id.unwrap_or_default() });
            }
            Some(DatagramEvent::Response(transmit)) => {
                // Of nobody's connection: whoever misses it asks again.
                let _ = self.datagrams.send(&answer[..transmit.size], from, 0);
            }
        }
    }

    /// Accepts a connection; None if it turned out to be none, which its client is told.
    pub fn accept(
        &mut self,
        incoming: Incoming,
        config: Arc<ServerConfig>,
    ) -> Option<ConnectionHandle> {
        let SocketAddr::V4(from) = incoming.remote_address() else {
            self.endpoint.ignore(incoming);
            return None;
        };
        let mut answer = Vec::new();
        match self.endpoint.accept(incoming, Instant::now(), &mut answer, Some(config)) {
            Ok((handle, connection)) => {
                self.insert(handle, connection);
                Some(handle)
            }
            Err(error) => {
                if let Some(transmit) = error.response {
                    let _ = self.datagrams.send(&answer[..transmit.size], from, 0);
                }
                None
            }
        }
    }

    /// Leaves a client that wants to connect without an answer.
    pub fn ignore(&mut self, incoming: Incoming) {
        self.endpoint.ignore(incoming);
    }

    /// Tells every connection what time it is whose deadline has passed.
    pub fn expire(&mut self) {
        let now = Instant::now();
        for index in 0..self.connections.len() {
            if let Some(slot) = self.connections[index].as_mut() {
                if slot.deadline.is_some_and(|deadline| deadline <= now) {
                    slot.connection.handle_timeout(now);
                    self.touch(ConnectionHandle(index));
                }
            }
        }
    }

    /// The next connection that something happened to since it was last flushed.
    pub fn next_touched(&mut self) -> Option<ConnectionHandle> {
        while let Some(handle) = self.touched.pop() {
            if let Some(slot) = self.connections[handle.0].as_mut() {
                slot.touched = false;
                return Some(handle);
            }
        }
        None
    }

    /// A connection; None once both ends have forgotten it.
    pub fn connection(&mut self, handle: ConnectionHandle) -> Option<&mut Connection> {
        self.connections.get_mut(handle.0)?.as_mut().map(|slot| &mut slot.connection)
    }

    /// Sends what a connection has to say, as far as the kernel has room.
    ///
    /// # Errors
    /// What the kernel says, if it is not of one packet or of the network.
    pub fn flush(&mut self, handle: ConnectionHandle) -> io::Result<()> {
        let Some(slot) = self.connections.get_mut(handle.0).and_then(Option::as_mut) else {
            return Ok(());
        };
        let connection = &mut slot.connection;
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(answer);
            }
        }
        if connection.is_drained() {
            self.connections[handle.0] = None;
            return Ok(());
        }
        let mut held_until = None;
        while self.unsent.is_none() {
            // The time of each packet: making one takes longer than the clock's resolution.
            let now = Instant::now();
            // A last word is not held back: its sender may be gone by then.
            if !connection.is_closed() {
                let limited = slot.limit.as_ref().and_then(|limit| limit.closed_until(now));
                let paced = slot.pacer.as_ref().and_then(|pacer| pacer.closed_until(now));
                held_until = limited.max(paced);
                if held_until.is_some() {
                    break;
                }
            }
            self.outgoing.clear();
            let Some(transmit) = connection.poll_transmit(now, 1, &mut self.outgoing) else {
                break;
            };
            if let Some(limit) = &mut slot.limit {
                limit.spend(now, transmit.size);
            }
            if let Some(pacer) = &mut slot.pacer {
                let rate_bps = connection.congestion_state().metrics().pacing_rate.unwrap_or(0);
                pacer.spend(now, transmit.size, rate_bps, connection.current_mtu());
            }
            let SocketAddr::V4(to) = transmit.destination else {
                continue;
            };
            let marks = transmit.ecn.and(self.capable).map_or(0, |mark| mark as u8);
            if !sent(self.datagrams.send(&self.outgoing[..transmit.size], to, marks))? {
                self.outgoing.truncate(transmit.size);
                self.unsent = Some((to, marks));
            }
        }
        slot.deadline = connection.poll_timeout().into_iter().chain(held_until).min();
        Ok(())
    }

    /// Whether the kernel had no room for a packet: then wait until it has, and `retry`.
    #[must_use]
    pub fn blocked(&self) -> bool {
        self.unsent.is_some()
    }

    /// Sends what the kernel had no room for, and lets every connection go on.
    ///
    /// # Errors
    /// Those of `flush`.
    pub fn retry(&mut self) -> io::Result<()> {
        if let Some((to, marks)) = self.unsent {
            if sent(self.datagrams.send(&self.outgoing, to, marks))? {
                self.unsent = None;
                for index in 0..self.connections.len() {
                    self.touch(ConnectionHandle(index));
                }
            }
        }
        Ok(())
    }

    /// When something has to happen at the latest.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.connections.iter().flatten().filter_map(|slot| slot.deadline).min()
    }

    fn insert(&mut self, handle: ConnectionHandle, connection: Connection) {
        if self.connections.len() <= handle.0 {
            self.connections.resize_with(handle.0 + 1, || None);
        }
        let limit = self.rate_bps.map(RateLimit::new);
        let pacer = self.paced.map(Pacer::new);
        self.connections[handle.0] =
            Some(Slot { connection, limit, pacer, deadline: None, touched: false });
        self.touch(handle);
    }

    /// Notes that a connection has to be served and flushed.
    pub fn touch(&mut self, handle: ConnectionHandle) {
        if let Some(slot) = self.connections[handle.0].as_mut() {
            if !slot.touched {
                slot.touched = true;
                self.touched.push(handle);
            }
        }
    }
}

impl AsFd for Driver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.datagrams.as_fd()
    }
}

/// Whether a packet has left, or got lost: what a link that is down, a full queue or a host that is
/// gone does to a packet, QUIC finds out as it does elsewhere in the network. False: no room.
fn sent(result: io::Result<()>) -> io::Result<bool> {
    let Err(error) = result else {
        return Ok(true);
    };
    match error.raw_os_error() {
        Some(libc::EAGAIN) => Ok(false),
        Some(
            libc::ENOBUFS
            | libc::ENETUNREACH
            | libc::EHOSTUNREACH
            | libc::ENETDOWN
            | libc::EHOSTDOWN
            | libc::EMSGSIZE
            | libc::EPERM,
        ) => Ok(true),
        _ => Err(error),
    }
}
