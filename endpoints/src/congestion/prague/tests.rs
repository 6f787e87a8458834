//! Each rule of Prague by itself.

use super::*;

const MTU: u64 = 1500;
const RTT: Duration = Duration::from_millis(50);
const SHORT: Duration = Duration::from_millis(5);
const TICK: Duration = Duration::from_millis(1);

/// A Prague with this window, packets, and RTT independence from its first round on.
fn prague(packets: u64) -> (Prague, Instant) {
    let now = Instant::now();
    let start = Start { now, mtu: MTU, initial_window: packets * MTU };
    (Prague::new(Duration::from_millis(25), 0, start), now)
}

/// The same, in congestion avoidance, with this RTT and alpha.
fn avoiding(packets: u64, rtt: Duration, alpha: f64) -> (Prague, Instant) {
    let (mut prague, now) = prague(packets);
    prague.ssthresh = Some(prague.window);
    prague.smoothed_rtt = Some(rtt);
    prague.alpha = Some(alpha);
    (prague, now)
}

/// Acknowledges packets that were sent together at `sent`, of which `marked` were marked.
fn acknowledge(prague: &mut Prague, sent: Instant, rtt: Duration, packets: u64, marked: u64) {
    let now = sent + rtt;
    for _ in 0..packets {
        prague.on_ack(&Ack { now, sent, bytes: MTU, app_limited: false, min_rtt: rtt });
    }
    if marked > 0 {
        prague.on_marks(marked);
    }
    prague.on_acks(&Acks {
        now,
        bytes: packets * MTU,
        in_flight: 0,
        rtt: Some(rtt),
        min_rtt: rtt,
        smoothed_rtt: rtt,
    });
}

fn packets(prague: &Prague) -> f64 {
    prague.window / MTU as f64
}

