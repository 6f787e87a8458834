//! Over QUIC: packets in datagrams (RFC 9221), or a stream for each frame or group of pictures.
//!
//! Frames wait here, not in QUIC: it gets no more than fits into the congestion window and two
//! packets beyond, so that it never lacks data while the window is the limit. What goes first, and
//! how long a frame has waited, is decided when the window opens. A stream has the priority of its
//! frames, too, for what QUIC sends again.

use crate::congestion::Pacing;
use crate::events::{Event, Log};
use crate::failure::{Failure, Refusal};
use crate::media::description::{Media, Priority, Streams};
use crate::media::encoder::Frame;
use crate::media::end::{work, Due, End, Transport, CONNECTION};
use crate::media::wire::{in_stream, Frames, Packets, Part, Unpacked, RTP_BYTES};
use crate::quic::alarm::Alarm;
use crate::quic::datagrams::Datagrams;
use crate::quic::description::Cca;
use crate::quic::driver::{Caller, Driver};
use crate::quic::feedback::{Counting, Marks};
use crate::quic::link::silent;
use crate::quic::packets::PacketLog;
use crate::quic::report::{ControllerInForce, QuicEvent, Sample};
use crate::quic::{tls, transport, DONE, STOPPED};
use crate::reactor::{Interest, Reactor};
use crate::udp::datagram::UDP_IP_BYTES;
use bytes::Bytes;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, Dir, Event as Happened, Incoming,
    SendDatagramError, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt, WriteError,
};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Instant;

const SOCKET: u64 = 1;
const QUIC: u64 = 2;
/// Streams that the other end may have open: frames that wait for lost packets.
const MOST_STREAMS: u32 = 4096;
/// Code of a stream that is reset because its group is cancelled.
const CANCELLED: VarInt = VarInt::from_u32(3);
/// Packets that QUIC gets beyond its window.
const BEYOND: u64 = 2;
/// What QUIC holds of datagrams, bytes: some packets.
const DATAGRAM_BUFFER: usize = 8 << 10;
/// What has come in datagrams and is not taken yet, bytes: all of it is taken at once.
const DATAGRAM_ROOM: usize = 16 << 20;

/// Works until `stop_ns` or SIGTERM, or until the connection ends.
///
/// # Errors
/// A socket that cannot be had as described.
pub fn run(media: Media, log: &mut Log) -> Result<(), Failure> {
    let mut reactor = Reactor::new()?;
    let mut end = End::new(media, log)?;
    let mut way = Way::new(&end, &reactor, log)?;
    reactor.add(&way.alarm, Interest::Read, QUIC)?;
    work(&mut way, &mut end, &mut reactor, log)?;
    way.report(&mut end, log)
}

/// The connection, and what waits for it.
struct Way {
    cca: Cca,
    /// None before a client connects.
    driver: Option<Driver>,
    /// Of a server.
    config: Option<ServerConfig>,
    log: Option<PacketLog>,
    handle: Option<ConnectionHandle>,
    alarm: Alarm,
    established: bool,
    opened: bool,
    waits_for_room: bool,
    queue: Queue,
    packets: Packets,
    frames: Frames,
    /// What has come of each stream.
    streams: HashMap<StreamId, Received>,
}

/// What has come of a stream.
#[derive(Default)]
struct Received {
    /// Of one frame: its first bytes.
    head: Vec<u8>,
    /// Of several frames.
    unpacked: Unpacked,
}

impl Transport for Way {
    fn due(&mut self, end: &mut End, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        while let Some((_, due)) = end.due.due(log.clock().now_ns()) {
            match due {
                Due::Stop => return self.stop(end, log),
                Due::Connect => self.connect(end, reactor, log)?,
                Due::Sample => {
                    if let Some(quic) = self.connection() {
                        log.now(&QuicEvent::Sample(Sample::of(CONNECTION, quic)));
                    }
                    end.again(Due::Sample, log);
                }
                Due::Progress => {
                    self.hear(end, log)?;
                    self.serve(end, log)?;
                    if self.established && !end.over() {
                        end.progress(log);
                    } else {
                        end.again(Due::Progress, log);
                    }
                }
                Due::Frame(index) => {
                    self.estimate(end, log);
                    let frame = end.capture(index, log)?;
                    self.put(end, &frame);
                }
                Due::Late => self.cancel(end, log)?,
            }
            if end.over() {
                return Ok(());
            }
        }
        self.touch();
        Ok(())
    }

