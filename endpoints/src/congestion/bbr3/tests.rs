//! The draft's pseudo-code function by function, and its example test cases.

use super::super::simulation::MTU;
use super::sampling::Packet;
use super::*;

const MS: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(50);

fn bbr() -> (Bbr3, Instant) {
    let now = Instant::now();
    (Bbr3::new(Start { now, mtu: MTU, initial_window: 10 * MTU }, 1), now)
}

/// With a model of 100 packets per RTT.
fn cruising() -> (Bbr3, Instant) {
    let (mut bbr, now) = bbr();
    bbr.full_bw_reached = true;
    bbr.min_rtt = Some(RTT);
    bbr.max_bw = 2000.0 * MTU as f64;
    bbr.bw = bbr.max_bw;
    bbr.cwnd = 200.0 * MTU as f64;
    bbr.c.inflight = 100 * MTU;
    bbr.bw_probe_wait = Duration::from_secs(3);
    bbr.state = State::ProbeBwCruise;
    bbr.update_max_inflight();
    (bbr, now)
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-6 * expected.abs().max(1.0)
}

fn packet(id: u64, now: Instant) -> Packet {
    let mut connection = Connection::new(now);
    for _ in 0..id {
        connection.on_packet_sent(now, MTU);
    }
    *connection.take_lost(now, id * MTU).last().unwrap()
}

#[test]
fn constants_are_the_drafts() {
    assert!(near(STARTUP_PACING_GAIN, 2.77) && near(DRAIN_PACING_GAIN, 0.5));
    assert!(near(DEFAULT_CWND_GAIN, 2.0) && near(PACING_MARGIN_PERCENT, 1.0));
    assert!(near(LOSS_THRESH, 0.02) && near(BETA, 0.7) && near(HEADROOM, 0.15));
    assert_eq!((MAX_BW_FILTER_LEN, EXTRA_ACKED_FILTER_LEN), (2, 10));
    assert_eq!((STARTUP_FULL_LOSS_CNT, MIN_RTT_FILTER_LEN.as_secs()), (6, 10));
    assert_eq!((PROBE_RTT_DURATION.as_millis(), PROBE_RTT_INTERVAL.as_secs()), (200, 5));
    assert!(near(bbr().0.min_pipe_cwnd(), 4.0 * MTU as f64));
}

#[test]
fn gains_are_those_of_the_table() {
    for (state, pacing, cwnd) in [
        (State::Startup, 2.77, 2.0),
        (State::Drain, 0.5, 2.0),
        (State::ProbeBwDown, 0.9, 2.0),
        (State::ProbeBwCruise, 1.0, 2.0),
        (State::ProbeBwRefill, 1.0, 2.0),
        (State::ProbeBwUp, 1.25, 2.25),
        (State::ProbeRtt, 1.0, 0.5),
    ] {
        assert!(near(state.pacing_gain(), pacing) && near(state.cwnd_gain(), cwnd), "{state:?}");
    }
}

#[test]
fn three_rounds_without_a_quarter_more_are_a_full_pipe() {
    let (mut bbr, _) = bbr();
    bbr.round_start = true;
    for (rate, count, full) in [
        (100.0, 0, false),
        (125.0, 0, false),
        (130.0, 1, false),
        (156.0, 2, false),
        (156.2, 3, true),
    ] {
        bbr.rs.delivery_rate = rate;
        bbr.check_full_bw_reached();
        assert_eq!((bbr.full_bw_count, bbr.full_bw_reached, bbr.full_bw_now), (count, full, full));
    }
    bbr.check_startup_done();
    assert_eq!(bbr.state, State::Drain);
}

#[test]
fn application_limited_rounds_and_parts_of_rounds_do_not_fill_the_pipe() {
    let (mut bbr, _) = bbr();
    for (round_start, limited) in [(true, true), (false, false)] {
        (bbr.round_start, bbr.rs.is_app_limited) = (round_start, limited);
        (0..100).for_each(|_| bbr.check_full_bw_reached());
        assert_eq!((bbr.full_bw_count, bbr.state), (0, State::Startup));
    }
}

