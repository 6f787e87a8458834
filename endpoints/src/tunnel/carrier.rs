//! A packet in a packet, and the two fields of ECN (RFC 6040).

use serde::Deserialize;
use std::net::Ipv4Addr;

/// IPv4's own header, without options: what carries a packet is at least that.
pub const LEAST_HEADER_BYTES: usize = 20;
/// Of IP: "use for experimentation and testing" (RFC 3692). Queues that hash flows see the two ends
/// of the tunnel and nothing inside, as with ESP.
pub const PROTOCOL: u8 = 253;
const HOPS: u8 = 64;
const DO_NOT_FRAGMENT: [u8; 2] = [0x40, 0];
const ECN: u8 = 0b11;
const NOT_ECT: u8 = 0b00;
const ECT_1: u8 = 0b01;
const ECT_0: u8 = 0b10;
const CE: u8 = 0b11;

const TOS: usize = 1;
const LENGTH: usize = 2;
const FRAGMENT: usize = 6;
const TTL: usize = 8;
const PROTOCOL_AT: usize = 9;
const CHECKSUM: usize = 10;
const SOURCE: usize = 12;
const DESTINATION: usize = 16;

/// What an end does with the bits of ECN of a packet that it puts into another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Copies them (RFC 6040, normal mode).
    Copy,
    /// What carries the packet is not ECN-capable (compatibility mode).
    Clear,
}

/// The bits of ECN of what carries a packet with these bits (RFC 6040, section 4.1).
#[must_use]
pub fn outer(mode: Mode, inner: u8) -> u8 {
    match mode {
        Mode::Copy => inner & ECN,
        Mode::Clear => NOT_ECT,
    }
}

/// The bits of ECN of a packet that is taken out of another one; None: it is dropped (RFC 6040,
/// section 4.2, figure 4).
#[must_use]
pub fn inner(inner: u8, outer: u8) -> Option<u8> {
    match (inner & ECN, outer & ECN) {
        (NOT_ECT, CE) => None,
        (NOT_ECT, _) => Some(NOT_ECT),
        (ECT_0, ECT_1) => Some(ECT_1),
        (_, CE) => Some(CE),
        (own, _) => Some(own),
    }
}

/// The bits of ECN of an IPv4 packet.
#[must_use]
pub fn ecn(packet: &[u8]) -> usize {
    usize::from(packet[TOS] & ECN)
}

/// One end of a tunnel.
#[derive(Debug, Clone, Copy)]
pub struct Carrier {
    /// Of this end.
    pub address: Ipv4Addr,
    /// Of the other end.
    pub peer: Ipv4Addr,
    /// What it puts in front of a packet.
    pub header_bytes: usize,
    /// What it does with ECN.
    pub ecn: Mode,
}

impl Carrier {
    /// Whether a packet carries another one to this end.
    #[must_use]
    pub fn carries(&self, packet: &[u8]) -> bool {
        packet[PROTOCOL_AT] == PROTOCOL
            && packet[SOURCE..DESTINATION] == self.peer.octets()
            && packet[DESTINATION..LEAST_HEADER_BYTES] == self.address.octets()
    }

    /// Appends what carries a packet, and the packet. Its code point is that of the packet (RFC
    /// 2983, section 3.1); what there is of the header beyond IPv4's own is zero.
    pub fn encapsulate(&self, packet: &[u8], made: &mut Vec<u8>) {
        let start = made.len();
        made.resize(start + self.header_bytes, 0);
        let length = (self.header_bytes + packet.len()) as u16;
        let header = &mut made[start..start + LEAST_HEADER_BYTES];
        header[0] = 0x45;
        header[TOS] = packet[TOS] & !ECN | outer(self.ecn, packet[TOS]);
        header[LENGTH..LENGTH + 2].copy_from_slice(&length.to_be_bytes());
        header[FRAGMENT..FRAGMENT + 2].copy_from_slice(&DO_NOT_FRAGMENT);
        header[TTL] = HOPS;
        header[PROTOCOL_AT] = PROTOCOL;
        header[SOURCE..DESTINATION].copy_from_slice(&self.address.octets());
        header[DESTINATION..].copy_from_slice(&self.peer.octets());
        let sum = checksum(header);
        header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        made.extend_from_slice(packet);
    }

    /// Appends the packet that another one carries, with its code point as it was; returns whether
    /// it is there, which it is not where it must be dropped, or is none.
    pub fn decapsulate(&self, carrying: &[u8], made: &mut Vec<u8>) -> bool {
        let Some(packet) = carrying.get(self.header_bytes..).and_then(whole) else { return false };
        let Some(bits) = inner(packet[TOS], carrying[TOS]) else { return false };
        let start = made.len();
        made.extend_from_slice(packet);
        let packet = &mut made[start..];
        packet[TOS] = packet[TOS] & !ECN | bits;
        let header = &mut packet[..header_bytes(carrying[self.header_bytes])];
        header[CHECKSUM..CHECKSUM + 2].fill(0);
        let sum = checksum(header);
        header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        true
    }
}

