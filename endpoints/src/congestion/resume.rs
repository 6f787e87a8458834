//! Careful Resume: RFC 9959 ("Careful Resume: Convergence of Congestion Control from Retained
//! State", 2026; its rules as draft-ietf-tsvwg-careful-resume-24 has them).
//!
//! A connection that knows what window an earlier one had on the same path jumps to half of it,
//! once its initial data is acknowledged, and finds out whether that was right:
//! - Reconnaissance: the controller as it is, until the initial window is acknowledged. A loss or a
//!   mark, a smallest RTT of at most half the saved one, or of more than ten times it, and there is
//!   no jump.
//! - Unvalidated: window = saved / 2. It lasts until the window is used, the first packet of it is
//!   acknowledged, or a round trip is over; then window = bytes in flight, or `PipeSize` where
//!   fewer were sent, which ends it all.
//! - Validating: slow start, until the last packet of the jump is acknowledged.
//! - Safe Retreat, after a loss or a mark in the last two: window = `PipeSize` / 2, which does not
//!   grow until the last packet of the jump is acknowledged; then ssthresh = Beta * `PipeSize`.
//!
//! `PipeSize` is what was in flight when the jump began, and what was acknowledged of it: the RFC's
//! text may be read to count the former twice, its examples do not.
//!
//! Where the RFC leaves a choice: the jump waits until the window limits the sender, and is left
//! out where the window is there already; after Validating there is congestion avoidance (as it
//! recommends for Reno and CUBIC); Beta is 0.5; the window is at least two packets; one connection
//! of a server uses what was saved. Packets are told from each other by their send times.

use super::adapter::{Ack, Acks, Algorithm, Congestion, Idle, Model, MINIMUM_PACKETS};
use super::parameters::{Values, RESUME, RESUME_RTT};
use super::Start;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Part of the saved window to which it jumps.
const JUMP: f64 = 0.5;
/// `Beta`.
const BETA: f64 = 0.5;
/// Smallest RTTs of at most this part of the saved one are of another path.
const LEAST_RTT: f64 = 0.5;
/// And those of more than this multiple.
const MOST_RTT: f64 = 10.0;

/// What an earlier connection saved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saved {
    /// Its window, bytes.
    pub window: f64,
    /// Its smallest RTT.
    pub rtt: Duration,
}

impl Saved {
    /// That of the parameters, if there is one.
    pub fn of(values: &Values) -> Option<Self> {
        let window = values.bound(RESUME)? as f64;
        Some(Saved { window, rtt: Duration::from_micros(values.bound(RESUME_RTT)?) })
    }
}

/// The right to use what was saved, which one connection of a server has.
#[derive(Debug, Clone, Default)]
pub struct Claim(Arc<AtomicBool>);

