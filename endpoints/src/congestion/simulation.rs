//! A deterministic simulation of flows at one bottleneck, for the tests of the controllers.
//!
//! A link of fixed rate with a drop-tail buffer and independent random loss before it. Senders have
//! data, unless they pause, send while their window allows (in flight + packet <= window), and are
//! paced as quinn paces: 1.25 windows per smoothed RTT from a bucket of 10 packets; or at the rate
//! that the algorithm asks for, in its quanta. Every packet is acknowledged by itself; a packet is
//! lost when one sent three later is acknowledged; with no acknowledgement for three RTTs a probe
//! is sent. Each sending is delayed by a random part of a packet's time on the link: without it the
//! phases of the flows decide who finds the buffer full.

use super::adapter::{Ack, Acks, Algorithm, Congestion};
use crate::quic::pacer::Quantum;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::{Duration, Instant};

/// Bytes of every packet.
pub const MTU: u64 = 1500;
const BURST: f64 = 10.0 * MTU as f64;

/// The bottleneck.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// Rate, bit/s.
    pub rate_bps: f64,
    /// Round-trip time without queue.
    pub rtt: Duration,
    /// Bytes that wait at most.
    pub buffer_bytes: u64,
    /// Probability that a packet is lost before the buffer.
    pub loss: f64,
}

/// A rate that the link has from some time on, s, bit/s.
pub type Step = (f64, f64);

/// What a flow came to.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Bytes acknowledged per second after the warm-up.
    pub goodput: f64,
    /// Mean RTT after the warm-up, s.
    pub rtt_s: f64,
    /// Greatest window, bytes.
    pub highest_window: u64,
    /// Packets lost after the warm-up, of those sent.
    pub loss: f64,
    /// States in the order in which they were entered, with their times, s.
    pub states: Vec<(f64, &'static str)>,
}

/// A sender.
pub struct Flow {
    algorithm: Box<dyn Algorithm>,
    /// How much leaves together, if it is paced at the rate that the algorithm asks for.
    paced: Option<Quantum>,
    /// From when until when there is nothing to send, ns.
    pauses: Vec<(u64, u64)>,
    /// Whether a paced flow will be woken.
    is_waiting: bool,
    outstanding: BTreeMap<u64, u64>,
    next: u64,
    largest: Option<u64>,
    arrived_ns: u64,
    progress_ns: u64,
    tokens: f64,
    tokens_ns: u64,
    smoothed: Option<f64>,
    min: f64,
    acked: u64,
    rtt_sum: f64,
    lost: u64,
    highest: u64,
    states: Vec<(f64, &'static str)>,
}

impl Flow {
    /// A flow with this algorithm.
    pub fn new(algorithm: Box<dyn Algorithm>) -> Self {
        Flow {
            algorithm,
            paced: None,
            pauses: Vec::new(),
            is_waiting: false,
            outstanding: BTreeMap::new(),
            next: 0,
            largest: None,
            arrived_ns: 0,
            progress_ns: 0,
            tokens: BURST,
            tokens_ns: 0,
            smoothed: None,
            min: f64::INFINITY,
            acked: 0,
            rtt_sum: 0.0,
            lost: 0,
            highest: 0,
            states: Vec::new(),
        }
    }

    /// The same, paced at the rate that the algorithm asks for, in these quanta.
    pub fn paced(self, quantum: Quantum) -> Self {
        Flow { paced: Some(quantum), ..self }
    }

    /// The same, with nothing to send from some times until others, s.
    #[cfg(feature = "bbr3-peer")]
    pub fn pausing(self, pauses: &[(f64, f64)]) -> Self {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let pauses = pauses.iter().map(|&(from, until)| (ns(from), ns(until))).collect();
        Flow { pauses, ..self }
    }

    /// Until when there is nothing to send.
    fn idle_until(&self, now: u64) -> Option<u64> {
        self.pauses.iter().find(|(from, until)| (*from..*until).contains(&now)).map(|&(_, end)| end)
    }