#[test]
fn startup_ends_on_six_ranges_and_two_percent_lost_even_if_application_limited() {
    for (ranges, lost, ends) in [(6, 3, true), (5, 3, false), (6, 2, false)] {
        let (mut bbr, now) = bbr();
        bbr.rs = RateSample { tx_in_flight: 100 * MTU, lost: lost * MTU, ..bbr.rs };
        bbr.rs.is_app_limited = true;
        for index in 0..ranges {
            bbr.handle_lost_packet(&packet(2 * index + 2, now), now);
        }
        bbr.inflight_latest = 50_000.0;
        bbr.min_rtt = Some(RTT);
        bbr.check_startup_done();
        assert_eq!(bbr.state, State::Startup, "the round is not over");
        bbr.loss_round_start = true;
        bbr.check_startup_done();
        assert_eq!(bbr.state == State::Drain, ends, "{ranges} {lost}");
        assert_eq!((bbr.full_bw_now, bbr.full_bw_reached), (ends, ends));
        assert_eq!(near(bbr.inflight_longterm, 50_000.0), ends);
    }
}

#[test]
fn adjacent_packets_are_one_range() {
    let (mut bbr, now) = bbr();
    (2..10).for_each(|id| bbr.handle_lost_packet(&packet(id, now), now));
    assert_eq!(bbr.lost_ranges, 1);
}

#[test]
fn drain_ends_at_the_bdp_or_after_three_rounds() {
    let (mut bbr, now) = cruising();
    bbr.round_count = 7;
    bbr.enter_drain();
    bbr.c.inflight = 101 * MTU;
    for (round, state) in [(8, State::Drain), (10, State::Drain), (11, State::ProbeBwDown)] {
        bbr.round_count = round;
        bbr.check_drain_done(now);
        assert_eq!(bbr.state, state, "{round}");
    }
    bbr.enter_drain();
    bbr.c.inflight = 100 * MTU;
    bbr.check_drain_done(now);
    assert_eq!(bbr.state, State::ProbeBwDown);
}

#[test]
fn the_wait_for_a_probe_is_two_to_three_seconds_and_random() {
    let (mut bbr, _) = bbr();
    let mut rounds = [0, 0];
    for _ in 0..200 {
        bbr.pick_probe_wait();
        assert!((2.0..3.0).contains(&bbr.bw_probe_wait.as_secs_f64()));
        rounds[bbr.rounds_since_probe_up as usize] += 1;
    }
    assert!(rounds.iter().all(|count| *count > 60), "{rounds:?}");
}

#[test]
fn a_probe_is_due_by_the_clock_or_by_renos_rounds_at_most_63() {
    let (mut bbr, now) = cruising();
    assert!(!bbr.is_time_to_probe_bw(now + 3000 * MS));
    assert!(bbr.is_time_to_probe_bw(now + 3001 * MS));
    for (packets, rounds) in [(20.0, 20), (100.0, 63)] {
        let (mut bbr, now) = cruising();
        bbr.cwnd = packets * MTU as f64;
        bbr.rounds_since_probe_up = rounds - 1;
        assert!(!bbr.is_time_to_probe_bw(now), "{packets}");
        bbr.rounds_since_probe_up = rounds;
        assert!(bbr.is_time_to_probe_bw(now), "{packets}");
        assert_eq!(bbr.state, State::ProbeBwRefill);
    }
}

#[test]
fn probe_down_ends_with_headroom_and_no_more_than_the_bdp() {
    for (longterm, inflight, state) in [
        (f64::INFINITY, 100, State::ProbeBwCruise),
        (f64::INFINITY, 101, State::ProbeBwDown),
        (110.0, 93, State::ProbeBwCruise),
        (110.0, 94, State::ProbeBwDown),
    ] {
        let (mut bbr, now) = cruising();
        bbr.start_probe_bw_down(now);
        bbr.inflight_longterm = longterm * MTU as f64;
        bbr.c.inflight = inflight * MTU;
        bbr.update_probe_bw_cycle_phase(now);
        assert_eq!(bbr.state, state, "{longterm} {inflight}");
    }
}

