//! Role `quic-server`: sends what each QUIC connection asks for, and samples its state.

use crate::block::Memory;
use crate::clock::Timer;
use crate::description;
use crate::events::{Event, Log};
use crate::quic::alarm::Alarm;
use crate::quic::datagrams::Datagrams;
use crate::quic::description::QuicServer;
use crate::quic::driver::Driver;
use crate::quic::report::{Accepted, Listening, Sample, Stopped, Traced};
use crate::quic::tls;
use crate::quic::trace::Trace;
use crate::quic::transfer::{read_request, Transfer};
use crate::quic::transport::{self, LARGEST_PAYLOAD};
use crate::reactor::{Interest, Reactor, Wake};
use crate::request::Request;
use crate::roles::quic_peer::{End, Peer, State};
use crate::roles::request_streams::Served;
use crate::roles::Failure;
use crate::workload::Workload;
use quinn_proto::{
    Connection, ConnectionHandle, Dir, Event as QuicEvent, ServerConfig, StreamEvent, StreamId,
    ValidationTokenConfig,
};
use std::net::SocketAddrV4;
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
        let message = format!("{dropped} datagrams found no room in the socket's receive buffer");
        log.error(None, &message);
    }
    if let Some(trace) = server.trace.take() {
        drop(server);
        let (file, bytes) = trace.close().map_err(Failure::Work)?;
        log.now(&Traced { file: &file, bytes });
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
    driver: Driver,
    config: ServerConfig,
    trace: Option<Trace>,
    block: Memory,
    alarm: Alarm,
    ticks: Timer,
    /// Every connection that was accepted and has not ended, by handle.
    peers: Vec<Option<Peer>>,
    /// What each connection that was announced has come to. With `requests` it is a stream.
    served: Vec<Served>,
    /// Of the connections whose request has been read, those that live and those that have ended.
    live: u32,
    ended: u32,
    /// Whether the socket is also waited for to have room.
    waits_for_room: bool,
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
        let now_ns = crate::sys::realtime_ns();
        let epoch_ns = now_ns - log.clock().now_ns();
        // 800 bytes of secrets for each of many connections that nobody looks into one by one.
        let short = matches!(description.workload, Workload::Requests(_));
        let expires_ns = description.certificate_expires_ns.map(|ns| epoch_ns.saturating_add(ns));
        let crypto = tls::server(&description.flow, address, now_ns, expires_ns, !short)
            .map_err(Failure::Work)?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        let mut tokens = ValidationTokenConfig::default();
        // No client comes a second time with a token of the first.
        tokens.sent(0);
        config.migration(false).validation_token_config(tokens);
        let server = Server {
            driver: Driver::new(datagrams, Some(Arc::new(config.clone())), description.options.ecn)
                .limited(description.rate_bps),
            config,
            trace,
            block: Memory::new(),
            alarm: Alarm::new()?,
            ticks: Timer::new(log.clock())?,
            peers: Vec::new(),
            served: vec![Served::default(); description.connections as usize],
            description,
            live: 0,
            ended: 0,
            waits_for_room: false,
        };
        reactor.add(&server.driver, Interest::Read, SOCKET)?;
        reactor.add(&server.alarm, Interest::Read, ALARM)?;
        reactor.add(&server.ticks, Interest::Read, TICK)?;
        let cca = &server.description.cca;
        let probe = Arc::clone(&cca.factory).build(Instant::now(), LARGEST_PAYLOAD);
        log.now(&Listening {
            cca: &cca.name,
            parameters: &cca.parameters,
            ecn: server.description.options.ecn,
            initial_window_bytes: probe.initial_window(),
            send_buffer_bytes: server.send_buffer_bytes(),
            rate_bps: server.description.rate_bps,
        });
        // Whoever started the server may wait for this line.
        log.flush();
        Ok(server)
    }

    fn send_buffer_bytes(&self) -> u32 {
        match &self.description.workload {
            Workload::Video(video) => video.send_buffer_bytes,
            _ => self.description.buffer_bytes,
        }
    }

    /// Works until every connection has ended, or until SIGTERM.
    fn work(&mut self, reactor: &mut Reactor, log: &mut Log) -> Result<(), Failure> {
        let mut wakes = Vec::new();
        let mut incoming = Vec::new();
        // Nobody knows how many requests a stream will make.
        while self.short() || self.ended < self.description.connections {
            reactor.wait(&mut wakes)?;
            for wake in &wakes {
                match *wake {
                    Wake::Stop => return self.stop(log),
                    Wake::Ready(SOCKET) => {
                        self.driver.retry()?;
                        self.driver.receive(&mut incoming)?;
                        for one in incoming.drain(..) {
                            self.accept(one)?;
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

    /// Sets what the next wake-up is for: deadlines of QUIC, of what is sent by the clock, and room.
    fn set_waits(&mut self, reactor: &Reactor) -> Result<(), Failure> {
        if self.driver.blocked() != self.waits_for_room {
            self.waits_for_room = self.driver.blocked();
            let interest = if self.waits_for_room { Interest::Both } else { Interest::Read };
            reactor.change(&self.driver, interest, SOCKET)?;
        }
        let due = self.peers.iter().flatten().filter_map(Peer::due).min();
        self.alarm.by(self.driver.deadline().into_iter().chain(due).min())?;
        Ok(())
    }

    /// Lets every connection go on whose next data has become due.
    fn wake_sources(&mut self) {
        let now = Instant::now();
        for (index, peer) in self.peers.iter().enumerate() {
            if peer.as_ref().and_then(Peer::due).is_some_and(|due| due <= now) {
                self.driver.touch(ConnectionHandle(index));
            }
        }
    }

    fn accept(&mut self, incoming: quinn_proto::Incoming) -> Result<(), Failure> {
        let std::net::SocketAddr::V4(from) = incoming.remote_address() else {
            return Ok(());
        };
        let Ok(payload_bytes) = transport::payload_bytes(from) else {
            // No way leads back to this client now; it will ask again.
            self.driver.ignore(incoming);
            return Ok(());
        };
        let transport = transport::server(
            &self.description.cca.factory,
            payload_bytes,
            self.send_buffer_bytes(),
            self.description.rate_bps.is_some(),
            self.description.idle_timeout_ns,
            self.trace.as_ref().map(Trace::stream),
        )
        .map_err(Failure::Work)?;
        let mut config = self.config.clone();
        config.transport_config(Arc::new(transport));
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
                QuicEvent::Connected => {
                    peer.accepted_ns = Some(log.clock().now_ns());
                    None
                }
                QuicEvent::ConnectionLost { reason } => Some(peer.lost(&reason)),
                QuicEvent::Stream(event) => self.stream_event(handle, &mut peer, &event, log)?,
                _ => None,
            };
            end = end.or(over);
        }
        if end.is_none() {
            end = self.driver.connection(handle).and_then(|quic| peer.send(&self.block, quic));
        }
        match end {
            Some(end) => self.end(handle, &peer, end, log)?,
            None => self.peers[handle.0] = Some(peer),
        }
        Ok(())
    }

    fn connection(&mut self, handle: ConnectionHandle) -> Result<&mut Connection, Failure> {
        let missing = || Failure::Work("a connection is gone that was not ended".into());
        self.driver.connection(handle).ok_or_else(missing)
    }

    fn stream_event(
        &mut self,
        handle: ConnectionHandle,
        peer: &mut Peer,
        event: &StreamEvent,
        log: &mut Log,
    ) -> Result<Option<End>, Failure> {
        match (event, &mut peer.state) {
            (StreamEvent::Opened { dir: Dir::Bi }, State::Asking { .. }) => {
                let opened = self.connection(handle)?.streams().accept(Dir::Bi);
                match opened {
                    Some(stream) => self.hear(handle, peer, stream, log),
                    None => Ok(None),
                }
            }
            (StreamEvent::Readable { id }, State::Asking { .. }) => {
                self.hear(handle, peer, *id, log)
            }
            // All data has been acknowledged.
            (StreamEvent::Finished { .. }, State::Sending(_)) => Ok(Some(End::Complete)),
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
        let State::Asking { header } = &mut peer.state else {
            return Ok(None);
        };
        let whole = read_request(self.connection(handle)?, stream, header);
        let request = match whole {
            Ok(None) => return Ok(None),
            Ok(Some(request)) => request,
            Err(message) => return Ok(Some(End::Failed(message))),
        };
        if let Err(message) = self.admit(request) {
            return Ok(Some(End::Failed(message)));
        }
        let Request { connection: number, bytes } = request;
        let accepted_ns = peer.accepted_ns.unwrap_or_else(|| log.clock().now_ns());
        let connection = self.connection(handle)?;
        let initial_window_bytes = connection.congestion_state().initial_window();
        let mtu = connection.current_mtu();
        let cca = &self.description.cca.name;
        if self.served[number as usize].requests == 1 {
            log.at(accepted_ns, &Accepted { connection: number, cca, initial_window_bytes, mtu });
        }
        if !self.short() {
            log.now(&Event::Request { connection: number, bytes });
            if self.live == 0 {
                self.ticks.every(self.description.sample_every_ns)?;
            }
        }
        self.live += 1;
        let transfer = Transfer::new(&self.description.workload, request, stream);
        peer.state = State::Sending(Box::new(transfer));
        Ok(None)
    }

    /// Checks that a request is one of those that were announced.
    fn admit(&mut self, request: Request) -> Result<(), String> {
        let (number, announced) = (request.connection, self.served.len());
        let short = self.short();
        match self.served.get_mut(number as usize) {
            None => Err(format!(
                "a request has number {number}, but {announced} connections were announced"
            )),
            Some(served) if served.requests > 0 && !short => {
                Err(format!("two requests have number {number}"))
            }
            Some(served) => {
                served.requests += 1;
                Ok(())
            }
        }
    }

    /// Whether connections are short ones, which are counted instead of reported one by one.
    fn short(&self) -> bool {
        matches!(self.description.workload, Workload::Requests(_))
    }

    /// Takes the last sample of a connection, says how it ended, and closes it.
    fn end(
        &mut self,
        handle: ConnectionHandle,
        peer: &Peer,
        end: End,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let (number, short) = (peer.number(), self.short());
        let connection = self.connection(handle)?;
        if let Some(number) = number.filter(|_| !short) {
            log.now(&Sample::of(number, connection));
        }
        end.close(connection);
        match (end, number) {
            (End::Stopped, Some(connection)) if !short => log.now(&Stopped { connection }),
            (End::Failed(message), number) => log.error(number, &message),
            _ => {}
        }
        if let Some(number) = number {
            self.served[number as usize].bytes += peer.sent();
            self.live -= 1;
            self.ended += 1;
            if self.live == 0 {
                self.ticks.disarm()?;
            }
        }
        Ok(())
    }

    /// Samples every connection that lives.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.ticks.fired()? {
            return Ok(());
        }
        for (index, peer) in self.peers.iter().enumerate() {
            let Some(number) = peer.as_ref().and_then(Peer::number) else {
                continue;
            };
            if let Some(connection) = self.driver.connection(ConnectionHandle(index)) {
                log.now(&Sample::of(number, connection));
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
        if self.short() {
            for (connection, served) in (0..).zip(&self.served) {
                let Served { requests, bytes } = *served;
                log.now(&Event::Served { connection, requests, bytes });
            }
        }
        Ok(())
    }
}
