//! CUBIC against its formulas, and on a simulated link.

use super::*;
use crate::congestion::simulation::{self, Flow, Link, MTU};
use std::time::Duration;

const RTT: Duration = Duration::from_millis(100);

fn settings(connections: u32) -> Settings {
    Settings { connections: f64::from(connections), beta: 0.7, c: 0.4, max_window_packets: None }
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
        assert!((grown / (alpha * round_trips) - 1.0).abs() < 0.02, "N = {connections}: {grown}");
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
