//! What a datagram starts with; the rest of it is zeros.
//!
//! | bytes | content (integers big-endian) |
//! |---|---|
//! | 0..4 | `fair` |
//! | 4..6 | version, 1 |
//! | 6..8 | number of the connection, from 0 |
//! | 8..16 | number of the datagram in its connection, from 0 |
//! | 16..24 | when it was sent, ns after the epoch |

/// Headers of IP and UDP, bytes.
pub const UDP_IP_BYTES: u32 = 28;
/// Length of what a datagram starts with, bytes.
pub const HEADER_BYTES: usize = 24;

const MAGIC: [u8; 4] = *b"fair";
const VERSION: u16 = 1;

/// What a datagram tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Number of the connection.
    pub connection: u16,
    /// Number of the datagram in its connection.
    pub number: u64,
    /// When it was sent, ns after the epoch.
    pub sent_ns: i64,
}

impl Datagram {
    /// The bytes on the wire.
    #[must_use]
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&MAGIC);
        header[4..6].copy_from_slice(&VERSION.to_be_bytes());
        header[6..8].copy_from_slice(&self.connection.to_be_bytes());
        header[8..16].copy_from_slice(&self.number.to_be_bytes());
        header[16..].copy_from_slice(&self.sent_ns.to_be_bytes());
        header
    }

    /// Reads the bytes on the wire; None for a datagram of somebody else.
    #[must_use]
    pub fn decode(header: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER_BYTES] = header.try_into().ok()?;
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&header[at..at + 8]);
            bytes
        };
        if header[..4] != MAGIC || header[4..6] != VERSION.to_be_bytes() {
            return None;
        }
        Some(Datagram {
            connection: u16::from_be_bytes([header[6], header[7]]),
            number: u64::from_be_bytes(word(8)),
            sent_ns: i64::from_be_bytes(word(16)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_fixed() {
        let datagram = Datagram { connection: 258, number: 3, sent_ns: -1 };
        let expected = b"fair\x00\x01\x01\x02\0\0\0\0\0\0\0\x03\xff\xff\xff\xff\xff\xff\xff\xff";
        assert_eq!(&datagram.encode(), expected);
        assert_eq!(Datagram::decode(expected), Some(datagram));
    }

    #[test]
    fn strangers_are_told_apart() {
        let good = Datagram { connection: 0, number: 0, sent_ns: 0 }.encode();
        assert_eq!(Datagram::decode(&good[..23]), None);
        for at in [0, 5] {
            let mut bad = good;
            bad[at] ^= 2;
            assert_eq!(Datagram::decode(&bad), None);
        }
    }
}