    fn ready(
        &mut self,
        token: u64,
        end: &mut End,
        _reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        if token == SOCKET {
            return self.hear(end, log);
        }
        if self.alarm.fired()? {
            self.driver.iter_mut().for_each(Driver::expire);
        }
        Ok(())
    }

    fn stop(&mut self, end: &mut End, log: &mut Log) -> Result<(), Failure> {
        self.hear(end, log)?;
        self.serve(end, log)?;
        if let (Some(driver), Some(handle)) = (&mut self.driver, self.handle) {
            if let Some(quic) = driver.connection(handle) {
                if end.media.is_server() && self.established {
                    log.now(&QuicEvent::Sample(Sample::of(CONNECTION, quic)));
                }
                quic.close(Instant::now(), STOPPED, Bytes::from_static(b"stopped"));
                driver.touch(handle);
                // Its last word; the other end may be gone.
                let _ = driver.flush(handle);
            }
        }
        end.stop(None, log);
        Ok(())
    }

    fn before_waiting(
        &mut self,
        end: &mut End,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure> {
        self.serve(end, log)?;
        self.set_waits(reactor)
    }
}

impl Way {
    fn new(end: &End, reactor: &Reactor, log: &mut Log) -> Result<Self, Failure> {
        let media = &end.media;
        let cca = media.cca().map_err(Failure::Description)?;
        let mut way = Way {
            driver: None,
            config: None,
            log: None,
            handle: None,
            alarm: Alarm::new()?,
            established: false,
            opened: false,
            waits_for_room: false,
            queue: Queue::new(media.streams, media.priority),
            packets: Packets::default(),
            frames: Frames::default(),
            streams: HashMap::new(),
            cca,
        };
        if media.is_server() {
            let here = media.server();
            let datagrams = Datagrams::bind(here, media.receive_buffer_bytes, media.options.ecn)
                .map_err(|error| Failure::Work(format!("cannot listen on {here}: {error}")))?;
            let packets = PacketLog::create(&media.flow, log.clock(), datagrams.accepted())
                .map_err(Failure::Work)?;
            let now_ns = crate::clock::realtime_ns();
            let crypto = tls::server(&media.flow, media.address, now_ns, None, true)
                .map_err(Failure::Work)?;
            let config = transport::server_config(crypto, &media.options);
            let driver = Driver::new(datagrams, Some(Arc::new(config.clone())), media.options.ecn);
            let driver = driver.paced(way.cca.paces()).l4s(way.cca.l4s());
            reactor.add(&driver, Interest::Read, SOCKET)?;
            (way.driver, way.config, way.log) = (Some(driver), Some(config), Some(packets));
            log.now(&QuicEvent::Listening {
                controller: ControllerInForce::new(
                    &way.cca,
                    media.options.ecn,
                    media.send_buffer_bytes,
                ),
                rate_bps: None,
            });
            // Whoever started the server may wait for this line.
            log.flush();
        }
        Ok(way)
    }

    /// What both ends tell QUIC beside what other roles do.
    fn settle(config: &mut TransportConfig, media: &Media) -> Result<(), String> {
        let window = media.options.receive_window_bytes.or(media.receive_buffer_bytes);
        let window = window.map_or(1 << 60, u64::from);
        let window = VarInt::from_u64(window).map_err(|_| format!("a window of {window} bytes"))?;
        let datagrams = media.streams == Streams::Datagram;
        config
            .max_concurrent_uni_streams(VarInt::from_u32(MOST_STREAMS))
            .stream_receive_window(window)
            .receive_window(window)
            .datagram_receive_buffer_size(datagrams.then_some(DATAGRAM_ROOM))
            .datagram_send_buffer_size(DATAGRAM_BUFFER);
        Ok(())
    }

    /// Starts to connect.
    fn connect(&mut self, end: &mut End, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        if !std::mem::replace(&mut self.opened, true) {
            log.now(&Event::Opened { connection: CONNECTION });
        }
        match self.call(&end.media) {
            Ok((driver, handle)) => {
                reactor.add(&driver, Interest::Read, SOCKET)?;
                (self.driver, self.handle) = (Some(driver), Some(handle));
            }
            Err(Refusal::Lasting(message)) => end.fail(&message, log),
            Err(_) => end.retry(log),
        }
        Ok(())
    }