#[test]
fn probe_down_that_cannot_drain_goes_to_refill() {
    let (mut bbr, now) = cruising();
    bbr.start_probe_bw_down(now);
    bbr.rounds_since_probe_up = 0;
    bbr.c.inflight = 150 * MTU;
    bbr.update_probe_bw_cycle_phase(now + bbr.bw_probe_wait + MS);
    assert_eq!(bbr.state, State::ProbeBwRefill);
}

#[test]
fn refill_forgets_the_short_term_and_lasts_a_round() {
    let (mut bbr, now) = cruising();
    (bbr.bw_shortterm, bbr.inflight_shortterm) = (1.0, 1.0);
    bbr.start_probe_bw_refill();
    assert!(bbr.bw_shortterm.is_infinite() && bbr.inflight_shortterm.is_infinite());
    bbr.update_probe_bw_cycle_phase(now);
    assert_eq!(bbr.state, State::ProbeBwRefill);
    bbr.round_start = true;
    bbr.update_probe_bw_cycle_phase(now);
    assert_eq!((bbr.state, bbr.ack_phase), (State::ProbeBwUp, AckPhase::ProbeStarting));
    assert!(bbr.is_bw_probe_sample);
}

#[test]
fn probe_up_ends_on_a_plateau_unless_the_long_term_bound_limits() {
    let (mut bbr, now) = cruising();
    bbr.start_probe_bw_up();
    bbr.full_bw_now = true;
    bbr.inflight_longterm = 100.0 * MTU as f64;
    bbr.is_cwnd_limited = (true, false);
    bbr.cwnd = bbr.inflight_longterm;
    bbr.update_probe_bw_cycle_phase(now);
    assert_eq!((bbr.state, bbr.full_bw_now), (State::ProbeBwUp, false));
    bbr.full_bw_now = true;
    bbr.is_cwnd_limited = (false, false);
    bbr.update_probe_bw_cycle_phase(now);
    assert_eq!(bbr.state, State::ProbeBwDown);
}

#[test]
fn a_probe_after_one_that_went_too_high_is_precautionary_and_then_repeated() {
    let (mut bbr, now) = cruising();
    bbr.start_probe_bw_up();
    bbr.prev_probe_too_high = true;
    bbr.inflight_longterm = 100.0 * MTU as f64;
    bbr.update_probe_bw_cycle_phase(now);
    assert_eq!((bbr.state, bbr.prev_probe_precautionary), (State::ProbeBwDown, true));
    bbr.round_start = true;
    bbr.update_probe_bw_cycle_phase(now);
    assert_eq!((bbr.state, bbr.prev_probe_precautionary), (State::ProbeBwRefill, false));
}

#[test]
fn the_long_term_bound_grows_by_1_2_4_packets_per_round() {
    let (mut bbr, _) = cruising();
    bbr.cwnd = 128.0 * MTU as f64;
    bbr.start_probe_bw_up();
    bbr.is_cwnd_limited = (true, true);
    bbr.inflight_longterm = bbr.cwnd;
    bbr.rs.newly_acked = MTU;
    for expected in [1.0, 2.0, 4.0, 8.0] {
        let before = bbr.inflight_longterm;
        for index in 0..128 {
            bbr.cwnd = bbr.cwnd.max(bbr.inflight_longterm);
            bbr.round_start = index == 127;
            bbr.probe_inflight_longterm_upward();
        }
        let grown = (bbr.inflight_longterm - before) / MTU as f64;
        assert!((grown - expected).abs() <= 1.0, "{grown} {expected}");
    }
    bbr.is_cwnd_limited = (false, false);
    let before = bbr.inflight_longterm;
    (0..1000).for_each(|_| bbr.probe_inflight_longterm_upward());
    assert!(near(bbr.inflight_longterm, before), "an unused bound does not grow");
}

