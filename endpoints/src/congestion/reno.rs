//! `NewReno` as RFC 9002, section 7 and appendix B, has it.
//!
//! - Slow start (window < ssthresh): the window grows by the bytes acknowledged: it doubles per
//!   round trip.
//! - Congestion avoidance: it grows by `mtu * bytes / window` per acknowledgement: one packet per
//!   round trip.
//! - Congestion event, once per round trip: ssthresh = window = beta * window, at least two
//!   packets.
//! - Persistent congestion: two packets.
//!
//! In the mean over many cycles with loss probability p the window is sqrt(a / p) packets, a = (1 +
//! beta) / (2 (1 - beta)): sqrt(3 / (2 p)) for beta = 0.5 (Mathis et al., ACM CCR 27(3), 1997).

use super::adapter::{Ack, Adapter, Algorithm, Congestion, Recovery, MINIMUM_PACKETS};
use super::parameters::Parameter;
use super::{Entry, Start};

/// `reno` in the registry.
pub const ENTRY: Entry = Entry {
    name: "reno",
    summary: "NewReno (RFC 9002)",
    parameters: &[Parameter::real(
        "beta",
        "window after a congestion event, as a share of the window before it",
        0.5,
        0.01..=0.99,
    )],
    build: |values, start| {
        Adapter::boxed(Reno::new(values.real("beta"), start), start.initial_window)
    },
};

/// State of `NewReno`; windows in bytes.
#[derive(Debug, Clone)]
pub struct Reno {
    beta: f64,
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

impl Algorithm for Reno {
    fn on_ack(&mut self, ack: &Ack) {
        if ack.app_limited || self.recovery.covers(ack.sent) {
            return;
        }
        let bytes = ack.bytes as f64;
        if self.ssthresh.is_none_or(|threshold| self.window < threshold) {
            self.window += bytes;
        } else {
            self.window += self.mtu as f64 * bytes / self.window;
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
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
