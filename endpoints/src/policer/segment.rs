//! A TCP segment or a UDP datagram as a frame has it: what policing and files of headers need of
//! it.

use crate::udp::datagram::{self, HEADER_BYTES};

/// TCP flags (RFC 9293, section 3.1).
pub const FIN: u8 = 1;
/// See `FIN`.
pub const SYN: u8 = 2;
/// See `FIN`.
#[cfg(test)]
pub const ACK: u8 = 16;
/// ECN-Echo (RFC 3168).
pub const ECE: u8 = 64;
/// Congestion Window Reduced (RFC 3168).
pub const CWR: u8 = 128;

/// Bytes of a frame that tell all that is read here: Ethernet, and both headers at their longest.
pub const HEAD_BYTES: u32 = 14 + 60 + 60;

const ETHERNET: usize = 14;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Of UDP.
const UDP_HEADER: u32 = 8;
/// More do not fit into the options (RFC 2018, section 3).
const MOST_BLOCKS: usize = 4;

/// One direction of a connection: addresses and ports (source, destination).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Connection {
    /// IPv4 address.
    pub source: u32,
    /// IPv4 address.
    pub destination: u32,
    /// Source port, destination port.
    pub ports: (u16, u16),
}

impl Connection {
    /// The other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        let (from, to) = self.ports;
        Connection { source: self.destination, destination: self.source, ports: (to, from) }
    }
}

/// What is known of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Whose it is, in its own direction.
    pub connection: Connection,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number; means nothing without the flag, which all but the first SYN have.
    pub acknowledgement: u32,
    /// Flags.
    pub flags: u8,
    /// Bytes of payload.
    pub payload: u32,
    blocks: [(u32, u32); MOST_BLOCKS],
    block_count: usize,
}

impl Segment {
    /// Reads the head of an Ethernet frame; None: no TCP over IPv4, or a fragment of it.
    #[must_use]
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (connection, size, tcp) = transport(frame, TCP)?;
        let data = usize::from(tcp.get(12)? >> 4) * 4;
        let mut segment = Segment {
            connection,
            sequence: number::<4>(tcp, 4)?,
            acknowledgement: number::<4>(tcp, 8)?,
            flags: *tcp.get(13)?,
            payload: size.checked_sub(data as u32)?,
            ..Segment::default()
        };
        segment.read_blocks(tcp.get(20..data.min(tcp.len())).unwrap_or_default());
        Some(segment)
    }

    /// Whether a flag is set.
    #[must_use]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// How many sequence numbers it takes.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.payload + u32::from(self.has(SYN)) + u32::from(self.has(FIN))
    }

    /// The blocks that are acknowledged selectively: [first, last).
    pub fn sacked(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.blocks[..self.block_count].iter().copied()
    }

    /// Takes the blocks of the option SACK (kind 5; RFC 2018).
    fn read_blocks(&mut self, mut options: &[u8]) {
        while let [kind, rest @ ..] = options {
            if *kind == 1 {
                options = rest;
                continue;
            }
            let Some(length) = rest.first().map(|length| usize::from(*length)) else { return };
            if *kind == 0 || length < 2 || length > options.len() {
                return;
            }
            if *kind == 5 {
                for block in options[2..length].chunks_exact(8).take(MOST_BLOCKS) {
                    let (Some(first), Some(last)) = (number::<4>(block, 0), number::<4>(block, 4))
                    else {
                        return;
                    };
                    self.blocks[self.block_count] = (first, last);
                    self.block_count += 1;
                }
                return;
            }
            options = &options[length..];
        }
    }

    /// Acknowledges blocks, in a test.
    #[cfg(test)]
    pub fn set_sacked(&mut self, blocks: &[(u32, u32)]) {
        self.blocks[..blocks.len()].copy_from_slice(blocks);
        self.block_count = blocks.len();
    }
}

/// What is known of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Whose it is, in its own direction.
    pub connection: Connection,
    /// Bytes of payload.
    pub payload: u32,
    /// Of a datagram of this program its number, as far as 32 bits tell it; else 0.
    pub number: u32,
}

