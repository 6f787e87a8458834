//! Role `udp-server`: sends datagrams at their times.

use crate::agenda::Agenda;
use crate::description;
use crate::description::udp::{Pattern, Udp};
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::packet_times::PacketTimes;
use crate::reactor::{Interest, Reactor, Wake};
use crate::udp::datagram::{Datagram, HEADER_BYTES};
use crate::udp::sockets::{Sender, Sent};
use std::net::SocketAddrV4;

const ALARM: u64 = 0;
/// Most datagrams before signals get their turn again; only a program that is late has so many.
const MOST_AT_ONCE: u32 = 1_000;

/// Sends until every connection has sent all it has, until `stop_ns`, or until SIGTERM.
///
/// # Errors
/// A bad description, a socket that cannot be had, or datagrams that will never get through.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: Udp = description::read(text).map_err(Failure::Description)?;
    description.is_server().map_err(Failure::Description)?;
    let mut reactor = Reactor::new()?;
    let mut server = Server::new(&description, log)?;
    reactor.add(&server.due, Interest::Read, ALARM)?;
    let mut wakes = Vec::new();
    while server.open > 0 {
        server.due.arm()?;
        reactor.wait(&mut wakes)?;
        for wake in &wakes {
            match wake {
                Wake::Stop => server.stop(log),
                Wake::Ready(_) => server.send(log)?,
            }
        }
    }
    Ok(())
}

/// What happens at a time, the first of these first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The end.
    Stop,
    /// The next datagram of this connection.
    Send(usize),
}

/// The state of the role.
struct Server {
    pattern: Pattern,
    connections: Vec<Connection>,
    due: Agenda<Due>,
    /// Connections that have not ended.
    open: usize,
}

struct Connection {
    sender: Sender,
    start_ns: i64,
    ended: bool,
    times: PacketTimes,
    /// Number of the next datagram.
    number: u64,
    packets: u64,
    bytes: u64,
    refused: u64,
    late_ns: i64,
}

impl Server {
    fn new(description: &Udp, log: &Log) -> Result<Self, Failure> {
        let from = SocketAddrV4::new(description.address, description.port);
        let pattern = description.pattern().map_err(Failure::Description)?;
        let payload = pattern.payload_bytes() as usize;
        let mut connections = Vec::new();
        for (number, start_ns) in (0..).zip(&description.starts_ns) {
            let to = SocketAddrV4::new(description.peer, description.port + number as u16);
            connections.push(Connection {
                sender: Sender::new(from, to, payload).map_err(Failure::Work)?,
                start_ns: *start_ns,
                ended: false,
                times: pattern.times_of(number),
                number: 0,
                packets: 0,
                bytes: 0,
                refused: 0,
                late_ns: 0,
            });
        }
        let mut due = Agenda::new(log.clock())?;
        for (index, connection) in connections.iter().enumerate() {
            due.put(connection.due_ns(), Due::Send(index));
        }
        if let Some(stop_ns) = description.stop_ns {
            due.put(stop_ns, Due::Stop);
        }
        let open = connections.len();
        Ok(Server { pattern, connections, due, open })
    }

    /// Sends what is due, and ends what has come to its end. What was due before the stop is sent
    /// even if the program is late.
    fn send(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.due.fired()? {
            return Ok(());
        }
        for _ in 0..MOST_AT_ONCE {
            let now_ns = log.clock().now_ns();
            match self.due.due(now_ns) {
                None => break,
                Some((_, Due::Stop)) => self.stop(log),
                Some((due_ns, Due::Send(index))) => {
                    if self.connections[index].ended {
                        continue;
                    }
                    if self.send_one(index, due_ns, now_ns).map_err(Failure::Work)? {
                        self.due.put(self.connections[index].due_ns(), Due::Send(index));
                    } else {
                        self.end(index, log);
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends the next datagram of a connection; false: it was the last.
    fn send_one(&mut self, index: usize, due_ns: i64, now_ns: i64) -> Result<bool, String> {
        let pattern = &self.pattern;
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
        for index in 0..self.connections.len() {
            self.end(index, log);
        }
    }

    fn end(&mut self, index: usize, log: &mut Log) {
        let Connection { packets, bytes, refused, late_ns, ref mut ended, .. } =
            self.connections[index];
        if !std::mem::replace(ended, true) {
            self.open -= 1;
            let (connection, late_us) = (index as u32, late_ns / 1_000);
            log.now(&Event::Sent { connection, packets, bytes, refused, late_us });
        }
    }
}

impl Connection {
    /// When its next datagram is due, ns after the epoch.
    fn due_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.times.next_ns())
    }
}
