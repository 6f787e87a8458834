//! What BBR does on a simulated link.

use super::*;
use crate::congestion::simulation::{self, Flow, Link, Outcome, MTU};

const RTT: Duration = Duration::from_millis(80);
const RATE: f64 = 5e6;
const BDP: f64 = RATE / 8.0 * 0.08;

fn bbr() -> Flow {
    let start = Start { now: Instant::now(), mtu: MTU, initial_window: 32 * MTU };
    Flow::new(Box::new(Bbr::new(start)))
}

fn run(flows: usize, buffer: f64, loss: f64, seconds: f64) -> Vec<Outcome> {
    let link = Link { rate_bps: RATE, rtt: RTT, buffer_bytes: (buffer * BDP) as u64, loss };
    simulation::run(link, (0..flows).map(|_| bbr()).collect(), seconds, 10.0, 5)
}

#[test]
fn alone_it_fills_the_link_and_not_the_queue() {
    for buffer in [1.0, 4.0] {
        let outcome = &run(1, buffer, 0.0, 60.0)[0];
        println!("{buffer}: {outcome:?}");
        assert!(outcome.goodput * 8.0 / RATE > 0.95, "{outcome:?}");
        assert!(outcome.rtt_s < 1.6 * RTT.as_secs_f64(), "{outcome:?}");
        assert!(outcome.loss < 0.005, "{outcome:?}");
    }
}

#[test]
fn its_window_is_bounded_by_the_gain_of_startup() {
    let outcome = &run(1, 10.0, 0.0, 60.0)[0];
    let bound = HIGH_GAIN * BDP + 4.0 * MTU as f64;
    assert!((outcome.highest_window as f64) < 1.1 * bound, "{outcome:?} {bound}");
}

#[test]
fn random_loss_does_not_slow_it_down() {
    for loss in [0.01, 0.05] {
        let outcome = &run(1, 1.0, loss, 60.0)[0];
        println!("{loss}: {outcome:?}");
        assert!(outcome.goodput * 8.0 / RATE > 0.9 * (1.0 - loss), "{loss}: {outcome:?}");
    }
}

#[test]
fn a_small_beginning_is_not_the_bandwidth() {
    let start = Start { now: Instant::now(), mtu: MTU, initial_window: 32 * MTU };
    let mut bbr = Bbr::new(start);
    let mut now = start.now;
    for _ in 0..3 {
        // A handshake: a packet per round trip.
        bbr.on_sent(now, MTU);
        let sent = now;
        now += RTT;
        bbr.on_ack(&Ack { now, sent, bytes: MTU, app_limited: false, min_rtt: RTT });
        bbr.on_acks(&Acks {
            now,
            bytes: MTU,
            in_flight: 0,
            rtt: Some(RTT),
            min_rtt: RTT,
            smoothed_rtt: RTT,
        });
    }
    assert!(bbr.window() >= 32 * MTU, "{}", bbr.window());
}

#[test]
fn two_of_them_share_the_link() {
    let outcomes = run(2, 2.0, 0.0, 200.0);
    let sum: f64 = outcomes.iter().map(|outcome| outcome.goodput).sum();
    let squares: f64 = outcomes.iter().map(|outcome| outcome.goodput.powi(2)).sum();
    println!("{outcomes:?}");
    assert!(sum * 8.0 / RATE > 0.93, "{outcomes:?}");
    assert!(sum * sum / (2.0 * squares) > 0.9, "{outcomes:?}");
}

#[test]
fn marks_change_nothing_and_what_was_lost_is_paid_back() {
    let start = Start { now: Instant::now(), mtu: MTU, initial_window: 32 * MTU };
    let mut bbr = Bbr::new(start);
    (0..32).for_each(|_| bbr.on_sent(start.now, MTU));
    let later = start.now + RTT;
    let mark = Congestion { now: later, sent: start.now, persistent: false, lost_bytes: 0 };
    bbr.on_congestion(&mark);
    assert_eq!(bbr.window(), 32 * MTU);
    bbr.on_congestion(&Congestion { lost_bytes: 16 * MTU, ..mark });
    assert_eq!(bbr.window(), 17 * MTU);
    bbr.on_sent(later, MTU);
    let now = later + RTT;
    let sent = later + Duration::from_nanos(1);
    bbr.on_ack(&Ack { now, sent, bytes: MTU, app_limited: false, min_rtt: RTT });
    assert_eq!(bbr.cwnd as u64, 32 * MTU);
}
