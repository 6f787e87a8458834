//! Role `tunnel`: one end of a tunnel, beside the router whose packets it carries.

use crate::clock::realtime_ns;
use crate::description;
use crate::egress::Egress;
use crate::events::Log;
use crate::failure::Failure;
use crate::packet_ring::{attach, PacketRing, Wanted, VNET_HEADER_BYTES};
use crate::pcap::Packet;
use crate::policer::filters;
use crate::reactor::{Interest, Reactor, Wake};
use crate::sys::{self, owned};
use crate::tunnel::carrier::{checksum, ecn, whole, Carrier, PROTOCOL};
use crate::tunnel::description::Tunnel;
use crate::tunnel::events::TunnelEvent;
use std::io;
use std::os::fd::OwnedFd;

/// Frames that can wait: some 40 ms at 1 Gbit/s.
const ARRIVALS: u32 = 4_096;
const ETHERNET_BYTES: usize = 14;
const IPV4: [u8; 2] = [8, 0];
/// Of `virtio_net_hdr`: that the checksum is still to be computed; from where on, and where it is.
const NEEDS_CHECKSUM: u8 = 1;
const CHECKSUM_START: usize = 6;
const CHECKSUM_OFFSET: usize = 8;
const NS_PER_S: i64 = 1_000_000_000;
const NS_PER_US: i64 = 1_000;

/// Carries packets until SIGTERM. The kernel must not forward what comes in at the interface:
/// whoever starts this sees to it.
///
/// # Errors
/// A bad description, an interface that cannot be used, frames above the MTU.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: Tunnel = description::read(text).map_err(Failure::Description)?;
    let fail = |error: io::Error| {
        Failure::Work(format!("cannot tunnel on {}: {error}", description.interface))
    };
    let wanted = Wanted {
        filter: filters::arrivals(),
        incoming: true,
        snaplen: description.mtu + ETHERNET_BYTES as u32,
        packets: ARRIVALS,
        whole: true,
    };
    let mut arrivals = PacketRing::of(&description.interface, &wanted).map_err(fail)?;
    let egress = Egress::open(&description.interface, description.addresses()).map_err(fail)?;
    let _absorber = absorber().map_err(fail)?;
    let mut end = End::new(&description, egress);
    let mut reactor = Reactor::new()?;
    reactor.add(&arrivals, Interest::Read, 0)?;
    // A packet must not wait for the others' work, as it would not in a router.
    log.now(&TunnelEvent::Ready { first: sys::go_first() });
    log.flush();

    let (mut wakes, mut stopped) = (Vec::new(), false);
    while !stopped {
        reactor.wait(&mut wakes)?;
        stopped = wakes.contains(&Wake::Stop);
        arrivals.drain(|packet| end.pass(packet))?;
    }
    let missed = arrivals.dropped()?;
    let End { encapsulated, decapsulated, dropped, oversized, refused, late_ns, .. } = end;
    let late_us = late_ns / NS_PER_US;
    log.now(&TunnelEvent::Tunnelled {
        encapsulated,
        decapsulated,
        dropped,
        oversized,
        refused,
        late_us,
        missed,
    });
    Ok(())
}

/// A socket of the tunnel's protocol that takes nothing. What carries packets is for this node's
/// own address, so the kernel would answer that it knows no such protocol, if there were none.
fn absorber() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointer.
    let socket = owned(unsafe { libc::socket(libc::AF_INET, kind, i32::from(PROTOCOL)) })?;
    let nothing =
        libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
    attach(&socket, &[nothing])?;
    Ok(socket)
}

/// Carries packets one by one.
struct End {
    carrier: Carrier,
    mtu: usize,
    egress: Egress,
    /// The frame that is being made, behind the header of a ring.
    made: Vec<u8>,
    encapsulated: [u64; 4],
    decapsulated: [[u64; 4]; 4],
    dropped: u64,
    oversized: u64,
    refused: u64,
    late_ns: i64,
}

