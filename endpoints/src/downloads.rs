//! The connections of a client, whatever carries them: when each is opened, how far it is, what it
//! has delivered, and what it reports.

use crate::clock::Timer;
use crate::events::{Event, Log};
use crate::failure::{Break, Failure, Refusal};
use crate::player::{Change, Moment, Player};
use crate::reactor::{Interest, Reactor};
use crate::request::Request;
use crate::socket::RETRY_NS;
use crate::workload::Workload;

/// Token of the timer that fires when a connection is to be opened, or all are to be stopped.
pub const START: u64 = 0;
/// Token of the timer that fires when progress is to be reported.
pub const TICK: u64 = 1;

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is to be opened at this time, ns after the epoch.
    Waiting(i64),
    /// The handshake is under way.
    Connecting,
    /// Data comes in.
    Receiving,
    /// All bytes are there; the server has not said yet that these are all.
    Closing,
    /// It is closed; the player shows what has arrived.
    Showing,
    /// Over, for better or worse.
    Ended,
}

/// A connection from its planned start to its end. `L`: what carries it.
pub struct Download<L> {
    /// Its number among those of the flow.
    pub number: u32,
    /// How far it is.
    pub state: State,
    /// What carries it, while there is anything.
    pub link: Option<L>,
    /// Delivered so far.
    pub bytes: u64,
    /// Plays what arrives, if it is a video.
    pub player: Option<Player>,
    /// Why the last attempt to connect failed; it may succeed later.
    refused: Option<Refusal>,
}

/// All connections of a flow.
pub struct Downloads<L> {
    /// Bytes that each connection asks for; None for as many as go through.
    pub wanted: Option<u64>,
    /// By number.
    pub all: Vec<Download<L>>,
    /// Connections that have not ended, each with its player.
    pub open: usize,
    /// Those of them that are established.
    live: usize,
    stop_ns: Option<i64>,
    progress_every_ns: i64,
    /// Fires at every start, at the stop, when a connection is to be tried again, and when a video
    /// all bytes of which are there has been shown.
    starts: Timer,
    ticks: Timer,
}

impl<L> Downloads<L> {
    /// Connections that start at these times; all are stopped at `stop_ns`. Times in ns after the
    /// epoch.
    ///
    /// # Errors
    /// A machine that refuses timers.
    pub fn new(
        workload: &Workload,
        starts_ns: &[i64],
        stop_ns: Option<i64>,
        progress_every_ns: i64,
        reactor: &Reactor,
        log: &Log,
    ) -> Result<Self, Failure> {
        let (starts, ticks) = (Timer::new(log.clock())?, Timer::new(log.clock())?);
        reactor.add(&starts, Interest::Read, START)?;
        reactor.add(&ticks, Interest::Read, TICK)?;
        let player = match workload {
            Workload::Video(video) => Some(Player::new(video)),
            _ => None,
        };
        let waiting = |(number, start_ns): (u32, &i64)| Download {
            number,
            state: State::Waiting(*start_ns),
            link: None,
            bytes: 0,
            player: player.clone(),
            refused: None,
        };
        let downloads = Downloads {
            wanted: workload.wanted_bytes(),
            all: (0..).zip(starts_ns).map(waiting).collect(),
            open: starts_ns.len(),
            live: 0,
            stop_ns,
            progress_every_ns,
            starts,
            ticks,
        };
        downloads.set_start()?;
        Ok(downloads)
    }

    /// Now, if it is time to look which connections are due.
    pub fn started(&self, log: &Log) -> Result<Option<i64>, Failure> {
        Ok(self.starts.fired()?.then(|| log.clock().now_ns()))
    }

    /// Whether it is time to stop.
    #[must_use]
    pub fn stops(&self, now_ns: i64) -> bool {
        self.stop_ns.is_some_and(|stop_ns| stop_ns <= now_ns)
    }

    /// Whether a connection is to be opened now; its player goes on in any case.
    pub fn is_due(&mut self, index: usize, now_ns: i64, log: &mut Log) -> bool {
        self.show(index, now_ns, log);
        matches!(self.all[index].state, State::Waiting(due_ns) if due_ns <= now_ns)
    }

    /// Sets when to look again which connections are due.
    pub fn set_start(&self) -> Result<(), Failure> {
        let due = self.all.iter().filter_map(|download| match download.state {
            State::Waiting(due_ns) => Some(due_ns),
            // Until all bytes are there, a player's events are logged when the next bytes arrive.
            State::Closing | State::Showing => download.player.as_ref().and_then(Player::due_ns),
            _ => None,
        });
        let stop = self.stop_ns.filter(|_| self.open > 0);
        match due.chain(stop).min() {
            Some(at_ns) => self.starts.once(at_ns)?,
            None => self.starts.disarm()?,
        }
        Ok(())
    }

    /// Begins to open a connection; returns what it asks for.
    pub fn begin(&mut self, index: usize, log: &mut Log) -> Request {
        let Download { number: connection, refused, .. } = &self.all[index];
        let connection = *connection;
        if refused.is_none() {
            log.now(&Event::Opened { connection });
        }
        Request { connection, bytes: self.wanted }
    }

