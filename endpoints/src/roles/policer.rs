//! Role `policer`: stands in the way of packets, and forwards or drops each of them.

use crate::clock::realtime_ns;
use crate::clock::Timer;
use crate::description;
use crate::egress::Egress;
use crate::events::Log;
use crate::failure::Failure;
use crate::packet_ring::{PacketRing, Wanted, VNET_HEADER_BYTES};
use crate::pcap::Packet;
use crate::policer::bucket::{Bucket, Rule};
use crate::policer::description::Policer;
use crate::policer::events::PolicerEvent;
use crate::policer::exposure::{Exposure, Feedback};
use crate::policer::filters;
use crate::policer::segment::{Segment, HEAD_BYTES};
use crate::reactor::{Interest, Reactor, Wake};
use crate::sys;
use std::collections::HashMap;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Frames that can wait to be policed: some 40 ms at 1 Gbit/s.
const ARRIVALS: u32 = 4_096;
/// Acknowledgements, and marks, that can wait between two readings.
const OBSERVED: u32 = 16_384;
const ETHERNET_BYTES: u32 = 14;
const NS_PER_S: i64 = 1_000_000_000;
const NS_PER_US: i64 = 1_000;
const ARRIVAL: u64 = 0;
const TICK: u64 = 1;

/// Forwards until SIGTERM. The kernel must not forward what comes in at the same interface: whoever
/// starts this sees to it (docs/build/endpoints.md, "Policing").
///
/// # Errors
/// A bad description, interfaces that cannot be used, frames above the MTU.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: Policer = description::read(text).map_err(Failure::Description)?;
    let mut arrivals = arrivals(&description).map_err(because(&description.ingress))?;
    let mut reactor = Reactor::new()?;
    let timer = Timer::new(log.clock())?;
    reactor.add(&arrivals, Interest::Read, ARRIVAL)?;
    reactor.add(&timer, Interest::Read, TICK)?;
    let period_ns = description.read_every_ns;
    let mut gate = Gate::open(&description)?;
    // A packet must not wait for the others' work, as it would not in a router.
    log.now(&PolicerEvent::Ready { first: sys::go_first() });
    log.flush();

    timer.every(period_ns)?;
    let (mut wakes, mut stopped) = (Vec::new(), false);
    while !stopped {
        reactor.wait(&mut wakes)?;
        stopped = wakes.contains(&Wake::Stop);
        if wakes.contains(&Wake::Ready(TICK)) && timer.fired()? {
            gate.observed.read()?;
        }
        arrivals.drain(|packet| gate.pass(packet, log))?;
    }
    gate.times.flush()?;
    let missed = arrivals.dropped()? + gate.observed.missed()?;
    let Gate { packets, dropped, refused, late_ns, .. } = gate;
    let late_us = late_ns / NS_PER_US;
    log.now(&PolicerEvent::Policed { packets, dropped, refused, late_us, missed });
    Ok(())
}

/// What comes in, whole.
fn arrivals(description: &Policer) -> io::Result<PacketRing> {
    PacketRing::of(
        &description.ingress,
        &Wanted {
            filter: filters::arrivals(),
            incoming: true,
            snaplen: description.mtu + ETHERNET_BYTES,
            packets: ARRIVALS,
            whole: true,
        },
    )
}

/// Decides about packets one by one, and sends on what passes.
struct Gate {
    egress: Egress,
    observed: Observed,
    exposure: Exposure,
    buckets: Vec<Bucket>,
    /// What all buckets do.
    rule: Rule,
    /// The bucket of each server, by its address and port.
    policed: HashMap<(u32, u16), usize>,
    times: BufWriter<File>,
    packets: u64,
    dropped: u64,
    refused: u64,
    late_ns: i64,
}

impl Gate {
    fn open(description: &Policer) -> Result<Self, Failure> {
        let fail = because(&description.egress);
        let times = File::create(&description.times).map_err(|error| {
            Failure::Work(format!("cannot write {}: {error}", description.times))
        })?;
        let rule = description.rule();
        Ok(Gate {
            egress: Egress::open(&description.egress, description.addresses()).map_err(&fail)?,
            observed: Observed::open(description).map_err(&fail)?,
            exposure: Exposure::new(description.feedback),
            buckets: (0..description.buckets).map(|n| Bucket::new(n, &rule)).collect(),
            policed: description.policed(),
            rule,
            times: BufWriter::new(times),
            packets: 0,
            dropped: 0,
            refused: 0,
            late_ns: 0,
        })
    }

