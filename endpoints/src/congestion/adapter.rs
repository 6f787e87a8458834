//! quinn's trait for congestion controllers, and the smaller one that the controllers here
//! implement.
//!
//! What quinn (quinn-proto 0.11) does, and how it is handled here:
//! - It calls `on_ack` once per acknowledged packet and `on_end_acks` once per ACK frame, both
//!   *before* it takes the frame's RTT sample. The adapter takes the sample itself, so that an
//!   algorithm has it at once.
//! - It sends while in flight + packet < window, where RFC 9002, section 7, has <=. With full
//!   packets a window of k packets would carry k - 1; the adapter adds one byte. `metrics` tells
//!   the window without it.
//! - It reports each batch of lost packets: one congestion event per round trip is the algorithm's
//!   to keep (`Recovery`). An ECN mark is such a report with 0 lost bytes.
//! - It paces at 1.25 windows per smoothed RTT in bursts of at least 10 packets and asks nobody for
//!   a rate: `pacing_rate` of the metrics goes to the qlog only.

use super::Shared;
use crate::quic::feedback::Marks;
use crate::quic::trace::States;
use quinn_proto::congestion::{Controller, ControllerMetrics};
use quinn_proto::RttEstimator;
use serde::Serialize;
use std::any::Any;
use std::time::{Duration, Instant};

/// The smallest window, full datagrams (RFC 9002, section 7.2).
pub const MINIMUM_PACKETS: u64 = 2;

/// An acknowledged packet.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// When the acknowledgement came.
    pub now: Instant,
    /// When the packet was sent.
    pub sent: Instant,
    /// Its bytes (UDP payload).
    pub bytes: u64,
    /// Whether the sender had nothing to send, or was not allowed to by the receiver's flow
    /// control.
    pub app_limited: bool,
    /// Smallest RTT of the connection (before the first sample quinn's guess of 333 ms).
    pub min_rtt: Duration,
}

/// The end of what one ACK frame acknowledged.
#[derive(Debug, Clone, Copy)]
pub struct Acks {
    /// When it came.
    pub now: Instant,
    /// Bytes that it acknowledged for the first time.
    pub bytes: u64,
    /// Bytes in flight after it (what it shows to be lost still counts).
    pub in_flight: u64,
    /// Time since the newest packet was sent, if it is newer than all that were acknowledged before
    /// (RFC 9002, section 5.1). The receiver's delay is in it.
    pub rtt: Option<Duration>,
    /// Smallest RTT of the connection, this one included.
    pub min_rtt: Duration,
    /// Smoothed RTT before this one.
    pub smoothed_rtt: Duration,
}

/// Packets that were found to be lost together, or a mark of congestion (ECN).
#[derive(Debug, Clone, Copy)]
pub struct Congestion {
    /// When it was found.
    pub now: Instant,
    /// When the newest of the packets was sent.
    pub sent: Instant,
    /// Whether the losses establish persistent congestion (RFC 9002, section 7.6).
    pub persistent: bool,
    /// Bytes that were lost; 0 for a mark.
    pub lost_bytes: u64,
}

/// A time in which a sender had nothing to send, longer than a retransmission timeout.
#[derive(Debug, Clone, Copy)]
pub struct Idle {
    /// How many whole timeouts it lasted.
    pub timeouts: u32,
    /// The least window afterwards, bytes: the initial one.
    pub least: u64,
}

impl Idle {
    /// The window after it: half of `window` for each timeout, not less than the initial one, but
    /// not more than `window` (RFC 2861, section 3.1; Linux: `tcp_cwnd_restart`).
    pub fn window(&self, window: f64) -> f64 {
        let halved = window / 2_f64.powi(self.timeouts.min(64) as i32);
        halved.max((self.least as f64).min(window))
    }

    /// The slow start threshold after it: at least three quarters of the window before it, so that
    /// the sender soon has it again (RFC 2861; Linux: `tcp_current_ssthresh`).
    pub fn ssthresh(ssthresh: Option<f64>, window: f64) -> Option<f64> {
        ssthresh.map(|threshold| threshold.max(window * 0.75))
    }
}