impl End {
    fn new(description: &Tunnel, egress: Egress) -> Self {
        End {
            carrier: description.carrier(),
            mtu: description.mtu as usize,
            egress,
            made: Vec::new(),
            encapsulated: [0; 4],
            decapsulated: [[0; 4]; 4],
            dropped: 0,
            oversized: 0,
            refused: 0,
            late_ns: 0,
        }
    }

    /// Puts a packet into another one, or takes one out, and sends it back to the router. What is
    /// not IPv4 is nobody's.
    fn pass(&mut self, packet: &Packet) -> io::Result<()> {
        let (vnet, frame) = packet.head.split_at(VNET_HEADER_BYTES);
        if packet.length as usize > frame.len() {
            let words =
                format!("received a frame of {} bytes: offloads are still on", packet.length);
            return Err(io::Error::other(words));
        }
        let (ethernet, rest) = frame.split_at(ETHERNET_BYTES.min(frame.len()));
        let Some(ip) = whole(rest).filter(|_| ethernet.ends_with(&IPV4)) else { return Ok(()) };
        self.made.clear();
        self.made.resize(VNET_HEADER_BYTES, 0);
        self.made.extend_from_slice(ethernet);
        if self.carrier.carries(ip) {
            if let Some(carried) = ip.get(self.carrier.header_bytes..).and_then(whole) {
                self.decapsulated[ecn(carried)][ecn(ip)] += 1;
            }
            if !self.carrier.decapsulate(ip, &mut self.made) {
                self.dropped += 1;
                return Ok(());
            }
        } else {
            if ip.len() + self.carrier.header_bytes > self.mtu {
                self.oversized += 1;
                return Ok(());
            }
            self.encapsulated[ecn(ip)] += 1;
            self.carrier.encapsulate(ip, &mut self.made);
            let inside = self.made.len() - ip.len();
            complete(vnet, &mut self.made[inside..]);
        }
        self.refused += u64::from(!self.egress.send(&self.made)?);
        let came_ns = i64::from(packet.seconds) * NS_PER_S + i64::from(packet.nanoseconds);
        self.late_ns = self.late_ns.max(realtime_ns() - came_ns);
        Ok(())
    }
}

/// Computes the checksum of an IP packet that its sender left to a network card, as a tunnel does
/// that hides the packet from the card. vnet: the frame's `virtio_net_hdr`.
fn complete(vnet: &[u8], packet: &mut [u8]) {
    if vnet[0] & NEEDS_CHECKSUM == 0 {
        return;
    }
    let number = |at: usize| usize::from(u16::from_ne_bytes([vnet[at], vnet[at + 1]]));
    let Some(start) = number(CHECKSUM_START).checked_sub(ETHERNET_BYTES) else { return };
    let field = start + number(CHECKSUM_OFFSET);
    if field + 2 <= packet.len() {
        // The field holds the sum of the pseudo-header. A checksum of zero says that there is none
        // (RFC 768).
        let sum = match checksum(&packet[start..]) {
            0 => 0xffff,
            sum => sum,
        };
        packet[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel leaves: the sum of the pseudo-header in the field, to be completed.
    #[test]
    fn a_checksum_that_was_left_to_the_card_is_completed() {
        let mut packet = vec![0; 20];
        packet.extend([0x13, 0x88, 0x13, 0x89, 0, 12, 0x2a, 0x17, 1, 2, 3, 4]);
        let mut vnet = [0; VNET_HEADER_BYTES];
        vnet[0] = NEEDS_CHECKSUM;
        vnet[CHECKSUM_START..CHECKSUM_START + 2].copy_from_slice(&34_u16.to_ne_bytes());
        vnet[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2].copy_from_slice(&6_u16.to_ne_bytes());
        complete(&vnet, &mut packet);
        let sum = 0x1388_u32 + 0x1389 + 12 + 0x2a17 + 0x0102 + 0x0304;
        assert_eq!(packet[26..28], (!(sum as u16)).to_be_bytes());
        let before = packet.clone();
        complete(&[0; VNET_HEADER_BYTES], &mut packet);
        assert_eq!(packet, before);
    }
}
