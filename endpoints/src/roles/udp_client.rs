//! Role `udp-client`: counts the datagrams that arrive.
//!
//! A datagram does not wake it up: the kernel keeps it with its time, and the program takes what
//! has come when its timer fires. A ping does, and goes back at once.

use crate::clock::{self, Timer};
use crate::description;
use crate::description::udp::{Last, Pattern, Udp};
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::reactor::{Interest, Reactor, Wake};
use crate::udp::reception::Reception;
use crate::udp::sockets::{Arrival, Receiver};
use crate::udp::transits::Transits;
use std::net::SocketAddrV4;

const ALARM: u64 = 0;
const TICK: u64 = 1;
const POLL: u64 = 2;
const PING: u64 = 3;

/// A file whose last datagram is lost is over when none has come for so long after the time at
/// which that was sent, ns.
const SILENCE_NS: i64 = 3_000_000_000;

/// Counts until every connection has its bytes or will not get them, until `stop_ns`, or until
/// SIGTERM.
///
/// # Errors
/// A bad description, or sockets that cannot be had.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: Udp = description::read(text).map_err(Failure::Description)?;
    let mut reactor = Reactor::new()?;
    let mut client = Client::new(description, &reactor, log)?;
    let mut wakes = Vec::new();
    while client.open > 0 {
        reactor.wait(&mut wakes)?;
        for wake in &wakes {
            match *wake {
                Wake::Stop => client.stop(log)?,
                Wake::Ready(ALARM) => client.alarm(log)?,
                Wake::Ready(TICK) => client.tick(log)?,
                Wake::Ready(POLL) => client.poll(log)?,
                Wake::Ready(_) => client.take(log)?,
            }
        }
    }
    client.finish(log)
}

/// The state of the role.
struct Client {
    description: Udp,
    pattern: Pattern,
    epoch_ns: i64,
    /// Fires at every start and at the stop.
    alarms: Timer,
    ticks: Timer,
    polls: Timer,
    connections: Vec<Connection>,
    transits: Transits,
    /// Connections that have not ended.
    open: usize,
}

struct Connection {
    number: u32,
    receiver: Receiver,
    reception: Reception,
    start_ns: i64,
    opened: bool,
    ended: bool,
    /// When the last datagram came, ns after the epoch.
    heard_ns: Option<i64>,
    /// When the server sends the last one; None: it has no last one.
    last: Option<Last>,
    /// One has come that is not the server's.
    strange: bool,
}

impl Client {
    fn new(description: Udp, reactor: &Reactor, log: &Log) -> Result<Self, Failure> {
        let pattern = description.pattern().map_err(Failure::Description)?;
        let timer = || Timer::new(log.clock());
        let (alarms, ticks, polls) = (timer()?, timer()?, timer()?);
        reactor.add(&alarms, Interest::Read, ALARM)?;
        reactor.add(&ticks, Interest::Read, TICK)?;
        reactor.add(&polls, Interest::Read, POLL)?;
        let from = SocketAddrV4::new(description.address, description.port);
        let mut connections = Vec::new();
        for (number, start_ns) in (0..).zip(&description.starts_ns) {
            let to = SocketAddrV4::new(description.peer, description.port + number as u16);
            connections.push(Connection {
                number,
                receiver: Receiver::new(to, from).map_err(Failure::Work)?,
                reception: Reception::default(),
                start_ns: *start_ns,
                opened: false,
                ended: false,
                heard_ns: None,
                last: pattern.last_of(number),
                strange: false,
            });
        }
        if pattern.echoes {
            for connection in &connections {
                reactor.add(connection.receiver.socket(), Interest::Read, PING)?;
            }
        }
        ticks.every(description.progress_every_ns().map_err(Failure::Description)?)?;
        polls.every(description.poll_every_ns().map_err(Failure::Description)?)?;
        let transits = Transits::create(&description.flow).map_err(Failure::Work)?;
        let epoch_ns = clock::realtime_ns() - log.clock().now_ns();
        let open = connections.len();
        let client = Client {
            description,
            pattern,
            epoch_ns,
            alarms,
            ticks,
            polls,
            connections,
            transits,
            open,
        };
        client.set_alarm()?;
        Ok(client)
    }

    /// Stops when it is time to, and reports what has started.
    fn alarm(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.alarms.fired()? {
            return Ok(());
        }
        let now_ns = log.clock().now_ns();
        if self.description.stop_ns.is_some_and(|stop_ns| stop_ns <= now_ns) {
            return self.stop(log);
        }
        for connection in self.connections.iter_mut().filter(|c| c.start_ns <= now_ns) {
            connection.open(log);
        }
        self.set_alarm()
    }

    fn set_alarm(&self) -> Result<(), Failure> {
        let starts = self.connections.iter().filter(|c| !c.opened).map(|c| c.start_ns);
        match starts.chain(self.description.stop_ns).min() {
            Some(at_ns) => self.alarms.once(at_ns)?,
            None => self.alarms.disarm()?,
        }
        Ok(())
    }

