#![allow(clippy::float_cmp)] // halves and whole numbers, which are exact

use super::super::reno::Reno;
use super::super::simulation::{self, Flow, Link, Outcome, MTU};
use super::*;

const BASE: Duration = Duration::from_millis(50);
const RATE_BPS: f64 = 10e6;
const PACKET_S: f64 = 8.0 * MTU as f64 / RATE_BPS;
const SETTINGS: Settings = Settings { inverse_delta: 2.0, competitive: true };
const ALONE: Settings = Settings { competitive: false, ..SETTINGS };

fn start(packets: u64) -> Start {
    Start { now: Instant::now(), mtu: MTU, initial_window: packets * MTU }
}

/// A flow past slow start, with a window of `packets`.
fn copa(packets: u64) -> (Copa, Instant) {
    let start = start(packets);
    let mut copa = Copa::new(SETTINGS, start);
    copa.is_in_slow_start = false;
    (copa, start.now)
}

/// One packet is acknowledged.
fn acknowledge(copa: &mut Copa, now: Instant, rtt: Duration, app_limited: bool) {
    copa.on_ack(&Ack {
        now,
        sent: now.checked_sub(rtt).unwrap(),
        bytes: MTU,
        app_limited,
        min_rtt: BASE,
    });
    copa.on_acks(&Acks {
        now,
        bytes: MTU,
        in_flight: copa.window() - MTU,
        rtt: Some(rtt),
        min_rtt: BASE,
        smoothed_rtt: BASE,
    });
}

fn loss(now: Instant) -> Congestion {
    Congestion { now, sent: now, persistent: false, lost_bytes: MTU }
}

/// One packet acknowledged per round trip, at RTTs in ms.
fn rounds(copa: &mut Copa, now: &mut Instant, rtts_ms: &[u64]) {
    for rtt_ms in rtts_ms {
        let rtt = Duration::from_millis(*rtt_ms);
        *now += rtt + Duration::from_millis(1);
        acknowledge(copa, *now, rtt, false);
    }
}

#[test]
fn an_acknowledged_packet_moves_the_window_by_velocity_over_delta_windows() {
    // At 20 packets and 60 ms the rate is 333/s; the target 1 / (0.5 dq) passes it at dq = 6 ms.
    for (queueing_ms, sign) in [(0, 1.0), (5, 1.0), (7, -1.0), (100, -1.0)] {
        let (mut copa, now) = copa(20);
        acknowledge(&mut copa, now, BASE, false);
        let now = now + BASE; // the standing RTT is that of half a round trip
        let (before, velocity) = (copa.window, copa.velocity);
        acknowledge(&mut copa, now, BASE + Duration::from_millis(queueing_ms), false);
        let moved = (copa.window - before) / MTU as f64;
        let expected = sign * velocity * 2.0 * MTU as f64 / before;
        assert!((moved - expected).abs() < 1e-9, "{queueing_ms} ms: {moved}, {expected}");
    }
}

#[test]
fn the_standing_rtt_is_of_half_a_round_trip_and_the_smallest_of_ten_seconds() {
    let (mut copa, now) = copa(20);
    let at = |ms| now + Duration::from_millis(ms);
    let ms = Duration::from_millis;
    copa.sample(at(0), ms(50), ms(50));
    copa.sample(at(20), ms(70), ms(50));
    assert!((copa.delays.unwrap().standing - 0.05).abs() < 1e-9);
    copa.sample(at(30), ms(60), ms(50));
    let delays = copa.delays.unwrap();
    assert!((delays.standing - 0.06).abs() < 1e-9);
    assert!((delays.queueing_s() - 0.01).abs() < 1e-9);
    assert!((delays.largest - 0.07).abs() < 1e-9);
    copa.sample(at(221), ms(60), ms(50));
    assert!((copa.delays.unwrap().largest - 0.06).abs() < 1e-9, "of four round trips");
    copa.sample(at(10_001), ms(60), ms(50));
    assert!((copa.delays.unwrap().smallest - 0.06).abs() < 1e-9);
}

