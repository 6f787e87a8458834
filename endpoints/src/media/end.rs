//! What both ends have in common over every transport: encoders, what is due, records and events.

use crate::agenda::Agenda;
use crate::clock::Clock;
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::media::description::{Media, Side};
use crate::media::encoder::{Encoder, Frame};
use crate::media::record::Record;
use crate::media::wire::Part;
use crate::reactor::{Interest, Reactor, Wake};
use serde::Serialize;
use std::io;

/// The one connection.
pub const CONNECTION: u32 = 0;
/// Token of the agenda's timer. A transport's own are others.
const ALARM: u64 = 0;
/// How long a client waits until it tries again to connect, ns.
const RETRY_NS: i64 = 10_000_000;

/// What happens at a time, the first of these first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// The end.
    Stop,
    /// A client begins, or tries again.
    Connect,
    /// A server samples its connection.
    Sample,
    /// A client says how much has come.
    Progress,
    /// Frames have waited so long that their group may have to be cancelled.
    Late,
    /// The next frame of this encoder.
    Frame(usize),
}

/// An event that only media have.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum MediaEvent<'a> {
    /// Its file of frames is whole.
    Framed {
        /// Name of the file.
        file: &'a str,
        /// How many records it has.
        records: u64,
        /// Longest time between when a frame was captured and when it was emitted, us.
        late_us: i64,
    },
}

/// What a transport does with frames.
pub trait Transport {
    /// Does all that is due now.
    ///
    /// # Errors
    /// A socket that fails, or a file.
    fn due(&mut self, end: &mut End, reactor: &Reactor, log: &mut Log) -> Result<(), Failure>;

    /// Serves what is ready, by its token.
    ///
    /// # Errors
    /// A socket that fails, or a file.
    fn ready(
        &mut self,
        token: u64,
        end: &mut End,
        reactor: &Reactor,
        log: &mut Log,
    ) -> Result<(), Failure>;

    /// Ends, with what has come by now.
    ///
    /// # Errors
    /// A socket that fails, or a file.
    fn stop(&mut self, end: &mut End, log: &mut Log) -> Result<(), Failure>;

    /// Does what is left to do once all that was ready has been served.
    ///
    /// # Errors
    /// A socket that fails, or a file.
    fn before_waiting(
        &mut self,
        _end: &mut End,
        _reactor: &Reactor,
        _log: &mut Log,
    ) -> Result<(), Failure> {
        Ok(())
    }
}

/// Works until `stop_ns` or SIGTERM, or until the transport ends.
///
/// # Errors
/// A socket that fails, or a file.
pub fn work(
    transport: &mut impl Transport,
    end: &mut End,
    reactor: &mut Reactor,
    log: &mut Log,
) -> Result<(), Failure> {
    reactor.add(&end.due, Interest::Read, ALARM)?;
    let mut wakes = Vec::new();
    while !end.over() {
        end.due.arm()?;
        reactor.wait(&mut wakes)?;
        for wake in &wakes {
            match *wake {
                Wake::Stop => transport.stop(end, log)?,
                Wake::Ready(ALARM) if !end.due.fired()? => {}
                Wake::Ready(ALARM) => transport.due(end, reactor, log)?,
                Wake::Ready(token) => transport.ready(token, end, reactor, log)?,
            }
            if end.over() {
                return Ok(());
            }
        }
        transport.before_waiting(end, reactor, log)?;
    }
    Ok(())
}

/// An end.
pub struct End {
    /// What it is asked to do.
    pub media: Media,
    /// What is due.
    pub due: Agenda<Due>,
    /// What becomes of frames.
    pub record: Record,
    encoders: Vec<Encoder>,
    /// Bytes that have come.
    bytes: u64,
    late_ns: i64,
    over: bool,
}

impl End {
    /// An end before its start.
    ///
    /// # Errors
    /// A timer or a file that cannot be had.
    pub fn new(media: Media, log: &Log) -> Result<Self, Failure> {
        let mut due = Agenda::new(log.clock())?;
        if let Some(stop_ns) = media.stop_ns {
            due.put(stop_ns, Due::Stop);
        }
        let now_ns = log.clock().now_ns();
        if media.side == Side::Client {
            due.put(media.start_ns, Due::Connect);
            due.put(Clock::next_multiple(now_ns, media.progress_every_ns), Due::Progress);
        }
        let record = Record::create(&media.flow, media.side.name()).map_err(Failure::Work)?;
        Ok(End { media, due, record, encoders: Vec::new(), bytes: 0, late_ns: 0, over: false })
    }