impl Datagram {
    /// Reads the head of an Ethernet frame; None: no UDP over IPv4, or a fragment of it.
    #[must_use]
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (connection, size, transport) = transport(frame, UDP)?;
        let start = transport.get(UDP_HEADER as usize..).and_then(|p| p.get(..HEADER_BYTES));
        let number = start.and_then(datagram::Datagram::decode).map_or(0, |d| d.number as u32);
        Some(Datagram { connection, payload: size.checked_sub(UDP_HEADER)?, number })
    }
}

/// The connection of a frame of a protocol over IPv4, the length of its transport's header and
/// payload, and what is there of it; None: it is another, or a fragment.
fn transport(frame: &[u8], protocol: u8) -> Option<(Connection, u32, &[u8])> {
    let ip = frame.get(ETHERNET..)?;
    let header = usize::from(ip.first()? & 15) * 4;
    let fragmented = number::<2>(ip, 6)? & 0x3fff != 0;
    let other = number::<2>(frame, 12)? != 0x0800 || *ip.get(9)? != protocol || ip[0] >> 4 != 4;
    if other || fragmented {
        return None;
    }
    let transport = ip.get(header..)?;
    let connection = Connection {
        source: number::<4>(ip, 12)?,
        destination: number::<4>(ip, 16)?,
        ports: (number::<2>(transport, 0)? as u16, number::<2>(transport, 2)? as u16),
    };
    Some((connection, number::<2>(ip, 2)?.checked_sub(header as u32)?, transport))
}

/// The big-endian number of so many bytes at a place.
fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..at + BYTES)?;
    Some(field.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment of 100 bytes from 10.0.0.1:80 to 10.0.0.6:4000, with timestamps and one block.
    fn frame() -> Vec<u8> {
        let mut frame = vec![2, 0, 10, 0, 0, 2, 2, 0, 10, 0, 0, 1, 8, 0];
        frame.extend([
            0x45,
            3,
            0,
            20 + 44 + 100,
            0,
            9,
            0x40,
            0,
            64,
            6,
            0,
            0,
            10,
            0,
            0,
            1,
            10,
            0,
            0,
            6,
        ]);
        frame.extend([
            0,
            80,
            15,
            160,
            0,
            0,
            1,
            0,
            0,
            0,
            2,
            0,
            11 << 4,
            ACK | CWR,
            0,
            0,
            0,
            0,
            0,
            0,
        ]);
        frame.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        frame.extend([1, 1, 5, 10, 0, 0, 3, 0, 0, 0, 4, 0]);
        frame
    }

    #[test]
    fn a_segment_is_read() {
        let segment = Segment::read(&frame()).unwrap();
        let connection =
            Connection { source: 0x0a00_0001, destination: 0x0a00_0006, ports: (80, 4_000) };
        assert_eq!(segment.connection, connection);
        assert_eq!((segment.sequence, segment.acknowledgement), (256, 512));
        assert_eq!((segment.payload, segment.length()), (100, 100));
        assert!(segment.has(CWR) && !segment.has(ECE));
        assert_eq!(segment.sacked().collect::<Vec<_>>(), [(768, 1_024)]);
        assert_eq!(connection.reversed().reversed(), connection);
        assert_eq!(connection.reversed().ports, (4_000, 80));
    }

    #[test]
    fn other_packets_are_none() {
        for (place, byte) in [(12, 9), (14, 0x65), (20, 0x20), (21, 1), (23, 17)] {
            let mut other = frame();
            other[place] = byte;
            assert_eq!(Segment::read(&other), None, "{place}");
        }
        for length in 0..14 + 20 + 14 {
            assert_eq!(Segment::read(&frame()[..length]), None, "{length}");
        }
    }

    #[test]
    fn options_that_cannot_be_end_the_walk() {
        for (place, byte) in [(57, 0), (57, 1), (57, 255), (67, 200)] {
            let mut broken = frame();
            broken[place] = byte;
            assert_eq!(Segment::read(&broken).unwrap().sacked().count(), 0, "{place} {byte}");
        }
    }
}
