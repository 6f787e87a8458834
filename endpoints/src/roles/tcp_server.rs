//! Role `tcp-server`: sends what each connection asks for, and samples `TCP_INFO`.

use crate::agenda::Agenda;
use crate::block::Block;
use crate::description::{self, TcpServer};
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::reactor::{Interest, Reactor, Wake};
use crate::request::Request;
use crate::service::{End, Service};
use crate::slots::Slots;
use crate::socket::{self, Listening};
use crate::source::Source;
use crate::tcp::transfer::{closed, Header, Step, Transfer};
use crate::workload::Workload;
use crate::{bbr_info, mptcp, sys, tcp_info};
use socket2::Socket;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

const LISTENER: u64 = 0;
const TICK: u64 = 1;
const ALARM: u64 = 2;
/// Token of the connection in slot 0; the others follow.
const FIRST_PEER: u64 = 3;

/// As many short connections may wait to be accepted as the kernel lets by default.
const REQUESTS_BACKLOG: u32 = 4_096;
/// Makes TCP pace without limiting it: bytes/s that no link reaches.
const UNLIMITED: u64 = 1 << 40;

/// The congestion control whose version 3 says what it does.
const BBR: &str = "bbr";

/// Serves until every connection has come and ended, or until SIGTERM.
///
/// # Errors
/// A bad description, or a listening socket that cannot be had as described.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: TcpServer = description::read(text).map_err(Failure::Description)?;
    sys::raise_file_limit();
    let mut reactor = Reactor::new()?;
    let mut server = Server::new(description, &reactor, log)?;
    let mut wakes = Vec::new();
    while !server.service.ended() {
        reactor.wait(&mut wakes)?;
        server.peers.turn();
        for wake in &wakes {
            match *wake {
                Wake::Stop => return server.stop(log),
                Wake::Ready(LISTENER) => server.accept(&reactor, log)?,
                Wake::Ready(TICK) => server.tick(log)?,
                Wake::Ready(ALARM) => server.alarm(&reactor, log)?,
                Wake::Ready(token) => {
                    server.serve((token - FIRST_PEER) as usize, &reactor, log)?;
                }
            }
        }
    }
    Ok(())
}

/// The state of the role.
struct Server {
    description: TcpServer,
    listener: Socket,
    block: Block,
    service: Service,
    /// Slots of connections that wait until their source allows more. What no longer does is
    /// skipped.
    waiting: Agenda<usize>,
    peers: Slots<Peer>,
}

/// An accepted connection.
struct Peer {
    socket: Socket,
    accepted_ns: i64,
    /// What has come of its request.
    header: Header,
    /// What it asked for.
    transfer: Option<Transfer>,
    /// What it waits for.
    step: Step,
    /// What is waited for at the socket.
    interest: Interest,
    /// Its congestion control says what it does.
    reports_model: bool,
}