    /// Whether it has ended.
    #[must_use]
    pub fn over(&self) -> bool {
        self.over
    }

    /// Begins to send at a time, if it sends.
    pub fn begin(&mut self, begin_ns: i64) {
        if self.media.sends && self.encoders.is_empty() {
            self.encoders = Encoder::all(&self.media, begin_ns);
            for (index, encoder) in self.encoders.iter().enumerate() {
                self.due.put(encoder.next_ns(), Due::Frame(index));
            }
        }
    }

    /// Tries to connect again a little later.
    pub fn retry(&mut self, log: &Log) {
        self.due.put(log.clock().now_ns() + RETRY_NS, Due::Connect);
    }

    /// Notes when the next sample or report is due.
    pub fn again(&mut self, what: Due, log: &Log) {
        let every_ns = match what {
            Due::Sample => self.media.sample_every_ns,
            _ => self.media.progress_every_ns,
        };
        self.due.put(Clock::next_multiple(log.clock().now_ns(), every_ns), what);
    }

    /// What the next frame of an encoder is, which is due now.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn capture(&mut self, index: usize, log: &Log) -> Result<Frame, Failure> {
        let encoder = &mut self.encoders[index];
        let frame = encoder.next();
        self.due.put(encoder.next_ns(), Due::Frame(index));
        let now_ns = log.clock().now_ns();
        self.late_ns = self.late_ns.max(now_ns - frame.captured_ns);
        self.record.emitted(now_ns, &frame).map_err(Failure::Work)?;
        Ok(frame)
    }

    /// Longest time between when a frame was due and when it was emitted, us.
    #[must_use]
    pub fn late_us(&self) -> i64 {
        self.late_ns / 1_000
    }

    /// Tells the encoders what the transport could carry: a window per round trip, bytes and ns.
    pub fn aim(&mut self, window_bytes: u64, rtt_ns: u64, log: &Log) {
        if rtt_ns > 0 {
            let bps = window_bytes as f64 * 8e9 / rtt_ns as f64;
            let now_ns = log.clock().now_ns();
            self.encoders.iter_mut().for_each(|encoder| encoder.aim(bps, now_ns));
        }
    }

    /// Whether an encoder wants to know that.
    #[must_use]
    pub fn adapts(&self) -> bool {
        self.encoders.iter().any(Encoder::adapts)
    }

    /// Takes note of bytes that have come.
    pub fn deliver(&mut self, bytes: u64, at_ns: i64, log: &mut Log) {
        if bytes > 0 && self.bytes == 0 && !self.media.is_server() {
            log.at(at_ns, &Event::FirstByte { connection: CONNECTION });
        }
        self.bytes += bytes;
    }

    /// Takes note of a frame that has come, whole.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn arrived(&mut self, part: &Part, at_ns: i64) -> Result<(), Failure> {
        self.record.arrived(at_ns, part).map_err(Failure::Work)
    }

    /// A client says how much has come.
    pub fn progress(&mut self, log: &mut Log) {
        log.now(&Event::Progress { connection: CONNECTION, bytes: self.bytes });
        self.again(Due::Progress, log);
    }

    /// Ends; reason: why by itself, None: it was to.
    pub fn stop(&mut self, reason: Option<&str>, log: &mut Log) {
        if !std::mem::replace(&mut self.over, true) {
            let bytes = (!self.media.is_server()).then_some(self.bytes);
            log.now(&Event::Stopped { connection: CONNECTION, bytes, reason });
        }
    }

    /// Ends, because something failed.
    pub fn fail(&mut self, message: &str, log: &mut Log) {
        if !std::mem::replace(&mut self.over, true) {
            log.error(Some(CONNECTION), message);
        }
    }

    /// Completes its file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(&mut self, log: &mut Log) -> Result<(), Failure> {
        let late_us = self.late_us();
        let (file, records) = self.record.close().map_err(Failure::Work)?;
        log.now(&MediaEvent::Framed { file, records, late_us });
        Ok(())
    }
}

/// Whether an error says that there is nothing to read, or no room to write.
#[must_use]
pub fn would_block(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}
