//! Role `tcp-server`: sends what each connection asks for, and samples `TCP_INFO`.

use crate::block::Block;
use crate::clock::Timer;
use crate::description::{self, TcpServer};
use crate::events::{Event, Log};
use crate::reactor::{Interest, Reactor, Wake};
use crate::request::{Request, REQUEST_BYTES};
use crate::roles::Failure;
use crate::{socket, sys, tcp_info};
use std::io::{self, ErrorKind::WouldBlock};
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;

const LISTENER: u64 = 0;
const TICK: u64 = 1;
/// Most bytes to hand over before timers, signals and other connections get their turn again; only
/// a client on the same machine takes so much without a pause.
const MOST_BYTES: u64 = 4 << 20;
/// Token of the connection that was accepted first; the others follow.
const FIRST_PEER: u64 = 2;

/// Serves until every connection has come and ended, or until SIGTERM.
///
/// # Errors
/// A bad description, or a listening socket that cannot be had as described.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: TcpServer = description::read(text).map_err(Failure::Description)?;
    let mut reactor = Reactor::new()?;
    let mut server = Server::new(description, &reactor, log)?;
    let mut wakes = Vec::new();
    while server.ended < server.description.connections {
        reactor.wait(&mut wakes)?;
        for wake in &wakes {
            match *wake {
                Wake::Stop => return server.stop(log),
                Wake::Ready(LISTENER) => server.accept(&reactor, log)?,
                Wake::Ready(TICK) => server.tick(log)?,
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
    listener: OwnedFd,
    block: Block,
    ticks: Timer,
    /// Every connection that was accepted, in order; None once it has ended.
    peers: Vec<Option<Peer>>,
    /// Connections whose request has been read, by their number.
    asked: Vec<bool>,
    /// Of them, those that live and those that have ended.
    live: u32,
    ended: u32,
}

/// An accepted connection.
struct Peer {
    socket: OwnedFd,
    accepted_ns: i64,
    state: State,
}

/// How far a connection is.
enum State {
    /// The request has not come completely.
    Asking { header: [u8; REQUEST_BYTES], length: usize },
    /// Data goes out.
    Sending(Transfer),
    /// All data is in the kernel's hands; the client has not closed yet.
    Closing(Transfer),
}

/// What a connection asked for, and how much of it the kernel has taken.
#[derive(Clone, Copy)]
struct Transfer {
    request: Request,
    sent: u64,
}

/// Where serving a connection has led to.
enum Step {
    /// It waits, for what it waited for before.
    Waits,
    /// It waits for something else now.
    WaitsFor(Interest),
    /// It is over.
    Over(End),
}

/// How a connection ended.
enum End {
    /// The client has closed it after all its data.
    Complete,
    /// The client went away, or SIGTERM came.
    Stopped,
    /// Something failed.
    Failed(String),
    /// It never said what it wants. A client that was stopped that early tells so itself.
    Silent,
}

impl Server {
    fn new(description: TcpServer, reactor: &Reactor, log: &mut Log) -> Result<Self, Failure> {
        let listener = socket::listener(
            SocketAddrV4::new(description.address, description.port),
            &description.cca,
            description.buffer_bytes,
            description.connections,
        )
        .map_err(Failure::Work)?;
        let block = Block::new()?;
        let ticks = Timer::new(log.clock())?;
        reactor.add(&listener, Interest::Read, LISTENER)?;
        reactor.add(&ticks, Interest::Read, TICK)?;
        log.now(&Event::Listening {
            cca: &socket::congestion_control(&listener)?,
            send_buffer_bytes: socket::number(&listener, libc::SO_SNDBUF)?,
        });
        // Whoever started the server may wait for this line.
        log.flush();
        Ok(Server {
            asked: vec![false; description.connections as usize],
            description,
            listener,
            block,
            ticks,
            peers: Vec::new(),
            live: 0,
            ended: 0,
        })
    }

    /// Accepts every connection that waits.
    fn accept(&mut self, reactor: &Reactor, log: &Log) -> Result<(), Failure> {
        loop {
            let socket = match sys::accept(&self.listener) {
                Ok(socket) => socket,
                Err(error) if error.kind() == WouldBlock => return Ok(()),
                Err(error) if is_of_the_connection(&error) => continue,
                Err(error) => return Err(Failure::Work(format!("cannot accept: {error}"))),
            };
            let token = FIRST_PEER + self.peers.len() as u64;
            reactor.add(&socket, Interest::Read, token)?;
            self.peers.push(Some(Peer {
                socket,
                accepted_ns: log.clock().now_ns(),
                state: State::Asking { header: [0; REQUEST_BYTES], length: 0 },
            }));
        }
    }

    /// Does what can be done for one connection.
    fn serve(&mut self, slot: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        // It may have ended by an earlier event of the same wake-up.
        let Some(mut peer) = self.peers[slot].take() else {
            return Ok(());
        };
        let step = match &mut peer.state {
            State::Asking { header, length } => match hear(&peer.socket, header, length) {
                Ok(None) => Step::Waits,
                Ok(Some(request)) => self.begin(&mut peer, request, log)?,
                Err(end) => Step::Over(end),
            },
            State::Sending(transfer) => match send(&self.block, &peer.socket, transfer) {
                Step::WaitsFor(Interest::Write) => Step::Waits,
                Step::WaitsFor(Interest::Read) => {
                    peer.state = State::Closing(*transfer);
                    Step::WaitsFor(Interest::Read)
                }
                other => other,
            },
            State::Closing(_) => await_close(&peer.socket),
        };
        match step {
            Step::Over(end) => return self.end(&peer, end, log),
            Step::WaitsFor(interest) => {
                reactor.change(&peer.socket, interest, FIRST_PEER + slot as u64)?;
            }
            Step::Waits => {}
        }
        self.peers[slot] = Some(peer);
        Ok(())
    }

    /// Starts to send what was asked for.
    fn begin(&mut self, peer: &mut Peer, request: Request, log: &mut Log) -> Result<Step, Failure> {
        if let Err(message) = self.admit(request) {
            return Ok(Step::Over(End::Failed(message)));
        }
        let Request { connection, bytes } = request;
        log.at(
            peer.accepted_ns,
            &Event::Accepted { connection, cca: &socket::congestion_control(&peer.socket)? },
        );
        log.now(&Event::Request { connection, bytes });
        if self.live == 0 {
            self.ticks.every(self.description.sample_every_ns)?;
        }
        self.live += 1;
        let mut transfer = Transfer { request, sent: 0 };
        let step = send(&self.block, &peer.socket, &mut transfer);
        peer.state = match step {
            Step::WaitsFor(Interest::Read) => State::Closing(transfer),
            _ => State::Sending(transfer),
        };
        Ok(step)
    }

    /// Checks that a request is one of those that were announced.
    fn admit(&mut self, request: Request) -> Result<(), String> {
        let Request { connection, .. } = request;
        let announced = self.description.connections;
        match self.asked.get_mut(connection as usize) {
            None => Err(format!(
                "a request has number {connection}, but {announced} connections were announced"
            )),
            Some(true) => Err(format!("two requests have number {connection}")),
            Some(asked) => {
                *asked = true;
                Ok(())
            }
        }
    }

    /// Takes the last sample of a connection and says how it ended, if not as it should.
    fn end(&mut self, peer: &Peer, end: End, log: &mut Log) -> Result<(), Failure> {
        let (State::Sending(transfer) | State::Closing(transfer)) = peer.state else {
            if let End::Failed(message) = end {
                log.error(None, &message);
            }
            return Ok(());
        };
        let connection = transfer.request.connection;
        let sample = tcp_info::read(&peer.socket)?;
        // An acknowledged FIN counts as a byte.
        let bytes = sample.bytes_acked.min(transfer.sent);
        log.now(&Event::Sample { connection, sample });
        match end {
            End::Complete | End::Silent => {}
            End::Stopped => log.now(&Event::Stopped { connection, bytes }),
            End::Failed(message) => log.error(Some(connection), &message),
        }
        self.live -= 1;
        self.ended += 1;
        if self.live == 0 {
            self.ticks.disarm()?;
        }
        Ok(())
    }

    /// Samples every connection that lives.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.ticks.fired()? {
            return Ok(());
        }
        for peer in self.peers.iter().flatten() {
            if let State::Sending(transfer) | State::Closing(transfer) = peer.state {
                log.now(&Event::Sample {
                    connection: transfer.request.connection,
                    sample: tcp_info::read(&peer.socket)?,
                });
            }
        }
        Ok(())
    }

    /// Ends every connection that lives, as SIGTERM asks.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        for peer in std::mem::take(&mut self.peers).iter().flatten() {
            self.end(peer, End::Stopped, log)?;
        }
        Ok(())
    }
}

