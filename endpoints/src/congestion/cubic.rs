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
//! - `slow_start: hystartpp` ends the initial slow start when the delay grows (`hystartpp`).
//! - With what an earlier connection saved it jumps (`resume`).
//!
//! Growth by more than m / 2 is refused to the Reno-friendly part, too; quic-go limits the cubic
//! part only. The two differ where the window is below 2 alpha packets: for N = 5 below 4.6
//! packets, for N = 1 and 2 never.

use super::adapter::{
    Ack, Acks, Adapter, Algorithm, Congestion, Idle, Model, Recovery, MINIMUM_PACKETS,
};
use super::hystart::HyStart;
use super::hystartpp::{HyStartPp, Verdict};
use super::parameters::{self, Parameter, HYSTARTPP, SLOW_START};
use super::resume::{Resumable, Resuming, Saved};
use super::{Entry, Start};
use std::time::Instant;

/// `cubic` in the registry.
pub const ENTRY: Entry = Entry {
    name: "cubic",
    summary: "CUBIC as in Google's QUIC (RFC 8312); can emulate several connections",
    parameters: &[
        Parameter::whole("connections", "connections that one connection emulates", 1, 1..=1000),
        Parameter::real(
            "beta",
            "window after a congestion event, as a share of the window before it",
            0.7,
            0.01..=0.99,
        ),
        Parameter::real("c", "scaling constant C of the growth", 0.4, 0.001..=1000.0),
        Parameter::bound(parameters::CAP, "upper bound of the window, if any", 2..=10_000_000),
        Parameter::switch("hystart", "leave slow start early (HyStart)", false),
        Parameter::slow_start(),
        Parameter::resume(),
        Parameter::resume_rtt(),
    ],
    paces: None,
    l4s: false,
    restarts: true,
    build: |values, start, shared| {
        let settings = Settings {
            connections: values.whole("connections") as f64,
            beta: values.real("beta"),
            c: values.real("c"),
            max_window_packets: values.cap_packets(),
        };
        let hystart = values.switch("hystart").then(HyStart::default);
        let hystartpp = values.word(SLOW_START) == Some(HYSTARTPP);
        let cubic = Cubic {
            hystartpp: hystartpp.then(HyStartPp::default),
            ..Cubic::new(settings, hystart, start)
        };
        if let Some(saved) = Saved::of(values) {
            let resuming = Resuming::new(cubic, saved, start, shared.claim.clone());
            return Adapter::boxed(resuming, start.initial_window, shared);
        }
        Adapter::boxed(cubic, start.initial_window, shared)
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
    /// None: without it, or the initial slow start is over.
    hystartpp: Option<HyStartPp>,
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
            hystartpp: None,
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

impl Resumable for Cubic {
    fn resume(&mut self, bytes: f64) {
        self.window = bytes.min(self.maximum());
        self.epoch = None;
    }

    fn leave_slow_start(&mut self, ssthresh: f64) {
        self.ssthresh = Some(ssthresh);
        (self.hystart, self.hystartpp) = (None, None);
        self.last_max = 0.0;
        self.epoch = None;
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
            let bytes = ack.bytes as f64;
            self.window += self.hystartpp.as_ref().map_or(bytes, |hystart| hystart.growth(bytes));
        } else {
            self.window = self.avoid_congestion(ack);
        }
        self.window = self.window.min(self.maximum());
    }

    fn on_acks(&mut self, acks: &Acks) {
        if !self.in_slow_start() {
            return;
        }
        if self.hystartpp.as_mut().is_some_and(|hystart| hystart.on_acks(acks) == Verdict::Leave) {
            self.hystartpp = None;
            self.ssthresh = Some(self.window);
            return;
        }
        let packets = self.window() / self.mtu;
        if self.hystart.as_mut().is_some_and(|hystart| hystart.leaves(acks, packets)) {
            self.ssthresh = Some(self.window);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.hystartpp = None;
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

    fn restart(&mut self, idle: &Idle) {
        self.ssthresh = Idle::ssthresh(self.ssthresh, self.window);
        self.window = idle.window(self.window);
        self.epoch = None;
    }

    fn window(&self) -> u64 {
        self.window as u64
    }

    fn model(&self) -> Option<Model> {
        let phase = match &self.hystartpp {
            Some(hystart) => hystart.name(),
            None if self.in_slow_start() => "slow_start",
            None => "congestion_avoidance",
        };
        Some(Model::phase(phase))
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.map(|threshold| threshold as u64)
    }
}

#[cfg(test)]
mod tests;
