//! Role `capture`: the packets that pass an interface, into a pcap file or one of headers.

use crate::clock::Timer;
use crate::description::{self, Capture, Form};
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::headers;
use crate::packet_ring::PacketRing;
use crate::pcap::{self, Packet};
use crate::reactor::{Interest, Reactor, Wake};
use std::fs::File;
use std::io;

/// Takes the packets out of the kernel's ring at every multiple of the period and at the end, which
/// SIGTERM brings. No packet wakes it up: the ring is not among what the reactor waits for.
///
/// # Errors
/// A bad description, an interface that cannot be listened to, a file that cannot be written.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: Capture = description::read(text).map_err(Failure::Description)?;
    let Capture { interface, direction, file, .. } = &description;
    let mut reactor = Reactor::new()?;
    let timer = Timer::new(log.clock())?;
    reactor.add(&timer, Interest::Read, 0)?;
    let mut writer = Writer::create(&description).map_err(because(&format!("write {file}")))?;
    let mut ring =
        PacketRing::open(interface, *direction, description.snaplen, description.ring_packets)
            .map_err(because(&format!("capture on {interface}")))?;
    log.now(&Event::Capturing { interface, direction: *direction });
    log.flush();

    timer.every(description.every_ns)?;
    let (mut wakes, mut stopped) = (Vec::new(), false);
    while !stopped {
        reactor.wait(&mut wakes)?;
        stopped = wakes.contains(&Wake::Stop);
        if stopped || timer.fired()? {
            ring.drain(|packet| writer.write(packet)).map_err(because(&format!("write {file}")))?;
        }
    }
    let dropped = ring.dropped()?;
    let packets = writer.finish().map_err(because(&format!("write {file}")))?;
    log.now(&Event::Captured { packets, dropped });
    Ok(())
}

/// A file of either form.
enum Writer {
    Pcap(pcap::Writer<File>),
    Headers(headers::Writer<File>),
}

impl Writer {
    fn create(description: &Capture) -> io::Result<Self> {
        let file = &description.file;
        match description.form {
            Form::Pcap => pcap::Writer::create(file, description.snaplen).map(Writer::Pcap),
            Form::Headers => headers::Writer::create(file).map(Writer::Headers),
        }
    }

    fn write(&mut self, packet: &Packet) -> io::Result<()> {
        match self {
            Writer::Pcap(writer) => writer.write(packet),
            Writer::Headers(writer) => writer.write(packet),
        }
    }

    fn finish(self) -> io::Result<u64> {
        match self {
            Writer::Pcap(writer) => writer.finish(),
            Writer::Headers(writer) => writer.finish(),
        }
    }
}

/// Says what could not be done.
fn because(what: &str) -> impl Fn(io::Error) -> Failure + use<'_> {
    move |error: io::Error| Failure::Work(format!("cannot {what}: {error}"))
}