    /// Forwards a packet or drops it. One of nobody who is policed is forwarded.
    fn pass(&mut self, packet: &Packet, log: &mut Log) -> io::Result<()> {
        let frame = &packet.head[VNET_HEADER_BYTES..];
        if packet.length as usize > frame.len() {
            let words =
                format!("received a frame of {} bytes: offloads are still on", packet.length);
            return Err(io::Error::other(words));
        }
        if let Some((segment, bucket)) = self.policed(frame) {
            let t_ns = time_ns(packet);
            self.observed.before(t_ns, &mut self.exposure)?;
            let echo = self.exposure.sent(&segment);
            let rule = &self.rule;
            let decision = self.buckets[bucket].arrive(rule, t_ns, echo.is_some());
            let after_epoch_ns = log.clock().after_epoch(t_ns);
            self.times.write_all(&after_epoch_ns.to_le_bytes())?;
            let number = self.packets;
            self.packets += 1;
            if decision.dropped || echo.is_some() {
                let event = PolicerEvent::Packet { number, bucket, echo, decision };
                log.at(after_epoch_ns, &event);
            }
            if decision.dropped {
                self.dropped += 1;
                return Ok(());
            }
        }
        self.refused += u64::from(!self.egress.send(packet.head)?);
        self.late_ns = self.late_ns.max(realtime_ns() - time_ns(packet));
        Ok(())
    }

    /// A frame as a segment, and its bucket, if its server is policed.
    fn policed(&self, frame: &[u8]) -> Option<(Segment, usize)> {
        let segment = Segment::read(frame)?;
        let server = (segment.connection.source, segment.connection.ports.0);
        self.policed.get(&server).map(|bucket| (segment, *bucket))
    }
}

/// What is seen behind the queue, and of what comes back, in order of time.
struct Observed {
    marks: Option<Seen>,
    acknowledgements: Option<Seen>,
}

/// Segments of a ring that wait for their turn.
struct Seen {
    ring: PacketRing,
    waiting: VecDeque<(i64, Segment)>,
}

impl Observed {
    fn open(description: &Policer) -> io::Result<Self> {
        let feedback = description.feedback;
        let see = |wanted: bool, filter: Vec<libc::sock_filter>, incoming| -> io::Result<_> {
            if !wanted {
                return Ok(None);
            }
            let wanted =
                Wanted { filter, incoming, snaplen: HEAD_BYTES, packets: OBSERVED, whole: false };
            let ring = PacketRing::of(&description.egress, &wanted)?;
            Ok(Some(Seen { ring, waiting: VecDeque::new() }))
        };
        Ok(Observed {
            marks: see(feedback == Feedback::Accurate, filters::marks(), false)?,
            acknowledgements: see(feedback != Feedback::None, filters::acknowledgements(), true)?,
        })
    }

    fn rings(&mut self) -> impl Iterator<Item = &mut Seen> {
        self.marks.iter_mut().chain(&mut self.acknowledgements)
    }

    /// Takes what is there out of the rings.
    fn read(&mut self) -> io::Result<()> {
        self.rings().try_for_each(|Seen { ring, waiting }| {
            ring.drain(|packet| {
                let segment = Segment::read(packet.head);
                waiting.extend(segment.map(|segment| (time_ns(packet), segment)));
                Ok(())
            })
        })
    }

    /// Tells what was seen before a time. What was seen at that very time comes after it: on a
    /// virtual clock that stands still while programs compute, nobody could tell otherwise which
    /// was first.
    fn before(&mut self, t_ns: i64, exposure: &mut Exposure) -> io::Result<()> {
        self.read()?;
        loop {
            let due = |seen: &Option<Seen>| seen.as_ref().and_then(|seen| seen.due_ns(t_ns));
            let (marked_ns, acknowledged_ns) = (due(&self.marks), due(&self.acknowledgements));
            let mark_first = marked_ns.is_some_and(|ns| acknowledged_ns.is_none_or(|a| ns <= a));
            let seen = if mark_first { &mut self.marks } else { &mut self.acknowledgements };
            match seen.as_mut().filter(|_| mark_first || acknowledged_ns.is_some()) {
                None => return Ok(()),
                Some(seen) => {
                    let Some((_, segment)) = seen.waiting.pop_front() else { return Ok(()) };
                    if mark_first {
                        exposure.marked(&segment);
                    } else {
                        exposure.acknowledged(&segment);
                    }
                }
            }
        }
    }

    /// How many packets found no room.
    fn missed(&mut self) -> io::Result<u64> {
        self.rings().map(|seen| seen.ring.dropped()).sum()
    }
}

impl Seen {
    /// When the next segment was seen, if that was before a time.
    fn due_ns(&self, t_ns: i64) -> Option<i64> {
        self.waiting.front().map(|(seen_ns, _)| *seen_ns).filter(|seen_ns| *seen_ns < t_ns)
    }
}

fn time_ns(packet: &Packet) -> i64 {
    i64::from(packet.seconds) * NS_PER_S + i64::from(packet.nanoseconds)
}

/// Says what could not be done.
fn because(interface: &str) -> impl Fn(io::Error) -> Failure {
    let interface = interface.to_owned();
    move |error: io::Error| Failure::Work(format!("cannot police on {interface}: {error}"))
}
