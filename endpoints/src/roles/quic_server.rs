//! Role `quic-server`: sends what each QUIC connection requests, and samples its state.

mod serving;

use crate::block::Memory;
use crate::clock::Timer;
use crate::description;
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::quic::alarm::Alarm;
use crate::quic::datagrams::Datagrams;
use crate::quic::description::{Cca, QuicServer};
use crate::quic::driver::Driver;
use crate::quic::packets::PacketLog;
use crate::quic::report::{ControllerInForce, QuicEvent, Sample};
use crate::quic::tls;
use crate::quic::trace::Trace;
use crate::reactor::{Interest, Reactor, Wake};
use crate::roles::quic_peer::{End, Peer};
use crate::roles::request_streams::Served;
use crate::workload::Workload;
use quinn_proto::{ConnectionHandle, ServerConfig, ValidationTokenConfig};
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
        let packets = PacketLog::create(&description.flow, log.clock(), datagrams.accepted())
            .map_err(Failure::Work)?;
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
            packets,
            trace,
            block: Memory::new(),
            alarm: Alarm::new()?,
            ticks: Timer::new(log.clock())?,
            peers: Vec::new(),
            served: vec![Served::default(); description.connections as usize],
            cca: description.cca().map_err(Failure::Description)?,
            description,
            live: 0,
            ended: 0,
            waits_for_room: false,
        };
        reactor.add(&server.driver, Interest::Read, SOCKET)?;
        reactor.add(&server.alarm, Interest::Read, ALARM)?;
        reactor.add(&server.ticks, Interest::Read, TICK)?;
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

    /// Whether connections are short ones, which are counted instead of reported one by one.
    fn short(&self) -> bool {
        matches!(self.description.workload, Workload::Requests(_))
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
                log.now(&QuicEvent::Sample(Sample::of(number, connection)));
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