#[test]
fn the_velocity_doubles_after_three_round_trips_and_is_lost_at_a_turn() {
    let (mut copa, mut now) = copa(100);
    let mut seen = Vec::new();
    for _ in 0..6 {
        rounds(&mut copa, &mut now, &[50]);
        seen.push(copa.velocity);
    }
    // The first round trip has no window before it to be compared with.
    assert_eq!(seen[..2], [1.0, 1.0]);
    assert!(seen.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == 2.0 * pair[0]));
    assert!(seen[5] >= 4.0, "{seen:?}");
    rounds(&mut copa, &mut now, &[500, 500, 500]);
    assert_eq!(copa.velocity, 1.0);
}

#[test]
fn the_window_at_most_doubles_in_a_round_trip() {
    let (mut copa, now) = copa(4);
    acknowledge(&mut copa, now, BASE, false);
    let before = copa.window();
    (copa.direction, copa.velocity) = (Some(Direction::Up), 1e6);
    acknowledge(&mut copa, now, BASE, false);
    assert_eq!(copa.window(), before + MTU);
}

#[test]
fn the_velocity_is_never_above_what_moves_the_window_by_a_packet_per_packet() {
    let (mut copa, now) = copa(100);
    acknowledge(&mut copa, now, BASE, false);
    (copa.direction, copa.velocity) = (Some(Direction::Up), 1e6);
    let before = copa.window;
    acknowledge(&mut copa, now + BASE, 2 * BASE, false);
    // It is at most delta windows, 0.5 * 100 packets.
    assert!((copa.velocity - 0.5 * before / MTU as f64).abs() < 1e-6, "{}", copa.velocity);
    assert!((before - copa.window - MTU as f64).abs() < 1e-6, "{}", copa.window);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let (mut copa, now) = copa(20);
    acknowledge(&mut copa, now, BASE, true);
    assert_eq!(copa.window(), 20 * MTU);
}

#[test]
fn slow_start_doubles_until_the_rate_exceeds_the_target() {
    let start = start(10);
    let mut copa = Copa::new(SETTINGS, start);
    let mut now = start.now;
    acknowledge(&mut copa, now, BASE, false);
    assert_eq!((copa.window(), copa.is_in_slow_start), (11 * MTU, true));
    now += BASE;
    acknowledge(&mut copa, now, 2 * BASE, false);
    assert!(!copa.is_in_slow_start && copa.window() < 11 * MTU);
}

#[test]
fn a_queue_that_does_not_empty_for_five_round_trips_makes_it_compete() {
    let (mut copa, mut now) = copa(20);
    rounds(&mut copa, &mut now, &[50, 100, 105, 110, 100, 105]);
    assert_eq!(copa.model().unwrap().state, "competitive");
    rounds(&mut copa, &mut now, &[50]);
    assert_eq!(copa.model().unwrap().state, "default");
    let settings = Settings { competitive: false, ..SETTINGS };
    copa.settings = settings;
    rounds(&mut copa, &mut now, &[100, 105, 110, 100, 105, 100, 105]);
    assert_eq!(copa.model().unwrap().state, "default");
}

#[test]
fn in_competitive_mode_one_over_delta_moves_as_the_window_of_reno() {
    let (mut copa, mut now) = copa(20);
    rounds(&mut copa, &mut now, &[50, 100, 105, 110, 100, 105]);
    let before = copa.inverse_delta;
    rounds(&mut copa, &mut now, &[100, 105]);
    assert_eq!(copa.inverse_delta, before + 2.0);
    copa.inverse_delta = 12.0;
    copa.on_congestion(&loss(now));
    copa.on_congestion(&loss(now));
    assert_eq!(copa.inverse_delta, 6.0, "once per round trip");
    rounds(&mut copa, &mut now, &[100]);
    assert_eq!(copa.inverse_delta, 6.0);
    copa.on_congestion(&loss(now));
    rounds(&mut copa, &mut now, &[100]);
    copa.on_congestion(&loss(now));
    assert_eq!(copa.inverse_delta, 2.0, "never below the default");
}

#[test]
fn a_loss_alone_moves_nothing_and_persistent_congestion_leaves_two_packets() {
    let (mut copa, now) = copa(20);
    copa.on_congestion(&loss(now));
    assert_eq!((copa.window(), copa.inverse_delta), (20 * MTU, 2.0));
    copa.on_congestion(&Congestion { persistent: true, ..loss(now) });
    assert_eq!(copa.window(), 2 * MTU);
}

fn flow(settings: Settings) -> Flow {
    Flow::new(Box::new(Copa::new(settings, start(10)))).paced(QUANTUM)
}

