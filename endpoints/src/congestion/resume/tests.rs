//! The phases of RFC 9959, with the numbers of its examples, and whole flows at a bottleneck.

use super::super::cubic::{Cubic, Settings};
use super::super::reno::Reno;
use super::super::simulation::{self, Flow, Link, MTU};
use super::*;

const RTT: Duration = Duration::from_millis(100);

/// A connection, packet by packet; times are ms, and packets sent together leave 1 us apart.
struct Connection {
    resuming: Resuming<Reno>,
    begin: Instant,
    /// When each packet in flight was sent.
    outstanding: Vec<Instant>,
}

fn start() -> Start {
    Start { now: Instant::now(), mtu: MTU, initial_window: 10 * MTU }
}

fn saved(packets: u64, rtt: Duration) -> Saved {
    Saved { window: (packets * MTU) as f64, rtt }
}

impl Connection {
    fn new(saved: Saved) -> Self {
        Connection::claiming(saved, Claim::default())
    }

    fn claiming(saved: Saved, claim: Claim) -> Self {
        let start = start();
        let reno = Reno::new(0.5, start);
        let resuming = Resuming::new(reno, saved, start, claim);
        Connection { resuming, begin: start.now, outstanding: Vec::new() }
    }

    fn at(&self, ms: u64) -> Instant {
        self.begin + Duration::from_millis(ms)
    }

    fn send(&mut self, ms: u64, packets: usize) {
        for number in 0..packets {
            let now = self.at(ms) + Duration::from_micros(number as u64);
            self.resuming.on_sent(now, MTU);
            self.outstanding.push(now);
        }
    }

    /// An ACK frame for each of the oldest `packets`.
    fn acknowledge(&mut self, ms: u64, packets: usize, app_limited: bool) {
        let now = self.at(ms);
        for sent in self.outstanding.drain(..packets).collect::<Vec<_>>() {
            self.resuming.on_ack(&Ack { now, sent, bytes: MTU, app_limited, min_rtt: RTT });
            let rtt = now - sent;
            let bytes = MTU;
            let in_flight = self.resuming.in_flight - MTU;
            let (min_rtt, smoothed_rtt) = (rtt, RTT);
            let acks = Acks { now, bytes, in_flight, rtt: Some(rtt), min_rtt, smoothed_rtt };
            self.resuming.on_acks(&acks);
        }
    }

    fn lose(&mut self, ms: u64, index: usize) {
        let sent = self.outstanding.remove(index);
        let (now, persistent, lost_bytes) = (self.at(ms), false, MTU);
        self.resuming.on_congestion(&Congestion { now, sent, persistent, lost_bytes });
    }

    fn window(&self) -> u64 {
        self.resuming.window() / MTU
    }

    fn pipe_size(&self) -> u64 {
        self.resuming.pipe_size as u64 / MTU
    }

    /// The first example until the jump: 29 packets are in flight, 300 were saved.
    fn jumped() -> Self {
        let mut connection = Connection::new(saved(300, RTT));
        connection.send(0, 10);
        connection.acknowledge(100, 9, false);
        connection.send(100, 29);
        assert_eq!(connection.resuming.phase, Phase::Reconnaissance);
        connection.acknowledge(101, 1, false);
        assert_eq!(connection.resuming.phase, Phase::Unvalidated);
        assert_eq!((connection.window(), connection.pipe_size()), (150, 29));
        connection
    }
}

#[test]
fn the_jump_is_to_half_of_what_was_saved_and_validated_by_its_last_packet() {
    let mut connection = Connection::jumped();
    connection.send(120, 120);
    assert_eq!(connection.resuming.phase, Phase::Unvalidated);
    connection.send(180, 1);
    assert_eq!(connection.resuming.phase, Phase::Validating, "all 121 are sent");
    assert_eq!(connection.window(), 150);
    connection.acknowledge(200, 29, false);
    assert_eq!(connection.pipe_size(), 29, "what was in flight is counted already");
    connection.acknowledge(220, 120, false);
    assert_eq!((connection.resuming.phase, connection.pipe_size()), (Phase::Validating, 149));
    connection.acknowledge(280, 1, false);
    assert_eq!((connection.resuming.phase, connection.pipe_size()), (Phase::Normal, 150));
    assert_eq!(connection.window(), 300, "slow start in Validating");
    assert_eq!(connection.resuming.ssthresh(), Some(300 * MTU), "congestion avoidance");
}

