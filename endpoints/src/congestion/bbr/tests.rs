//! What BBR does, also on a simulated link: paced at its rate, and where its window stands in for
//! it.

use super::*;
use crate::congestion::simulation::{self, Flow, Link, Outcome, MTU};

const RTT: Duration = Duration::from_millis(80);
const RATE: f64 = 5e6;
const BDP: f64 = RATE / 8.0 * 0.08;

const BOTH: [Pacing; 2] = [Pacing::Rate, Pacing::Window];

fn start() -> Start {
    Start { now: Instant::now(), mtu: MTU, initial_window: 32 * MTU }
}

fn made(pacing: Pacing, seed: u64) -> Bbr {
    match pacing {
        Pacing::Rate => Bbr::paced(start(), seed),
        Pacing::Window => Bbr::windowed(start()),
    }
}

fn flow(pacing: Pacing, seed: u64) -> Flow {
    let flow = Flow::new(Box::new(made(pacing, seed)));
    match pacing {
        Pacing::Rate => flow.paced(QUANTUM),
        Pacing::Window => flow,
    }
}

fn run(pacing: Pacing, flows: u64, buffer: f64, loss: f64, seconds: f64) -> Vec<Outcome> {
    let link = Link { rate_bps: RATE, rtt: RTT, buffer_bytes: (buffer * BDP) as u64, loss };
    simulation::run(link, (0..flows).map(|seed| flow(pacing, seed)).collect(), seconds, 10.0, 5)
}

/// In the phase of `gain` of a link of 1 MB/s and 50 ms, with `in_flight` bytes in flight.
fn probing(phase: usize, in_flight: u64) -> Bbr {
    let mut bbr = made(Pacing::Rate, 1);
    bbr.bandwidth.take(0, 1e6);
    bbr.rtprop = Some(Duration::from_millis(50));
    bbr.full = true;
    bbr.mode = Mode::ProbeBw { phase, since: start().now };
    bbr.in_flight = in_flight;
    bbr.set_pacing_rate(bbr.pacing_gain());
    bbr
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-6 * expected
}

#[test]
fn alone_it_fills_the_link_and_not_the_queue() {
    // Paced, a phase below 1 ends with the BDP and three quanta of two packets in flight: these
    // wait.
    let packet = 8.0 * MTU as f64 / RATE;
    let paced = 1.01 * (1.0 + (1.0 + 6.0) * packet / RTT.as_secs_f64());
    for (pacing, most) in [(Pacing::Rate, paced), (Pacing::Window, 1.6)] {
        for buffer in [1.0, 4.0] {
            let outcome = &run(pacing, 1, buffer, 0.0, 60.0)[0];
            println!("{buffer}: {outcome:?}");
            assert!(outcome.goodput * 8.0 / RATE > 0.95, "{outcome:?}");
            assert!(outcome.rtt_s < most * RTT.as_secs_f64(), "{outcome:?}");
            assert!(outcome.loss < 0.005, "{outcome:?}");
        }
    }
}

#[test]
fn its_window_is_bounded_by_the_gain_of_startup() {
    for pacing in BOTH {
        let outcome = &run(pacing, 1, 10.0, 0.0, 60.0)[0];
        let bound = HIGH_GAIN * BDP + 6.0 * MTU as f64;
        assert!((outcome.highest_window as f64) < 1.1 * bound, "{outcome:?} {bound}");
    }
}

#[test]
fn random_loss_does_not_slow_it_down() {
    for pacing in BOTH {
        for loss in [0.01, 0.05] {
            let outcome = &run(pacing, 1, 1.0, loss, 60.0)[0];
            println!("{loss}: {outcome:?}");
            assert!(outcome.goodput * 8.0 / RATE > 0.9 * (1.0 - loss), "{loss}: {outcome:?}");
        }
    }
}

#[test]
fn states_come_in_order_and_probe_rtt_every_ten_seconds() {
    let states = &run(Pacing::Rate, 1, 4.0, 0.0, 60.0)[0].states;
    let names: Vec<&str> = states.iter().map(|&(_, name)| name).collect();
    assert_eq!(names[..5], ["startup", "drain", "probe_bw", "probe_rtt", "probe_bw"]);
    assert!(!names[2..].iter().any(|name| ["startup", "drain"].contains(name)), "{names:?}");
    let probes: Vec<f64> =
        states.iter().filter(|(_, name)| *name == "probe_rtt").map(|&(at, _)| at).collect();
    assert!(probes.len() >= 4, "{states:?}");
    assert!(probes.windows(2).all(|pair| pair[1] - pair[0] > 10.0), "{states:?}");
}

#[test]
fn the_rate_is_a_percent_below_gain_times_bandwidth() {
    for (phase, gain) in CYCLE.into_iter().enumerate() {
        let bbr = probing(phase, 0);
        assert!(near(bbr.pacing_rate, 0.99 * gain * 1e6), "{}", bbr.pacing_rate);
        assert_eq!(bbr.rate_bps(), bbr.model().unwrap().pacing_bps);
    }
    let mut bbr = made(Pacing::Rate, 1);
    assert!(near(bbr.pacing_rate, 0.99 * HIGH_GAIN * (32 * MTU) as f64 / 0.001));
    bbr.pacing_rate = bbr.first_rate(0.05);
    assert!(near(bbr.pacing_rate, 0.99 * HIGH_GAIN * (32 * MTU) as f64 / 0.05));
    bbr.bandwidth.take(0, 1000.0);
    bbr.set_pacing_rate(HIGH_GAIN);
    assert!(near(bbr.pacing_rate, 0.99 * HIGH_GAIN * (32 * MTU) as f64 / 0.05), "not lower");
}

