//! Role `quic-server`: sends what each QUIC connection requests, and samples its state.

use crate::block::Memory;
use crate::congestion::Pacing;
use crate::description;
use crate::events::{self, Log};
use crate::failure::Failure;
use crate::quic::alarm::Alarm;
use crate::quic::datagrams::Datagrams;
use crate::quic::description::{Cca, QuicServer};
use crate::quic::driver::{Caller, Driver};
use crate::quic::feedback::{Counting, Marks};
use crate::quic::link::silent;
use crate::quic::packets::PacketLog;
use crate::quic::report::{ControllerInForce, QuicEvent, Sample};
use crate::quic::trace::Trace;
use crate::quic::transfer::{read_request, Transfer};
use crate::quic::{tls, transport, DONE, REFUSED, STOPPED};
use crate::reactor::{Interest, Reactor, Wake};
use crate::service::{End, Service};
use crate::workload::Workload;
use quinn_proto::{
    Connection, ConnectionError, ConnectionHandle, Dir, Event, Incoming, ServerConfig, StreamEvent,
    StreamId,
};
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SOCKET: u64 = 0;
const ALARM: u64 = 1;
const TICK: u64 = 2;

/// Serves until every connection has come and ended, or until SIGTERM.
///
/// # Errors
/// A bad description, or a socket that cannot be had as described.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: QuicServer = description::read(text).map_err(Failure::Description)?;
    let epoch = instant_of_epoch(log);
    let trace = if description.qlog {
        Some(Trace::create(&description.flow, epoch).map_err(Failure::Work)?)
    } else {
        None
    };
    let mut reactor = Reactor::new()?;
    let mut server = Server::new(description, trace, &reactor, log)?;
    server.work(&mut reactor, log)?;
    let dropped = server.driver.datagrams().dropped()?;
    if dropped > 0 {
        let message = format!("the socket's receive buffer was full: {dropped} datagrams dropped");
        log.error(None, &message);
    }
    let (file, records) = server.packets.close().map_err(Failure::Work)?;
    log.now(&QuicEvent::Logged { file: &file, records });
    if let Some(trace) = server.trace.take() {
        drop(server);
        let (file, bytes) = trace.close().map_err(Failure::Work)?;
        log.now(&QuicEvent::Traced { file: &file, bytes });
    }
    Ok(())
}

/// The epoch on the monotonic clock; now, if it lies before the machine was started.
fn instant_of_epoch(log: &Log) -> Instant {
    let (now, now_ns) = (Instant::now(), log.clock().now_ns());
    let distance = Duration::from_nanos(now_ns.unsigned_abs());
    let epoch = if now_ns < 0 { now.checked_add(distance) } else { now.checked_sub(distance) };
    epoch.unwrap_or(now)
}

/// The state of the role.
struct Server {
    description: QuicServer,
    cca: Cca,
    driver: Driver,
    config: ServerConfig,
    packets: PacketLog,
    trace: Option<Trace>,
    block: Memory,
    alarm: Alarm,
    service: Service,
    /// Every connection that was accepted and has not ended, by handle.
    peers: Vec<Option<Peer>>,
    /// Whether the socket is also waited for to have room.
    waits_for_room: bool,
}

/// An accepted connection.
#[derive(Default)]
struct Peer {
    /// When the handshake was complete, ns after the epoch.
    accepted_ns: Option<i64>,
    /// What has come of its request.
    header: Vec<u8>,
    /// What it asked for; data goes out, or has and is not acknowledged.
    transfer: Option<Transfer>,
}

