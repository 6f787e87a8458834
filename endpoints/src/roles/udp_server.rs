//! Role `udp-server`: sends datagrams at their times.

use crate::clock::Timer;
use crate::description::{self, udp::UdpServer};
use crate::events::{Event, Log};
use crate::reactor::{Interest, Reactor, Wake};
use crate::roles::Failure;
use crate::source::PacketTimes;
use crate::udp::datagram::{Datagram, HEADER_BYTES};
use crate::udp::sockets::{Sender, Sent};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddrV4;

const ALARM: u64 = 0;
/// Most datagrams before signals get their turn again; only a program that is late has so many.
const MOST_AT_ONCE: u32 = 1_000;

/// Sends until every connection has sent all it has, until `stop_ns`, or until SIGTERM.
///
/// # Errors
/// A bad description, a socket that cannot be had, or datagrams that will never get through.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: UdpServer = description::read(text).map_err(Failure::Description)?;
    let mut reactor = Reactor::new()?;
    let alarms = Timer::new(log.clock())?;
    reactor.add(&alarms, Interest::Read, ALARM)?;
    let mut server = Server::new(description)?;
    let mut wakes = Vec::new();
    while let Some(due_ns) = server.due_ns() {
        alarms.once(due_ns)?;
        reactor.wait(&mut wakes)?;
        for wake in &wakes {
            match wake {
                Wake::Stop => {
                    server.stop(log);
                    return Ok(());
                }
                Wake::Ready(_) => {
                    if alarms.fired()? {
                        server.send(log).map_err(Failure::Work)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The state of the role.
struct Server {
    description: UdpServer,
    connections: Vec<Connection>,
    /// When the next datagram of each connection is due, ns after the epoch.
    due: BinaryHeap<Reverse<(i64, usize)>>,
}

struct Connection {
    sender: Sender,
    start_ns: i64,
    times: PacketTimes,
    /// Number of the next datagram.
    number: u64,
    packets: u64,
    bytes: u64,
    refused: u64,
    late_ns: i64,
}

impl Server {
    fn new(description: UdpServer) -> Result<Self, Failure> {
        let from = SocketAddrV4::new(description.address, description.port);
        let payload = description.pattern.payload_bytes() as usize;
        let mut connections = Vec::new();
        for (number, start_ns) in (0..).zip(&description.starts_ns) {
            let to = SocketAddrV4::new(description.peer, description.port + number as u16);
            connections.push(Connection {
                sender: Sender::new(from, to, payload).map_err(Failure::Work)?,
                start_ns: *start_ns,
                times: description.pattern.times_of(number),
                number: 0,
                packets: 0,
                bytes: 0,
                refused: 0,
                late_ns: 0,
            });
        }
        let due = connections.iter().enumerate().map(|(index, c)| Reverse((c.due_ns(), index)));
        Ok(Server { due: due.collect(), description, connections })
    }

    /// When the next thing happens, ns after the epoch; None: nothing more will.
    fn due_ns(&self) -> Option<i64> {
        let Reverse((due_ns, _)) = self.due.peek()?;
        Some(self.description.stop_ns.map_or(*due_ns, |stop_ns| stop_ns.min(*due_ns)))
    }

    /// Sends what is due; ends connections that have sent all, and all when it is time to stop.
    fn send(&mut self, log: &mut Log) -> Result<(), String> {
        for _ in 0..MOST_AT_ONCE {
            let Some(&Reverse((due_ns, index))) = self.due.peek() else {
                return Ok(());
            };
            let now_ns = log.clock().now_ns();
            // What was due before the stop is sent even if the program is late.
            if self.description.stop_ns.is_some_and(|stop_ns| stop_ns <= due_ns.min(now_ns)) {
                self.stop(log);
                return Ok(());
            }
            if due_ns > now_ns {
                return Ok(());
            }
            self.due.pop();
            if self.send_one(index, due_ns, now_ns)? {
                self.due.push(Reverse((self.connections[index].due_ns(), index)));
            } else {
                self.end(index, log);
            }
        }
        Ok(())
    }

    /// Sends the next datagram of a connection; false: it was the last.
    fn send_one(&mut self, index: usize, due_ns: i64, now_ns: i64) -> Result<bool, String> {
        let pattern = &self.description.pattern;
        let connection = &mut self.connections[index];
        let bytes = pattern.useful_bytes(connection.number);
        let datagram =
            Datagram { connection: index as u16, number: connection.number, sent_ns: now_ns };
        let payload = (bytes as usize).max(HEADER_BYTES);
        match connection.sender.send(datagram, payload)? {
            Sent::Taken => {
                connection.packets += 1;
                connection.bytes += bytes;
            }
            Sent::Refused => connection.refused += 1,
        }
        connection.late_ns = connection.late_ns.max(now_ns - due_ns);
        connection.number += 1;
        connection.times.advance();
        Ok(pattern.packets().is_none_or(|packets| connection.number < packets))
    }

    /// Ends everything.
    fn stop(&mut self, log: &mut Log) {
        while let Some(Reverse((_, index))) = self.due.pop() {
            self.end(index, log);
        }
    }

    fn end(&self, index: usize, log: &mut Log) {
        let Connection { packets, bytes, refused, late_ns, .. } = self.connections[index];
        let (connection, late_us) = (index as u32, late_ns / 1_000);
        log.now(&Event::Sent { connection, packets, bytes, refused, late_us });
    }
}

impl Connection {
    /// When its next datagram is due, ns after the epoch.
    fn due_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.times.next_ns())
    }
}
