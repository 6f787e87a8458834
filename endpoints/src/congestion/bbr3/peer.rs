//! The same packets, acknowledgements and losses through this BBRv3 and through that of
//! `noq-proto`, another QUIC (drafts -05 and -06): each hears of every event of a flow of which one
//! of them decides the rate and the window, at the simulated bottleneck.
//!
//! Its controller wants an estimator of the RTT with every acknowledgement, which only a connection
//! of its own can make: `estimator` makes one in memory. What it thinks of the path is read from
//! its `Debug` text. Its random waits before probes cannot be seeded: flows pause over the time
//! from 2 to 3 s after each probe, so that no wait is decided by them.
//!
//! `Differs::Taken` makes ours do what the draft does not say and the other does; what remains is
//! that the other decides with the rate sample of the ACK before. `docs/learn/congestion.md`
//! explains all of it.

use super::super::simulation::{self, Flow, Link, MTU};
use super::*;
use bytes::BytesMut;
use noq_proto::congestion::{self as noq, ControllerFactory};
use noq_proto::{DatagramEvent, Endpoint, EndpointConfig, FourTuple, RttEstimator};
use std::any::Any;
use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

const PACKET: f64 = MTU as f64;
/// What the other takes for the RTT before it has measured one (RFC 9002, section 6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// A controller that keeps a copy of the first RTT estimator it is handed.
#[derive(Debug, Clone, Default)]
struct Listener(Arc<Mutex<Option<RttEstimator>>>);

impl noq::Controller for Listener {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: u64, _: bool, rtt: &RttEstimator) {
        self.0.lock().unwrap().get_or_insert(*rtt);
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: bool, _: u64, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        10 * MTU
    }

    fn clone_box(&self) -> Box<dyn noq::Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        10 * MTU
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for Listener {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn noq::Controller> {
        Box::new(Listener(Arc::clone(&self.0)))
    }
}