impl Server {
    fn new(
        description: QuicServer,
        trace: Option<Trace>,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<Self, Failure> {
        let QuicServer { address, port, .. } = description;
        let here = SocketAddrV4::new(address, port);
        let datagrams = Datagrams::bind(here, description.buffer_bytes, description.options.ecn)
            .map_err(|error| Failure::Work(format!("cannot listen on {here}: {error}")))?;
        let packets = PacketLog::create(&description.flow, log.clock(), datagrams.accepted())
            .map_err(Failure::Work)?;
        let now_ns = crate::clock::realtime_ns();
        let epoch_ns = now_ns - log.clock().now_ns();
        // 800 bytes of secrets for each of many connections that nobody looks into one by one.
        let QuicServer { ref workload, connections, sample_every_ns, .. } = description;
        let service = Service::new(workload, connections, sample_every_ns, log.clock())?;
        let expires_ns = description.certificate_expires_ns.map(|ns| epoch_ns.saturating_add(ns));
        let crypto = tls::server(&description.flow, address, now_ns, expires_ns, !service.short)
            .map_err(Failure::Work)?;
        let config = transport::server_config(crypto, &description.options);
        let cca = description.cca().map_err(Failure::Description)?;
        let server = Server {
            driver: Driver::new(datagrams, Some(Arc::new(config.clone())), description.options.ecn)
                .limited(description.rate_bps)
                .paced(cca.paces())
                .l4s(cca.l4s()),
            config,
            packets,
            trace,
            block: Memory::new(),
            alarm: Alarm::new()?,
            service,
            peers: Vec::new(),
            cca,
            description,
            waits_for_room: false,
        };
        reactor.add(&server.driver, Interest::Read, SOCKET)?;
        reactor.add(&server.alarm, Interest::Read, ALARM)?;
        reactor.add(&server.service.ticks, Interest::Read, TICK)?;
        let cca = &server.cca;
        let ecn = server.description.options.ecn;
        log.now(&QuicEvent::Listening {
            controller: ControllerInForce::new(cca, ecn, server.send_buffer_bytes()),
            rate_bps: server.description.rate_bps,
        });
        // Whoever started the server may wait for this line.
        log.flush();
        Ok(server)
    }

    /// None: it limits nothing.
    fn send_buffer_bytes(&self) -> Option<u32> {
        match &self.description.workload {
            Workload::Video(video) => Some(video.send_buffer_bytes),
            _ => self.description.buffer_bytes,
        }
    }

    /// Works until every connection has ended, or until SIGTERM.
    fn work(&mut self, reactor: &mut Reactor, log: &mut Log) -> Result<(), Failure> {
        let mut wakes = Vec::new();
        let mut incoming = Vec::new();
        while !self.service.ended() {
            reactor.wait(&mut wakes)?;
            for wake in &wakes {
                match *wake {
                    Wake::Stop => return self.stop(log),
                    Wake::Ready(SOCKET) => {
                        self.driver.retry()?;
                        self.driver.receive(&mut incoming)?;
                        for Caller { incoming, id } in incoming.drain(..) {
                            self.accept(incoming, id)?;
                        }
                    }
                    Wake::Ready(TICK) => self.tick(log)?,
                    Wake::Ready(_) => {
                        if self.alarm.fired()? {
                            self.driver.expire();
                            self.wake_sources();
                        }
                    }
                }
            }
            while let Some(handle) = self.driver.next_touched() {
                self.serve(handle, log)?;
                self.driver.flush(handle)?;
            }
            self.set_waits(reactor)?;
        }
        Ok(())
    }

    /// Sets what the next wake-up is for: deadlines of QUIC, of what is sent by the clock, and
    /// room.
    fn set_waits(&mut self, reactor: &Reactor) -> Result<(), Failure> {
        if self.driver.blocked() != self.waits_for_room {
            self.waits_for_room = self.driver.blocked();
            let interest = if self.waits_for_room { Interest::Both } else { Interest::Read };
            reactor.change(&self.driver, interest, SOCKET)?;
        }
        let due = self.peers.iter().filter_map(|peer| due(peer.as_ref())).min();
        self.alarm.by(self.driver.deadline().into_iter().chain(due).min())?;
        Ok(())
    }

    /// Lets every connection go on whose next data has become due.
    fn wake_sources(&mut self) {
        let now = Instant::now();
        for (index, peer) in self.peers.iter().enumerate() {
            if due(peer.as_ref()).is_some_and(|due| due <= now) {
                self.driver.touch(ConnectionHandle(index));
            }
        }
    }

    /// Samples every connection that lives.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.service.ticks.fired()? {
            return Ok(());
        }
        for (index, peer) in self.peers.iter().enumerate() {
            let transfer = peer.as_ref().and_then(|peer| peer.transfer.as_ref());
            let connection = self.driver.connection(ConnectionHandle(index));
            if let (Some(transfer), Some(connection)) = (transfer, connection) {
                log.now(&QuicEvent::Sample(Sample::of(transfer.number, connection)));
            }
        }
        Ok(())
    }

    /// Ends every connection that lives, as SIGTERM asks.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        for (index, peer) in std::mem::take(&mut self.peers).iter().enumerate() {
            if let Some(peer) = peer {
                let handle = ConnectionHandle(index);
                self.end(handle, peer, End::Stopped, log)?;
                self.driver.flush(handle)?;
            }
        }
        self.service.stop(log);
        Ok(())
    }

    /// Accepts a connection, unless no way leads back to its client.
    fn accept(&mut self, incoming: Incoming, id: String) -> Result<(), Failure> {
        let SocketAddr::V4(from) = incoming.remote_address() else {
            return Ok(());
        };
        let Ok(payload_bytes) = transport::payload_bytes(from) else {
            // No way leads back to this client now; it will ask again.
            self.driver.ignore(incoming);
            return Ok(());
        };
        let marks = Marks::default();
        let states = self.trace.as_ref().map(|trace| trace.states(id));
        let mut transport = transport::server(
            self.cca.factory.reading(
                Pacing::Rate,
                &marks,
                states,
                self.description.options.idle_restart == Some(true),
            ),
            payload_bytes,
            self.send_buffer_bytes(),
            self.description.rate_bps.is_some(),
            self.description.idle_timeout_ns,
            &self.packets,
            self.trace.as_ref().map(Trace::stream),
        )
        .map_err(Failure::Work)?;
        if self.description.options.discovers_mtu {
            transport::discover(&mut transport, payload_bytes);
        }
        let mut config = self.config.clone();
        config.transport_config(Arc::new(transport));
        if self.cca.l4s() {
            config.crypto = Arc::new(Counting { inner: config.crypto, marks });
        }
        if let Some(handle) = self.driver.accept(incoming, Arc::new(config)) {
            if self.peers.len() <= handle.0 {
                self.peers.resize_with(handle.0 + 1, || None);
            }
            self.peers[handle.0] = Some(Peer::default());
        }
        Ok(())
    }

    /// Does what can be done for one connection.
    fn serve(&mut self, handle: ConnectionHandle, log: &mut Log) -> Result<(), Failure> {
        let Some(mut peer) = self.peers[handle.0].take() else {
            return Ok(());
        };
        let mut end = None;
        while let Some(event) = self.connection(handle)?.poll() {
            let over = match event {
                Event::Connected => {
                    peer.accepted_ns = Some(log.clock().now_ns());
                    None
                }
                Event::ConnectionLost { reason } => {
                    Some(peer.lost(&reason, self.description.idle_timeout_ns))
                }
                Event::Stream(event) => self.stream_event(handle, &mut peer, &event, log)?,
                _ => None,
            };
            end = end.or(over);
        }
        if end.is_none() {
            if let (Some(transfer), Some(quic)) =
                (&mut peer.transfer, self.driver.connection(handle))
            {
                end = transfer.send(&self.block, quic).err().map(End::Failed);
            }
        }
        match end {
            Some(end) => self.end(handle, &peer, end, log)?,
            None => self.peers[handle.0] = Some(peer),
        }
        Ok(())
    }

    fn connection(&mut self, handle: ConnectionHandle) -> Result<&mut Connection, Failure> {
        let missing = || Failure::Work("a connection disappeared before it was closed".into());
        self.driver.connection(handle).ok_or_else(missing)
    }

    fn stream_event(
        &mut self,
        handle: ConnectionHandle,
        peer: &mut Peer,
        event: &StreamEvent,
        log: &mut Log,
    ) -> Result<Option<End>, Failure> {
        match (event, &peer.transfer) {
            (StreamEvent::Opened { dir: Dir::Bi }, None) => {
                let opened = self.connection(handle)?.streams().accept(Dir::Bi);
                match opened {
                    Some(stream) => self.hear(handle, peer, stream, log),
                    None => Ok(None),
                }
            }
            (StreamEvent::Readable { id }, None) => self.hear(handle, peer, *id, log),
            // All data has been acknowledged.
            (StreamEvent::Finished { .. }, Some(_)) => Ok(Some(End::Complete)),
            _ => Ok(None),
        }
    }

    /// Reads as much of a request as has come, and starts to send once it is complete.
    fn hear(
        &mut self,
        handle: ConnectionHandle,
        peer: &mut Peer,
        stream: StreamId,
        log: &mut Log,
    ) -> Result<Option<End>, Failure> {
        let whole = read_request(self.connection(handle)?, stream, &mut peer.header);
        let request = match whole {
            Ok(None) => return Ok(None),
            Ok(Some(request)) => request,
            Err(message) => return Ok(Some(End::Failed(message))),
        };
        let first = match self.service.admit(request) {
            Ok(first) => first,
            Err(message) => return Ok(Some(End::Failed(message))),
        };
        let accepted_ns = peer.accepted_ns.unwrap_or_else(|| log.clock().now_ns());
        let quic = self.connection(handle)?;
        let initial_window_bytes = quic.congestion_state().initial_window();
        let mtu = quic.current_mtu();
        if first {
            let (connection, cca) = (request.connection, &*self.cca.name);
            let event = QuicEvent::Accepted { connection, cca, initial_window_bytes, mtu };
            log.at(accepted_ns, &event);
        }
        self.service.begin(request, log)?;
        peer.transfer = Some(Transfer::new(
            &self.description.workload,
            request,
            stream,
            self.send_buffer_bytes(),
        ));
        Ok(None)
    }

    /// Takes the last sample of a connection, says how it ended, and closes it.
    fn end(
        &mut self,
        handle: ConnectionHandle,
        peer: &Peer,
        end: End,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let number = peer.transfer.as_ref().map(|transfer| transfer.number);
        let short = self.service.short;
        let quic = self.connection(handle)?;
        if let Some(number) = number.filter(|_| !short) {
            log.now(&QuicEvent::Sample(Sample::of(number, quic)));
        }
        let (code, reason) = match &end {
            End::Complete => (DONE, ""),
            End::Stopped | End::GaveUp(_) | End::Silent => (STOPPED, "stopped"),
            End::Failed(message) => (REFUSED, message.as_str()),
        };
        // Without effect on one that is closed or lost already.
        quic.close(Instant::now(), code, reason.to_owned().into());
        match (end, number) {
            (End::Stopped, Some(connection)) if !short => {
                log.now(&events::Event::Stopped { connection, bytes: None, reason: None });
            }
            (End::GaveUp(reason), Some(connection)) if !short => {
                let reason = Some(&*reason);
                log.now(&events::Event::Stopped { connection, bytes: None, reason });
            }
            (End::Failed(message), number) => log.error(number, &message),
            _ => {}
        }
        match &peer.transfer {
            Some(transfer) => Ok(self.service.end(transfer.number, transfer.sent())?),
            None => Ok(()),
        }
    }
}

/// When the next data of a connection becomes due, if it waits for that.
fn due(peer: Option<&Peer>) -> Option<Instant> {
    peer?.transfer.as_ref()?.due()
}

impl Peer {
    /// How it ended, when QUIC has lost it.
    fn lost(&self, reason: &ConnectionError, idle_timeout_ns: Option<i64>) -> End {
        let Some(transfer) = &self.transfer else {
            return End::Silent;
        };
        match reason {
            ConnectionError::ApplicationClosed(close)
                if close.error_code == DONE && transfer.finished() =>
            {
                End::Complete
            }
            ConnectionError::ApplicationClosed(close)
                if close.error_code == DONE || close.error_code == STOPPED =>
            {
                End::Stopped
            }
            // A client that is gone, and one whose last word got lost: what it had, is its to say.
            ConnectionError::Reset => End::Stopped,
            ConnectionError::TimedOut if transfer.finished() => End::Stopped,
            ConnectionError::TimedOut => End::GaveUp(silent("client", idle_timeout_ns)),
            _ => End::Failed(format!("sending: {reason}")),
        }
    }
}