/// An IPv4 packet without what Ethernet put behind it; None: there is none, or not all of it.
#[must_use]
pub fn whole(bytes: &[u8]) -> Option<&[u8]> {
    let header = header_bytes(*bytes.first()?);
    let length = usize::from(u16::from_be_bytes([*bytes.get(LENGTH)?, *bytes.get(LENGTH + 1)?]));
    let is_one = bytes[0] >> 4 == 4 && header >= LEAST_HEADER_BYTES && length >= header;
    bytes.get(..length).filter(|_| is_one)
}

fn header_bytes(first: u8) -> usize {
    usize::from(first & 15) * 4
}

/// The Internet checksum (RFC 1071) of some bytes, in which its own field counts as it is.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| {
        u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or_default()]))
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 4 of RFC 6040, row by row: the inner field; columns are the outer one as Not-ECT,
    /// ECT(0), ECT(1), CE.
    #[test]
    fn all_sixteen_pairs_are_as_in_the_table() {
        let columns = [NOT_ECT, ECT_0, ECT_1, CE];
        for (own, row) in [
            (NOT_ECT, [Some(NOT_ECT), Some(NOT_ECT), Some(NOT_ECT), None]),
            (ECT_0, [Some(ECT_0), Some(ECT_0), Some(ECT_1), Some(CE)]),
            (ECT_1, [Some(ECT_1), Some(ECT_1), Some(ECT_1), Some(CE)]),
            (CE, [Some(CE), Some(CE), Some(CE), Some(CE)]),
        ] {
            assert_eq!(columns.map(|outer| inner(own, outer)), row, "{own:02b}");
        }
    }

    #[test]
    fn normal_mode_copies_and_compatibility_mode_clears() {
        for bits in 0..4 {
            assert_eq!(outer(Mode::Copy, bits), bits);
            assert_eq!(outer(Mode::Clear, bits), NOT_ECT);
        }
    }

    /// A packet with the code point EF and ECT(0) there and back, over every size of a header.
    #[test]
    fn what_is_put_in_comes_out() {
        let packet = packet(ECT_0);
        for header_bytes in [20, 24, 60, 83] {
            let (here, there) = ends(header_bytes);
            let mut carrying = Vec::new();
            here.encapsulate(&packet, &mut carrying);
            assert_eq!(carrying.len(), packet.len() + header_bytes);
            assert_eq!(checksum(&carrying[..20]), 0, "a header with its checksum sums to nothing");
            assert_eq!(carrying[TOS], 46 << 2 | ECT_0);
            assert!(there.carries(&carrying) && !here.carries(&carrying));
            let mut out = Vec::new();
            assert!(there.decapsulate(&carrying, &mut out));
            assert_eq!(out, packet);
        }
    }

    #[test]
    fn a_mark_gets_inside_and_the_checksum_follows() {
        let (here, there) = ends(60);
        let mut carrying = Vec::new();
        here.encapsulate(&packet(ECT_0), &mut carrying);
        carrying[TOS] |= CE;
        let mut out = Vec::new();
        assert!(there.decapsulate(&carrying, &mut out));
        assert_eq!((out[TOS], checksum(&out[..20])), (46 << 2 | CE, 0));
    }

    #[test]
    fn what_is_no_packet_is_dropped() {
        let (here, there) = ends(60);
        let mut carrying = Vec::new();
        here.encapsulate(&packet(NOT_ECT), &mut carrying);
        for bytes in
            [&carrying[..30], &carrying[..70], &[carrying.clone(), vec![0; 4]].concat()[..59]]
        {
            assert!(!there.decapsulate(bytes, &mut Vec::new()));
        }
        carrying[TOS] |= CE; // on what is not ECN-capable
        assert!(!there.decapsulate(&carrying, &mut Vec::new()));
    }

    fn ends(header_bytes: usize) -> (Carrier, Carrier) {
        let (address, peer) = (Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 0, 6));
        let here = Carrier { address, peer, header_bytes, ecn: Mode::Copy };
        (here, Carrier { address: peer, peer: address, ..here })
    }

    /// UDP without a payload, from 10.0.1.1 to 10.0.1.2.
    fn packet(bits: u8) -> Vec<u8> {
        let mut made = vec![0x45, 46 << 2 | bits, 0, 28, 0, 7, 0x40, 0, 64, 17, 0, 0];
        made.extend([10, 0, 1, 1, 10, 0, 1, 2]);
        let sum = checksum(&made);
        made[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        made.extend([0x13, 0x88, 0x13, 0x88, 0, 8, 0, 0]);
        made
    }
}