impl Server {
    fn new(description: TcpServer, reactor: &Reactor, log: &mut Log) -> Result<Self, Failure> {
        let buffer_bytes = match &description.workload {
            Workload::Video(video) => Some(video.send_buffer_bytes),
            _ => description.buffer_bytes,
        };
        let listener = socket::listener(Listening {
            address: match description.subflows.as_slice() {
                [] => SocketAddrV4::new(description.address, description.port),
                // Other paths may lead to its other addresses.
                _ => SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, description.port),
            },
            cca: &description.cca,
            buffer_bytes,
            fills: matches!(description.workload, Workload::Video(_) | Workload::OnOff(_)),
            unsent_bytes: description.options.notsent_lowat_bytes,
            backlog: match &description.workload {
                Workload::Requests(_) => REQUESTS_BACKLOG,
                _ => description.connections,
            },
            fast_open: description.options.fast_open,
            mptcp: !description.subflows.is_empty(),
        })
        .map_err(Failure::Work)?;
        let block = Block::new()?;
        let TcpServer { ref workload, connections, sample_every_ns, .. } = description;
        let service = Service::new(workload, connections, sample_every_ns, log.clock())?;
        let waiting = Agenda::new(log.clock())?;
        reactor.add(&listener, Interest::Read, LISTENER)?;
        reactor.add(&service.ticks, Interest::Read, TICK)?;
        reactor.add(&waiting, Interest::Read, ALARM)?;
        log.now(&Event::Listening {
            cca: &socket::congestion_control(&listener)?,
            send_buffer_bytes: socket::number(&listener, libc::SO_SNDBUF)?,
            notsent_lowat_bytes: listener.tcp_notsent_lowat().ok(),
        });
        // Whoever started the server may wait for this line.
        log.flush();
        Ok(Server { description, listener, block, service, waiting, peers: Slots::new() })
    }

    /// Accepts every connection that waits.
    fn accept(&mut self, reactor: &Reactor, log: &Log) -> Result<(), Failure> {
        let refused = |error: io::Error| Failure::Work(format!("cannot accept: {error}"));
        while let Some(socket) = socket::accept(&self.listener).map_err(refused)? {
            let slot = self.peers.reserve();
            reactor.add(&socket, Interest::Read, FIRST_PEER + slot as u64)?;
            let peer = Peer {
                socket,
                accepted_ns: log.clock().now_ns(),
                header: Header::new(),
                transfer: None,
                step: Step::For(Interest::Read),
                interest: Interest::Read,
                reports_model: false,
            };
            self.peers.put(slot, peer);
        }
        Ok(())
    }

    /// Does what can be done for one connection.
    fn serve(&mut self, slot: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        // It may have ended by an earlier event of the same wake-up.
        let Some(mut peer) = self.peers.take(slot) else {
            return Ok(());
        };
        let step = match (&mut peer.transfer, &peer.step) {
            (None, _) => match peer.header.hear(&peer.socket) {
                Ok(None) => Step::For(Interest::Read),
                Ok(Some(request)) => self.begin(&mut peer, request, log)?,
                Err(end) => Step::Over(end),
            },
            (Some(_), Step::Until(due_ns)) => {
                closed(&peer.socket, false).map_or(Step::Until(*due_ns), Step::Over)
            }
            (Some(_), Step::Close) => closed(&peer.socket, true).map_or(Step::Close, Step::Over),
            (Some(transfer), _) => transfer.send(&self.block, &peer.socket, log.clock()),
        };
        self.go_on(slot, peer, step, reactor, log)
    }

    /// Sends for every connection whose time has come.
    fn alarm(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        if !self.waiting.fired()? {
            return Ok(());
        }
        let now_ns = log.clock().now_ns();
        while let Some((due_ns, slot)) = self.waiting.due(now_ns) {
            let Some(mut peer) = self.peers.take(slot) else {
                continue;
            };
            match (&mut peer.transfer, &peer.step) {
                (Some(transfer), Step::Until(until_ns)) if *until_ns == due_ns => {
                    let step = transfer.send(&self.block, &peer.socket, log.clock());
                    self.go_on(slot, peer, step, reactor, log)?;
                }
                _ => self.peers.put(slot, peer),
            }
        }
        Ok(self.waiting.arm()?)
    }

    /// Waits for what a connection has to wait for now, or ends it.
    fn go_on(
        &mut self,
        slot: usize,
        mut peer: Peer,
        step: Step,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let interest = match step {
            Step::Over(end) => {
                self.peers.give_up(slot);
                return self.end(&peer, end, log);
            }
            Step::For(interest) => interest,
            Step::Until(_) | Step::Close => Interest::Read,
        };
        if interest != peer.interest {
            reactor.change(&peer.socket, interest, FIRST_PEER + slot as u64)?;
            peer.interest = interest;
        }
        if let Step::Until(then_ns) = step {
            if !matches!(peer.step, Step::Until(now_ns) if now_ns == then_ns) {
                self.waiting.put(then_ns, slot);
                self.waiting.arm()?;
            }
        }
        peer.step = step;
        self.peers.put(slot, peer);
        Ok(())
    }

    /// Starts to send what was asked for.
    fn begin(&mut self, peer: &mut Peer, request: Request, log: &mut Log) -> Result<Step, Failure> {
        let first = match self.service.admit(request) {
            Ok(first) => first,
            Err(message) => return Ok(Step::Over(End::Failed(message))),
        };
        let Request { connection, bytes } = request;
        let (agreed, state, rto_us) = tcp_info::agreed(&peer.socket)?;
        self.prepare(&peer.socket, state.mss, agreed.header_bytes())?;
        peer.reports_model =
            self.description.cca == BBR && bbr_info::read(&peer.socket, state.mss)?.is_some();
        if first {
            let limit = socket::pacing_limit(&peer.socket)?;
            log.at(
                peer.accepted_ns,
                &Event::Accepted {
                    connection,
                    cca: &socket::congestion_control(&peer.socket)?,
                    initial_window_packets: state.cwnd,
                    agreed,
                    rtt_us: state.rtt_us,
                    rto_us,
                    max_pacing_bps: limit.map(|bytes_per_s| bytes_per_s.saturating_mul(8)),
                },
            );
        }
        self.service.begin(request, log)?;
        let headers = agreed.header_bytes();
        let source = Source::new(&self.description.workload, connection, bytes, headers);
        let mut transfer = Transfer::new(request, source, log.clock().now_ns());
        let step = transfer.send(&self.block, &peer.socket, log.clock());
        peer.transfer = Some(transfer);
        Ok(step)
    }

    /// Sets what the flow is to have of pacing, which the kernel counts in payload, without
    /// headers.
    fn prepare(&self, socket: &Socket, mss: u32, header_bytes: u32) -> io::Result<()> {
        let TcpServer { rate_bps, ref options, ref workload, .. } = self.description;
        if let Workload::OnOff(_) = workload {
            // Each packet of the source is a packet of the network.
            socket.set_tcp_nodelay(true)?;
        }
        if !self.description.subflows.is_empty() {
            return Ok(()); // its subflows pace as their congestion control does
        }
        match rate_bps {
            Some(bps) => socket::limit_rate(socket, bps, mss, header_bytes),
            None if options.pacing => socket::limit_pacing(socket, UNLIMITED),
            None => Ok(()),
        }
    }

    /// Takes the last sample of a connection and says how it ended, if not as it should.
    fn end(&mut self, peer: &Peer, end: End, log: &mut Log) -> Result<(), Failure> {
        let Some(transfer) = &peer.transfer else {
            if let End::Failed(message) = end {
                log.error(None, &message);
            }
            return Ok(());
        };
        let connection = transfer.request.connection;
        let mut acknowledged = None;
        if !self.service.short {
            // An acknowledged FIN counts as a byte.
            acknowledged = Some(self.sample(peer, connection, log)?.min(transfer.sent));
        }
        let reason = match end {
            End::Failed(message) => {
                log.error(Some(connection), &message);
                return Ok(self.service.end(connection, transfer.sent)?);
            }
            End::Complete | End::Silent => {
                return Ok(self.service.end(connection, transfer.sent)?)
            }
            End::Stopped => None,
            End::GaveUp(reason) => Some(reason),
        };
        if !self.service.short {
            let reason = reason.as_deref();
            log.now(&Event::Stopped { connection, bytes: acknowledged, reason });
        }
        Ok(self.service.end(connection, transfer.sent)?)
    }

    /// Samples every connection that lives.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.service.ticks.fired()? {
            return Ok(());
        }
        for peer in self.peers.iter() {
            if let Some(transfer) = &peer.transfer {
                self.sample(peer, transfer.request.connection, log)?;
            }
        }
        Ok(())
    }

    /// Samples a connection, or each of its subflows; returns how many bytes have been
    /// acknowledged.
    fn sample(&self, peer: &Peer, connection: u32, log: &mut Log) -> io::Result<u64> {
        let subflows = &self.description.subflows;
        if subflows.is_empty() {
            let mut sample = tcp_info::read(&peer.socket)?;
            if peer.reports_model {
                sample.model = bbr_info::read(&peer.socket, sample.mss)?;
            }
            let acknowledged = sample.bytes_acked;
            log.now(&Event::Sample { connection, sample });
            return Ok(acknowledged);
        }
        for (ends, sample) in mptcp::subflows(&peer.socket)? {
            // The subflows of path p of connection c have the number c + p * connections.
            if let Some(path) = subflows.iter().position(|path| *path == ends) {
                let connection = connection + path as u32 * self.description.connections;
                log.now(&Event::Sample { connection, sample });
            }
        }
        mptcp::read(&peer.socket).map(|whole| whole.bytes_acknowledged)
    }

    /// Ends every connection that lives, as SIGTERM asks.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        let peers: Vec<Peer> = self.peers.drain().collect();
        for peer in &peers {
            self.end(peer, End::Stopped, log)?;
        }
        self.service.stop(log);
        Ok(())
    }
}
