//! Over UDP: packets of RTP, all of a frame at once.

use crate::clock;
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::media::description::Media;
use crate::media::encoder::Frame;
use crate::media::end::{work, would_block, Due, End, Transport, CONNECTION};
use crate::media::wire::{Frames, Packets, Part};
use crate::reactor::{Interest, Reactor};
use crate::socket::{self, set_buffer};
use crate::sys;
use crate::udp::datagram::UDP_IP_BYTES;
use crate::udp::reception::Reception;
use crate::udp::transits::Transits;
use socket2::{Socket, Type};
use std::io::{self, Read as _};
use std::net::SocketAddrV4;

const SOCKET: u64 = 1;
/// What may wait in the socket, bytes: a place where nothing is to be lost.
const BUFFER_BYTES: u32 = 64 << 20;
const MOST_BYTES: usize = 1 << 16;

/// Works until `stop_ns` or SIGTERM.
///
/// # Errors
/// A socket that cannot be had, or packets that will never get through.
pub fn run(media: Media, log: &mut Log) -> Result<(), Failure> {
    let server = media.server();
    let client = SocketAddrV4::new(media.peer, media.port);
    let (here, there) = if media.is_server() { (server, client) } else { (client, server) };
    let socket = open(here, there).map_err(Failure::Work)?;
    let mut reactor = Reactor::new()?;
    reactor.add(&socket, Interest::Read, SOCKET)?;
    let mut end = End::new(media, log)?;
    end.begin(end.media.start_ns);
    let transits = if end.media.is_server() {
        None
    } else {
        Some(Transits::create(&end.media.flow).map_err(Failure::Work)?)
    };
    let most = (end.media.packet_bytes - UDP_IP_BYTES) as usize;
    let mut way = Way {
        socket,
        most,
        packets: Packets::default(),
        frames: Frames::default(),
        reception: Reception::default(),
        transits,
        sent: 0,
        bytes: 0,
        refused: 0,
    };
    work(&mut way, &mut end, &mut reactor, log)?;
    way.report(&mut end, log)
}

fn open(here: SocketAddrV4, there: SocketAddrV4) -> Result<Socket, String> {
    let cannot = |error: io::Error| format!("cannot use {here} to reach {there}: {error}");
    let socket = socket::open(Type::DGRAM).map_err(cannot)?;
    socket
        .set_reuse_address(true)
        .and_then(|()| set_buffer(&socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, BUFFER_BYTES))
        .and_then(|()| set_buffer(&socket, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, BUFFER_BYTES))
        .and_then(|()| {
            let never = libc::IP_PMTUDISC_DO;
            sys::set_option(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, never)
        })
        .and_then(|()| socket.bind(&here.into()))
        .and_then(|()| socket::connect(&socket, there))
        .map_err(cannot)?;
    Ok(socket)
}

/// A socket, and what passes through it.
struct Way {
    socket: Socket,
    /// Most bytes of payload of a packet.
    most: usize,
    packets: Packets,
    frames: Frames,
    reception: Reception,
    /// Of a client.
    transits: Option<Transits>,
    sent: u64,
    bytes: u64,
    refused: u64,
}

impl Transport for Way {
    fn due(&mut self, end: &mut End, _reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        while let Some((_, due)) = end.due.due(log.clock().now_ns()) {
            match due {
                Due::Stop => return self.stop(end, log),
                Due::Connect => log.now(&Event::Opened { connection: CONNECTION }),
                Due::Progress => {
                    self.take(end, log)?;
                    end.progress(log);
                }
                Due::Frame(index) => {
                    let frame = end.capture(index, log)?;
                    self.send(&frame)?;
                }
                Due::Sample | Due::Late => {}
            }
        }
        Ok(())
    }

    fn ready(
        &mut self,
        _token: u64,
        end: &mut End,
        _reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        self.take(end, log)
    }

    fn stop(&mut self, end: &mut End, log: &mut Log) -> Result<(), Failure> {
        self.take(end, log)?;
        end.stop(None, log);
        Ok(())
    }
}

impl Way {
    fn send(&mut self, frame: &Frame) -> Result<(), Failure> {
        for packet in self.packets.of(frame, self.most) {
            // The second attempt is for the error of an earlier packet that nobody received.
            let result = self.socket.send(&packet).or_else(|error| match error.raw_os_error() {
                Some(libc::ECONNREFUSED) => self.socket.send(&packet),
                _ => Err(error),
            });
            match result {
                Ok(_) => {
                    self.sent += 1;
                    self.bytes += packet.len() as u64;
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::ENOBUFS | libc::ECONNREFUSED) => self.refused += 1,
                    Some(libc::EMSGSIZE) => {
                        let bytes = packet.len() + UDP_IP_BYTES as usize;
                        let message = format!("packets of {bytes} bytes exceed the path's MTU");
                        return Err(Failure::Work(message));
                    }
                    _ => return Err(Failure::Work(format!("sending: {error}"))),
                },
            }
        }
        Ok(())
    }

    /// Takes what has come.
    fn take(&mut self, end: &mut End, log: &mut Log) -> Result<(), Failure> {
        let mut room = vec![0; MOST_BYTES];
        loop {
            let bytes = match (&self.socket).read(&mut room) {
                Ok(bytes) => bytes,
                Err(error) if would_block(&error) => return Ok(()),
                // Of a packet that came when the other end was not there.
                Err(error) if error.raw_os_error() == Some(libc::ECONNREFUSED) => continue,
                Err(error) => return Err(error.into()),
            };
            let at_ns = log.clock().after_epoch(clock::realtime_ns());
            let packet = &room[..bytes];
            let Some(part) = Part::of_packet(packet) else {
                log.error(Some(CONNECTION), "received a packet that the other end did not send");
                continue;
            };
            let before = self.reception.packets;
            let number = u64::from(part.packet);
            if !self.reception.arrive(number, bytes as u64, part.captured_ns, at_ns) {
                log.error(Some(CONNECTION), "received a packet with a number far too high");
                continue;
            }
            if self.reception.packets == before {
                continue; // a duplicate
            }
            if let Some(transits) = &mut self.transits {
                transits.arrived(part.captured_ns, at_ns).map_err(Failure::Work)?;
            }
            end.deliver(bytes as u64, at_ns, log);
            if self.frames.arrive(&part) {
                end.arrived(&part, at_ns)?;
            }
        }
    }

    /// Says what it came to.
    fn report(&mut self, end: &mut End, log: &mut Log) -> Result<(), Failure> {
        if end.media.sends {
            log.now(&Event::Sent {
                connection: CONNECTION,
                packets: self.sent,
                bytes: self.bytes,
                refused: self.refused,
                late_us: end.late_us(),
            });
        }
        let Reception { packets, bytes, reordered, duplicates, .. } = self.reception;
        if !end.media.is_server() || packets > 0 {
            log.now(&Event::Received {
                connection: CONNECTION,
                packets,
                bytes,
                lost: self.reception.lost(),
                reordered,
                duplicates,
                overflowed: socket::dropped(&self.socket)?,
                jitter_us: self.reception.jitter_us(),
            });
        }
        if let Some(transits) = &mut self.transits {
            let (file, records) = transits.close().map_err(Failure::Work)?;
            log.now(&Event::Logged { file, records });
        }
        end.finish(log)
    }
}