    fn call(&self, media: &Media) -> Result<(Driver, ConnectionHandle), Refusal> {
        let lasting = |error: io::Error| Refusal::Lasting(error.to_string());
        let passing = |error: io::Error| Refusal::Passing(error.to_string());
        let certificate = std::fs::read(tls::certificate_file(&media.flow)).map_err(passing)?;
        let crypto = tls::client(certificate).map_err(Refusal::Lasting)?;
        let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        let datagrams =
            Datagrams::bind(any, media.receive_buffer_bytes, media.options.ecn).map_err(lasting)?;
        datagrams.connect(media.server()).map_err(passing)?;
        let mtu = transport::payload_bytes(media.server()).map_err(passing)?;
        let mut settings =
            transport::client(mtu, media.receive_buffer_bytes, media.idle_timeout_ns)
                .map_err(Refusal::Lasting)?;
        // It sends as much as the server does.
        let restarts = media.options.idle_restart == Some(true);
        let factory = self.cca.factory.reading(Pacing::Rate, &Marks::default(), None, restarts);
        settings.congestion_controller_factory(factory).min_mtu(mtu);
        if media.options.discovers_mtu {
            transport::discover(&mut settings, mtu);
        }
        Self::settle(&mut settings, media).map_err(Refusal::Lasting)?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(settings));
        let mut driver = Driver::new(datagrams, None, media.options.ecn).paced(self.cca.paces());
        let handle = driver.connect(config, media.server()).map_err(Refusal::Lasting)?;
        Ok((driver, handle))
    }

    /// Accepts the connection of a client.
    fn accept(&mut self, media: &Media, incoming: Incoming) -> Result<(), Failure> {
        let (Some(driver), Some(config), Some(packets)) =
            (&mut self.driver, &self.config, &self.log)
        else {
            return Ok(());
        };
        let SocketAddr::V4(from) = incoming.remote_address() else {
            return Ok(());
        };
        let Ok(payload_bytes) = transport::payload_bytes(from) else {
            driver.ignore(incoming); // no way leads back to it now; it will ask again
            return Ok(());
        };
        let marks = Marks::default();
        let restarts = media.options.idle_restart == Some(true);
        let mut settings = transport::server(
            self.cca.factory.reading(Pacing::Rate, &marks, None, restarts),
            payload_bytes,
            media.send_buffer_bytes,
            false,
            media.idle_timeout_ns,
            packets,
            None,
        )
        .map_err(Failure::Work)?;
        if media.options.discovers_mtu {
            transport::discover(&mut settings, payload_bytes);
        }
        let mut config = config.clone();
        if self.cca.l4s() {
            config.crypto = Arc::new(Counting { inner: config.crypto, marks });
        }
        Self::settle(&mut settings, media).map_err(Failure::Work)?;
        config.transport_config(Arc::new(settings));
        if let (Some(driver), None) = (&mut self.driver, self.handle) {
            self.handle = driver.accept(incoming, Arc::new(config));
        }
        Ok(())
    }

    /// Takes what has come into QUIC.
    fn hear(&mut self, end: &mut End, log: &mut Log) -> Result<(), Failure> {
        let Some(driver) = &mut self.driver else {
            return Ok(());
        };
        let mut incoming = Vec::new();
        let heard = driver.retry().and_then(|()| driver.receive(&mut incoming));
        for Caller { incoming, .. } in incoming {
            self.accept(&end.media, incoming)?;
        }
        self.unless_gone(heard, end, log)
    }

    /// Ends, where nobody is there any more; before the connection is, somebody may still come.
    fn unless_gone(
        &self,
        result: io::Result<()>,
        end: &mut End,
        log: &mut Log,
    ) -> Result<(), Failure> {
        match result {
            Err(error) if error.raw_os_error() == Some(libc::ECONNREFUSED) => {
                if self.established {
                    end.stop(None, log);
                }
                Ok(())
            }
            other => Ok(other?),
        }
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        self.driver.as_mut()?.connection(self.handle?)
    }