    /// Gives up an attempt to connect; tries again later, if that can help.
    pub fn refuse(&mut self, index: usize, refusal: Refusal, log: &mut Log) -> Result<(), Failure> {
        let download = &mut self.all[index];
        download.link = None;
        match refusal {
            Refusal::Passing(_) | Refusal::Unanswered(_) => {
                download.refused = Some(refusal);
                download.state = State::Waiting(log.clock().now_ns().saturating_add(RETRY_NS));
            }
            Refusal::Lasting(reason) => {
                log.error(Some(download.number), &format!("connecting: {reason}"));
                download.state = State::Ended;
                self.open -= 1;
            }
        }
        self.set_start()
    }

    /// Takes note of a connection that is established and has asked.
    pub fn establish(&mut self, index: usize) -> Result<(), Failure> {
        self.all[index].state = State::Receiving;
        if self.live == 0 {
            self.ticks.every(self.progress_every_ns)?;
        }
        self.live += 1;
        Ok(())
    }

    /// Ends an established connection if `over` says so, or why it failed. A player goes on.
    pub fn settle(
        &mut self,
        index: usize,
        over: Result<bool, Break>,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let download = &mut self.all[index];
        match over {
            Ok(false) if download.state == State::Closing && download.player.is_some() => {
                return self.set_start();
            }
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(broken) => {
                download.player = None;
                let Download { number: connection, bytes, .. } = *download;
                match broken {
                    Break::Failed(message) => log.error(Some(connection), &message),
                    Break::GaveUp(reason) => {
                        let (bytes, reason) = (Some(bytes), Some(&*reason));
                        log.now(&Event::Stopped { connection, bytes, reason });
                    }
                }
            }
        }
        if download.player.as_ref().is_some_and(|player| !player.ended()) {
            download.state = State::Showing;
            self.set_start()?;
        } else {
            download.state = State::Ended;
            self.open -= 1;
        }
        self.live -= 1;
        if self.live == 0 {
            self.ticks.disarm()?;
        }
        Ok(())
    }

    /// Tells what a player did until now, and ends a connection that waits for nothing else.
    pub fn show(&mut self, index: usize, now_ns: i64, log: &mut Log) {
        let download = &mut self.all[index];
        download.play(now_ns, log);
        let ended = download.player.as_ref().is_some_and(Player::ended);
        if ended && download.state == State::Showing {
            download.state = State::Ended;
            self.open -= 1;
        }
    }

    /// Whether it is time to report progress.
    pub fn ticked(&self) -> Result<bool, Failure> {
        Ok(self.ticks.fired()?)
    }

    /// Reports how much a connection has delivered.
    pub fn progress(&mut self, index: usize, bytes: u64, log: &mut Log) {
        log.now(&Event::Progress { connection: self.all[index].number, bytes });
        self.show(index, log.clock().now_ns(), log);
    }

    /// Ends a connection as it is, because the flow ends; true: its server does not know.
    pub fn stop(&mut self, index: usize, log: &mut Log) -> bool {
        self.show(index, log.clock().now_ns(), log);
        let Download { number, state, refused, bytes, .. } = &mut self.all[index];
        let mut reason = None;
        match (std::mem::replace(state, State::Ended), refused) {
            (State::Closing | State::Showing | State::Ended, _) => return false,
            (State::Waiting(_) | State::Connecting, Some(Refusal::Unanswered(why))) => {
                reason = Some(format!("could not connect: {why}"));
            }
            (
                State::Waiting(_) | State::Connecting,
                Some(Refusal::Passing(why) | Refusal::Lasting(why)),
            ) => {
                log.error(Some(*number), &format!("could not connect: {why}"));
                return false;
            }
            _ => {}
        }
        let (connection, bytes) = (*number, Some(*bytes));
        log.now(&Event::Stopped { connection, bytes, reason: reason.as_deref() });
        true
    }

    /// Reports no progress any more: all connections have been stopped.
    pub fn end(&mut self) -> Result<(), Failure> {
        (self.open, self.live) = (0, 0);
        Ok(self.ticks.disarm()?)
    }
}

impl<L> Download<L> {
    /// Takes note of what has been delivered in all, at a time or now, and whether these are all
    /// bytes.
    pub fn deliver(&mut self, bytes: u64, complete: bool, at_ns: Option<i64>, log: &mut Log) {
        // Most packets are of files: they should not cost a look at the clock.
        let now_ns = |log: &Log| at_ns.unwrap_or_else(|| log.clock().now_ns());
        let (connection, before) = (self.number, std::mem::replace(&mut self.bytes, bytes));
        if before == 0 && bytes > 0 {
            log.at(now_ns(log), &Event::FirstByte { connection });
        }
        if self.player.is_some() && bytes > before {
            self.play(now_ns(log), log);
        }
        if complete {
            log.at(now_ns(log), &Event::Done { connection, bytes });
            self.state = State::Closing;
        }
    }

    /// Tells what the player did until `now_ns`, and hands it what has arrived.
    fn play(&mut self, now_ns: i64, log: &mut Log) {
        let (connection, bytes) = (self.number, self.bytes);
        let Some(player) = &mut self.player else {
            return;
        };
        let mut tell = |Moment { at_ns, change, buffered_ns }| {
            let buffered_s = buffered_ns as f64 / 1e9;
            let event = match change {
                Change::Playing => Event::Playing { connection, buffered_s },
                Change::Stalled => Event::Stalled { connection, buffered_s },
                Change::Played => Event::Played { connection },
            };
            log.at(at_ns, &event);
        };
        while let Some(moment) = player.until(now_ns) {
            tell(moment);
        }
        if let Some(moment) = player.arrive(now_ns, bytes) {
            tell(moment);
        }
    }
}