    /// Bytes per ns, and most bytes at once.
    fn pace(&self) -> (f64, f64) {
        if let (Some(bps), Some(quantum)) = (self.algorithm.rate_bps(), self.paced) {
            let rate = bps as f64 / 8.0;
            return (rate / 1e9, quantum.bytes(rate, MTU as f64));
        }
        let window = self.algorithm.window() as f64;
        (1.25 * window / self.smoothed.unwrap_or(0.333) / 1e9, BURST)
    }

    fn in_flight(&self) -> u64 {
        self.outstanding.len() as u64 * MTU
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Acknowledged(u64),
    Woken,
    Timer,
}

struct Network {
    link: Link,
    base: Instant,
    now: u64,
    free: u64,
    random: Xoshiro256PlusPlus,
    events: BinaryHeap<Reverse<(u64, u64, usize, Event)>>,
    scheduled: u64,
}

/// Runs `flows` for `seconds` and counts from `warm_up` seconds on.
pub fn run(link: Link, flows: Vec<Flow>, seconds: f64, warm_up: f64, seed: u64) -> Vec<Outcome> {
    run_with_step(link, None, flows, seconds, warm_up, seed)
}

/// The same, with another rate from some time on.
pub fn run_with_step(
    link: Link,
    step: Option<Step>,
    mut flows: Vec<Flow>,
    seconds: f64,
    warm_up: f64,
    seed: u64,
) -> Vec<Outcome> {
    let mut network = Network {
        link,
        base: Instant::now(),
        now: 0,
        free: 0,
        random: Xoshiro256PlusPlus::seed_from_u64(seed),
        events: BinaryHeap::new(),
        scheduled: 0,
    };
    for (index, flow) in flows.iter().enumerate() {
        network.schedule(0, index, Event::Woken);
        network.schedule(1_000_000_000, index, Event::Timer);
        for &(_, until) in &flow.pauses {
            network.schedule(until, index, Event::Woken);
        }
    }
    while let Some(Reverse((at, _, index, event))) = network.events.pop() {
        if at as f64 > seconds * 1e9 {
            break;
        }
        network.now = at;
        if let Some((_, rate_bps)) = step.filter(|(from, _)| at as f64 >= from * 1e9) {
            network.link.rate_bps = rate_bps;
        }
        let flow = &mut flows[index];
        match event {
            Event::Acknowledged(packet) => {
                network.acknowledge(flow, packet, at as f64 > warm_up * 1e9);
            }
            Event::Woken => flow.is_waiting = false,
            Event::Timer => network.probe(flow, index),
        }
        network.send(flow, index);
    }
    let outcome = |flow: &Flow| {
        let packets = (flow.acked / MTU) as f64;
        Outcome {
            goodput: flow.acked as f64 / (seconds - warm_up),
            rtt_s: flow.rtt_sum / packets,
            highest_window: flow.highest,
            loss: flow.lost as f64 / (flow.lost as f64 + packets),
            states: flow.states.clone(),
        }
    };
    flows.iter().map(outcome).collect()
}

impl Network {
    fn schedule(&mut self, at: u64, flow: usize, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse((at, self.scheduled, flow, event)));
    }

    fn instant(&self, ns: u64) -> Instant {
        self.base + Duration::from_nanos(ns)
    }