#[test]
fn the_bandwidth_filter_covers_two_cycles_and_no_limited_samples_below_it() {
    let (mut bbr, _) = bbr();
    for (advance, rate, limited, expected) in [
        (false, 100.0, false, 100.0),
        (false, 50.0, true, 100.0),
        (false, 120.0, true, 120.0),
        (true, 50.0, false, 120.0),
        (true, 60.0, false, 60.0),
    ] {
        if advance {
            bbr.advance_max_bw_filter();
        }
        (bbr.rs.delivery_rate, bbr.rs.is_app_limited) = (rate, limited);
        bbr.update_max_bw();
        assert!(near(bbr.max_bw, expected), "{rate}: {}", bbr.max_bw);
    }
}

#[test]
fn the_filter_advances_a_round_after_a_probe_unless_application_limited() {
    for (limited, cycles) in [(false, 1), (true, 0)] {
        let (mut bbr, now) = cruising();
        bbr.start_probe_bw_down(now);
        bbr.rs.is_app_limited = limited;
        bbr.round_start = true;
        bbr.adapt_long_term_model();
        assert_eq!((bbr.cycle_count, bbr.ack_phase), (cycles, AckPhase::Init));
    }
}

#[test]
fn aggregation_is_what_is_acked_beyond_the_expected() {
    let (mut bbr, now) = cruising();
    bbr.extra_acked_interval_start = now;
    bbr.rs.newly_acked = 20 * MTU;
    bbr.update_ack_aggregation(now);
    assert!(near(bbr.extra_acked, 20.0 * MTU as f64), "{}", bbr.extra_acked);
    bbr.round_count += 1;
    bbr.update_ack_aggregation(now + 5 * MS); // 10 packets were expected
    assert!(near(bbr.extra_acked, 30.0 * MTU as f64), "{}", bbr.extra_acked);
    bbr.update_max_inflight();
    assert!(near(bbr.max_inflight, 230.0 * MTU as f64), "{}", bbr.max_inflight);
    bbr.round_count += EXTRA_ACKED_FILTER_LEN;
    bbr.rs.newly_acked = MTU;
    bbr.update_ack_aggregation(now + 5000 * MS);
    assert!(near(bbr.extra_acked, MTU as f64), "ten rounds later");
}

#[test]
fn more_than_two_percent_lost_is_too_much() {
    let (mut bbr, _) = bbr();
    bbr.rs.tx_in_flight = 100 * MTU;
    for (lost, high) in [(0, false), (2 * MTU, false), (2 * MTU + 1, true)] {
        bbr.rs.lost = lost;
        assert_eq!(bbr.is_inflight_too_high(), high);
    }
}

#[test]
fn the_bdp_is_that_of_the_last_multiple_and_of_the_bounded_bandwidth() {
    let (mut bbr, _) = cruising();
    let packets = |bdp: f64| (bdp / MTU as f64).round() as u64;
    assert_eq!(packets(bbr.target_inflight()), 100);
    bbr.bw = 0.5 * bbr.max_bw;
    assert_eq!(packets(bbr.target_inflight()), 100, "nobody has asked for a multiple since");
    assert_eq!(packets(bbr.inflight(bbr.max_bw, 1.0)), 100, "a multiple of another rate");
    assert_eq!(packets(bbr.target_inflight()), 50);
    bbr.cwnd = 20.0 * MTU as f64;
    assert_eq!(packets(bbr.target_inflight()), 20);
}

#[test]
fn startup_that_ends_on_loss_takes_the_bdp_that_the_last_ack_left() {
    let (mut bbr, now) = bbr();
    bbr.min_rtt = Some(RTT);
    bbr.bw = 2000.0 * MTU as f64;
    bbr.update_max_inflight();
    bbr.bw *= 2.0;
    bbr.rs = RateSample { tx_in_flight: 100 * MTU, lost: 3 * MTU, ..bbr.rs };
    (1..=6).for_each(|index| bbr.handle_lost_packet(&packet(2 * index, now), now));
    bbr.loss_round_start = true;
    bbr.check_startup_done();
    assert!(near(bbr.inflight_longterm, 100.0 * MTU as f64), "{}", bbr.inflight_longterm);
}

