//! Role `tcp-server`: sends what each connection asks for, and samples `TCP_INFO`.

use crate::block::Block;
use crate::clock::Timer;
use crate::description::{self, TcpServer};
use crate::events::{Event, Log};
use crate::reactor::{Interest, Reactor, Wake};
use crate::request::{Request, REQUEST_BYTES};
use crate::roles::Failure;
use crate::{socket, sys, tcp_info};
use std::io;
use std::net::SocketAddrV4;
use std::os::unix::io::OwnedFd;

const LISTENER: u64 = 0;
const TICK: u64 = 1;
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
                Wake::Stop => {
                    server.stop(log);
                    return Ok(());
                }
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
    Asking {
        header: [u8; REQUEST_BYTES],
        length: usize,
    },
    /// Data goes out.
    Sending { request: Request, sent: u64 },
    /// All data is in the kernel's hands; the client has not closed yet.
    Closing { request: Request, sent: u64 },
}

/// What became of a connection when it was served.
enum Progress {
    /// It waits, for what it waited for before.
    Waits,
    /// It waits for something else now.
    WaitsFor(Interest),
    /// The client has closed it, with all its data.
    Complete,
    /// The client went away.
    Gone,
}

impl Server {
    fn new(description: TcpServer, reactor: &Reactor, log: &mut Log) -> Result<Self, Failure> {
        let address = SocketAddrV4::new(description.address, description.port);
        let listener = socket::listener(
            address,
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
        let asked = vec![false; description.connections as usize];
        Ok(Server {
            description,
            listener,
            block,
            ticks,
            peers: Vec::new(),
            asked,
            live: 0,
            ended: 0,
        })
    }

    /// Accepts every connection that waits.
    fn accept(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        loop {
            let socket = match sys::accept(&self.listener) {
                Ok(socket) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // accept(2): errors of the connection that waited, which is gone.
                Err(error) if is_of_the_network(&error) => continue,
                Err(error) => return Err(Failure::Work(format!("cannot accept: {}", error))),
            };
            let token = FIRST_PEER + self.peers.len() as u64;
            reactor.add(&socket, Interest::Read, token)?;
            self.peers.push(Some(Peer {
                socket,
                accepted_ns: log.clock().now_ns(),
                state: State::Asking {
                    header: [0; REQUEST_BYTES],
                    length: 0,
                },
            }));
        }
    }

    /// Does what can be done for one connection.
    fn serve(&mut self, slot: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        // It may have ended by an earlier event of the same wake-up.
        let mut peer = match self.peers[slot].take() {
            Some(peer) => peer,
            None => return Ok(()),
        };
        if let State::Asking { header, length } = &mut peer.state {
            let read = match sys::receive(&peer.socket, &mut header[*length..]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
                // A client that was stopped before it asked. It tells so itself.
                Ok(0) | Err(_) => return Ok(()),
                Ok(read) => Some(read),
            };
            *length += read.unwrap_or(0);
            if *length < REQUEST_BYTES {
                self.peers[slot] = Some(peer);
                return Ok(());
            }
            match Request::decode(header).and_then(|request| self.admit(request)) {
                Ok(request) => self.begin(&mut peer, request, log)?,
                Err(message) => {
                    log.error(None, &message);
                    return Ok(());
                }
            }
        }
        match self.advance(&mut peer) {
            Ok(Progress::Waits) => self.peers[slot] = Some(peer),
            Ok(Progress::WaitsFor(interest)) => {
                reactor.change(&peer.socket, interest, FIRST_PEER + slot as u64)?;
                self.peers[slot] = Some(peer);
            }
            Ok(Progress::Complete) => self.end(&peer, None, log)?,
            Ok(Progress::Gone) => self.end(&peer, Some(Ok(())), log)?,
            Err(error) => self.end(&peer, Some(Err(error)), log)?,
        }
        Ok(())
    }

    /// Checks that a request is one of those that were announced.
    fn admit(&mut self, request: Request) -> Result<Request, String> {
        match self.asked.get_mut(request.connection as usize) {
            None => Err(format!(
                "a request has number {}, but {} connections were announced",
                request.connection, self.description.connections
            )),
            Some(true) => Err(format!("two requests have number {}", request.connection)),
            Some(asked) => {
                *asked = true;
                Ok(request)
            }
        }
    }

    /// Starts to send what was asked for.
    fn begin(&mut self, peer: &mut Peer, request: Request, log: &mut Log) -> Result<(), Failure> {
        let Request { connection, bytes } = request;
        let cca = socket::congestion_control(&peer.socket)?;
        log.at(
            peer.accepted_ns,
            &Event::Accepted {
                connection,
                cca: &cca,
            },
        );
        log.now(&Event::Request { connection, bytes });
        peer.state = State::Sending { request, sent: 0 };
        if self.live == 0 {
            self.ticks.every(self.description.sample_every_ns)?;
        }
        self.live += 1;
        Ok(())
    }

    /// Sends until the buffer is full or all is sent; then waits for the client to close.
    fn advance(&self, peer: &mut Peer) -> io::Result<Progress> {
        let outcome = match &mut peer.state {
            State::Asking { .. } => return Ok(Progress::Waits),
            State::Sending { request, sent } => {
                let wanted = request.bytes.unwrap_or(u64::MAX);
                // A fresh request has been waited for with another interest than sending has.
                let fresh = *sent == 0;
                match fill(&self.block, &peer.socket, sent, wanted) {
                    Ok(()) => {
                        let shut = sys::shutdown_write(&peer.socket);
                        peer.state = State::Closing {
                            request: *request,
                            sent: *sent,
                        };
                        shut.map(|()| Progress::WaitsFor(Interest::Read))
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(if fresh {
                        Progress::WaitsFor(Interest::Write)
                    } else {
                        Progress::Waits
                    }),
                    Err(error) => Err(error),
                }
            }
            State::Closing { .. } => match sys::discard(&peer.socket, 1) {
                Ok(0) => Ok(Progress::Complete),
                Ok(_) => Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the client sent more than its request",
                )),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Progress::Waits),
                Err(error) => Err(error),
            },
        };
        match outcome {
            Err(error) if is_reset(&error) => Ok(Progress::Gone),
            other => other,
        }
    }

    /// Takes the last sample of a connection and, if it is not complete, says why it ended.
    fn end(
        &mut self,
        peer: &Peer,
        early: Option<io::Result<()>>,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let (request, sent) = match peer.state {
            State::Asking { .. } => return Ok(()),
            State::Sending { request, sent } | State::Closing { request, sent } => (request, sent),
        };
        let connection = request.connection;
        let sample = tcp_info::read(&peer.socket)?;
        let bytes = sample.bytes_acked.min(sent);
        log.now(&Event::Sample { connection, sample });
        match early {
            None => {}
            Some(Ok(())) => log.now(&Event::Stopped { connection, bytes }),
            Some(Err(error)) => log.error(Some(connection), &format!("sending: {}", error)),
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
            if let State::Sending { request, .. } | State::Closing { request, .. } = peer.state {
                let sample = tcp_info::read(&peer.socket)?;
                log.now(&Event::Sample {
                    connection: request.connection,
                    sample,
                });
            }
        }
        Ok(())
    }

    /// Ends every connection that lives, as SIGTERM asks.
    fn stop(&mut self, log: &mut Log) {
        for peer in std::mem::take(&mut self.peers).iter().flatten() {
            if let Err(Failure::Work(message) | Failure::Description(message)) =
                self.end(peer, Some(Ok(())), log)
            {
                log.error(None, &message);
            }
        }
    }
}

/// Hands data to the kernel until all of it has been (Ok) or the buffer is full (`WouldBlock`).
fn fill(block: &Block, socket: &OwnedFd, sent: &mut u64, wanted: u64) -> io::Result<()> {
    while *sent < wanted {
        *sent += block.send(socket, *sent, wanted - *sent)?;
    }
    Ok(())
}

/// Whether the other end has closed or reset the connection.
fn is_reset(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ECONNRESET | libc::EPIPE))
}

/// Whether `accept` reports an error of the connection instead of one of the listening socket.
fn is_of_the_network(error: &io::Error) -> bool {
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