    /// Has the connection served before the next wait.
    fn touch(&mut self) {
        if let (Some(driver), Some(handle)) = (&mut self.driver, self.handle) {
            if driver.connection(handle).is_some() {
                driver.touch(handle);
            }
        }
    }

    fn estimate(&mut self, end: &mut End, log: &Log) {
        if !end.adapts() {
            return;
        }
        if let Some(quic) = self.connection() {
            let window_bytes = quic.congestion_state().window();
            let rtt_ns = u64::try_from(quic.rtt().as_nanos()).unwrap_or(u64::MAX);
            end.aim(window_bytes, rtt_ns, log);
        }
    }

    /// Puts a frame where frames wait.
    fn put(&mut self, end: &mut End, frame: &Frame) {
        if let (Some(cancel_ns), true) = (end.media.cancel_ns, frame.video) {
            end.due.put(frame.captured_ns.saturating_add(cancel_ns), Due::Late);
        }
        let pieces = match end.media.streams {
            Streams::Datagram => {
                let planned = (end.media.packet_bytes - UDP_IP_BYTES) as usize;
                let most = self.connection().and_then(|quic| quic.datagrams().max_size());
                let most = most.map_or(planned, |most| most.min(planned)).max(2 * RTP_BYTES + 20);
                self.packets.of(frame, most)
            }
            Streams::Frame => vec![in_stream(frame, true)],
            Streams::Group => vec![in_stream(frame, false)],
        };
        self.queue.put(*frame, pieces);
    }

    /// Cancels the groups whose frames have waited for too long.
    fn cancel(&mut self, end: &mut End, log: &Log) -> Result<(), Failure> {
        let Some(cancel_ns) = end.media.cancel_ns else {
            return Ok(());
        };
        let now_ns = log.clock().now_ns();
        while let Some(frame) = self.queue.late(now_ns, cancel_ns) {
            let streams = self.queue.cancel(frame.group);
            end.record.cancelled(now_ns, &frame).map_err(Failure::Work)?;
            if let Some(quic) = self.connection() {
                for stream in streams {
                    // One that QUIC has ended needs no reset.
                    let _ = quic.send_stream(stream).reset(CANCELLED);
                }
            }
        }
        Ok(())
    }