/// The least retransmission timeout of an idle time, as of Linux's TCP (`TCP_RTO_MIN`).
const LEAST_TIMEOUT_VARIANCE: Duration = Duration::from_millis(200);
/// Packets of at most this many bytes hold nothing but acknowledgements: they end no idle time.
const ACKNOWLEDGEMENT_BYTES: u64 = 100;

/// Finds the idle times of a sender: all that it had sent was acknowledged, and then nothing was
/// sent for longer than a retransmission timeout (RFC 6298, with Linux's least variance).
#[derive(Debug, Clone, Default)]
struct Idleness {
    /// When data was sent last.
    sent: Option<Instant>,
    /// Bytes sent since the last acknowledgements, and what these left in flight.
    in_flight: u64,
    smoothed_rtt: Option<Duration>,
    variance: Duration,
}

impl Idleness {
    /// Takes note of a sample of the round-trip time, and of what is in flight now.
    fn acknowledged(&mut self, in_flight: u64, rtt: Option<Duration>, smoothed_rtt: Duration) {
        self.in_flight = in_flight;
        if let Some(rtt) = rtt {
            self.variance = match self.smoothed_rtt {
                None => rtt / 2,
                Some(smoothed) => (self.variance * 3 + smoothed.abs_diff(rtt)) / 4,
            };
        }
        self.smoothed_rtt = Some(smoothed_rtt);
    }

    /// Takes note of a packet; returns how many timeouts nothing had been sent before it.
    fn sent(&mut self, now: Instant, bytes: u64) -> u32 {
        if bytes <= ACKNOWLEDGEMENT_BYTES {
            return 0;
        }
        let before = self.sent.replace(now);
        let was_in_flight = self.in_flight;
        self.in_flight += bytes;
        let (Some(before), Some(smoothed), 0) = (before, self.smoothed_rtt, was_in_flight) else {
            return 0;
        };
        let timeout = smoothed + (4 * self.variance).max(LEAST_TIMEOUT_VARIANCE);
        let idle = now.saturating_duration_since(before);
        // Linux: as long as what is left of the idle time is longer than nothing.
        let whole = idle.as_nanos().saturating_sub(1) / timeout.as_nanos();
        u32::try_from(whole).unwrap_or(u32::MAX)
    }

    /// Takes note of bytes that were lost.
    fn lost(&mut self, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
    }
}

/// What an algorithm thinks of the path, as samples show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Model {
    /// The rate at which it is paced, bit/s; None: at quinn's. Samples have a field for either.
    #[serde(skip)]
    pub pacing_bps: Option<u64>,
    /// The state or phase that it is in: `slow_start` and `congestion_avoidance` of `cubic`, `reno`
    /// and `prague`; `css` of the first two with `HyStart++`, and `reconnaissance`, `unvalidated`,
    /// `validating` and `safe_retreat` while they resume; `recovery` of `prague`; those of `bbr`
    /// (`startup`, `drain`, `probe_bw`, `probe_rtt`) and `bbr3`; `slow_start`, `default` and
    /// `competitive` of `copa`.
    pub state: &'static str,
    /// Cycles of probing for bandwidth so far; of `bbr` and `bbr3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u64>,
    /// Estimated bandwidth, bit/s; of `bbr` and `bbr3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bw_bps: Option<u64>,
    /// Estimated round-trip propagation delay, us; of `bbr`, `bbr3` and `copa`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_min_rtt_us: Option<u64>,
    /// Long-term bound of the bytes in flight, of `bbr3`; None: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inflight_longterm_bytes: Option<u64>,
    /// Short-term bound of the bytes in flight, of `bbr3`; None: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inflight_shortterm_bytes: Option<u64>,
    /// Moving average of the share of packets that were marked, millionths; of `prague`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_ppm: Option<u64>,
}

impl Model {
    /// Of an algorithm that has phases and no more.
    pub fn phase(state: &'static str) -> Self {
        Model {
            pacing_bps: None,
            state,
            cycle: None,
            max_bw_bps: None,
            path_min_rtt_us: None,
            inflight_longterm_bytes: None,
            inflight_shortterm_bytes: None,
            alpha_ppm: None,
        }
    }
}