fn run(buffer_packets: u64, flows: Vec<Flow>) -> Vec<Outcome> {
    let link =
        Link { rate_bps: RATE_BPS, rtt: BASE, buffer_bytes: buffer_packets * MTU, loss: 0.0 };
    let found = simulation::run(link, flows, 120.0, 60.0, 1);
    println!("{found:?}");
    found
}

#[test]
fn alone_it_fills_the_link_with_a_queue_of_at_most_five_over_two_delta() {
    // Section 3.1: the queue swings between 0 and 2.5 / delta packets.
    let found = &run(200, vec![flow(ALONE)])[0];
    assert!(found.goodput > 0.95 * RATE_BPS / 8.0, "{}", found.goodput);
    let queue = (found.rtt_s - BASE.as_secs_f64()) / PACKET_S;
    assert!((0.5..=2.5 * 2.0 + 1.0).contains(&queue), "{queue}");
    assert_eq!(found.loss, 0.0);
}

#[test]
fn flows_share_in_proportion_to_one_over_delta() {
    // Section 3: each has a rate of 1 / (delta dq), and all see the same dq.
    let twice = Settings { inverse_delta: 4.0, ..ALONE };
    for (other, ratio) in [(ALONE, 1.0), (twice, 2.0)] {
        let found = run(500, vec![flow(ALONE), flow(other)]);
        let measured = found[1].goodput / found[0].goodput;
        assert!((0.75 * ratio..1.33 * ratio).contains(&measured), "{measured}, not {ratio}");
    }
}

#[test]
fn two_flows_fill_a_fast_link() {
    // The velocity that the rate passes the target with must not take the whole window away.
    let (rate_bps, rtt) = (120e6, Duration::from_millis(60));
    let bdp = rate_bps / 8.0 * rtt.as_secs_f64();
    let link = Link { rate_bps, rtt, buffer_bytes: 10 * bdp as u64, loss: 0.0 };
    let found = simulation::run(link, vec![flow(SETTINGS), flow(SETTINGS)], 30.0, 10.0, 1);
    let used = (found[0].goodput + found[1].goodput) / (rate_bps / 8.0);
    println!("{used} {found:?}");
    assert!(used > 0.95, "{used}");
}

#[test]
fn beside_reno_it_needs_its_competitive_mode() {
    let reno = || Flow::new(Box::new(Reno::new(0.5, start(10))));
    let share = |settings| {
        let found = run(80, vec![flow(settings), reno()]);
        found[0].goodput / (found[0].goodput + found[1].goodput)
    };
    let (with, without) = (share(SETTINGS), share(ALONE));
    assert!(without < 0.15, "{without}");
    assert!((0.25..0.75).contains(&with), "{with}");
}

/// The part of the time, after 10 of 60 s, that a flow alone at 40 ms is in competitive mode, where
/// the bound of a nearly empty queue is so many packets' times above the paper's.
fn competing(rate_bps: f64, packets: f64) -> f64 {
    let rtt = Duration::from_millis(40);
    let bdp = rate_bps / 8.0 * rtt.as_secs_f64();
    let link = Link { rate_bps, rtt, buffer_bytes: 4 * bdp as u64, loss: 0.0 };
    let mut copa = Copa::new(SETTINGS, start(10));
    copa.tolerance_s = packets * 8.0 * MTU as f64 / rate_bps;
    let flows = vec![Flow::new(Box::new(copa)).paced(QUANTUM)];
    let states = simulation::run(link, flows, 60.0, 10.0, 1).remove(0).states;
    let ends = states.iter().skip(1).map(|(at, _)| *at).chain([60.0]);
    let in_mode = states.iter().zip(ends).filter(|((_, state), _)| *state == "competitive");
    in_mode.map(|((from, _), to)| to.max(10.0) - from.max(10.0)).sum::<f64>() / 50.0
}

#[test]
fn half_a_packet_decides_whether_a_flow_alone_competes() {
    // The queue swings by 5 packets, so it is nearly empty below half of one, and the window moves
    // by whole ones.
    for rate_bps in [10e6, 50e6] {
        let (paper, half) = (competing(rate_bps, 0.0), competing(rate_bps, 0.5));
        println!("{rate_bps}: {paper} {half}");
        assert!(paper > 0.1 && half < 0.02, "{paper} {half}");
    }
}