    /// Does what can be done for the connection.
    fn serve(&mut self, end: &mut End, log: &mut Log) -> Result<(), Failure> {
        while let Some(handle) = self.driver.as_mut().and_then(Driver::next_touched) {
            while let Some(event) = self.connection().and_then(Connection::poll) {
                match event {
                    Happened::Connected => self.establish(end, log),
                    Happened::ConnectionLost { reason } => self.lost(&reason, end, log),
                    Happened::DatagramReceived => self.take_datagrams(end, log)?,
                    Happened::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                        while let Some(stream) =
                            self.connection().and_then(|quic| quic.streams().accept(Dir::Uni))
                        {
                            self.streams.insert(stream, Received::default());
                            self.take_stream(stream, end, log)?;
                        }
                    }
                    Happened::Stream(StreamEvent::Readable { id }) => {
                        self.take_stream(id, end, log)?;
                    }
                    _ => {}
                }
            }
            // QUIC takes more whenever it has sent some.
            loop {
                let more = match self.driver.as_mut().and_then(|one| one.connection(handle)) {
                    Some(quic) if self.established => self.queue.hand_over(quic),
                    _ => false,
                };
                let flushed = self.driver.as_mut().map_or(Ok(()), |driver| driver.flush(handle));
                self.unless_gone(flushed, end, log)?;
                if !more || end.over() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The connection is there.
    fn establish(&mut self, end: &mut End, log: &mut Log) {
        self.established = true;
        let now_ns = log.clock().now_ns();
        let is_server = end.media.is_server();
        let receive_window_bytes =
            end.media.options.receive_window_bytes.or(end.media.receive_buffer_bytes);
        let cca = self.cca.name.clone();
        if let Some(quic) = self.connection() {
            let (connection, mtu) = (CONNECTION, quic.current_mtu());
            if is_server {
                let initial_window_bytes = quic.congestion_state().initial_window();
                let cca = &*cca;
                log.now(&QuicEvent::Accepted { connection, cca, initial_window_bytes, mtu });
                log.now(&Event::Request { connection, bytes: None });
            } else {
                log.now(&QuicEvent::Connected { connection, receive_window_bytes, mtu });
            }
        }
        end.begin(now_ns);
        if is_server {
            end.again(Due::Sample, log);
        }
    }

    /// Does what the loss of the connection means.
    fn lost(&mut self, reason: &ConnectionError, end: &mut End, log: &mut Log) {
        let other = if end.media.is_server() { "client" } else { "server" };
        match reason {
            _ if !self.established && !end.media.is_server() => {
                (self.driver, self.handle) = (None, None);
                end.retry(log);
            }
            ConnectionError::ApplicationClosed(close)
                if close.error_code == DONE || close.error_code == STOPPED =>
            {
                end.stop(None, log);
            }
            ConnectionError::Reset => end.stop(None, log),
            ConnectionError::TimedOut => {
                end.stop(Some(&silent(other, end.media.idle_timeout_ns)), log);
            }
            _ => end.fail(&format!("the connection was lost: {reason}"), log),
        }
    }

    fn take_datagrams(&mut self, end: &mut End, log: &mut Log) -> Result<(), Failure> {
        let at_ns = log.clock().now_ns();
        while let Some(packet) = self.connection().and_then(|quic| quic.datagrams().recv()) {
            end.deliver(packet.len() as u64, at_ns, log);
            match Part::of_packet(&packet) {
                Some(part) if self.frames.arrive(&part) => end.arrived(&part, at_ns)?,
                Some(_) => {}
                None => end.fail("received a datagram that is none of RTP", log),
            }
        }
        Ok(())
    }

    /// Takes what has come on a stream.
    fn take_stream(&mut self, id: StreamId, end: &mut End, log: &mut Log) -> Result<(), Failure> {
        let at_ns = log.clock().now_ns();
        let groups = end.media.streams == Streams::Group;
        let (Some(driver), Some(handle)) = (&mut self.driver, self.handle) else {
            return Ok(());
        };
        let (Some(quic), Some(incoming)) = (driver.connection(handle), self.streams.get_mut(&id))
        else {
            return Ok(());
        };
        let mut stream = quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            self.streams.remove(&id);
            return Ok(());
        };
        let mut over = None;
        let mut bytes = 0;
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    bytes += chunk.bytes.len() as u64;
                    let room = 64_usize.saturating_sub(incoming.head.len()).min(chunk.bytes.len());
                    incoming.head.extend_from_slice(&chunk.bytes[..room]);
                    if groups {
                        incoming.unpacked.add(&chunk.bytes);
                    }
                }
                Ok(None) => {
                    over = Some(true);
                    break;
                }
                Err(quinn_proto::ReadError::Blocked) => break,
                // Its group is cancelled.
                Err(quinn_proto::ReadError::Reset(_)) => {
                    over = Some(false);
                    break;
                }
            }
        }
        // Flushed in any case.
        let _ = chunks.finalize();
        end.deliver(bytes, at_ns, log);
        if groups {
            loop {
                match incoming.unpacked.next() {
                    Ok(None) => break,
                    Ok(Some(part)) => end.arrived(&part, at_ns)?,
                    Err(message) => {
                        end.fail(&message, log);
                        break;
                    }
                }
            }
        } else if over == Some(true) {
            match Part::decode(&incoming.head) {
                Some(part) => end.arrived(&part, at_ns)?,
                None => end.fail("received a stream that is no frame", log),
            }
        }
        if over.is_some() {
            self.streams.remove(&id);
        }
        Ok(())
    }

    /// Sets what the next wake-up is for.
    fn set_waits(&mut self, reactor: &Reactor) -> Result<(), Failure> {
        let Some(driver) = &self.driver else {
            return Ok(());
        };
        if driver.blocked() != self.waits_for_room {
            self.waits_for_room = driver.blocked();
            let interest = if self.waits_for_room { Interest::Both } else { Interest::Read };
            reactor.change(driver, interest, SOCKET)?;
        }
        Ok(self.alarm.by(driver.deadline())?)
    }

    /// Completes the files.
    fn report(&mut self, end: &mut End, log: &mut Log) -> Result<(), Failure> {
        if let Some(driver) = &self.driver {
            let dropped = driver.datagrams().dropped()?;
            if dropped > 0 {
                let message =
                    format!("the socket's receive buffer was full: {dropped} datagrams dropped");
                log.error(None, &message);
            }
        }
        if let Some(packets) = &self.log {
            let (file, records) = packets.close().map_err(Failure::Work)?;
            log.now(&QuicEvent::Logged { file: &file, records });
        }
        end.finish(log)
    }
}