/// A congestion control algorithm. Windows are in bytes of UDP payload.
pub trait Algorithm: Send + Sync + 'static {
    /// A packet was sent.
    fn on_sent(&mut self, _now: Instant, _bytes: u64) {}

    /// A packet was acknowledged.
    fn on_ack(&mut self, _ack: &Ack) {}

    /// An ACK frame reports packets that were marked (CE) beyond those reported before; called
    /// before `on_acks`, of algorithms that answer each mark.
    fn on_marks(&mut self, _packets: u64) {}

    /// An ACK frame is done with; called after `on_ack` of each of its packets.
    fn on_acks(&mut self, _acks: &Acks) {}

    /// Packets were lost or marked. Called for each batch, not once per round trip.
    fn on_congestion(&mut self, event: &Congestion);

    /// The size of a full datagram changed.
    fn on_mtu(&mut self, mtu: u64);

    /// Goes on after an idle time, of algorithms whose `Entry` says that they restart.
    fn restart(&mut self, _idle: &Idle) {}

    /// Bytes that may be in flight.
    fn window(&self) -> u64;

    /// Slow start threshold, bytes; None if there is none (yet).
    fn ssthresh(&self) -> Option<u64> {
        None
    }

    /// The rate that the algorithm wants, bit/s, if it thinks in rates.
    fn rate_bps(&self) -> Option<u64> {
        None
    }

    /// What it thinks of the path, if it is to be seen.
    fn model(&self) -> Option<Model> {
        None
    }
}

/// The recovery period of RFC 9002, section 7.3.2: one congestion event per round trip.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recovery(Option<Instant>);

impl Recovery {
    /// Whether a packet sent at `sent` belongs to what the last congestion event answered.
    pub fn covers(&self, sent: Instant) -> bool {
        self.0.is_some_and(|start| sent <= start)
    }

    /// Begins a period.
    pub fn enter(&mut self, now: Instant) {
        self.0 = Some(now);
    }

    /// Forgets the period (persistent congestion: RFC 9002, appendix B.8).
    pub fn forget(&mut self) {
        self.0 = None;
    }
}

/// An algorithm as quinn's congestion controller.
#[derive(Clone)]
pub struct Adapter<A> {
    algorithm: A,
    initial_window: u64,
    /// Bytes of the ACK frame that is being read.
    batch_bytes: u64,
    /// When its newest packet was sent.
    batch_newest: Option<Instant>,
    /// quinn's smallest and smoothed RTT before it.
    rtts: Option<(Duration, Duration)>,
    /// When the newest packet of all earlier frames was sent.
    newest: Option<Instant>,
    /// What the receiver counts, and how much of it the algorithm knows.
    marks: Marks,
    marks_told: u64,
    /// Where its states are written down, and the last one that was.
    states: Option<States>,
    state: Option<&'static str>,
    /// Of a sender whose window is reduced after an idle time.
    idleness: Option<Idleness>,
}

impl<A: Algorithm + Clone> Adapter<A> {
    /// Joins `algorithm` to quinn.
    pub fn boxed(algorithm: A, initial_window: u64, shared: &Shared) -> Box<dyn Controller> {
        Box::new(Adapter {
            algorithm,
            initial_window,
            batch_bytes: 0,
            batch_newest: None,
            rtts: None,
            newest: None,
            marks: shared.marks.clone(),
            marks_told: 0,
            states: shared.states.clone(),
            state: None,
            idleness: shared.restarts.then(Idleness::default),
        })
    }

    /// Writes down the state that the algorithm is in, if it is another one.
    fn note(&mut self, now: Instant, why: Option<&'static str>) {
        let Some(states) = &self.states else { return };
        let state = self.algorithm.model().map(|model| model.state);
        if state != self.state {
            states.changed(now, std::mem::replace(&mut self.state, state), state, why);
        }
    }
}