#[test]
fn a_sender_that_does_not_use_the_jump_keeps_what_it_used() {
    let mut connection = Connection::jumped();
    connection.send(120, 50);
    connection.acknowledge(200, 29, true);
    assert_eq!(connection.resuming.phase, Phase::Unvalidated);
    connection.acknowledge(220, 1, true);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::Validating, 49));
    connection.acknowledge(220, 49, true);
    assert_eq!(connection.resuming.phase, Phase::Normal);
}

#[test]
fn a_sender_that_sends_no_more_than_before_goes_back_to_its_pipe_size() {
    let mut connection = Connection::jumped();
    connection.send(120, 5);
    connection.acknowledge(200, 29, true);
    connection.acknowledge(220, 1, true);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::Normal, 30));
    assert_eq!(connection.resuming.ssthresh(), None);
}

#[test]
fn the_unvalidated_phase_lasts_a_round_trip_at_most() {
    let mut connection = Connection::jumped();
    connection.send(110, 60);
    connection.acknowledge(201, 1, true);
    assert_eq!(connection.resuming.phase, Phase::Unvalidated);
    connection.acknowledge(202, 1, true);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::Validating, 87));
}

#[test]
fn a_loss_halves_the_pipe_size_until_the_last_packet_is_acknowledged() {
    let mut connection = Connection::jumped();
    connection.send(120, 121);
    connection.acknowledge(200, 29, false);
    connection.acknowledge(220, 34, false);
    assert_eq!(connection.pipe_size(), 63);
    connection.lose(221, 0);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::SafeRetreat, 31));
    connection.acknowledge(222, 85, false);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::SafeRetreat, 31));
    connection.acknowledge(223, 1, false);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::Normal, 31));
    let all = 29 + 34 + 86;
    assert_eq!(connection.resuming.ssthresh(), Some(all * MTU / 2));
}

#[test]
fn further_losses_of_the_jump_are_of_the_same_event() {
    let mut connection = Connection::jumped();
    connection.send(120, 121);
    connection.acknowledge(200, 29, false);
    connection.acknowledge(220, 34, false);
    connection.lose(221, 0);
    connection.acknowledge(222, 65, false);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::SafeRetreat, 31));
    assert_eq!(connection.pipe_size(), 29 + 34 + 65);
    connection.lose(223, 0);
    assert_eq!(connection.window(), 31);
    connection.acknowledge(240, 20, false);
    assert_eq!(connection.resuming.phase, Phase::Normal);
    assert_eq!(connection.resuming.ssthresh(), Some((29 + 34 + 65 + 20) * MTU / 2));
}

#[test]
fn a_mark_is_congestion() {
    let mut connection = Connection::jumped();
    connection.send(120, 121);
    let (now, sent) = (connection.at(205), connection.at(100));
    let mark = Congestion { now, sent, persistent: false, lost_bytes: 0 };
    connection.resuming.on_congestion(&mark);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::SafeRetreat, 14));
}

#[test]
fn congestion_in_reconnaissance_is_that_of_a_new_connection() {
    let mut connection = Connection::new(saved(300, RTT));
    connection.send(0, 10);
    connection.acknowledge(100, 5, false);
    connection.lose(101, 0);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::Normal, 7));
    connection.acknowledge(102, 4, false);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::Normal, 7));
}

#[test]
fn an_rtt_of_half_the_saved_one_or_ten_times_it_is_of_another_path() {
    for (saved_ms, phase) in [
        (199, Phase::Unvalidated),
        (200, Phase::Normal),
        (10, Phase::Unvalidated),
        (9, Phase::Normal),
    ] {
        let mut connection = Connection::new(saved(300, Duration::from_millis(saved_ms)));
        connection.send(0, 10);
        connection.acknowledge(100, 10, false);
        assert_eq!(connection.resuming.phase, phase, "{saved_ms} ms");
    }
}

#[test]
fn an_rtt_that_falls_to_half_the_saved_one_ends_the_jump() {
    let mut connection = Connection::new(saved(300, Duration::from_millis(199)));
    connection.send(0, 10);
    connection.acknowledge(100, 9, false);
    connection.send(100, 29);
    connection.acknowledge(100, 1, false);
    assert_eq!(connection.resuming.phase, Phase::Unvalidated);
    connection.acknowledge(199, 1, false);
    assert_eq!(connection.resuming.phase, Phase::SafeRetreat);
}