    /// Takes what has arrived, and reports how much it is.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.ticks.fired()? {
            return Ok(());
        }
        self.take(log)?;
        for connection in self.connections.iter().filter(|c| c.opened && !c.ended) {
            let Connection { number, ref reception, .. } = *connection;
            log.now(&Event::Progress { connection: number, bytes: reception.bytes });
        }
        Ok(())
    }

    /// Takes what has arrived, so that the kernel has room for more.
    fn poll(&mut self, log: &mut Log) -> Result<(), Failure> {
        if self.polls.fired()? {
            self.take(log)?;
        }
        Ok(())
    }

    /// Takes what has arrived, and ends connections that wait for nothing more.
    fn take(&mut self, log: &mut Log) -> Result<(), Failure> {
        let now_ns = log.clock().now_ns();
        let (pattern, transits) = (&self.pattern, &mut self.transits);
        for connection in self.connections.iter_mut().filter(|c| !c.ended) {
            connection.take(pattern, self.epoch_ns, transits, log)?;
            let Connection { number, heard_ns, start_ns, .. } = *connection;
            let (bytes, packets) = (connection.reception.bytes, connection.reception.packets);
            let complete = pattern.packets() == Some(packets);
            let last_ns = connection.last.as_mut().and_then(|l| l.sent_ns(now_ns - start_ns));
            let last_ns = last_ns.map(|last_ns| start_ns.saturating_add(last_ns));
            let quiet_ns = last_ns.map(|last_ns| heard_ns.map_or(last_ns, |ns| ns.max(last_ns)));
            let over = quiet_ns.is_some_and(|ns| ns.saturating_add(SILENCE_NS) <= now_ns);
            if !complete && !over {
                continue;
            }
            if complete {
                log.at(heard_ns.unwrap_or(now_ns), &Event::Done { connection: number, bytes });
            } else {
                log.now(&Event::Stopped { connection: number, bytes: Some(bytes), reason: None });
            }
            connection.end(log)?;
            self.open -= 1;
        }
        Ok(())
    }

    /// Ends everything, with what has arrived by now.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        self.take(log)?;
        for connection in self.connections.iter_mut().filter(|c| !c.ended) {
            let (number, bytes) = (connection.number, connection.reception.bytes);
            log.now(&Event::Stopped { connection: number, bytes: Some(bytes), reason: None });
            connection.end(log)?;
        }
        self.open = 0;
        Ok(())
    }

    /// Completes the file of transit times.
    fn finish(&mut self, log: &mut Log) -> Result<(), Failure> {
        let (file, records) = self.transits.close().map_err(Failure::Work)?;
        log.now(&Event::Logged { file, records });
        Ok(())
    }
}

impl Connection {
    /// Reports that it has started.
    fn open(&mut self, log: &mut Log) {
        if !std::mem::replace(&mut self.opened, true) {
            log.now(&Event::Opened { connection: self.number });
        }
    }

    /// Takes what has arrived.
    fn take(
        &mut self,
        pattern: &description::udp::Pattern,
        epoch_ns: i64,
        transits: &mut Transits,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let Connection { number: connection, receiver, reception, heard_ns, strange, .. } = self;
        let (mut first_ns, mut last_ns) = (None, *heard_ns);
        let mut stranger = false;
        let mut pings = Vec::new();
        let mut written = Ok(());
        receiver.take(|Arrival { datagram, arrived_ns }| {
            let arrived_ns = arrived_ns.unwrap_or_else(clock::realtime_ns) - epoch_ns;
            let known = datagram.filter(|d| u32::from(d.connection) == *connection);
            let before = reception.packets;
            let believed = known.is_some_and(|d| {
                let bytes = pattern.useful_bytes(d.number);
                pattern.packets().is_none_or(|packets| d.number < packets)
                    && reception.arrive(d.number, bytes, d.sent_ns, arrived_ns)
            });
            if let Some(datagram) = known.filter(|_| reception.packets > before) {
                let noted = transits.arrived(datagram.sent_ns, arrived_ns);
                written = std::mem::replace(&mut written, Ok(())).and(noted);
            }
            if believed {
                first_ns = first_ns.or(Some(arrived_ns));
                last_ns = last_ns.max(Some(arrived_ns));
                pings.extend(known.filter(|_| pattern.echoes));
            } else {
                stranger = true;
            }
        })?;
        written.map_err(Failure::Work)?;
        for ping in pings {
            receiver.echo(ping, pattern.payload_bytes() as usize)?;
        }
        if let Some(first_ns) = first_ns.filter(|_| heard_ns.is_none()) {
            log.at(first_ns, &Event::FirstByte { connection: *connection });
        }
        *heard_ns = last_ns;
        if stranger && !std::mem::replace(strange, true) {
            log.error(Some(*connection), "received a datagram that the server did not send");
        }
        Ok(())
    }

    /// Reports what it came to.
    fn end(&mut self, log: &mut Log) -> Result<(), Failure> {
        self.ended = true;
        let Reception { packets, bytes, reordered, duplicates, .. } = self.reception;
        log.now(&Event::Received {
            connection: self.number,
            packets,
            bytes,
            lost: self.reception.lost(),
            reordered,
            duplicates,
            overflowed: self.receiver.overflowed()?,
            jitter_us: self.reception.jitter_us(),
        });
        Ok(())
    }
}