fn lose(prague: &mut Prague, now: Instant, sent: Instant, persistent: bool) {
    prague.on_congestion(&Congestion { now, sent, persistent, lost_bytes: MTU });
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

#[test]
fn slow_start_doubles_until_the_first_mark_which_halves() {
    let (mut prague, now) = prague(10);
    acknowledge(&mut prague, now, RTT, 10, 0);
    close(packets(&prague), 20.0);
    assert_eq!(prague.model().unwrap().state, "slow_start");
    acknowledge(&mut prague, now + RTT, RTT, 10, 1);
    // Nine unmarked packets, then half.
    close(packets(&prague), 14.5);
    assert_eq!(prague.ssthresh(), Some(prague.window()));
    assert_eq!(prague.model().unwrap().state, "congestion_avoidance");
}

#[test]
fn alpha_is_one_at_the_first_mark_and_then_a_moving_average_per_virtual_rtt() {
    let (mut prague, now) = prague(10);
    acknowledge(&mut prague, now, RTT, 10, 0);
    assert_eq!(prague.alpha, None, "no queue that marks is known");
    acknowledge(&mut prague, now + RTT, RTT, 8, 2);
    close(prague.alpha.unwrap(), 1.0);
    acknowledge(&mut prague, now + RTT + TICK, RTT, 4, 0);
    close(prague.alpha.unwrap(), 1.0);
    // A virtual round trip later: 2 of 8 + 4 + 4 packets.
    acknowledge(&mut prague, now + 2 * RTT, RTT, 4, 0);
    close(prague.alpha.unwrap(), 1.0 + (2.0 / 16.0 - 1.0) / 16.0);
    let before = prague.alpha.unwrap();
    acknowledge(&mut prague, now + 3 * RTT, RTT, 4, 9);
    close(prague.alpha.unwrap(), before + (1.0 - before) / 16.0);
}

#[test]
fn alpha_of_a_short_rtt_is_updated_every_25_ms() {
    let (mut prague, now) = avoiding(10, SHORT, 0.5);
    for round in 0..4 {
        acknowledge(&mut prague, now + round * SHORT, SHORT, 1, 0);
        close(prague.alpha.unwrap(), 0.5);
    }
    acknowledge(&mut prague, now + 4 * SHORT, SHORT, 1, 0);
    close(prague.alpha.unwrap(), 0.5 * 15.0 / 16.0);
}

#[test]
fn marks_take_half_of_alpha_once_per_round_trip() {
    let (mut prague, now) = avoiding(100, RTT, 0.2);
    acknowledge(&mut prague, now, RTT, 1, 1);
    let alpha = prague.alpha.unwrap();
    close(packets(&prague), 100.0 * (1.0 - alpha / 2.0));
    let reduced = prague.window;
    acknowledge(&mut prague, now + TICK, RTT, 1, 1);
    close(prague.window, reduced);
    acknowledge(&mut prague, now + RTT + TICK, RTT, 1, 1);
    assert!(prague.window < reduced, "a packet that was sent after the answer");
}

#[test]
fn marks_of_a_short_rtt_are_answered_every_25_ms() {
    let (mut prague, now) = avoiding(100, SHORT, 0.2);
    let mut reductions = 0;
    for round in 0..50 {
        let before = prague.window;
        acknowledge(&mut prague, now + round * SHORT, SHORT, 1, 1);
        reductions += u32::from(prague.window < before);
    }
    assert_eq!(reductions, 10, "250 ms");
}

#[test]
fn unmarked_packets_add_a_packet_per_round_trip_also_after_marks() {
    let (mut prague, now) = avoiding(40, RTT, 0.0);
    acknowledge(&mut prague, now, RTT, 40, 0);
    close(packets(&prague), 41.0);
    let (mut prague, now) = avoiding(40, RTT, 0.0);
    acknowledge(&mut prague, now, RTT, 1, 1);
    let before = packets(&prague);
    acknowledge(&mut prague, now + TICK, RTT, 40, 10);
    // The answer to marks goes on; 30 packets grow it.
    close(packets(&prague), before + 30.0 / before);
}

#[test]
fn growth_is_that_of_25_ms_for_shorter_rtts() {
    let (mut prague, now) = avoiding(40, SHORT, 0.0);
    acknowledge(&mut prague, now, SHORT, 40, 0);
    close(packets(&prague), 40.0 + 0.04);
    let (mut prague, now) = avoiding(40, 2 * RTT, 0.0);
    acknowledge(&mut prague, now, 2 * RTT, 40, 0);
    close(packets(&prague), 41.0);
}

#[test]
fn independence_begins_after_its_rounds() {
    let (mut prague, now) = avoiding(40, SHORT, 0.0);
    prague.dependent_rounds = 3;
    let mut grown = Vec::new();
    for round in 0..4 {
        let before = packets(&prague);
        let sent = now + round * (SHORT + TICK);
        acknowledge(&mut prague, sent, SHORT, 40, 0);
        grown.push((packets(&prague) - before) * before / 40.0);
    }
    for (found, expected) in grown.iter().zip([1.0, 1.0, 0.04, 0.04]) {
        close(*found, expected);
    }
}

#[test]
fn a_loss_halves_once_per_round_trip_and_stops_growth_until_it_is_answered() {
    let (mut prague, now) = avoiding(40, RTT, 0.1);
    lose(&mut prague, now + RTT, now, false);
    lose(&mut prague, now + RTT + TICK, now + TICK, false);
    close(packets(&prague), 20.0);
    assert_eq!(prague.model().unwrap().state, "recovery");
    acknowledge(&mut prague, now + TICK, RTT, 10, 0);
    close(packets(&prague), 20.0);
    acknowledge(&mut prague, now + RTT + TICK, RTT, 20, 0);
    close(packets(&prague), 21.0);
    assert_eq!(prague.model().unwrap().state, "congestion_avoidance");
}

#[test]
fn what_marks_took_counts_towards_the_answer_to_a_loss() {
    let (mut prague, now) = avoiding(100, RTT, 0.5);
    acknowledge(&mut prague, now, RTT, 1, 1);
    assert!(packets(&prague) > 70.0);
    lose(&mut prague, now + RTT + TICK, now + TICK, false);
    close(packets(&prague), 50.0);
    // Marks of packets from before the loss are answered by it.
    prague.reduced = None;
    prague.reduced_round.forget();
    acknowledge(&mut prague, now + 2 * TICK, RTT, 1, 1);
    close(packets(&prague), 50.0);
}

#[test]
fn without_marks_it_is_reno() {
    let now = Instant::now();
    let start = Start { now, mtu: MTU, initial_window: 10 * MTU };
    let mut reno = super::super::reno::Reno::new(0.5, start);
    let (mut prague, _) = prague(10);
    for round in 0..60_u32 {
        let sent = now + round * (RTT + TICK);
        let count = prague.window() / MTU;
        for _ in 0..count {
            let ack = Ack { now: sent + RTT, sent, bytes: MTU, app_limited: false, min_rtt: RTT };
            reno.on_ack(&ack);
        }
        acknowledge(&mut prague, sent, RTT, count, 0);
        if round % 20 == 5 {
            let lost = sent + RTT + TICK / 2;
            lose(&mut prague, lost, sent + RTT, false);
            reno.on_congestion(&Congestion {
                now: lost,
                sent: sent + RTT,
                persistent: false,
                lost_bytes: MTU,
            });
        }
        let share = prague.window() as f64 / reno.window() as f64;
        // Reno's growth is per packet, with a window that has grown meanwhile.
        assert!((share - 1.0).abs() < 0.01, "round {round}: {share}");
    }
}

#[test]
fn a_sender_that_is_limited_by_its_application_does_not_grow() {
    let (mut prague, now) = avoiding(40, RTT, 0.0);
    let sent = now;
    prague.on_ack(&Ack { now: now + RTT, sent, bytes: MTU, app_limited: true, min_rtt: RTT });
    acknowledge(&mut prague, now, RTT, 0, 0);
    close(packets(&prague), 40.0);
}

#[test]
fn the_window_is_never_below_two_packets() {
    let (mut prague, now) = avoiding(3, RTT, 1.0);
    acknowledge(&mut prague, now, RTT, 1, 1);
    close(packets(&prague), 2.0);
    let (mut prague, now) = avoiding(100, RTT, 0.0);
    lose(&mut prague, now + RTT, now, true);
    close(packets(&prague), 2.0);
}

#[test]
fn it_is_paced_at_a_window_per_rtt_and_twice_that_in_slow_start() {
    let (mut prague, now) = prague(10);
    assert_eq!(prague.rate_bps(), None, "no RTT to divide by");
    acknowledge(&mut prague, now, RTT, 10, 0);
    let window_bps = 20 * MTU * 8 * 20;
    assert_eq!(prague.rate_bps(), Some(2 * window_bps));
    prague.ssthresh = Some(prague.window);
    assert_eq!(prague.rate_bps(), Some(window_bps));
    let quantum = QUANTUM.bytes(12.5e6, MTU as f64);
    close(quantum, 3125.0);
    close(QUANTUM.bytes(1e5, MTU as f64), MTU as f64);
}

/// Steady state: a share p of marks, evenly spread, gives a window of about 2 (1 - p) / p packets.
#[test]
fn the_window_follows_the_share_of_marks() {
    for share in [0.02, 0.05, 0.1] {
        let (mut prague, now) = avoiding(30, RTT, share);
        let (mut owed, mut sum, mut count) = (0.0, 0.0, 0.0);
        for round in 0..3000_u32 {
            let sent = now + round * (RTT + TICK);
            let window = (prague.window() / MTU).max(1);
            owed += share * window as f64;
            let marked = owed as u64;
            owed -= marked as f64;
            acknowledge(&mut prague, sent, RTT, window, marked);
            if round > 500 {
                sum += packets(&prague);
                count += 1.0;
            }
        }
        let law = 2.0 * (1.0 - share) / share;
        let found: f64 = sum / count;
        println!("{share}: {found} {law}");
        assert!((found / law - 1.0).abs() < 0.15, "p = {share}: {found}, law {law}");
    }
}
