//! Congestion controllers for QUIC, by name: `factory` makes one of `CONTROLLERS` for quinn.
//!
//! In order of control flow: `parameters` checks what a description asks for, the entry of the name
//! builds one controller per connection, and `adapter` joins it to quinn's trait. A controller is
//! one file: its formulas, their source, and an `Entry`. `docs/learn/congestion.md` is the manual.

mod adapter;
mod bbr;
mod bbr3;
mod copa;
mod cubic;
mod delivery;
mod hystart;
mod hystartpp;
mod ledbat;
mod parameters;
mod pcc;
mod prague;
mod reno;
mod resume;
#[cfg(test)]
mod simulation;

pub use adapter::Model;

use crate::quic::feedback::Marks;
use crate::quic::pacer::Quantum;
use crate::quic::trace::States;
use parameters::{Parameter, Values};
use quinn_proto::congestion::{Controller, ControllerFactory};
use resume::Claim;
use serde_json::{json, Map, Value};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Instant;

/// Every congestion controller there is over QUIC.
pub const CONTROLLERS: &[Entry] = &[
    cubic::ENTRY,
    reno::ENTRY,
    bbr::ENTRY,
    bbr3::ENTRY,
    prague::ENTRY,
    copa::ENTRY,
    pcc::ENTRY,
    ledbat::ENTRY,
];

/// Most packets of an initial window.
const MOST_INITIAL_PACKETS: u64 = 10_000;

/// A congestion controller as the registry knows it.
#[derive(Debug)]
pub struct Entry {
    /// How descriptions and plans call it.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Its parameters with ranges and defaults.
    pub parameters: &'static [Parameter],
    /// How much leaves together, if `rate_bps` is the rate at which it is to be paced.
    pub paces: Option<Quantum>,
    /// Whether it answers each mark (L4S, RFC 9331): its packets are then ECT(1).
    pub l4s: bool,
    /// Whether `idle_restart` reduces its window after an idle time: not where a model of the path,
    /// rather than what was acknowledged last, says what to send.
    pub restarts: bool,
    /// Makes the controller of one connection.
    build: fn(&Values, Start, &Shared) -> Box<dyn Controller>,
}

/// What surrounds a controller: its sender, its receiver, and other connections.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    /// Who paces its connection.
    pacing: Pacing,
    /// What the receiver of its connection counts.
    marks: Marks,
    /// The right to what an earlier connection saved, with the other connections of a server.
    claim: Claim,
    /// Where its states are written down.
    states: Option<States>,
    /// Whether its window is reduced after an idle time.
    restarts: bool,
}

/// What a connection starts with.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// When the connection is made.
    pub now: Instant,
    /// Bytes of a full datagram (UDP payload).
    pub mtu: u64,
    /// Initial congestion window, bytes.
    pub initial_window: u64,
}

/// Who paces what a controller lets go: the one thing that it has to know of its sender.
///
/// quinn always paces, at 1.25 windows per smoothed RTT, and can be told no rate. The endpoints'
/// own driver holds packets back before it asks quinn for them, so there a controller has the rate
/// that it wants, as long as that is below quinn's. Page loads run over quinn's own loop: there the
/// window is all that a controller has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pacing {
    /// The driver (`quic::driver`), at the controller's rate and in its quanta (`Entry::paces`).
    Rate,
    /// quinn alone (page loads): a controller that thinks in rates makes windows of them.
    #[default]
    Window,
}

/// A seed from the kernel's random numbers: in virtual time they follow from the cell's seed.
fn kernel_seed() -> u64 {
    RandomState::new().hash_one(0)
}

