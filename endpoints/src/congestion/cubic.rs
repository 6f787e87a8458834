//! CUBIC of one connection that emulates N, as Google's QUIC stacks and quic-go had it.
//!
//! Ha, Rhee, Xu, ACM SIGOPS Operating Systems Review 42(5), 2008; RFC 8312; N as in `quic-go` (2018
//! to 2020), `internal/congestion/cubic.go`. Windows in packets of the current MTU, t in seconds
//! since the first acknowledgement after the last congestion event, m the bytes that an
//! acknowledgement covers:
//! - Congestion event, once per round trip: window = B * window, B = (N - 1 + beta) / N.
//! - Fast convergence: Wmax = window before the event; if that is more than a packet below the last
//!   Wmax, Wmax = L * window, L = (N - 1 + (1 + beta) / 2) / N (0.85 for N = 1, beta = 0.7).
//! - Cubic: W(t) = C (t + smallest RTT - K)^3 + Wmax, K = cbrt((Wmax - window) / C); K = 0 and Wmax
//!   = window where the window is not below Wmax. The window follows it by at most m / 2 per
//!   acknowledgement.
//! - Reno-friendly: starts at the window and grows by m * alpha * MTU / itself, alpha = 3 N^2 (1 -
//!   B) / (1 + B) packets per round trip. The window is the greater of the two.
//! - The window is never above `max_window_packets`, where it is given, never below 2 packets.
//! - While the sender has nothing to send the window stays, and t begins anew.
//!
//! Growth by more than m / 2 is refused to the Reno-friendly part, too; quic-go limits the cubic
//! part only. The two differ where the window is below 2 alpha packets: for N = 5 below 4.6
//! packets, for N = 1 and 2 never.

use super::adapter::{Ack, Acks, Adapter, Algorithm, Congestion, Recovery, MINIMUM_PACKETS};
use super::hystart::HyStart;
use super::parameters::{self, Parameter};
use super::{Entry, Start};
use std::time::Instant;

/// `cubic` in the registry.
pub const ENTRY: Entry = Entry {
    name: "cubic",
    summary: "CUBIC as Google's QUIC has it (RFC 8312); it may emulate several connections",
    parameters: &[
        Parameter::whole("connections", "number of connections that one emulates", 1, 1..=1000),
        Parameter::real(
            "beta",
            "window after a congestion event, of the one before",
            0.7,
            0.01..=0.99,
        ),
        Parameter::real("c", "scale of the growth", 0.4, 0.001..=1000.0),
        Parameter::bound(parameters::CAP, "largest window, if there is one", 2..=10_000_000),
        Parameter::switch("hystart", "leave slow start early", false),
    ],
    build: |values, start| {
        let settings = Settings {
            connections: values.whole("connections") as f64,
            beta: values.real("beta"),
            c: values.real("c"),
            max_window_packets: values.cap_packets(),
        };
        let hystart = values.switch("hystart").then(HyStart::default);
        Adapter::boxed(Cubic::new(settings, hystart, start), start.initial_window)
    },
};

/// Parameters of CUBIC.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// N, the connections that are emulated.
    pub connections: f64,
    /// What one connection keeps of its window on a congestion event.
    pub beta: f64,
    /// Scale of the cubic function, packets per s^3.
    pub c: f64,
    /// Greatest window, packets; `None`: any.
    pub max_window_packets: Option<u64>,
}

impl Settings {
    /// B: what N connections keep of their windows if one of them has a congestion event.
    pub fn decrease(&self) -> f64 {
        (self.connections - 1.0 + self.beta) / self.connections
    }

    /// L: the same for the additional decrease of Wmax.
    pub fn convergence(&self) -> f64 {
        (self.connections - 1.0 + f64::midpoint(1.0, self.beta)) / self.connections
    }

    /// Growth of the Reno-friendly window, packets per round trip.
    pub fn alpha(&self) -> f64 {
        let b = self.decrease();
        3.0 * self.connections * self.connections * (1.0 - b) / (1.0 + b)
    }
}

/// One growth period: from the first acknowledgement after a congestion event.
#[derive(Debug, Clone)]
struct Epoch {
    start: Instant,
    /// K, s.
    k: f64,
    /// Wmax of the function, bytes.
    origin: f64,
    /// Reno-friendly window, bytes.
    friendly: f64,
}

/// State of CUBIC; windows in bytes.
#[derive(Debug, Clone)]
pub struct Cubic {
    settings: Settings,
    hystart: Option<HyStart>,
    mtu: u64,
    window: f64,
    ssthresh: Option<f64>,
    last_max: f64,
    epoch: Option<Epoch>,
    recovery: Recovery,
}

