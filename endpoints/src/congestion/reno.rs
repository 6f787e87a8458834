//! `NewReno` as RFC 9002, section 7 and appendix B, has it.
//!
//! - Slow start (window < ssthresh): the window grows by the bytes acknowledged: it doubles per
//!   round trip. `slow_start: hystartpp` ends it when the delay grows (`hystartpp`).
//! - Congestion avoidance: it grows by `mtu * bytes / window` per acknowledgement: one packet per
//!   round trip.
//! - Congestion event, once per round trip: ssthresh = window = beta * window, at least two
//!   packets.
//! - Persistent congestion: two packets.
//! - With what an earlier connection saved it jumps (`resume`).
//!
//! In the mean over many cycles with loss probability p the window is sqrt(a / p) packets, a = (1 +
//! beta) / (2 (1 - beta)): sqrt(3 / (2 p)) for beta = 0.5 (Mathis et al., ACM CCR 27(3), 1997).

use super::adapter::{
    Ack, Acks, Adapter, Algorithm, Congestion, Idle, Model, Recovery, MINIMUM_PACKETS,
};
use super::hystartpp::{HyStartPp, Verdict};
use super::parameters::{Parameter, HYSTARTPP, SLOW_START};
use super::resume::{Resumable, Resuming, Saved};
use super::{Entry, Start};

/// `reno` in the registry.
pub const ENTRY: Entry = Entry {
    name: "reno",
    summary: "NewReno (RFC 9002)",
    parameters: &[
        Parameter::real(
            "beta",
            "window after a congestion event, as a share of the window before it",
            0.5,
            0.01..=0.99,
        ),
        Parameter::slow_start(),
        Parameter::resume(),
        Parameter::resume_rtt(),
    ],
    paces: None,
    l4s: false,
    restarts: true,
    build: |values, start, shared| {
        let hystartpp = values.word(SLOW_START) == Some(HYSTARTPP);
        let reno = Reno {
            hystartpp: hystartpp.then(HyStartPp::default),
            ..Reno::new(values.real("beta"), start)
        };
        if let Some(saved) = Saved::of(values) {
            let resuming = Resuming::new(reno, saved, start, shared.claim.clone());
            return Adapter::boxed(resuming, start.initial_window, shared);
        }
        Adapter::boxed(reno, start.initial_window, shared)
    },
};

/// State of `NewReno`; windows in bytes.
#[derive(Debug, Clone)]
pub struct Reno {
    beta: f64,
    /// None: without it, or the initial slow start is over.
    hystartpp: Option<HyStartPp>,
    mtu: u64,
    window: f64,
    ssthresh: Option<f64>,
    recovery: Recovery,
}

impl Reno {
    /// Starts; `beta` is what is left of the window after a congestion event.
    pub fn new(beta: f64, start: Start) -> Self {
        Reno {
            beta,
            hystartpp: None,
            mtu: start.mtu,
            window: start.initial_window as f64,
            ssthresh: None,
            recovery: Recovery::default(),
        }
    }

    fn minimum(&self) -> f64 {
        (MINIMUM_PACKETS * self.mtu) as f64
    }
}

impl Resumable for Reno {
    fn resume(&mut self, bytes: f64) {
        self.window = bytes;
    }

    fn leave_slow_start(&mut self, ssthresh: f64) {
        self.ssthresh = Some(ssthresh);
        self.hystartpp = None;
    }
}

impl Algorithm for Reno {
    fn on_ack(&mut self, ack: &Ack) {
        if ack.app_limited || self.recovery.covers(ack.sent) {
            return;
        }
        let bytes = ack.bytes as f64;
        if self.ssthresh.is_none_or(|threshold| self.window < threshold) {
            self.window += self.hystartpp.as_ref().map_or(bytes, |hystart| hystart.growth(bytes));
        } else {
            self.window += self.mtu as f64 * bytes / self.window;
        }
    }