/// The estimator of a connection that has measured nothing and was told `rtt`: a client hears of
/// its first packet's acknowledgement.
fn estimator(rtt: Duration) -> RttEstimator {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(["peer".into()]).unwrap().self_signed(&key).unwrap();
    let certificate = certificate.der();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let server = noq_proto::ServerConfig::with_single_cert(vec![certificate.clone()], key).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let mut config = noq_proto::ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    let listener = Arc::new(Listener::default());
    let mut transport = noq_proto::TransportConfig::default();
    transport.initial_rtt(rtt).congestion_controller_factory(Arc::<Listener>::clone(&listener));
    config.transport_config(Arc::new(transport));

    let endpoint = Arc::new(EndpointConfig::default());
    let mut client = Endpoint::new(Arc::clone(&endpoint), None, false);
    let mut server = Endpoint::new(endpoint, Some(Arc::new(server)), false);
    let [near, far] = [1, 2].map(|host| SocketAddr::from((Ipv4Addr::new(192, 0, 2, host), 443)));
    let now = Instant::now();
    let (mut sent, mut answer, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    let (_, mut connection) = client.connect(now, config, far, "peer").unwrap();
    assert!(connection.poll_transmit(now, NonZeroUsize::MIN, &mut sent).is_some());
    let path = FourTuple::from_remote(near);
    let event = server.handle(now, path, None, BytesMut::from(&sent[..]), &mut rest);
    let Some(DatagramEvent::NewConnection(incoming)) = event else { panic!("no connection") };
    let (_, mut served) = server.accept(incoming, now, &mut rest, None).unwrap();
    assert!(served.poll_transmit(now, NonZeroUsize::MIN, &mut answer).is_some());
    let path = FourTuple::from_remote(far);
    let event = client.handle(now, path, None, BytesMut::from(&answer[..]), &mut rest);
    let Some(DatagramEvent::ConnectionEvent(_, event)) = event else { panic!("no answer") };
    connection.handle_event(event);
    let told = *listener.0.lock().unwrap();
    told.expect("the server's answer acknowledges")
}

/// The beginning of a text: of the other's state, what precedes its list of packets.
struct Beginning(String);

impl Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        if self.0.len() < 4500 {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

/// What one of them thinks of the path; volumes in bytes, rates in bytes/s.
#[derive(Debug, Clone, PartialEq)]
struct View {
    state: String,
    round_count: f64,
    cycle_count: f64,
    max_bw: f64,
    bw_shortterm: f64,
    min_rtt_s: f64,
    inflight_longterm: f64,
    inflight_shortterm: f64,
    cwnd: f64,
    pacing_rate: f64,
    app_limited: f64,
}

impl View {
    fn ours(bbr: &Bbr3) -> Self {
        View {
            state: bbr.state.name().into(),
            round_count: bbr.round_count as f64,
            cycle_count: bbr.cycle_count as f64,
            max_bw: bbr.max_bw,
            bw_shortterm: bbr.bw_shortterm,
            min_rtt_s: bbr.min_rtt.map_or(f64::INFINITY, |rtt| rtt.as_secs_f64()),
            inflight_longterm: bbr.inflight_longterm,
            inflight_shortterm: bbr.inflight_shortterm,
            cwnd: bbr.cwnd,
            pacing_rate: bbr.pacing_rate,
            app_limited: bbr.c.app_limited as f64,
        }
    }

    fn of(other: &dyn noq::Controller) -> Self {
        let mut text = Beginning(String::new());
        let _ = write!(text, "{other:?}");
        let value = |name: &str| {
            let (_, value) = text.0.split_once(&format!(" {name}: ")).expect(name);
            value.split(", ").next().unwrap_or_default().to_owned()
        };
        // The greatest u64 is its infinity.
        let number = |name: &str| {
            let number: f64 = value(name).parse().unwrap();
            if number < u64::MAX as f64 {
                number
            } else {
                f64::INFINITY
            }
        };
        View {
            state: snake_case(&value("state")),
            round_count: number("round_count"),
            cycle_count: number("cycle_count"),
            max_bw: number("max_bw"),
            bw_shortterm: number("bw_shortterm"),
            min_rtt_s: seconds(&value("min_rtt")),
            inflight_longterm: number("inflight_longterm"),
            inflight_shortterm: number("inflight_shortterm"),
            cwnd: number("cwnd"),
            pacing_rate: number("pacing_rate"),
            app_limited: number("app_limited"),
        }
    }
}

/// `ProbeBw(Down)` as our samples call it.
fn snake_case(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars().filter(|letter| letter.is_alphabetic()) {
        if letter.is_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// A duration as `Debug` writes it.
fn seconds(text: &str) -> f64 {
    let (value, unit) = [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)]
        .iter()
        .find_map(|(unit, scale)| text.strip_suffix(unit).map(|value| (value, scale)))
        .expect(text);
    value.parse::<f64>().unwrap() * unit
}

/// Who decides the rate and the window.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Leads {
    Ours,
    Other,
}

/// Whether ours does what the other does and the draft does not say.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Differs {
    AsItIs,
    Taken,
}

/// Both after an ACK.
#[derive(Debug, Clone)]
struct Step {
    at_s: f64,
    ours: View,
    other: View,
}

type Steps = Arc<Mutex<Vec<Step>>>;

/// Both controllers as one.
struct Both {
    leads: Leads,
    differs: Differs,
    ours: Bbr3,
    other: Box<dyn noq::Controller>,
    rtt: Option<RttEstimator>,
    /// Send times and numbers of packets in flight.
    flight: VecDeque<(Instant, u64)>,
    next: u64,
    largest_acked: Option<u64>,
    is_app_limited: bool,
    start: Instant,
    steps: Steps,
}

impl Both {
    fn new(leads: Leads, differs: Differs) -> Self {
        let start = Instant::now();
        let mut config = noq::Bbr3Config::default();
        config.initial_window(10 * MTU);
        let mut ours = Bbr3::new(Start { now: start, mtu: MTU, initial_window: 10 * MTU }, 1);
        if differs == Differs::Taken {
            ours.has_seen_rtt = true;
            ours.max_bw_filter.remember(MAX_BW_FILTER_LEN + 1);
        }
        Both {
            leads,
            differs,
            ours,
            other: Arc::new(config).build(start, MTU as u16),
            rtt: None,
            flight: VecDeque::new(),
            next: 0,
            largest_acked: None,
            is_app_limited: false,
            start,
            steps: Steps::default(),
        }
    }

    /// Takes over what follows from what was so `before` an ACK: the bandwidth filter advances in
    /// each round of Down and Cruise, samples remain those of a probe, and no probe is
    /// precautionary.
    fn take_over(&mut self, before: &Bbr3) {
        let ours = &mut self.ours;
        let is_between_probes = matches!(before.state, State::ProbeBwDown | State::ProbeBwCruise);
        if is_between_probes
            && before.ack_phase == AckPhase::Init
            && ours.round_start
            && !ours.rs.is_app_limited
        {
            ours.cycle_count += 1;
        }
        ours.is_bw_probe_sample |= before.is_bw_probe_sample;
        ours.prev_probe_too_high = false;
        ours.prev_probe_precautionary = false;
    }
}

impl Algorithm for Both {
    fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.ours.on_sent(now, bytes);
        self.other.on_packet_sent(now, bytes as u16, self.next);
        self.flight.push_back((now, self.next));
        self.next += 1;
        if (self.flight.len() as u64 + 1) * MTU > self.other.window() {
            self.other.on_cwnd_limited();
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let index = self.flight.iter().position(|(sent, _)| *sent == ack.sent).unwrap();
        let (_, number) = self.flight.remove(index).unwrap();
        self.largest_acked = self.largest_acked.max(Some(number));
        self.is_app_limited = ack.app_limited;
        let first = if self.differs == Differs::Taken { ack.now - ack.sent } else { INITIAL_RTT };
        let rtt = self.rtt.get_or_insert_with(|| estimator(first));
        self.ours.on_ack(ack);
        self.other.on_ack(ack.now, ack.sent, ack.bytes, number, ack.app_limited, rtt);
    }

    fn on_acks(&mut self, acks: &Acks) {
        let before = self.ours.clone();
        self.ours.on_acks(acks);
        if self.differs == Differs::Taken {
            self.take_over(&before);
        }
        let limited = self.is_app_limited;
        self.other.on_end_acks(acks.now, acks.in_flight, limited, self.largest_acked);
        self.steps.lock().unwrap().push(Step {
            at_s: (acks.now - self.start).as_secs_f64(),
            ours: View::ours(&self.ours),
            other: View::of(self.other.as_ref()),
        });
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let Congestion { now, sent, persistent, lost_bytes } = *event;
        self.ours.on_congestion(event);
        let mut newest = 0;
        for _ in 0..lost_bytes / MTU {
            (_, newest) = self.flight.pop_front().unwrap();
            self.other.on_packet_lost(MTU as u16, newest, now);
        }
        self.other.on_congestion_event(now, sent, persistent, false, lost_bytes, newest);
    }

    fn on_mtu(&mut self, _mtu: u64) {}

    fn window(&self) -> u64 {
        match self.leads {
            Leads::Ours => self.ours.window(),
            Leads::Other => self.other.window(),
        }
    }

    fn rate_bps(&self) -> Option<u64> {
        match self.leads {
            Leads::Ours => self.ours.rate_bps(),
            Leads::Other => self.other.metrics().pacing_rate.map(|rate| rate * 8),
        }
    }
}

/// 10 Mbit/s and 100 ms: BDPs of buffer, and the share that is lost at random.
#[derive(Debug, Clone, Copy)]
struct Path {
    bdps: f64,
    loss: f64,
}

const PLAIN: Path = Path { bdps: 2.0, loss: 0.0 };
const SHALLOW: Path = Path { bdps: 0.25, loss: 0.0 };
const LOSSY: Path = Path { bdps: 2.0, loss: 0.01 };
const PAUSES: [(f64, f64); 2] = [(2.4, 5.4), (7.5, 9.8)];
const SECONDS: f64 = 11.5;

/// Both after each ACK of a flow.
fn run(path: Path, leads: Leads, differs: Differs) -> Vec<Step> {
    let (rate_bps, rtt) = (10e6, Duration::from_millis(100));
    let bdp = rate_bps / 8.0 * rtt.as_secs_f64();
    let link = Link { rate_bps, rtt, buffer_bytes: (path.bdps * bdp) as u64, loss: path.loss };
    let both = Both::new(leads, differs);
    let steps = Arc::clone(&both.steps);
    let flow = Flow::new(Box::new(both)).paced(QUANTUM).pausing(&PAUSES);
    simulation::run(link, vec![flow], SECONDS, 0.1, 7);
    let steps = steps.lock().unwrap().clone();
    for view in [ours, other] {
        no_drawn_wait_decides(&steps, view);
    }
    steps
}

fn ours(step: &Step) -> &View {
    &step.ours
}

fn other(step: &Step) -> &View {
    &step.other
}

/// The states in the order in which they were entered, with the step of each.
fn entries(steps: &[Step], view: fn(&Step) -> &View) -> Vec<(&str, &Step)> {
    let mut entries: Vec<(&str, &Step)> = Vec::new();
    for step in steps {
        let state = view(step).state.as_str();
        if entries.last().is_none_or(|(last, _)| *last != state) {
            entries.push((state, step));
        }
    }
    entries
}

/// Between 2 and 3 s after the end of a probe no ACK comes that a drawn wait could make the first
/// of a probe. (Reno's 62 rounds never pass.)
fn no_drawn_wait_decides(steps: &[Step], view: fn(&Step) -> &View) {
    let entries = entries(steps, view);
    for (&(before, from), &(state, _)) in entries.iter().zip(&entries[1..]) {
        if matches!(before, "probe_bw_up" | "drain" | "probe_rtt") {
            let since = entries.iter().find(|(_, step)| step.at_s > from.at_s).unwrap().1.at_s;
            let waits = since + 2.0..since + 3.0;
            let step = steps.iter().find(|step| waits.contains(&step.at_s));
            assert!(step.is_none(), "{state} after {since}: {step:?}");
        }
    }
}

/// Of the ACKs at which both have been in the same state for more than a round, the share at which
/// a value of one is within a tenth of the other's.
fn share_alike(steps: &[Step], value: fn(&View) -> f64) -> f64 {
    let (mut alike, mut all, mut apart_until) = (0, 0, 0.0);
    for step in steps {
        if step.ours.state != step.other.state {
            apart_until = step.ours.round_count + 1.0;
        }
        if step.ours.round_count > apart_until {
            let (a, b) = (value(&step.ours), value(&step.other));
            all += 1;
            alike += i32::from(a.total_cmp(&b).is_eq() || (a / b - 1.0).abs() <= 0.1);
        }
    }
    assert!(all > 3000, "{all} of {}", steps.len());
    f64::from(alike) / f64::from(all)
}

#[test]
fn samples_of_the_delivery_rate_are_the_same_to_the_byte_and_used_an_ack_later() {
    for leads in [Leads::Ours, Leads::Other] {
        for path in [PLAIN, SHALLOW, LOSSY] {
            let steps = run(path, leads, Differs::Taken);
            let startup = steps.windows(2).take_while(|pair| pair[1].ours.state == "startup");
            let mut compared = 0;
            for pair in startup {
                let (before, now) = (pair[0].ours.max_bw.round(), pair[1].other.max_bw);
                assert!((now - before).abs() < 0.5, "{leads:?} {path:?}: {before} {now}");
                compared += 1;
            }
            assert!(compared > 100, "{compared}");
        }
    }
}

#[test]
fn states_bounds_and_rates_are_the_same_where_the_differences_are_taken_over() {
    for leads in [Leads::Ours, Leads::Other] {
        for path in [PLAIN, SHALLOW, LOSSY] {
            let steps = run(path, leads, Differs::Taken);
            let (ours, other) = (entries(&steps, ours), entries(&steps, other));
            let of = format!("{leads:?} {path:?}");
            assert!(ours.len().abs_diff(other.len()) <= 1 && ours.len() > 10, "{of}");
            for ((a, ours), (b, other)) in ours.iter().zip(&other) {
                assert_eq!(a, b, "{of} at {} and {}", ours.at_s, other.at_s);
                // A sample that is an ACK late shows a round later that the bandwidth no longer
                // grows; and who begins to drain a round later may have done so two rounds later.
                let late = other.ours.round_count - ours.ours.round_count;
                assert!((0.0..=2.0).contains(&late), "{of}: {a} {late} rounds later");
            }
            let rates: [fn(&View) -> f64; 2] = [|view| view.max_bw, |view| view.pacing_rate];
            for value in rates {
                let share = share_alike(&steps, value);
                assert!(share > 0.99, "{of}: rates at {share}");
            }
            // Bounds that a probe moves, by 1, 2, 4 packets per round, or lifts are apart for about
            // a round.
            let bounds: [fn(&View) -> f64; 4] = [
                |view| view.cwnd,
                |view| view.inflight_longterm,
                |view| view.inflight_shortterm,
                |view| view.bw_shortterm,
            ];
            for value in bounds {
                let share = share_alike(&steps, value);
                assert!(share > 0.9, "{of}: bounds at {share}");
            }
            let is_same_rtt =
                |step: &Step| (step.ours.min_rtt_s - step.other.min_rtt_s).abs() < 1e-6;
            let same = steps.iter().filter(|step| is_same_rtt(step)).count() as f64;
            assert!(same / steps.len() as f64 > 0.99, "{of}: {same} of {}", steps.len());
        }
    }
}

/// -06 sets `BBR.ack_phase` to `ACKS_INIT` a round after a probe, so that `BBR.cycle_count` counts
/// cycles; -05 did not.
#[test]
fn the_others_bandwidth_filter_forgets_within_rounds_and_ours_within_cycles() {
    let steps = run(PLAIN, Leads::Other, Differs::AsItIs);
    let cruise: Vec<&Step> = steps
        .iter()
        .filter(|step| step.at_s < PAUSES[0].0)
        .filter(|step| {
            step.ours.state == "probe_bw_cruise" && step.other.state == "probe_bw_cruise"
        })
        .collect();
    let (first, last) = (cruise[0], cruise[cruise.len() - 1]);
    let rounds = last.other.round_count - first.other.round_count;
    let cycles = |view: fn(&Step) -> &View| view(last).cycle_count - view(first).cycle_count;
    assert!(rounds > 5.0 && (cycles(other) - rounds).abs() <= 1.0 && cycles(ours) <= 1.0);
    // Who is paced at 99 % of the bandwidth, and measures that, loses 1 % every three rounds.
    assert!(last.other.max_bw < 0.985 * first.other.max_bw, "{last:?}");
    assert!((last.ours.max_bw / first.ours.max_bw - 1.0).abs() < 1e-9, "{last:?}");
}

/// -06, "Pacing Rate": "the initial `C.srtt` after the first non-zero RTT sample".
#[test]
fn the_other_is_not_paced_in_startup_and_takes_a_default_for_its_first_rtt() {
    let steps = run(PLAIN, Leads::Ours, Differs::AsItIs);
    let first = &steps[0];
    assert!((first.other.min_rtt_s - INITIAL_RTT.as_secs_f64()).abs() < 1e-9, "{first:?}");
    let rate = STARTUP_PACING_GAIN * 10.0 * PACKET / first.ours.min_rtt_s;
    assert!((first.ours.pacing_rate / rate - 1.0).abs() < 1e-6, "{first:?}");
    let unpaced = 2.773 * 10.0 * PACKET / 0.001;
    for step in steps.iter().take_while(|step| step.other.state == "startup") {
        assert!((step.other.pacing_rate / unpaced - 1.0).abs() < 1e-6, "{step:?}");
    }
}

/// -06, `HandleProbeRTT`: "Ignore low rate samples during `ProbeRTT`".
#[test]
fn the_other_does_not_mark_probe_rtt_as_application_limited() {
    let steps = run(SHALLOW, Leads::Other, Differs::AsItIs);
    let both: Vec<&Step> = steps
        .iter()
        .filter(|step| step.ours.state == "probe_rtt" && step.other.state == "probe_rtt")
        .collect();
    assert!(both.len() > 50, "{}", both.len());
    assert!(both.iter().all(|step| step.ours.app_limited > 0.0 && step.other.app_limited < 1.0));
}

/// -06, `OnEnterRTO`: `C.inflight` and one packet more.
#[test]
fn persistent_congestion_leaves_the_other_four_packets() {
    let mut both = Both::new(Leads::Ours, Differs::AsItIs);
    let now = both.start;
    (0..10).for_each(|_| both.on_sent(now, MTU));
    let late = now + Duration::from_secs(1);
    let lost_bytes = 7 * MTU;
    both.on_congestion(&Congestion { now: late, sent: now, persistent: true, lost_bytes });
    assert_eq!((both.ours.window(), both.other.window()), (4 * MTU, 4 * MTU));
    let mut both = Both::new(Leads::Ours, Differs::AsItIs);
    let now = both.start;
    (0..10).for_each(|_| both.on_sent(now, MTU));
    let lost_bytes = 2 * MTU;
    both.on_congestion(&Congestion { now: late, sent: now, persistent: true, lost_bytes });
    assert_eq!((both.ours.window(), both.other.window()), (9 * MTU, 4 * MTU));
}