/// A frame that waits, or a part of it.
struct Waiting {
    frame: Frame,
    /// In the order of their places; the first may have been cut.
    pieces: VecDeque<Bytes>,
    stream: Option<StreamId>,
}

/// Frames that wait for the window.
struct Queue {
    streams: Streams,
    priority: Priority,
    /// In the order in which they were captured.
    waiting: Vec<Waiting>,
    /// Streams of groups that are open.
    groups: HashMap<u32, StreamId>,
    /// The last group of which a frame was captured.
    newest: u32,
    /// The last group that was cancelled.
    cancelled: Option<u32>,
}

impl Queue {
    fn new(streams: Streams, priority: Priority) -> Self {
        let (waiting, groups) = (Vec::new(), HashMap::new());
        Queue { streams, priority, waiting, groups, newest: 0, cancelled: None }
    }

    /// Adds a frame, unless its group is cancelled; true: it waits.
    fn put(&mut self, frame: Frame, pieces: Vec<Bytes>) -> bool {
        if frame.video {
            self.newest = self.newest.max(frame.group);
            if self.cancelled.is_some_and(|group| frame.group <= group) {
                return false;
            }
        }
        self.waiting.push(Waiting { frame, pieces: pieces.into(), stream: None });
        true
    }

    /// A frame of video that was captured so long ago and waits.
    fn late(&self, now_ns: i64, cancel_ns: i64) -> Option<Frame> {
        let mut frames = self.waiting.iter().map(|one| one.frame);
        frames.find(|f| f.video && f.captured_ns.saturating_add(cancel_ns) <= now_ns)
    }

    /// Forgets what waits of a group and of those before it; returns the streams to be reset.
    fn cancel(&mut self, group: u32) -> Vec<StreamId> {
        self.cancelled = Some(group);
        let of_it = |frame: &Frame| frame.video && frame.group <= group;
        let begun =
            self.waiting.iter().filter(|one| of_it(&one.frame)).filter_map(|one| one.stream);
        let mut streams: Vec<StreamId> = begun.collect();
        self.waiting.retain(|one| !of_it(&one.frame));
        let over: Vec<u32> = self.groups.keys().copied().filter(|one| *one <= group).collect();
        streams.extend(over.iter().filter_map(|one| self.groups.remove(one)));
        streams.sort_unstable();
        streams.dedup();
        streams
    }

    /// Which frame goes first.
    fn first(&self) -> Option<usize> {
        let rank = |one: &Waiting| match (self.priority, one.frame.video) {
            (Priority::None, _) | (_, false) => (0, 0),
            (Priority::Audio, true) => (1, 0),
            (Priority::Newest, true) => (1, u32::MAX - one.frame.group),
        };
        // The first of equals.
        (0..self.waiting.len()).min_by_key(|index| rank(&self.waiting[*index]))
    }

    /// Gives QUIC what it takes; true: it has taken some, and more waits.
    fn hand_over(&mut self, quic: &mut Connection) -> bool {
        let mtu = u64::from(quic.current_mtu());
        quic.set_send_window(quic.congestion_state().window() + BEYOND * mtu);
        let mut taken = false;
        while let Some(index) = self.first() {
            let some = match self.streams {
                Streams::Datagram => Some(self.hand_datagram(quic, index)),
                Streams::Frame | Streams::Group => self.hand_stream(quic, index),
            };
            taken |= some != Some(false) && some.is_some();
            if some != Some(true) {
                break;
            }
        }
        self.end_groups(quic);
        taken && !self.waiting.is_empty() && self.streams == Streams::Datagram
    }

    /// Hands over a packet; false: QUIC has no room.
    fn hand_datagram(&mut self, quic: &mut Connection, index: usize) -> bool {
        let one = &mut self.waiting[index];
        if let Some(packet) = one.pieces.pop_front() {
            // Any other error: the path's packets have become smaller, or it is closed: lost as in
            // the network.
            if let Err(SendDatagramError::Blocked(packet)) = quic.datagrams().send(packet, false) {
                one.pieces.push_front(packet);
                return false;
            }
        }
        if one.pieces.is_empty() {
            self.waiting.remove(index);
        }
        true
    }