#[test]
fn loss_in_a_probe_sets_the_long_term_bound_once_and_ends_it() {
    let (mut bbr, now) = cruising();
    bbr.start_probe_bw_up();
    bbr.is_bw_probe_sample = true;
    bbr.c.lost = 10 * MTU;
    let lost = packet(150, now);
    bbr.handle_lost_packet(&lost, now);
    // 9 packets lost of 149 before: 2 % were crossed (0.02 * 149 - 9) / 0.98 packets after these.
    let expected = 149.0 + (0.02 * 149.0 - 9.0) / 0.98;
    let bound = bbr.inflight_longterm / MTU as f64;
    assert!((bound - expected).abs() < 0.01, "{bound} {expected}");
    assert_eq!((bbr.state, bbr.prev_probe_too_high), (State::ProbeBwDown, true));
    bbr.handle_lost_packet(&packet(50, now), now);
    assert!((bbr.inflight_longterm / MTU as f64 - expected).abs() < 0.01, "once per probe");
}

#[test]
fn the_long_term_bound_falls_by_beta_at_most_and_not_if_application_limited() {
    for (limited, expected) in [(false, 70.0), (true, f64::INFINITY)] {
        let (mut bbr, now) = cruising();
        bbr.start_probe_bw_up();
        bbr.rs = RateSample { tx_in_flight: 10 * MTU, is_app_limited: limited, ..bbr.rs };
        bbr.handle_inflight_too_high(now);
        let bound = bbr.inflight_longterm / MTU as f64;
        assert!(bound.is_infinite() && limited || near(bound, expected), "{bound}");
        assert_eq!(bbr.state, State::ProbeBwDown);
    }
}

#[test]
fn rounds_with_loss_lower_the_short_term_bounds_by_beta_at_most() {
    let (mut bbr, _) = cruising();
    let (max_bw, cwnd) = (bbr.max_bw, bbr.cwnd);
    bbr.is_loss_in_round = true;
    bbr.adapt_lower_bounds_from_congestion();
    assert!(near(bbr.bw_shortterm, 0.7 * max_bw) && near(bbr.inflight_shortterm, 0.7 * cwnd));
    (bbr.bw_latest, bbr.inflight_latest) = (0.6 * max_bw, 0.65 * cwnd);
    bbr.adapt_lower_bounds_from_congestion();
    assert!(near(bbr.bw_shortterm, 0.6 * max_bw) && near(bbr.inflight_shortterm, 0.65 * cwnd));
    bbr.bound_bw_for_model();
    assert!(near(bbr.bw, 0.6 * max_bw));
    for state in [State::Startup, State::ProbeBwRefill, State::ProbeBwUp] {
        let (mut bbr, _) = cruising();
        (bbr.state, bbr.is_loss_in_round) = (state, true);
        bbr.adapt_lower_bounds_from_congestion();
        assert!(bbr.bw_shortterm.is_infinite(), "{state:?}");
    }
}

#[test]
fn the_latest_signals_are_the_greatest_of_a_loss_round() {
    let (mut bbr, _) = cruising();
    bbr.c.delivered = 1000;
    bbr.note_loss();
    assert_eq!(bbr.loss_round_delivered, 1000);
    for (prior, rate, starts) in [(500, 10.0, false), (900, 8.0, false), (1000, 5.0, true)] {
        bbr.rs = RateSample { prior_delivered: prior, delivery_rate: rate, ..bbr.rs };
        bbr.update_latest_delivery_signals();
        assert_eq!(bbr.loss_round_start, starts);
        assert!(near(bbr.bw_latest, 10.0));
        bbr.advance_latest_delivery_signals();
    }
    assert!(near(bbr.bw_latest, 5.0), "the next round begins");
}

