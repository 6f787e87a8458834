//! What emerges from the draft's functions: whole flows at a simulated bottleneck.

use super::super::simulation::{self, Flow, Link, Outcome, MTU};
use super::*;

fn link(mbps: f64, rtt_ms: u64, bdps: f64, loss: f64) -> Link {
    let rtt = Duration::from_millis(rtt_ms);
    let bdp = mbps * 1e6 / 8.0 * rtt.as_secs_f64();
    Link { rate_bps: mbps * 1e6, rtt, buffer_bytes: (bdps * bdp) as u64, loss }
}

fn flows(count: u64) -> Vec<Flow> {
    let start = Start { now: Instant::now(), mtu: MTU, initial_window: 10 * MTU };
    (0..count).map(|seed| Flow::new(Box::new(Bbr3::new(start, seed))).paced(QUANTUM)).collect()
}

fn one(link: Link, seconds: f64, warm_up: f64) -> Outcome {
    simulation::run(link, flows(1), seconds, warm_up, 7).remove(0)
}

#[test]
fn a_flow_fills_its_link_without_loss_and_with_little_delay() {
    for (mbps, rtt_ms) in [(5.0, 50), (10.0, 20), (50.0, 80)] {
        let outcome = one(link(mbps, rtt_ms, 2.0, 0.0), 40.0, 10.0);
        let share = outcome.goodput * 8.0 / (mbps * 1e6);
        let stretch = outcome.rtt_s / (rtt_ms as f64 / 1e3);
        println!("{mbps} Mbit/s, {rtt_ms} ms: {share:.3}, {stretch:.2} RTT, {}", outcome.loss);
        // 1 % of pacing margin, 2 % of ProbeRTT.
        assert!(share > 0.93, "{share}");
        assert!(stretch < 1.5 && outcome.loss < 0.001, "{stretch} {}", outcome.loss);
    }
}

#[test]
fn states_follow_the_drafts_diagram() {
    let states = one(link(20.0, 40, 2.0, 0.0), 30.0, 10.0).states;
    let names: Vec<&str> = states.iter().map(|(_, name)| *name).collect();
    assert_eq!(names[..2], ["startup", "drain"]);
    let follows = |a: &str, b: &str| names.windows(2).any(|pair| pair == [a, b]);
    assert!(follows("probe_bw_cruise", "probe_bw_refill"));
    assert!(follows("probe_bw_refill", "probe_bw_up"));
    assert!(follows("probe_bw_up", "probe_bw_down"));
    assert!(follows("probe_rtt", "probe_bw_cruise"));
    let probes: Vec<f64> =
        states.iter().filter(|(_, name)| *name == "probe_rtt").map(|(at, _)| *at).collect();
    for pair in probes.windows(2) {
        let apart = pair[1] - pair[0];
        assert!(apart > 5.0, "ProbeRTT after {apart} s");
    }
}

#[test]
fn two_flows_share() {
    let outcomes = simulation::run(link(20.0, 40, 2.0, 0.0), flows(2), 90.0, 30.0, 3);
    let (a, b) = (outcomes[0].goodput, outcomes[1].goodput);
    let jain = (a + b).powi(2) / (2.0 * (a * a + b * b));
    println!("{a} {b} {jain}");
    assert!(jain > 0.9, "{jain}");
    assert!((a + b) * 8.0 > 0.9 * 20e6);
}

#[test]
fn one_percent_of_random_loss_is_tolerated() {
    let outcome = one(link(20.0, 40, 1.0, 0.01), 40.0, 10.0);
    let share = outcome.goodput * 8.0 / 20e6;
    println!("{share}");
    assert!(share > 0.8, "{share}");
}

#[test]
fn a_link_ten_times_faster_is_found_within_cycles() {
    let step = Some((20.0, 100e6));
    let outcome =
        simulation::run_with_step(link(10.0, 40, 4.0, 0.0), step, flows(1), 50.0, 30.0, 5);
    let share = outcome[0].goodput * 8.0 / 100e6;
    println!("{share}");
    assert!(share > 0.9, "{share}");
}

#[test]
fn a_link_ten_times_slower_is_followed() {
    let step = Some((20.0, 10e6));
    let outcome =
        simulation::run_with_step(link(100.0, 40, 1.0, 0.0), step, flows(1), 60.0, 35.0, 5);
    let share = outcome[0].goodput * 8.0 / 10e6;
    println!("{share} {} {}", outcome[0].loss, outcome[0].rtt_s);
    assert!(share > 0.85 && outcome[0].loss < 0.05, "{share} {}", outcome[0].loss);
}