    fn on_acks(&mut self, acks: &Acks) {
        if self.hystartpp.as_mut().is_some_and(|hystart| hystart.on_acks(acks) == Verdict::Leave) {
            self.hystartpp = None;
            self.ssthresh = Some(self.window);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.hystartpp = None;
        if !self.recovery.covers(event.sent) {
            self.recovery.enter(event.now);
            self.window = (self.beta * self.window).max(self.minimum());
            self.ssthresh = Some(self.window);
        }
        if event.persistent {
            self.window = self.minimum();
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
    }

    fn window(&self) -> u64 {
        self.window as u64
    }

    fn model(&self) -> Option<Model> {
        let phase = match &self.hystartpp {
            Some(hystart) => hystart.name(),
            None if self.ssthresh.is_none_or(|threshold| self.window < threshold) => "slow_start",
            None => "congestion_avoidance",
        };
        Some(Model::phase(phase))
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.map(|threshold| threshold as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulation::{self, Flow, Link, MTU};
    use super::*;
    use std::time::{Duration, Instant};

    const RTT: Duration = Duration::from_millis(100);

    fn reno(packets: u64) -> (Reno, Instant) {
        let now = Instant::now();
        (Reno::new(0.5, Start { now, mtu: MTU, initial_window: packets * MTU }), now)
    }

    fn ack(sent: Instant) -> Ack {
        Ack { now: sent + RTT, sent, bytes: MTU, app_limited: false, min_rtt: RTT }
    }

    fn loss(now: Instant) -> Congestion {
        Congestion { now, sent: now, persistent: false, lost_bytes: MTU }
    }

    #[test]
    fn slow_start_doubles_and_an_event_halves_once_per_round_trip() {
        let (mut reno, now) = reno(10);
        (0..10).for_each(|_| reno.on_ack(&ack(now)));
        assert_eq!(reno.window(), 20 * MTU);
        reno.on_congestion(&loss(now + RTT));
        reno.on_congestion(&Congestion { now: now + 2 * RTT, ..loss(now + RTT) });
        assert_eq!((reno.window(), reno.ssthresh()), (10 * MTU, Some(10 * MTU)));
    }

    #[test]
    fn congestion_avoidance_adds_a_packet_per_window() {
        let (mut reno, now) = reno(40);
        reno.on_congestion(&loss(now));
        (0..20).for_each(|_| reno.on_ack(&ack(now)));
        assert_eq!(reno.window(), 20 * MTU, "packets of before the event");
        let later = now + Duration::from_nanos(1);
        // The growth per acknowledgement shrinks with the window: a little less than one packet.
        (0..20).for_each(|_| reno.on_ack(&ack(later)));
        let grown = reno.window / MTU as f64 - 20.0;
        assert!((0.97..1.0).contains(&grown), "{grown}");
        let before = reno.window();
        reno.on_ack(&Ack { app_limited: true, ..ack(later) });
        assert_eq!(reno.window(), before);
    }

    #[test]
    fn the_window_is_never_below_two_packets() {
        let (mut reno, now) = reno(3);
        reno.on_congestion(&loss(now));
        assert_eq!(reno.window(), 2 * MTU);
        let (mut reno, now) = super::tests::reno(100);
        reno.on_congestion(&Congestion { persistent: true, ..loss(now) });
        assert_eq!((reno.window(), reno.ssthresh()), (2 * MTU, Some(50 * MTU)));
    }

    fn hystartpp(packets: u64) -> (Reno, Instant) {
        let (reno, now) = reno(packets);
        (Reno { hystartpp: Some(HyStartPp::default()), ..reno }, now)
    }

    /// Acknowledges `count` packets, all sent at `sent`, after `rtt`.
    fn round(reno: &mut Reno, sent: Instant, rtt: Duration, count: u32) -> Instant {
        let now = sent + rtt;
        for _ in 0..count {
            reno.on_ack(&Ack { now, ..ack(sent) });
            let (in_flight, min_rtt, smoothed_rtt) = (0, RTT, RTT);
            let rtt = Some(rtt);
            reno.on_acks(&Acks { now, bytes: MTU, in_flight, rtt, min_rtt, smoothed_rtt });
        }
        now
    }

    #[test]
    fn hystartpp_ends_slow_start_where_the_delay_grows() {
        let (mut reno, now) = hystartpp(10);
        let now = round(&mut reno, now, RTT, 10);
        assert_eq!(reno.window(), 20 * MTU);
        let mut now = round(&mut reno, now, RTT + RTT / 2, 8);
        assert_eq!((reno.window(), reno.ssthresh()), (28 * MTU, None));
        for _ in 2..=5 {
            now = round(&mut reno, now, RTT + RTT / 2, 8);
        }
        assert_eq!((reno.window(), reno.ssthresh()), (36 * MTU, None), "a quarter in CSS");
        round(&mut reno, now, RTT + RTT / 2, 1);
        assert_eq!(reno.ssthresh(), Some(reno.window()), "congestion avoidance");
    }

    #[test]
    fn a_loss_or_a_mark_ends_hystartpp_for_good() {
        for lost_bytes in [MTU, 0] {
            let (mut reno, now) = hystartpp(40);
            let now = round(&mut reno, now, RTT, 10);
            reno.on_congestion(&Congestion { lost_bytes, persistent: true, ..loss(now) });
            assert_eq!((reno.window(), reno.ssthresh()), (2 * MTU, Some(25 * MTU)));
            let now = round(&mut reno, now, RTT, 8);
            round(&mut reno, now, 2 * RTT, 8);
            assert_eq!(reno.window(), 18 * MTU, "standard slow start");
        }
    }

    #[test]
    fn random_loss_gives_the_square_root_law() {
        for loss in [0.001, 0.004, 0.01] {
            let link = Link { rate_bps: 1e9, rtt: RTT, buffer_bytes: 10_000_000, loss };
            let start = Start { now: Instant::now(), mtu: MTU, initial_window: 10 * MTU };
            let flow = Flow::new(Box::new(Reno::new(0.5, start)));
            let goodput = simulation::run(link, vec![flow], 500.0, 20.0, 3)[0].goodput;
            let packets = goodput * RTT.as_secs_f64() / MTU as f64;
            let law = (1.5 / loss).sqrt();
            println!("{loss}: {packets} {law}");
            assert!((packets / law - 1.0).abs() < 0.15, "p = {loss}: {packets}, law {law}");
        }
    }
}