#[test]
fn a_mark_is_congestion() {
    let (mut bbr, now) = cruising();
    let mark =
        |sent: Instant| Congestion { now: sent + RTT, sent, persistent: false, lost_bytes: 0 };
    bbr.on_congestion(&mark(now));
    assert!(bbr.is_loss_in_round && bbr.inflight_longterm.is_infinite());
    let (mut bbr, now) = cruising();
    bbr.start_probe_bw_up();
    bbr.is_bw_probe_sample = true;
    bbr.rs.tx_in_flight = 120 * MTU;
    bbr.on_congestion(&mark(now));
    assert_eq!(bbr.state, State::ProbeBwDown);
    assert!(near(bbr.inflight_longterm, 120.0 * MTU as f64));
    for (marks, state) in [(1, State::Startup), (2, State::Drain)] {
        let (mut bbr, now) = super::tests::bbr();
        (0..marks).for_each(|step| bbr.on_congestion(&mark(now + step * MS)));
        bbr.loss_round_start = true;
        bbr.check_startup_done();
        assert_eq!(bbr.state, state);
    }
}

#[test]
fn the_smallest_rtt_is_remembered_for_ten_seconds_and_asked_for_after_five() {
    let (mut bbr, now) = cruising();
    (bbr.min_rtt, bbr.probe_rtt_min_delay) = (None, None);
    for (at_ms, rtt_ms, min_ms, expired) in [
        (0, 50, 50, false),
        (1000, 40, 40, false),
        (6000, 60, 40, false),
        (6002, 60, 40, true),
        (11_000, 60, 40, false),
        (11_001, 60, 60, false),
        (11_003, 70, 60, true),
    ] {
        bbr.rs.rtt = Some(rtt_ms * MS);
        bbr.update_min_rtt(now + at_ms * MS);
        assert_eq!(bbr.min_rtt, Some(min_ms * MS), "{at_ms}");
        assert_eq!(bbr.probe_rtt_expired, expired, "{at_ms}");
    }
}

#[test]
fn probe_rtt_lasts_200_ms_and_a_round_with_half_a_bdp() {
    for (full, next) in [(true, State::ProbeBwCruise), (false, State::Startup)] {
        let (mut bbr, now) = cruising();
        bbr.full_bw_reached = full;
        bbr.rs.delivered = 1;
        (bbr.probe_rtt_expired, bbr.idle_restart) = (true, false);
        bbr.check_probe_rtt(now);
        assert_eq!(bbr.state, State::ProbeRtt);
        bbr.set_cwnd();
        assert!(near(bbr.cwnd, 50.0 * MTU as f64), "{}", bbr.cwnd);
        bbr.check_probe_rtt(now + MS);
        assert_eq!(bbr.probe_rtt_done_stamp, None, "too much in flight");
        bbr.c.inflight = 50 * MTU;
        bbr.check_probe_rtt(now + 2 * MS);
        bbr.check_probe_rtt(now + 203 * MS);
        assert_eq!(bbr.state, State::ProbeRtt, "no round has passed");
        bbr.round_start = true;
        bbr.check_probe_rtt(now + 203 * MS);
        assert_eq!(bbr.state, next);
        assert!(near(bbr.cwnd, 200.0 * MTU as f64), "the window is what it was");
        assert!(bbr.c.app_limited > 0, "its samples do not count");
    }
}

#[test]
fn a_restart_from_idle_paces_at_the_bandwidth_and_is_no_reason_for_probe_rtt() {
    let (mut bbr, now) = cruising();
    bbr.state = State::ProbeBwDown;
    bbr.c.inflight = 0;
    bbr.on_transmit(now);
    assert!(!bbr.idle_restart, "not application-limited");
    bbr.c.app_limited = 1;
    let cwnd = bbr.cwnd;
    bbr.on_transmit(now);
    assert!(bbr.idle_restart && near(bbr.pacing_rate, 0.99 * bbr.bw) && near(bbr.cwnd, cwnd));
    bbr.probe_rtt_expired = true;
    bbr.rs.delivered = 1;
    bbr.check_probe_rtt(now);
    assert!(bbr.state == State::ProbeBwDown && !bbr.idle_restart);
    let (mut bbr, now) = cruising();
    (bbr.state, bbr.c.inflight, bbr.c.app_limited) = (State::ProbeRtt, 0, 1);
    bbr.probe_rtt_done_stamp = Some(now);
    bbr.on_transmit(now + MS);
    assert_eq!(bbr.state, State::ProbeBwCruise);
}