impl<A: Algorithm + Clone> Controller for Adapter<A> {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let timeouts = self.idleness.as_mut().map_or(0, |idleness| idleness.sent(now, bytes));
        if timeouts > 0 {
            self.algorithm.restart(&Idle { timeouts, least: self.initial_window });
        }
        self.algorithm.on_sent(now, bytes);
        self.note(now, None);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.batch_bytes += bytes;
        self.batch_newest = self.batch_newest.max(Some(sent));
        self.rtts = Some((rtt.min(), rtt.get()));
        self.algorithm.on_ack(&Ack { now, sent, bytes, app_limited, min_rtt: rtt.min() });
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        _app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        let bytes = std::mem::take(&mut self.batch_bytes);
        let Some(newest) = self.batch_newest.take() else { return };
        let Some((min_rtt, smoothed_rtt)) = self.rtts else { return };
        let rtt = (self.newest < Some(newest)).then(|| now.saturating_duration_since(newest));
        self.newest = self.newest.max(Some(newest));
        let min_rtt = rtt.map_or(min_rtt, |rtt| rtt.min(min_rtt));
        if let Some(idleness) = &mut self.idleness {
            idleness.acknowledged(in_flight, rtt, smoothed_rtt);
        }
        let marks = self.marks.packets();
        if marks > self.marks_told {
            self.algorithm.on_marks(marks - std::mem::replace(&mut self.marks_told, marks));
        }
        self.algorithm.on_acks(&Acks { now, bytes, in_flight, rtt, min_rtt, smoothed_rtt });
        self.note(now, None);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let persistent = is_persistent_congestion;
        if let Some(idleness) = &mut self.idleness {
            idleness.lost(lost_bytes);
        }
        self.algorithm.on_congestion(&Congestion { now, sent, persistent, lost_bytes });
        let why = match lost_bytes {
            _ if persistent => Some("persistent_congestion"),
            0 => Some("ecn"),
            _ => None,
        };
        self.note(now, why);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.algorithm.on_mtu(new_mtu.into());
    }

    fn window(&self) -> u64 {
        self.algorithm.window() + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.algorithm.window();
        metrics.ssthresh = self.algorithm.ssthresh();
        metrics.pacing_rate = self.algorithm.rate_bps();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    /// What it thinks of the path: an `Option<Model>`.
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.algorithm.model())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Whose last packet was sent at the time that is returned, and acknowledged a round trip
    /// later. All its samples are equal, so a timeout is RTT + 200 ms.
    fn idle() -> (Idleness, Instant) {
        let mut idleness = Idleness::default();
        let sent = Instant::now();
        for _ in 0..40 {
            assert_eq!(idleness.sent(sent, 1400), 0);
            idleness.acknowledged(0, Some(RTT), RTT);
        }
        (idleness, sent)
    }

    #[test]
    fn idle_times_are_counted_in_whole_timeouts() {
        for (idle_ms, timeouts) in [(299, 0), (300, 0), (301, 1), (600, 1), (601, 2), (3_100, 10)] {
            let (mut idleness, sent) = idle();
            let found = idleness.sent(sent + Duration::from_millis(idle_ms), 1400);
            assert_eq!(found, timeouts, "{idle_ms} ms");
            // What follows at once is part of the same burst.
            assert_eq!(idleness.sent(sent + Duration::from_millis(idle_ms), 1400), 0);
        }
    }

    #[test]
    fn a_sender_whose_data_is_in_flight_is_not_idle_and_acknowledgements_are_no_data() {
        let (mut idleness, sent) = idle();
        idleness.acknowledged(1400, Some(RTT), RTT);
        assert_eq!(idleness.sent(sent + 10 * RTT, 1400), 0);
        let (mut idleness, sent) = idle();
        assert_eq!(idleness.sent(sent + 9 * RTT, 40), 0);
        assert_eq!(idleness.sent(sent + 10 * RTT, 1400), 3);
        // Lost data is not in flight any more.
        let (mut idleness, sent) = idle();
        idleness.acknowledged(1400, Some(RTT), RTT);
        idleness.lost(1400);
        assert_eq!(idleness.sent(sent + 10 * RTT, 1400), 3);
    }

    #[test]
    fn an_idle_time_halves_the_window_down_to_the_initial_one() {
        let idle = |timeouts| Idle { timeouts, least: 10 };
        let windows: Vec<f64> = [1, 2, 3, 4, 1000].map(|n| idle(n).window(100.0)).into();
        assert_eq!(windows, [50.0, 25.0, 12.5, 10.0, 10.0]);
        assert!(idle(1).window(4.0).total_cmp(&4.0).is_eq(), "a smaller window stays");
        assert_eq!(Idle::ssthresh(Some(20.0), 100.0), Some(75.0));
        assert_eq!(Idle::ssthresh(Some(90.0), 100.0), Some(90.0));
        assert_eq!(Idle::ssthresh(None, 100.0), None, "slow start goes on");
    }
}