impl Claim {
    fn take(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

/// A controller that can resume.
pub trait Resumable: Algorithm {
    /// Goes on with a window of `bytes`.
    fn resume(&mut self, bytes: f64);

    /// Leaves slow start at `ssthresh` bytes, and forgets what it thought of windows before.
    fn leave_slow_start(&mut self, ssthresh: f64);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Reconnaissance,
    Unvalidated,
    Validating,
    SafeRetreat,
    /// `Normal CC`.
    Normal,
}

/// A controller that resumes carefully.
#[derive(Debug, Clone)]
pub struct Resuming<A> {
    inner: A,
    phase: Phase,
    saved: Saved,
    claim: Claim,
    mtu: u64,
    initial_window: u64,
    /// `flight_size`, bytes.
    in_flight: u64,
    /// Bytes acknowledged in Reconnaissance.
    acked: u64,
    min_rtt: Option<Duration>,
    /// Whether the last acknowledged packet found nothing else to send.
    app_limited: bool,
    /// `PipeSize`, bytes.
    pipe_size: f64,
    /// When the Unvalidated Phase began, and the RTT then.
    jumped: Option<(Instant, Duration)>,
    /// When the first and last packet of it were sent.
    first: Option<Instant>,
    last: Option<Instant>,
    /// When the newest of all packets was sent, and the newest of those acknowledged.
    sent: Option<Instant>,
    newest: Option<Instant>,
}

impl<A: Resumable> Resuming<A> {
    /// Starts in Reconnaissance.
    pub fn new(inner: A, saved: Saved, start: Start, claim: Claim) -> Self {
        Resuming {
            inner,
            phase: Phase::Reconnaissance,
            saved,
            claim,
            mtu: start.mtu,
            initial_window: start.initial_window,
            in_flight: 0,
            acked: 0,
            min_rtt: None,
            app_limited: true,
            pipe_size: 0.0,
            jumped: None,
            first: None,
            last: None,
            sent: None,
            newest: None,
        }
    }

    fn least(&self) -> f64 {
        (MINIMUM_PACKETS * self.mtu) as f64
    }

    fn reconnoitre(&mut self, acks: &Acks) {
        self.acked += acks.bytes;
        self.min_rtt = [self.min_rtt, acks.rtt].into_iter().flatten().min();
        let Some(min_rtt) = self.min_rtt else { return };
        let is_of_another_path = min_rtt <= self.saved.rtt.mul_f64(LEAST_RTT)
            || min_rtt > self.saved.rtt.mul_f64(MOST_RTT);
        if is_of_another_path {
            self.phase = Phase::Normal;
            return;
        }
        // Less than a packet of the initial window cannot have been sent.
        if self.acked + self.mtu <= self.initial_window || self.app_limited {
            return;
        }
        let jump = JUMP * self.saved.window;
        if jump <= self.inner.window() as f64 || !self.claim.take() {
            self.phase = Phase::Normal;
            return;
        }
        self.phase = Phase::Unvalidated;
        self.pipe_size = self.in_flight as f64;
        self.jumped = Some((acks.now, acks.smoothed_rtt));
        self.inner.resume(jump);
    }

    fn check_unvalidated(&mut self, acks: &Acks) {
        if acks.rtt.is_some_and(|rtt| rtt <= self.saved.rtt.mul_f64(LEAST_RTT)) {
            self.retreat();
            return;
        }
        let is_acknowledged = self.first.is_some() && self.newest >= self.first;
        let is_over =
            self.jumped.is_some_and(|(since, rtt)| acks.now.saturating_duration_since(since) > rtt);
        if is_acknowledged || is_over {
            self.leave_unvalidated();
        }
    }

    /// `Check flight_size`.
    fn leave_unvalidated(&mut self) {
        let in_flight = self.in_flight as f64;
        if self.in_flight < self.initial_window || in_flight <= self.pipe_size {
            self.inner.resume(self.pipe_size.max(self.initial_window as f64));
            self.phase = Phase::Normal;
        } else {
            self.inner.resume(in_flight);
            self.last = self.sent;
            self.phase = Phase::Validating;
        }
    }

    fn retreat(&mut self) {
        self.inner.resume((self.pipe_size / 2.0).max(self.least()));
        self.last = self.last.or(self.sent);
        self.phase = Phase::SafeRetreat;
    }

    fn end(&mut self, ssthresh: f64) {
        self.inner.leave_slow_start(ssthresh);
        self.phase = Phase::Normal;
    }

    /// What Safe Retreat leaves behind.
    fn end_retreat(&mut self) {
        self.end((BETA * self.pipe_size).max(self.least()));
    }

    /// Whether the last packet of the jump, or a later one, is acknowledged.
    fn is_validated(&self) -> bool {
        self.newest >= self.last
    }
}

impl<A: Resumable> Algorithm for Resuming<A> {
    fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.inner.on_sent(now, bytes);
        self.in_flight += bytes;
        self.sent = Some(now);
        if self.phase == Phase::Unvalidated {
            self.first.get_or_insert(now);
            if self.in_flight + self.mtu > self.inner.window() {
                self.leave_unvalidated();
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.app_limited = ack.app_limited;
        self.newest = self.newest.max(Some(ack.sent));
        if self.first.is_some_and(|first| ack.sent >= first) && self.phase != Phase::Normal {
            self.pipe_size += ack.bytes as f64;
        }
        if !matches!(self.phase, Phase::Unvalidated | Phase::SafeRetreat) {
            self.inner.on_ack(ack);
        }
    }

    fn on_marks(&mut self, packets: u64) {
        self.inner.on_marks(packets);
    }

    fn on_acks(&mut self, acks: &Acks) {
        self.in_flight = acks.in_flight;
        match self.phase {
            Phase::Normal => self.inner.on_acks(acks),
            Phase::Reconnaissance => {
                self.inner.on_acks(acks);
                self.reconnoitre(acks);
            }
            Phase::Unvalidated => self.check_unvalidated(acks),
            Phase::Validating => {
                self.inner.on_acks(acks);
                if self.is_validated() {
                    self.end(self.inner.window() as f64);
                }
            }
            Phase::SafeRetreat => {
                if self.is_validated() {
                    self.end_retreat();
                }
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.in_flight = self.in_flight.saturating_sub(event.lost_bytes);
        self.inner.on_congestion(event);
        match self.phase {
            Phase::Normal => {}
            Phase::Reconnaissance => self.phase = Phase::Normal,
            _ if event.persistent => self.end_retreat(),
            Phase::Unvalidated | Phase::Validating => self.retreat(),
            Phase::SafeRetreat => {}
        }
    }

    fn on_mtu(&mut self, mtu: u64) {
        self.mtu = mtu;
        self.inner.on_mtu(mtu);
    }

    fn restart(&mut self, idle: &Idle) {
        self.inner.restart(idle);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.inner.ssthresh()
    }

    fn rate_bps(&self) -> Option<u64> {
        self.inner.rate_bps()
    }

    fn model(&self) -> Option<Model> {
        let phase = match self.phase {
            Phase::Reconnaissance => "reconnaissance",
            Phase::Unvalidated => "unvalidated",
            Phase::Validating => "validating",
            Phase::SafeRetreat => "safe_retreat",
            Phase::Normal => return self.inner.model(),
        };
        Some(Model::phase(phase))
    }
}

#[cfg(test)]
mod tests;
