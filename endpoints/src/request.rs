//! The request: 16 bytes that a client sends as soon as it is connected.
//!
//! | bytes | content (integers big-endian) |
//! |---|---|
//! | 0..4 | `fair` |
//! | 4..6 | version, 1 |
//! | 6..8 | number of the connection, from 0 |
//! | 8..16 | bytes wanted; all ones: as many as go through |

/// Length of a request, bytes.
pub const REQUEST_BYTES: usize = 16;

/// Connections that a request can number.
pub const MAX_CONNECTIONS: u32 = 1 << 16;

const MAGIC: [u8; 4] = *b"fair";
const VERSION: u16 = 1;
const BULK: u64 = u64::MAX;

/// What one connection asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Number of the connection, from 0.
    pub connection: u32,
    /// Bytes wanted, or None for bulk.
    pub bytes: Option<u64>,
}

impl Request {
    /// The bytes on the wire. `connection` is below `MAX_CONNECTIONS`, `bytes` below 2^64 - 1.
    #[must_use]
    pub fn encode(self) -> [u8; REQUEST_BYTES] {
        let mut header = [0; REQUEST_BYTES];
        header[..4].copy_from_slice(&MAGIC);
        header[4..6].copy_from_slice(&VERSION.to_be_bytes());
        header[6..8].copy_from_slice(&(self.connection as u16).to_be_bytes());
        header[8..].copy_from_slice(&self.bytes.unwrap_or(BULK).to_be_bytes());
        header
    }

    /// Reads the bytes on the wire.
    ///
    /// # Errors
    /// A message, when the peer is not a client of this version.
    pub fn decode(header: &[u8; REQUEST_BYTES]) -> Result<Self, String> {
        if header[..4] != MAGIC {
            return Err("the request does not come from fairc-endpoints".into());
        }
        let version = u16::from_be_bytes([header[4], header[5]]);
        if version != VERSION {
            return Err(format!("the request has version {version}, not {VERSION}"));
        }
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&header[8..]);
        let bytes = u64::from_be_bytes(bytes);
        Ok(Request {
            connection: u32::from(u16::from_be_bytes([header[6], header[7]])),
            bytes: if bytes == BULK { None } else { Some(bytes) },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_fixed() {
        let request = Request { connection: 258, bytes: Some(10_000_000) };
        assert_eq!(&request.encode(), b"fair\x00\x01\x01\x02\x00\x00\x00\x00\x00\x98\x96\x80");
    }

    #[test]
    fn what_is_encoded_decodes() {
        for connection in [0, 1, MAX_CONNECTIONS - 1] {
            for bytes in [None, Some(0), Some(u64::MAX - 1)] {
                let request = Request { connection, bytes };
                assert_eq!(Request::decode(&request.encode()), Ok(request));
            }
        }
    }

    #[test]
    fn strangers_are_refused() {
        assert!(Request::decode(b"GET / HTTP/1.1\r\n").unwrap_err().contains("does not come from"));
        let mut header = Request { connection: 0, bytes: None }.encode();
        header[5] = 9;
        assert!(Request::decode(&header).unwrap_err().contains("version 9"));
    }
}