#[test]
fn the_window_is_two_bdps_and_three_quanta() {
    let mut bbr = probing(2, 0);
    let two_bdps = 2.0 * 1e6 * 0.05;
    bbr.cwnd = 1e6;
    bbr.grow(0.0);
    // At 8 Mbit/s a quantum is two packets.
    assert!(near(bbr.cwnd, two_bdps + 6.0 * MTU as f64), "{}", bbr.cwnd);
    assert_eq!(bbr.window(), bbr.cwnd as u64);
    bbr.bandwidth = Greatest::of(ROUNDS);
    bbr.bandwidth.take(0, 1e7);
    bbr.set_pacing_rate(1.0);
    bbr.cwnd = 1e7;
    bbr.grow(0.0);
    assert!(near(bbr.cwnd, 10.0 * two_bdps + 3.0 * 9900.0), "{}", bbr.cwnd);
    bbr.bandwidth = Greatest::of(ROUNDS);
    bbr.bandwidth.take(0, 1e5);
    bbr.set_pacing_rate(1.0);
    bbr.grow(0.0);
    assert!(near(bbr.cwnd, 0.1 * two_bdps + 3.0 * MTU as f64), "{}", bbr.cwnd);
}

#[test]
fn phases_end_by_the_clock_and_by_what_was_in_flight() {
    let bdp = 50_000;
    let quanta = 6 * MTU;
    let full_length = Duration::from_millis(51);
    let phase = |bbr: &Bbr| match bbr.mode {
        Mode::ProbeBw { phase, .. } => phase,
        other => panic!("{other:?}"),
    };
    let after = |phase_now: usize, in_flight: u64, elapsed: Duration| {
        let mut bbr = probing(phase_now, in_flight - MTU);
        let Mode::ProbeBw { since, .. } = bbr.mode else { panic!() };
        bbr.next_mode(since + elapsed, MTU);
        phase(&bbr)
    };
    let probe = (bdp + bdp / 4) + quanta;
    assert_eq!(after(0, probe, full_length / 2), 0, "not before an RTprop");
    assert_eq!(after(0, probe, full_length), 1);
    assert_eq!(after(0, probe - 1, full_length), 0, "not before all of it is in flight");
    assert_eq!(after(1, bdp + quanta, Duration::ZERO), 2, "the queue is gone");
    assert_eq!(after(1, bdp + quanta + 1, Duration::ZERO), 1);
    assert_eq!(after(1, bdp + quanta + 1, full_length), 2);
    assert_eq!(after(7, bdp, full_length / 2), 7);
    assert_eq!(after(7, bdp, full_length), 0);
}

#[test]
fn the_first_phase_is_drawn_and_never_that_which_drains() {
    let drawn = |seed| {
        let mut bbr = made(Pacing::Rate, seed);
        bbr.enter_probe_bw(start().now);
        let Mode::ProbeBw { phase, .. } = bbr.mode else { panic!() };
        (phase, bbr.cycles)
    };
    let mut counts = [0; 8];
    for seed in 0..700 {
        let (phase, cycles) = drawn(seed);
        assert_eq!(drawn(seed), (phase, cycles));
        assert_eq!(cycles, u64::from(phase == 0), "a cycle begins with its probe");
        counts[phase] += 1;
    }
    assert_eq!(counts[1], 0);
    // 100 expected, with a standard deviation of 9.3.
    assert!([0, 2, 3, 4, 5, 6, 7].iter().all(|&phase| (60..=140).contains(&counts[phase])));
    let mut windowed = made(Pacing::Window, 1);
    windowed.enter_probe_bw(start().now);
    assert!(matches!(windowed.mode, Mode::ProbeBw { phase: FIRST_PHASE, .. }));
}

#[test]
fn a_restart_from_idle_paces_at_the_bandwidth_and_is_no_reason_for_probe_rtt() {
    let mut bbr = probing(0, 0);
    let later = start().now + Duration::from_secs(20);
    assert!(near(bbr.pacing_rate, 0.99 * 1.25e6));
    bbr.app_limited = true;
    bbr.on_sent(later, MTU);
    assert!(near(bbr.pacing_rate, 0.99 * 1e6));
    let now = later + RTT;
    let (rtt, min_rtt) = (Some(RTT), Duration::from_millis(50));
    let acks = Acks { now, bytes: MTU, in_flight: 0, rtt, min_rtt, smoothed_rtt: RTT };
    bbr.on_ack(&Ack { now, sent: later, bytes: MTU, app_limited: true, min_rtt });
    bbr.on_acks(&acks);
    assert_eq!(bbr.rtprop, rtt, "the old one has expired");
    assert!(matches!(bbr.mode, Mode::ProbeBw { .. }), "{:?}", bbr.mode);
    bbr.in_flight = MTU;
    bbr.rtprop_at = start().now;
    bbr.on_sent(later, MTU);
    bbr.on_acks(&acks);
    assert_eq!(bbr.mode.name(), "probe_rtt");
}

#[test]
fn a_small_beginning_is_not_the_bandwidth() {
    let start = start();
    let mut bbr = Bbr::windowed(start);
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
    for pacing in BOTH {
        let outcomes = run(pacing, 2, 2.0, 0.0, 200.0);
        let sum: f64 = outcomes.iter().map(|outcome| outcome.goodput).sum();
        let squares: f64 = outcomes.iter().map(|outcome| outcome.goodput.powi(2)).sum();
        println!("{:.4} {outcomes:?}", sum * sum / (2.0 * squares));
        assert!(sum * 8.0 / RATE > 0.93, "{outcomes:?}");
        assert!(sum * sum / (2.0 * squares) > 0.9, "{outcomes:?}");
    }
}

#[test]
fn marks_change_nothing_and_what_was_lost_is_paid_back() {
    let start = start();
    let mut bbr = Bbr::paced(start, 1);
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