#[test]
fn there_is_no_jump_before_the_initial_window_is_acknowledged_or_without_data() {
    let mut connection = Connection::new(saved(300, RTT));
    connection.send(0, 10);
    connection.acknowledge(100, 9, false);
    assert_eq!(connection.resuming.phase, Phase::Reconnaissance);
    connection.acknowledge(100, 1, true);
    assert_eq!(connection.resuming.phase, Phase::Reconnaissance, "nothing else to send");
    connection.send(150, 20);
    connection.acknowledge(250, 1, false);
    assert_eq!(connection.resuming.phase, Phase::Unvalidated);
}

#[test]
fn there_is_no_jump_down() {
    let mut connection = Connection::new(saved(38, RTT));
    connection.send(0, 10);
    connection.acknowledge(100, 10, false);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::Normal, 20));
}

#[test]
fn one_connection_uses_what_was_saved() {
    let claim = Claim::default();
    for phase in [Phase::Unvalidated, Phase::Normal] {
        let mut connection = Connection::claiming(saved(300, RTT), claim.clone());
        connection.send(0, 10);
        connection.acknowledge(100, 10, false);
        assert_eq!(connection.resuming.phase, phase);
    }
}

#[test]
fn persistent_congestion_ends_it() {
    let mut connection = Connection::jumped();
    connection.send(120, 121);
    let (now, sent) = (connection.at(500), connection.at(120));
    let event = Congestion { now, sent, persistent: true, lost_bytes: 121 * MTU };
    connection.resuming.on_congestion(&event);
    assert_eq!((connection.resuming.phase, connection.window()), (Phase::Normal, 2));
    assert_eq!(connection.resuming.ssthresh(), Some(29 * MTU / 2));
}

#[test]
fn its_phases_are_shown_and_then_those_of_the_controller() {
    let mut connection = Connection::new(saved(300, RTT));
    let state = |connection: &Connection| connection.resuming.model().unwrap().state;
    assert_eq!(state(&connection), "reconnaissance");
    connection.send(0, 10);
    connection.acknowledge(100, 10, false);
    assert_eq!(state(&connection), "unvalidated");
    connection.send(120, 150);
    assert_eq!(state(&connection), "validating");
    connection.lose(220, 0);
    assert_eq!(state(&connection), "safe_retreat");
    connection.acknowledge(221, 149, false);
    assert_eq!(state(&connection), "slow_start");
}

/// 20 Mbit/s, 300 ms: a BDP of 500 packets.
const PATH: Link =
    Link { rate_bps: 20e6, rtt: Duration::from_millis(300), buffer_bytes: 750_000, loss: 0.0 };

fn cubic(saved: Option<Saved>) -> Flow {
    let start = start();
    let settings = Settings { connections: 1.0, beta: 0.7, c: 0.4, max_window_packets: None };
    let cubic = Cubic::new(settings, None, start);
    Flow::new(match saved {
        Some(saved) => Box::new(Resuming::new(cubic, saved, start, Claim::default())),
        None => Box::new(cubic),
    })
}

fn goodput_of_three_seconds(bdps: Option<f64>) -> (f64, Vec<&'static str>) {
    let saved = bdps.map(|bdps| Saved { window: bdps * 750_000.0, rtt: PATH.rtt });
    let outcome = simulation::run(PATH, vec![cubic(saved)], 3.0, 0.0, 1).remove(0);
    (outcome.goodput * 8.0 / 20e6, outcome.states.iter().map(|(_, state)| *state).collect())
}

#[test]
fn what_was_saved_rightly_saves_round_trips() {
    let (without, _) = goodput_of_three_seconds(None);
    let (with, states) = goodput_of_three_seconds(Some(1.0));
    println!("{without} {with} {states:?}");
    assert_eq!(states, ["reconnaissance", "unvalidated", "validating", "congestion_avoidance"]);
    // What each leaves of the link until its window is the BDP, round trips: slow start from 10
    // packets; and a round trip of 10, then one of 250.
    let unused = |windows: &[f64]| windows.iter().map(|window| 1.0 - window / 500.0).sum::<f64>();
    let saved = unused(&[10.0, 20.0, 40.0, 80.0, 160.0, 320.0]) - unused(&[10.0, 250.0]);
    assert!((with - without - saved / 10.0).abs() < 0.03, "{without} {with} {saved}");
}

#[test]
fn too_much_is_answered_by_a_safe_retreat() {
    let (share, states) = goodput_of_three_seconds(Some(8.0));
    println!("{share} {states:?}");
    assert_eq!(states[..4], ["reconnaissance", "unvalidated", "validating", "safe_retreat"]);
}