    /// A random number from 0 to 1.
    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn acknowledge(&mut self, flow: &mut Flow, packet: u64, counted: bool) {
        // What was taken for lost and comes after all is not counted.
        let Some(sent_ns) = flow.outstanding.remove(&packet) else { return };
        flow.progress_ns = self.now;
        let (now, sent) = (self.instant(self.now), self.instant(sent_ns));
        let newest = flow.largest.is_none_or(|largest| packet > largest);
        flow.largest = flow.largest.max(Some(packet));
        let rtt = now - sent;
        let smoothed = flow.smoothed.unwrap_or(0.333);
        flow.min = flow.min.min(rtt.as_secs_f64());
        let min_rtt = Duration::from_secs_f64(flow.min);
        let app_limited = flow.idle_until(self.now).is_some();
        flow.algorithm.on_ack(&Ack { now, sent, bytes: MTU, app_limited, min_rtt });
        flow.algorithm.on_acks(&Acks {
            now,
            bytes: MTU,
            in_flight: flow.in_flight(),
            rtt: newest.then_some(rtt),
            min_rtt,
            smoothed_rtt: Duration::from_secs_f64(smoothed),
        });
        let seconds = rtt.as_secs_f64();
        flow.smoothed = Some(flow.smoothed.map_or(seconds, |old| (7.0 * old + seconds) / 8.0));
        if counted {
            flow.acked += MTU;
            flow.rtt_sum += seconds;
        }
        let limit = flow.largest.unwrap_or(0).saturating_sub(2);
        let kept = flow.outstanding.split_off(&limit);
        let lost = std::mem::replace(&mut flow.outstanding, kept);
        if let Some((_, &sent_ns)) = lost.last_key_value() {
            flow.lost += if counted { lost.len() as u64 } else { 0 };
            flow.algorithm.on_congestion(&Congestion {
                now,
                sent: self.instant(sent_ns),
                persistent: false,
                lost_bytes: lost.len() as u64 * MTU,
            });
        }
        flow.highest = flow.highest.max(flow.algorithm.window());
        if let Some(model) = flow.algorithm.model() {
            if flow.states.last().is_none_or(|(_, state)| *state != model.state) {
                flow.states.push((self.now as f64 / 1e9, model.state));
            }
        }
    }

    fn probe(&mut self, flow: &mut Flow, index: usize) {
        let patience = (3e9 * flow.smoothed.unwrap_or(0.333)) as u64;
        if self.now - flow.progress_ns > patience && !flow.outstanding.is_empty() {
            self.transmit(flow, index);
            flow.progress_ns = self.now;
        }
        self.schedule(self.now + patience, index, Event::Timer);
    }

    fn send(&mut self, flow: &mut Flow, index: usize) {
        if flow.idle_until(self.now).is_some() {
            return;
        }
        while flow.in_flight() + MTU <= flow.algorithm.window() {
            let (rate, burst) = flow.pace();
            let refill = rate * (self.now - flow.tokens_ns) as f64;
            flow.tokens = (flow.tokens + refill).min(burst);
            flow.tokens_ns = self.now;
            if flow.tokens < MTU as f64 {
                let wait = ((MTU as f64 - flow.tokens) / rate) as u64 + 1;
                if !(flow.paced.is_some() && flow.is_waiting) {
                    flow.is_waiting = true;
                    self.schedule(self.now + wait, index, Event::Woken);
                }
                return;
            }
            flow.tokens -= MTU as f64;
            self.transmit(flow, index);
        }
    }

    fn transmit(&mut self, flow: &mut Flow, index: usize) {
        let packet = flow.next;
        flow.next += 1;
        flow.outstanding.insert(packet, self.now);
        flow.algorithm.on_sent(self.instant(self.now), MTU);
        let time = MTU as f64 * 8e9 / self.link.rate_bps;
        let delayed = self.now + (self.uniform() * time) as u64;
        let arrives = delayed.max(flow.arrived_ns);
        flow.arrived_ns = arrives;
        let waiting = self.free.saturating_sub(arrives) as f64 / time * MTU as f64;
        let full = waiting > (self.link.buffer_bytes - MTU) as f64;
        if self.uniform() < self.link.loss || full {
            return;
        }
        self.free = self.free.max(arrives) + time as u64;
        let back = self.free + self.link.rtt.as_nanos() as u64;
        self.schedule(back, index, Event::Acknowledged(packet));
    }
}