/// Returns what makes the controllers of connections: the one called `name`, with `parameters`
/// (those that are not given have their defaults) and an initial window of `initial_window_packets`
/// full datagrams.
///
/// # Errors
/// A message that names what is unknown or out of range, and what would be right.
pub fn factory(
    name: &str,
    parameters: &Map<String, Value>,
    initial_window_packets: u64,
) -> Result<Arc<Factory>, String> {
    let entry = entry(name)?;
    let values = Values::read(name, entry.parameters, parameters)?;
    if !(1..=MOST_INITIAL_PACKETS).contains(&initial_window_packets) {
        return Err(format!(
            "an initial window of {initial_window_packets} packets is none from 1 to {MOST_INITIAL_PACKETS}"
        ));
    }
    if values.cap_packets().is_some_and(|cap| cap < initial_window_packets) {
        return Err(format!(
            "{name}: `{}` is smaller than the initial window of {initial_window_packets} packets",
            parameters::CAP
        ));
    }
    if values.word(parameters::SLOW_START) == Some(parameters::HYSTARTPP)
        && values.to_json().get("hystart") == Some(&Value::Bool(true))
    {
        return Err(format!("{name}: `hystart` and `slow_start` exclude each other"));
    }
    if values.bound(parameters::RESUME).is_some() != values.bound(parameters::RESUME_RTT).is_some()
    {
        let (window, rtt) = (parameters::RESUME, parameters::RESUME_RTT);
        return Err(format!("{name}: `{window}` and `{rtt}` are given together or not at all"));
    }
    let shared = Shared::default();
    Ok(Arc::new(Factory { entry, values, initial_window_packets, shared }))
}

/// Returns all parameters of a controller that `factory` makes from the same arguments, defaults
/// included.
///
/// # Errors
/// As `factory`.
pub fn complete(name: &str, parameters: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    Ok(Values::read(name, entry(name)?.parameters, parameters)?.to_json())
}

/// Returns every controller with its parameters as JSON: what the language knows of them
/// (`words/ccas/quic.json`).
pub fn exported() -> String {
    let entries: Vec<Value> = CONTROLLERS
        .iter()
        .map(|entry| {
            let parameters: Vec<Value> = entry.parameters.iter().map(Parameter::to_json).collect();
            json!({
                "name": entry.name,
                "summary": entry.summary,
                "l4s": entry.l4s,
                "restarts": entry.restarts,
                "parameters": parameters,
            })
        })
        .collect();
    format!("{:#}\n", Value::Array(entries))
}

fn entry(name: &str) -> Result<&'static Entry, String> {
    CONTROLLERS.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<&str> = CONTROLLERS.iter().map(|entry| entry.name).collect();
        format!("no congestion controller `{name}` over QUIC; known: {}", known.join(", "))
    })
}

/// What makes the controllers of connections.
pub struct Factory {
    entry: &'static Entry,
    values: Values,
    initial_window_packets: u64,
    shared: Shared,
}

