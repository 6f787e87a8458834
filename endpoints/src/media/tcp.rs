//! Over TCP: each frame after its length, on one connection.

use crate::events::{Event, Log};
use crate::failure::{Break, Failure};
use crate::media::description::Media;
use crate::media::end::{work, would_block, Due, End, Transport, CONNECTION};
use crate::media::wire::{in_stream, Unpacked};
use crate::reactor::{Interest, Reactor};
use crate::socket::{self, Listening};
use crate::tcp_info;
use bytes::Bytes;
use socket2::Socket;
use std::collections::VecDeque;
use std::io::{self, Read as _};

const LISTENER: u64 = 1;
const SOCKET: u64 = 2;
const READ_BYTES: usize = 64 << 10;

/// Works until `stop_ns` or SIGTERM, or until the connection ends.
///
/// # Errors
/// A socket that cannot be had as described.
pub fn run(media: Media, log: &mut Log) -> Result<(), Failure> {
    let mut reactor = Reactor::new()?;
    let mut end = End::new(media, log)?;
    let mut way = Way::new(&end, &reactor, log)?;
    work(&mut way, &mut end, &mut reactor, log)?;
    end.finish(log)
}

/// The connection, and what waits for it.
struct Way {
    /// Of a server.
    listener: Option<Socket>,
    socket: Option<Socket>,
    /// Whether it is established.
    connected: bool,
    waiting: VecDeque<Bytes>,
    unpacked: Unpacked,
    interest: Interest,
    opened: bool,
}