    /// Hands over the rest of a frame; false: QUIC has taken a part, None: nothing.
    fn hand_stream(&mut self, quic: &mut Connection, index: usize) -> Option<bool> {
        let frame = self.waiting[index].frame;
        let shared = self.streams == Streams::Group && frame.video;
        let known = if shared { self.groups.get(&frame.group).copied() } else { None };
        let stream = if let Some(stream) = self.waiting[index].stream.or(known) {
            stream
        } else {
            let stream = quic.streams().open(Dir::Uni)?;
            let _ = quic.send_stream(stream).set_priority(self.rank_of(&frame));
            if shared {
                self.groups.insert(frame.group, stream);
            }
            stream
        };
        let one = &mut self.waiting[index];
        one.stream = Some(stream);
        let mut some = None;
        while let Some(piece) = one.pieces.front_mut() {
            match quic.send_stream(stream).write_chunks(std::slice::from_mut(piece)) {
                Ok(written) if written.chunks == 1 => {
                    one.pieces.pop_front();
                }
                // What has been taken is no longer in the piece.
                Ok(_) => some = Some(false),
                Err(WriteError::Blocked) => return some,
                // The other end wants no more of it.
                Err(_) => one.pieces.clear(),
            }
        }
        if !shared {
            let _ = quic.send_stream(stream).finish();
        }
        self.waiting.remove(index);
        Some(true)
    }

    /// The priority of a stream among those of QUIC, the highest first.
    fn rank_of(&self, frame: &Frame) -> i32 {
        let place = |number: u32| i32::try_from(number).unwrap_or(i32::MAX - 1);
        match (self.priority, frame.video) {
            (Priority::None, _) => 0,
            (_, false) => i32::MAX,
            (Priority::Audio, true) => -place(frame.number),
            (Priority::Newest, true) => place(frame.group),
        }
    }

    /// Ends the streams of groups that have all their frames.
    fn end_groups(&mut self, quic: &mut Connection) {
        let (newest, waiting) = (self.newest, &self.waiting);
        self.groups.retain(|group, stream| {
            let more = *group == newest
                || waiting.iter().any(|one| one.frame.video && one.frame.group == *group);
            if !more {
                let _ = quic.send_stream(*stream).finish();
            }
            more
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(video: bool, number: u32, group: u32) -> Frame {
        Frame { number, video, key: false, group, bytes: 100, captured_ns: i64::from(number) }
    }

    fn queue(priority: Priority) -> Queue {
        let mut queue = Queue::new(Streams::Group, priority);
        for one in [frame(true, 0, 0), frame(true, 1, 0), frame(true, 2, 1), frame(false, 0, 0)] {
            assert!(queue.put(one, Vec::new()));
        }
        queue
    }

    fn order(mut queue: Queue) -> Vec<(bool, u32)> {
        let mut found = Vec::new();
        while let Some(index) = queue.first() {
            let frame = queue.waiting.remove(index).frame;
            found.push((frame.video, frame.number));
        }
        found
    }

    #[test]
    fn what_goes_first_is_what_has_priority() {
        let (a, v) = (false, true);
        assert_eq!(order(queue(Priority::None)), [(v, 0), (v, 1), (v, 2), (a, 0)]);
        assert_eq!(order(queue(Priority::Audio)), [(a, 0), (v, 0), (v, 1), (v, 2)]);
        assert_eq!(order(queue(Priority::Newest)), [(a, 0), (v, 2), (v, 0), (v, 1)]);
    }

    #[test]
    fn a_late_group_is_forgotten_until_the_next_one() {
        let mut queue = queue(Priority::Audio);
        assert_eq!(queue.late(9, 10), None);
        let late = queue.late(10, 10).unwrap();
        assert_eq!((late.number, late.group), (0, 0));
        assert!(queue.cancel(0).is_empty());
        assert!(!queue.put(frame(true, 3, 0), Vec::new()));
        assert!(queue.put(frame(true, 4, 2), Vec::new()));
        assert_eq!(order(queue), [(false, 0), (true, 2), (true, 4)]);
    }
}