impl Cubic {
    /// Starts in slow start; without `hystart` only a congestion event ends it.
    pub fn new(settings: Settings, hystart: Option<HyStart>, start: Start) -> Self {
        Cubic {
            settings,
            hystart,
            mtu: start.mtu,
            window: start.initial_window as f64,
            ssthresh: None,
            last_max: 0.0,
            epoch: None,
            recovery: Recovery::default(),
        }
    }

    fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|threshold| self.window < threshold)
    }

    fn minimum(&self) -> f64 {
        (MINIMUM_PACKETS * self.mtu) as f64
    }

    fn maximum(&self) -> f64 {
        self.settings
            .max_window_packets
            .map_or(f64::INFINITY, |packets| (packets * self.mtu) as f64)
    }

    fn new_epoch(&self, now: Instant) -> Epoch {
        let missing = (self.last_max - self.window).max(0.0) / self.mtu as f64;
        Epoch {
            start: now,
            k: libm::cbrt(missing / self.settings.c),
            origin: self.last_max.max(self.window),
            friendly: self.window,
        }
    }

    /// The window after an acknowledgement in congestion avoidance.
    fn avoid_congestion(&mut self, ack: &Ack) -> f64 {
        let mtu = self.mtu as f64;
        let bytes = ack.bytes as f64;
        let mut epoch = self.epoch.take().unwrap_or_else(|| self.new_epoch(ack.now));
        epoch.friendly += bytes * self.settings.alpha() * mtu / epoch.friendly;
        let t = (ack.now - epoch.start + ack.min_rtt).as_secs_f64() - epoch.k;
        let cubic = self.settings.c * t * t * t * mtu + epoch.origin;
        let target = cubic.max(epoch.friendly).min(self.window + bytes / 2.0);
        self.epoch = Some(epoch);
        // Congestion events shrink the window, acknowledgements do not.
        target.max(self.window)
    }
}

impl Algorithm for Cubic {
    fn on_ack(&mut self, ack: &Ack) {
        if self.recovery.covers(ack.sent) {
            return;
        }
        if ack.app_limited {
            self.epoch = None;
            return;
        }
        if self.in_slow_start() {
            self.window += ack.bytes as f64;
        } else {
            self.window = self.avoid_congestion(ack);
        }
        self.window = self.window.min(self.maximum());
    }