impl Transport for Way {
    fn due(&mut self, end: &mut End, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        while let Some((_, due)) = end.due.due(log.clock().now_ns()) {
            match due {
                Due::Stop => return self.stop(end, log),
                Due::Connect => self.connect(end, reactor, log)?,
                Due::Sample => {
                    self.sample(log)?;
                    end.again(Due::Sample, log);
                }
                Due::Progress => {
                    self.receive(end, log)?;
                    if self.connected {
                        end.progress(log);
                    } else {
                        end.again(Due::Progress, log);
                    }
                }
                Due::Frame(index) => {
                    if end.adapts() {
                        self.estimate(end, log)?;
                    }
                    let frame = end.capture(index, log)?;
                    self.waiting.push_back(in_stream(&frame, false));
                    self.send(end, reactor, log)?;
                }
                Due::Late => {}
            }
            if end.over() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn ready(
        &mut self,
        token: u64,
        end: &mut End,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        match token {
            LISTENER => self.accept(end, reactor, log),
            _ => self.serve(end, reactor, log),
        }
    }

    fn stop(&mut self, end: &mut End, log: &mut Log) -> Result<(), Failure> {
        self.receive(end, log)?;
        if end.media.is_server() && !end.over() {
            self.sample(log)?;
        }
        end.stop(None, log);
        Ok(())
    }
}

impl Way {
    fn new(end: &End, reactor: &Reactor, log: &mut Log) -> Result<Self, Failure> {
        let media = &end.media;
        let mut listener = None;
        if media.is_server() {
            let socket = socket::listener(Listening {
                address: media.server(),
                cca: media.kernel_cca.as_deref().unwrap_or_default(),
                buffer_bytes: media.send_buffer_bytes,
                fills: false,
                unsent_bytes: media.options.notsent_lowat_bytes,
                backlog: 1,
                fast_open: false,
                mptcp: false,
            })
            .map_err(Failure::Work)?;
            reactor.add(&socket, Interest::Read, LISTENER)?;
            log.now(&Event::Listening {
                cca: &socket::congestion_control(&socket)?,
                send_buffer_bytes: socket::number(&socket, libc::SO_SNDBUF)?,
                notsent_lowat_bytes: socket.tcp_notsent_lowat().ok(),
            });
            // Whoever started the server may wait for this line.
            log.flush();
            listener = Some(socket);
        } else {
            socket::warm_up()?;
        }
        Ok(Way {
            listener,
            socket: None,
            connected: false,
            waiting: VecDeque::new(),
            unpacked: Unpacked::default(),
            interest: Interest::Read,
            opened: false,
        })
    }

    /// Starts to connect.
    fn connect(&mut self, end: &mut End, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        if !std::mem::replace(&mut self.opened, true) {
            log.now(&Event::Opened { connection: CONNECTION });
        }
        let media = &end.media;
        let window = media.options.receive_window_bytes;
        let socket = socket::connecting(media.receive_buffer_bytes, window)?;
        if media.sends {
            let cca = media.kernel_cca.as_deref().unwrap_or_default();
            socket::set_congestion_control(&socket, cca).map_err(Failure::Work)?;
            if let Some(bytes) = media.send_buffer_bytes {
                socket::set_buffer(&socket, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, bytes)?;
            }
        }
        match socket::connect(&socket, media.server()) {
            Ok(()) => {
                reactor.add(&socket, Interest::Write, SOCKET)?;
                (self.socket, self.interest) = (Some(socket), Interest::Write);
            }
            Err(_) => end.retry(log),
        }
        Ok(())
    }

    /// Accepts the connection.
    fn accept(&mut self, end: &mut End, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let Some(listener) = &self.listener else {
            return Ok(());
        };
        let Some(socket) = socket::accept(listener)? else {
            return Ok(());
        };
        if self.socket.is_some() {
            end.fail("a second connection has come", log);
            return Ok(());
        }
        socket.set_tcp_nodelay(true)?;
        let (agreed, state, rto_us) = tcp_info::agreed(&socket)?;
        if end.media.options.pacing {
            socket::limit_pacing(&socket, 1 << 40)?; // more than any link: it paces, and no more
        }
        let limit = socket::pacing_limit(&socket)?;
        log.now(&Event::Accepted {
            connection: CONNECTION,
            cca: &socket::congestion_control(&socket)?,
            initial_window_packets: state.cwnd,
            agreed,
            rtt_us: state.rtt_us,
            rto_us,
            max_pacing_bps: limit.map(|bytes_per_s| bytes_per_s.saturating_mul(8)),
        });
        log.now(&Event::Request { connection: CONNECTION, bytes: None });
        reactor.add(&socket, Interest::Read, SOCKET)?;
        (self.socket, self.connected, self.interest) = (Some(socket), true, Interest::Read);
        end.begin(log.clock().now_ns());
        end.again(Due::Sample, log);
        Ok(())
    }

    /// Does what the socket allows.
    fn serve(&mut self, end: &mut End, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let Some(socket) = &self.socket else {
            return Ok(());
        };
        if !self.connected {
            if let Err(_refused) = socket::pending_error(socket) {
                self.socket = None;
                end.retry(log);
                return Ok(());
            }
            socket.set_tcp_nodelay(true)?;
            self.connected = true;
            log.now(&Event::Connected {
                connection: CONNECTION,
                established: tcp_info::established(socket, false)?,
            });
            end.begin(log.clock().now_ns());
        }
        self.receive(end, log)?;
        self.send(end, reactor, log)
    }

    /// Takes what has come.
    fn receive(&mut self, end: &mut End, log: &mut Log) -> Result<(), Failure> {
        let (Some(socket), true) = (&self.socket, self.connected && !end.over()) else {
            return Ok(());
        };
        let mut room = vec![0; READ_BYTES];
        loop {
            let bytes = match (&mut &*socket).read(&mut room) {
                Ok(0) => {
                    end.stop(None, log);
                    return Ok(());
                }
                Ok(bytes) => bytes,
                Err(error) if would_block(&error) => return Ok(()),
                Err(error) => {
                    broken(end, &error, "receiving", log);
                    return Ok(());
                }
            };
            let at_ns = log.clock().now_ns();
            self.unpacked.add(&room[..bytes]);
            end.deliver(bytes as u64, at_ns, log);
            loop {
                match self.unpacked.next() {
                    Ok(None) => break,
                    Ok(Some(part)) => end.arrived(&part, at_ns)?,
                    Err(message) => {
                        end.fail(&message, log);
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Hands over what waits, as far as there is room.
    fn send(&mut self, end: &mut End, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let (Some(socket), true) = (&self.socket, self.connected && !end.over()) else {
            return Ok(());
        };
        while let Some(first) = self.waiting.front_mut() {
            match socket.send(first) {
                Ok(bytes) if bytes == first.len() => drop(self.waiting.pop_front()),
                Ok(bytes) => drop(first.split_to(bytes)),
                Err(error) if would_block(&error) => break,
                Err(error) => {
                    broken(end, &error, "sending", log);
                    return Ok(());
                }
            }
        }
        let interest = if self.waiting.is_empty() { Interest::Read } else { Interest::Both };
        if interest != self.interest {
            self.interest = interest;
            reactor.change(socket, interest, SOCKET)?;
        }
        Ok(())
    }

    fn estimate(&self, end: &mut End, log: &Log) -> Result<(), Failure> {
        if let Some(socket) = &self.socket {
            let state = tcp_info::read(socket)?;
            let window_bytes = u64::from(state.cwnd) * u64::from(state.mss);
            end.aim(window_bytes, u64::from(state.rtt_us) * 1_000, log);
        }
        Ok(())
    }

    fn sample(&self, log: &mut Log) -> Result<(), Failure> {
        if let Some(socket) = &self.socket {
            let sample = tcp_info::read(socket)?;
            log.now(&Event::Sample { connection: CONNECTION, sample });
        }
        Ok(())
    }
}

/// Says how a connection ended that the kernel gave up. One that the other end has left was
/// stopped.
fn broken(end: &mut End, error: &io::Error, doing: &str, log: &mut Log) {
    let left = [libc::ECONNRESET, libc::EPIPE, libc::ENOTCONN];
    if error.raw_os_error().is_some_and(|number| left.contains(&number)) {
        return end.stop(None, log);
    }
    match Break::of(error, format!("{doing}: {error}")) {
        Break::GaveUp(reason) => end.stop(Some(&reason), log),
        Break::Failed(message) => end.fail(&message, log),
    }
}