/// Reads as much of a request as has come; None while it is not complete.
fn hear(
    socket: &OwnedFd,
    header: &mut [u8; REQUEST_BYTES],
    length: &mut usize,
) -> Result<Option<Request>, End> {
    match sys::receive(socket, &mut header[*length..]) {
        Err(error) if error.kind() == WouldBlock => return Ok(None),
        Ok(0) | Err(_) => return Err(End::Silent),
        Ok(read) => *length += read,
    }
    if *length < REQUEST_BYTES {
        return Ok(None);
    }
    Request::decode(header).map(Some).map_err(End::Failed)
}

/// Hands data to the kernel until the buffer is full or it is the others' turn (then waits to
/// write) or all of it has been sent (then waits to read that the client has closed).
fn send(block: &Block, socket: &OwnedFd, transfer: &mut Transfer) -> Step {
    let wanted = transfer.request.bytes.unwrap_or(u64::MAX);
    let pause = transfer.sent.saturating_add(MOST_BYTES);
    while transfer.sent < wanted {
        if transfer.sent >= pause {
            return Step::WaitsFor(Interest::Write);
        }
        match block.send(socket, transfer.sent, wanted - transfer.sent) {
            Ok(sent) => transfer.sent += sent,
            Err(error) if error.kind() == WouldBlock => return Step::WaitsFor(Interest::Write),
            Err(error) => return Step::Over(broken(&error)),
        }
    }
    match sys::shutdown_write(socket) {
        Ok(()) => Step::WaitsFor(Interest::Read),
        Err(error) => Step::Over(broken(&error)),
    }
}

/// Looks whether the client has closed the connection, all data of which has been sent.
fn await_close(socket: &OwnedFd) -> Step {
    match sys::discard(socket, 1) {
        Ok(0) => Step::Over(End::Complete),
        Ok(_) => Step::Over(End::Failed("the client sent more than its request".into())),
        Err(error) if error.kind() == WouldBlock => Step::Waits,
        Err(error) => Step::Over(broken(&error)),
    }
}

/// How a connection ended that the kernel gave up. A client that resets it wants no more: whether
/// that was meant is the client's to say.
fn broken(error: &io::Error) -> End {
    match error.raw_os_error() {
        // ENOTCONN: the reset came between the last byte and the shutdown.
        Some(libc::ECONNRESET | libc::EPIPE | libc::ENOTCONN) => End::Stopped,
        _ => End::Failed(format!("sending: {error}")),
    }
}

/// Whether `accept` reports an error of the connection that waited, which is gone, instead of one
/// of the listening socket (accept(2), "Error handling").
fn is_of_the_connection(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNABORTED
                | libc::EINTR
                | libc::ENETDOWN
                | libc::EPROTO
                | libc::ENOPROTOOPT
                | libc::EHOSTDOWN
                | libc::ENONET
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
        )
    )
}