#[test]
fn the_rate_begins_with_the_initial_window_and_rises_until_the_pipe_is_full() {
    let (mut bbr, _) = bbr();
    assert!(near(bbr.pacing_rate, 2.77 * 10.0 * MTU as f64 / 0.001));
    bbr.init_pacing_rate(RTT);
    let initial = bbr.pacing_rate;
    assert!(near(initial, 2.77 * 10.0 * MTU as f64 / 0.05));
    bbr.bw = 0.1 * initial;
    bbr.set_pacing_rate();
    assert!(near(bbr.pacing_rate, initial), "application-limited samples do not lower it");
    bbr.full_bw_reached = true;
    bbr.set_pacing_rate();
    assert!(near(bbr.pacing_rate, 0.277 * initial * 0.99));
}

#[test]
fn the_window_has_a_floor_and_the_bounds_of_its_state() {
    let (mut bbr, _) = cruising();
    bbr.min_rtt = Some(Duration::from_micros(10));
    bbr.set_cwnd();
    assert!(near(bbr.cwnd, 4.0 * MTU as f64), "a BDP below a packet");
    for (state, bound) in [
        (State::ProbeBwDown, 100.0),
        (State::ProbeBwRefill, 100.0),
        (State::ProbeBwUp, 100.0),
        (State::ProbeBwCruise, 85.0),
        (State::Drain, 200.0),
        (State::Startup, 200.0),
    ] {
        let (mut bbr, _) = cruising();
        bbr.state = state;
        bbr.inflight_longterm = 100.0 * MTU as f64;
        bbr.bound_cwnd_for_model();
        assert!(near(bbr.cwnd, bound * MTU as f64), "{state:?}");
        bbr.inflight_shortterm = 60.0 * MTU as f64;
        bbr.bound_cwnd_for_model();
        assert!(near(bbr.cwnd, 60.0 * MTU as f64), "{state:?}");
    }
}

#[test]
fn recovery_restores_the_window_and_persistent_congestion_leaves_a_packet() {
    let (mut bbr, now) = cruising();
    let cwnd = bbr.cwnd;
    bbr.on_congestion(&Congestion { now, sent: now, persistent: true, lost_bytes: MTU });
    assert!(near(bbr.cwnd, bbr.c.inflight as f64 + MTU as f64));
    let (sent, acked) = (now + MS, now + MS + RTT);
    bbr.on_ack(&Ack { now: acked, sent, bytes: MTU, app_limited: false, min_rtt: RTT });
    assert!(near(bbr.cwnd, cwnd) && !bbr.in_loss_recovery);
}

#[test]
fn initialization_is_the_drafts() {
    let (bbr, now) = bbr();
    assert_eq!((bbr.state, bbr.ack_phase), (State::Startup, AckPhase::Init));
    assert_eq!((bbr.min_rtt, bbr.min_rtt_stamp, bbr.probe_rtt_done_stamp), (None, now, None));
    assert!(near(bbr.prior_cwnd, 0.0) && near(bbr.extra_acked, 0.0) && !bbr.idle_restart);
    // InitRoundCounting, ResetCongestionSignals, ResetShortTermModel, ResetFullBW.
    assert_eq!((bbr.next_round_delivered, bbr.round_start, bbr.round_count), (0, false, 0));
    assert!(!bbr.is_loss_in_round && near(bbr.bw_latest, 0.0) && near(bbr.inflight_latest, 0.0));
    assert!(bbr.bw_shortterm.is_infinite() && bbr.inflight_shortterm.is_infinite());
    assert!(near(bbr.full_bw, 0.0) && bbr.full_bw_count == 0 && !bbr.full_bw_now);
    let probing = |state| Bbr3 { state, ..bbr.clone() }.is_probing_bw();
    let states = [State::Drain, State::ProbeBwDown, State::ProbeBwCruise, State::ProbeRtt];
    assert!(!states.into_iter().any(probing));
    assert!([State::Startup, State::ProbeBwRefill, State::ProbeBwUp].into_iter().all(probing));
}