    fn on_acks(&mut self, acks: &Acks) {
        if !self.in_slow_start() {
            return;
        }
        let packets = self.window() / self.mtu;
        if self.hystart.as_mut().is_some_and(|hystart| hystart.leaves(acks, packets)) {
            self.ssthresh = Some(self.window);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if !self.recovery.covers(event.sent) {
            self.recovery.enter(event.now);
            let never_reached = self.window + (self.mtu as f64) < self.last_max;
            let kept = if never_reached { self.settings.convergence() } else { 1.0 };
            self.last_max = kept * self.window;
            self.window = (self.settings.decrease() * self.window).max(self.minimum());
            self.ssthresh = Some(self.window);
            self.epoch = None;
        }
        if event.persistent {
            self.window = self.minimum();
            self.last_max = 0.0;
            self.epoch = None;
            self.hystart = self.hystart.take().map(|_| HyStart::default());
            self.recovery.forget();
        }
    }

    fn on_mtu(&mut self, mtu: u64) {
        self.mtu = mtu;
        self.window = self.window.max(self.minimum());
    }

    fn window(&self) -> u64 {
        self.window as u64
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.map(|threshold| threshold as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulation::{self, Flow, Link, MTU};
    use super::*;
    use std::time::Duration;

    const RTT: Duration = Duration::from_millis(100);

    fn settings(connections: u32) -> Settings {
        Settings {
            connections: f64::from(connections),
            beta: 0.7,
            c: 0.4,
            max_window_packets: None,
        }
    }

    fn cubic(settings: Settings, packets: u64) -> (Cubic, Instant) {
        let now = Instant::now();
        (Cubic::new(settings, None, Start { now, mtu: MTU, initial_window: packets * MTU }), now)
    }

    fn loss(now: Instant) -> Congestion {
        Congestion { now, sent: now, persistent: false, lost_bytes: MTU }
    }

    /// One acknowledgement of a full packet per window and round trip, evenly spaced, for
    /// `seconds`.
    fn acknowledge(
        cubic: &mut Cubic,
        mut now: Instant,
        seconds: f64,
        mut each: impl FnMut(f64, f64),
    ) -> Instant {
        let start = now;
        while (now - start).as_secs_f64() < seconds {
            now += RTT.mul_f64(MTU as f64 / cubic.window);
            cubic.on_ack(&Ack { now, sent: start, bytes: MTU, app_limited: false, min_rtt: RTT });
            each((now - start).as_secs_f64(), cubic.window / MTU as f64);
        }
        now
    }

    #[test]
    fn a_congestion_event_leaves_b_of_the_window() {
        for (connections, kept) in [(1, 0.7), (2, 0.85), (5, 0.94)] {
            let (mut cubic, now) = cubic(settings(connections), 100);
            cubic.on_congestion(&loss(now + RTT));
            assert_eq!(cubic.window(), (kept * 100.0 * MTU as f64) as u64, "N = {connections}");
            assert_eq!(cubic.ssthresh(), Some(cubic.window()));
        }
    }

    #[test]
    fn a_round_trip_has_one_congestion_event() {
        let (mut cubic, now) = cubic(settings(1), 100);
        cubic.on_congestion(&loss(now + RTT));
        let window = cubic.window();
        let late = Congestion { now: now + RTT + RTT / 2, ..loss(now + RTT) };
        cubic.on_congestion(&late);
        let ack = Ack { now: late.now, sent: now, bytes: MTU, app_limited: false, min_rtt: RTT };
        cubic.on_ack(&ack);
        assert_eq!(cubic.window(), window);
        cubic.on_congestion(&loss(now + 2 * RTT));
        assert!(cubic.window() < window);
    }

    #[test]
    fn fast_convergence_lowers_the_next_maximum() {
        for (connections, kept) in [(1, 0.85), (2, 0.925), (5, 0.97)] {
            let (mut cubic, now) = cubic(settings(connections), 100);
            cubic.on_congestion(&loss(now + RTT));
            assert!((cubic.last_max - 100.0 * MTU as f64).abs() < 1e-6);
            let second = cubic.window;
            cubic.on_congestion(&loss(now + 2 * RTT));
            assert!((cubic.last_max - kept * second).abs() < 1e-6, "N = {connections}");
        }
    }

    #[test]
    fn the_window_follows_the_cubic_function() {
        // 200 packets at 100 ms: far above what a Reno flow reaches.
        let (mut cubic, now) = cubic(settings(1), 200);
        cubic.on_congestion(&loss(now));
        let k = (200.0_f64 * 0.3 / 0.4).powf(1.0 / 3.0);
        let mut points = 0;
        let first = RTT.as_secs_f64() / 140.0;
        acknowledge(&mut cubic, now + RTT, 12.0, |t, packets| {
            let wanted = 0.4 * (t - first + 0.1 - k).powi(3) + 200.0;
            // The first step, for the smallest RTT, is taken at m / 2 per acknowledgement.
            assert!(t < 0.1 || (packets - wanted).abs() < 0.1, "{t}: {packets}, not {wanted}");
            points += 1;
        });
        assert!(points > 10_000);
        assert!(cubic.window / MTU as f64 > 200.0);
    }

    #[test]
    fn the_reno_friendly_window_grows_by_alpha_per_round_trip() {
        for (connections, alpha) in
            [(1, 3.0 * 0.3 / 1.7), (2, 12.0 * 0.15 / 1.85), (5, 75.0 * 0.06 / 1.94)]
        {
            assert!((settings(connections).alpha() - alpha).abs() < 1e-12);
            // A cubic function that stays flat leaves the other.
            let flat = Settings { c: 1e-9, ..settings(connections) };
            let (mut cubic, now) = cubic(flat, 40);
            cubic.on_congestion(&loss(now));
            let before = cubic.window;
            let round_trips = 50.0;
            acknowledge(&mut cubic, now + RTT, round_trips * 0.1, |_, _| {});
            let grown = (cubic.window - before) / MTU as f64;
            assert!(
                (grown / (alpha * round_trips) - 1.0).abs() < 0.02,
                "N = {connections}: {grown}"
            );
        }
    }

    #[test]
    fn an_acknowledgement_of_m_bytes_adds_at_most_half() {
        let (mut cubic, now) = cubic(Settings { c: 1000.0, ..settings(1) }, 100);
        cubic.on_congestion(&loss(now));
        let mut before = cubic.window / MTU as f64;
        let mut at_limit = 0;
        acknowledge(&mut cubic, now + RTT, 2.0, |_, packets| {
            assert!(packets - before <= 0.5 + 1e-9);
            at_limit += u32::from(packets - before > 0.5 - 1e-9);
            before = packets;
        });
        assert!(at_limit > 40, "{at_limit}");
    }

    #[test]
    fn the_cap_holds_in_slow_start_and_after() {
        let capped = Settings { max_window_packets: Some(50), ..settings(1) };
        let (mut cubic, now) = cubic(capped, 10);
        let now = acknowledge(&mut cubic, now, 1.0, |_, packets| assert!(packets <= 50.0));
        assert_eq!(cubic.window(), 50 * MTU);
        cubic.on_congestion(&loss(now));
        assert_eq!(cubic.window(), 35 * MTU);
        acknowledge(&mut cubic, now + RTT, 60.0, |_, packets| assert!(packets <= 50.0));
        assert_eq!(cubic.window(), 50 * MTU);
    }

    #[test]
    fn slow_start_doubles_per_round_trip_and_app_limited_acks_count_for_nothing() {
        let (mut cubic, now) = cubic(settings(1), 10);
        let ack = Ack { now: now + RTT, sent: now, bytes: MTU, app_limited: false, min_rtt: RTT };
        for (acks, packets) in [(10, 20), (20, 40), (40, 80)] {
            (0..acks).for_each(|_| cubic.on_ack(&ack));
            assert_eq!(cubic.window(), packets * MTU);
        }
        cubic.on_ack(&Ack { app_limited: true, ..ack });
        assert_eq!(cubic.window(), 80 * MTU);
    }

    #[test]
    fn persistent_congestion_leaves_two_packets() {
        let (mut cubic, now) = cubic(settings(5), 100);
        cubic.on_congestion(&loss(now + RTT));
        // The period of recovery does not cover it up.
        cubic.on_congestion(&Congestion { persistent: true, ..loss(now + RTT) });
        assert_eq!(cubic.window(), 2 * MTU);
        assert!(cubic.in_slow_start());
    }

    #[test]
    fn hystart_leaves_slow_start_when_the_delay_grows() {
        let link = Link { rate_bps: 10e6, rtt: RTT, buffer_bytes: 500_000, loss: 0.0 };
        let peak = |hystart: Option<HyStart>| {
            let start = Start { now: Instant::now(), mtu: MTU, initial_window: 10 * MTU };
            let flow = Box::new(Cubic::new(settings(1), hystart, start));
            simulation::run(link, vec![Flow::new(flow)], 3.0, 0.0, 1)[0].highest_window
        };
        let (with, without) = (peak(Some(HyStart::default())), peak(None));
        // Without: the buffer (333 packets) and the path (83) are full before a loss is seen.
        assert!(without > 400 * MTU, "{without}");
        assert!(with < 250 * MTU, "{with}");
    }

    #[test]
    fn random_loss_gives_n_times_the_window_of_reno() {
        let loss = 0.001;
        for (connections, seconds) in [(1, 120.0), (2, 60.0), (5, 30.0)] {
            let link = Link { rate_bps: 1e9, rtt: RTT / 5, buffer_bytes: 10_000_000, loss };
            let start = Start { now: Instant::now(), mtu: MTU, initial_window: 10 * MTU };
            let flow = Flow::new(Box::new(Cubic::new(settings(connections), None, start)));
            let goodput = simulation::run(link, vec![flow], seconds, 10.0, 3)[0].goodput;
            let packets = goodput * link.rtt.as_secs_f64() / MTU as f64;
            let law = f64::from(connections) * (1.5_f64 / loss).sqrt();
            println!("N = {connections}: {packets}, law {law}");
            assert!((packets / law - 1.0).abs() < 0.15, "N = {connections}: {packets}, law {law}");
        }
    }

    /// Bytes per second of CUBIC flows that emulate these numbers of connections, on one link.
    fn shares(connections: &[u32]) -> Vec<f64> {
        let link = Link { rate_bps: 10e6, rtt: RTT / 2, buffer_bytes: 62_500, loss: 0.0 };
        let start = Start { now: Instant::now(), mtu: MTU, initial_window: 10 * MTU };
        let flow = |n: &u32| Flow::new(Box::new(Cubic::new(settings(*n), None, start)));
        let flows = connections.iter().map(flow).collect();
        simulation::run(link, flows, 150.0, 30.0, 7).iter().map(|flow| flow.goodput).collect()
    }

    #[test]
    fn more_emulated_connections_take_more_of_the_link() {
        let ratio = |connections| {
            let shares = shares(connections);
            println!("{connections:?}: {shares:?}");
            assert!(shares.iter().sum::<f64>() > 0.9 * 10e6 / 8.0);
            shares[1] / shares[0]
        };
        let equal = ratio(&[1, 1]);
        assert!((0.8..1.25).contains(&equal), "{equal}");
        let two = ratio(&[1, 2]);
        assert!((1.3..4.0).contains(&two), "{two}");
        let five = ratio(&[1, 5]);
        assert!(five > 1.3 * two, "{five}");
    }
}
