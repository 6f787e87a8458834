//! What the two proxies say to each other on a middle connection before a client's bytes.
//!
//! The gateway greets with four bytes, `fpep`, as soon as it has accepted: with them the terminal
//! learns the gateway's whole receive window, of which a SYN-ACK can tell 64 KiB at most (RFC 7323,
//! section 2.2). The terminal sends 20 bytes when a client takes the connection: `fpep`, the number
//! of the split connection (32 bits), the client's address and port and the server's address and
//! port (32, 32, 16, 16 bits in the order addresses, ports), big-endian.

use socket2::Socket;
use std::io::{self, ErrorKind::WouldBlock, Read};
use std::net::{Ipv4Addr, SocketAddrV4};

/// What the gateway says first.
pub const GREETING: [u8; 4] = *b"fpep";
const HEADER_BYTES: usize = 20;

/// Whose bytes follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Number of the split connection, from 0 in the order in which the terminal accepted.
    pub connection: u32,
    /// Where it comes from.
    pub client: SocketAddrV4,
    /// Where it was meant to go.
    pub server: SocketAddrV4,
}

impl Header {
    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&GREETING);
        bytes[4..8].copy_from_slice(&self.connection.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.client.ip().octets());
        bytes[12..16].copy_from_slice(&self.server.ip().octets());
        bytes[16..18].copy_from_slice(&self.client.port().to_be_bytes());
        bytes[18..].copy_from_slice(&self.server.port().to_be_bytes());
        bytes
    }

    /// As it was received.
    ///
    /// # Errors
    /// A message, if this is no header.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, String> {
        if bytes[..4] != GREETING {
            return Err(format!(
                "a connection between the proxies begins with {:02x?}",
                &bytes[..4]
            ));
        }
        let ip = |at: usize| Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
        let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        Ok(Header {
            connection: u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
            client: SocketAddrV4::new(ip(8), port(16)),
            server: SocketAddrV4::new(ip(12), port(18)),
        })
    }
}

/// A fixed number of bytes that come in any pieces.
#[derive(Debug)]
pub struct Incoming<const BYTES: usize> {
    bytes: [u8; BYTES],
    filled: usize,
}

/// The header, as it comes.
pub type IncomingHeader = Incoming<HEADER_BYTES>;
/// The greeting, as it comes.
pub type IncomingGreeting = Incoming<4>;

impl<const BYTES: usize> Incoming<BYTES> {
    /// Nothing of it has come.
    #[must_use]
    pub fn new() -> Self {
        Incoming { bytes: [0; BYTES], filled: 0 }
    }

    /// Takes what has come, and none of what follows; None: there is more to come.
    ///
    /// # Errors
    /// What the kernel says; `UnexpectedEof` if the connection ended before.
    pub fn take(&mut self, socket: &Socket) -> io::Result<Option<[u8; BYTES]>> {
        while self.filled < BYTES {
            match { socket }.read(&mut self.bytes[self.filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header {
            connection: 70_000,
            client: "10.1.2.3:40000".parse().unwrap(),
            server: "10.9.8.7:443".parse().unwrap(),
        };
        let mut bytes = header.encode();
        assert_eq!(Header::decode(&bytes), Ok(header));
        bytes[0] = b'F';
        assert!(Header::decode(&bytes).unwrap_err().contains("46, 70, 65, 70"));
    }
}