impl Factory {
    /// What it makes.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The same, for one connection: `pacing` says who paces it, its receiver's counts are `marks`,
    /// its states are written down in `states`, and `restarts` says whether its window is reduced
    /// after an idle time.
    pub fn reading(
        &self,
        pacing: Pacing,
        marks: &Marks,
        states: Option<States>,
        restarts: bool,
    ) -> Arc<dyn ControllerFactory + Send + Sync> {
        let (marks, claim) = (marks.clone(), self.shared.claim.clone());
        let shared = Shared { pacing, marks, claim, states, restarts };
        Arc::new(Factory { values: self.values.clone(), shared, ..*self })
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let mtu = u64::from(current_mtu);
        let start = Start { now, mtu, initial_window: self.initial_window_packets * mtu };
        (self.entry.build)(&self.values, start, &self.shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, parameters: &Value, packets: u64) -> String {
        match factory(name, parameters.as_object().unwrap(), packets) {
            Ok(_) => panic!("{name} {parameters} {packets} was taken"),
            Err(message) => message,
        }
    }

    #[test]
    fn every_controller_starts_with_its_initial_window() {
        for entry in CONTROLLERS {
            let controller =
                factory(entry.name, &Map::new(), 10).unwrap().build(Instant::now(), 1400);
            assert_eq!(controller.initial_window(), 14_000, "{}", entry.name);
            assert_eq!(controller.metrics().congestion_window, 14_000, "{}", entry.name);
        }
    }

    #[test]
    fn who_paces_decides_whether_bbr_has_a_rate_from_the_first_packet_on() {
        let bbr = factory("bbr", &Map::new(), 10).unwrap();
        for (pacing, has_rate) in [(Pacing::Rate, true), (Pacing::Window, false)] {
            let made =
                bbr.reading(pacing, &Marks::default(), None, false).build(Instant::now(), 1400);
            assert_eq!(made.metrics().pacing_rate.is_some(), has_rate, "{pacing:?}");
        }
    }

    #[test]
    fn what_is_unknown_is_answered_with_what_there_is() {
        assert_eq!(
            refused("vegas", &json!({}), 10),
            "no congestion controller `vegas` over QUIC; known: cubic, reno, bbr, bbr3, prague, copa, pcc, ledbat"
        );
        assert_eq!(
            refused("cubic", &json!({"alpha": 1}), 10),
            "cubic: no parameter `alpha`; known: connections, beta, c, max_window_packets, hystart, slow_start, resume_bytes, resume_rtt_us"
        );
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let whole = "not a whole number from 1 to 1000";
        for (value, shown) in
            [(json!(0), "0"), (json!(1.5), "1.5"), (json!(-1), "-1"), (json!("2"), "\"2\"")]
        {
            assert_eq!(
                refused("cubic", &json!({"connections": value}), 10),
                format!("cubic: `connections` is {shown}, {whole}")
            );
        }
        for beta in [json!(0), json!(1), json!(-0.5), json!(true), json!(null)] {
            assert_eq!(
                refused("cubic", &json!({"beta": beta}), 10),
                format!("cubic: `beta` is {beta}, not a number from 0.01 to 0.99")
            );
        }
        assert_eq!(
            refused("cubic", &json!({"hystart": 1}), 10),
            "cubic: `hystart` is 1, not true or false"
        );
        assert_eq!(
            refused("cubic", &json!({"max_window_packets": 9}), 10),
            "cubic: `max_window_packets` is smaller than the initial window of 10 packets"
        );
        assert_eq!(
            refused("reno", &json!({"slow_start": "quick"}), 10),
            "reno: `slow_start` is \"quick\", not standard or hystartpp"
        );
        assert_eq!(
            refused("cubic", &json!({"hystart": true, "slow_start": "hystartpp"}), 10),
            "cubic: `hystart` and `slow_start` exclude each other"
        );
        assert_eq!(
            refused("reno", &json!({"resume_bytes": 100_000}), 10),
            "reno: `resume_bytes` and `resume_rtt_us` are given together or not at all"
        );
        assert_eq!(
            refused("reno", &json!({}), 0),
            "an initial window of 0 packets is none from 1 to 10000"
        );
    }

    #[test]
    fn parameters_are_told_with_their_defaults() {
        let given = json!({"connections": 2});
        assert_eq!(
            Value::Object(complete("cubic", given.as_object().unwrap()).unwrap()),
            json!({"connections": 2, "beta": 0.7, "c": 0.4, "hystart": false})
        );
        let given = json!({"max_window_packets": 1000});
        let complete = complete("cubic", given.as_object().unwrap()).unwrap();
        assert_eq!(complete["max_window_packets"], 1000);
    }

    #[test]
    fn the_language_has_every_controller_as_it_is_here() {
        let known = include_str!("../../../words/ccas/quic.json");
        assert!(known == exported(), "run `fairc-endpoints ccas > words/ccas/quic.json`");
    }

    #[test]
    fn the_manual_has_every_parameter_with_its_default() {
        let manual = include_str!("../../../docs/learn/congestion.md");
        for entry in CONTROLLERS {
            let heading = format!("\n## {}\n", entry.name);
            let section = manual.split_once(&heading).expect(entry.name).1;
            let section = section.split("\n## ").next().unwrap();
            let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
            assert_eq!(rows.len(), entry.parameters.len(), "{}", entry.name);
            let defaults = complete(entry.name, &Map::new()).unwrap();
            for Parameter { name, .. } in entry.parameters {
                let default = defaults.get(*name).map_or("none".into(), Value::to_string);
                let row = format!("| `{name}` | {default} |");
                assert!(rows.iter().any(|line| line.starts_with(&row)), "{}: {row}", entry.name);
            }
        }
    }
}
