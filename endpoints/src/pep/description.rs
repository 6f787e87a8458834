//! What a proxy is asked to do.

use crate::description::{address, cca, Description, MAX_BUFFER, SHORTEST_PERIOD};
use crate::json::Fields;
use crate::workload::MAX_RATE_BPS;
use std::net::{Ipv4Addr, SocketAddrV4};

/// More middle connections than a backlog holds are not opened at once.
const MAX_POOL: i64 = 4_096;
/// Receive buffer of an outer connection where the window of the middle is smaller, bytes.
const LEAST_RECEIVE: u32 = 128 << 10;
/// The largest window that TCP can offer (RFC 7323, section 2.3), bytes.
const MAX_WINDOW: i64 = 1 << 30;

/// Of the roles `pep-terminal` and `pep-gateway`.
#[derive(Debug)]
pub struct Pep {
    /// Ports of servers whose connections are split.
    pub ports: Vec<u16>,
    /// The terminal's end of the middle connections.
    pub terminal: Ipv4Addr,
    /// The gateway's end of the middle connections.
    pub gateway: SocketAddrV4,
    /// Congestion control of the middle connections, by the kernel's name.
    pub cca: String,
    /// Middle connections that are kept open for clients to come.
    pub pool: usize,
    /// With what window a middle connection begins, bytes of IP packets.
    pub window_bytes: u32,
    /// Limit of the rate that this end sends at on a middle connection, bit/s of IP.
    pub rate_bps: u64,
    /// Send and receive buffer of each connection, bytes of payload.
    pub buffer_bytes: u32,
    /// Time between samples of the middle connections, ns.
    pub sample_every_ns: i64,
}

impl Pep {
    /// Buffers of a middle connection, bytes of payload: at least two windows, so that what the kernel
    /// adds for its overhead never limits the first of them.
    #[must_use]
    pub fn middle_buffer_bytes(&self) -> u32 {
        self.buffer_bytes.max(self.window_bytes.saturating_mul(2)).min(MAX_BUFFER as u32)
    }

    /// Receive buffer of an outer connection, bytes: as the kernel doubles it, about two windows of the
    /// middle wait in front of it. More would only let a server on a fast link pour all that it has
    /// into this machine.
    #[must_use]
    pub fn outer_receive_bytes(&self) -> u32 {
        self.buffer_bytes.min(self.window_bytes.max(LEAST_RECEIVE))
    }
}

impl Description for Pep {
    fn take(fields: &mut Fields) -> Result<Self, String> {
        // Named for people who look at a process list.
        fields.text("flow")?;
        let gateway = address(fields, "gateway_address")?;
        Ok(Pep {
            ports: ports(fields)?,
            terminal: address(fields, "terminal_address")?,
            gateway: SocketAddrV4::new(gateway, fields.number("port", 1, 65_535)? as u16),
            cca: cca(fields)?,
            pool: fields.number("pool", 1, MAX_POOL)? as usize,
            window_bytes: fields.number("window_bytes", 1, MAX_WINDOW)? as u32,
            rate_bps: fields.number("rate_bps", 1, MAX_RATE_BPS)? as u64,
            buffer_bytes: fields.number("buffer_bytes", 1, MAX_BUFFER)? as u32,
            sample_every_ns: fields.number("sample_every_ns", SHORTEST_PERIOD, i64::MAX)?,
        })
    }
}

fn ports(fields: &mut Fields) -> Result<Vec<u16>, String> {
    let ports = fields.numbers("listen_ports")?;
    let ports: Option<Vec<u16>> =
        ports.iter().map(|port| u16::try_from(*port).ok().filter(|port| *port > 0)).collect();
    ports
        .filter(|ports| !ports.is_empty())
        .ok_or_else(|| "`listen_ports` is not a list of ports from 1 to 65535".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::read;

    const GOOD: &str = r#"{"flow": "pep", "listen_ports": [443, 80],
        "terminal_address": "10.0.1.1", "gateway_address": "10.0.1.2", "port": 4000,
        "cca": "cubic", "pool": 8, "window_bytes": 2343750, "rate_bps": 25000000,
        "buffer_bytes": 65536, "sample_every_ns": 100000000}"#;

    #[test]
    fn the_middle_has_room_for_two_windows_and_one_waits_for_it() {
        let pep = read::<Pep>(GOOD).unwrap();
        assert_eq!((&pep.ports[..], pep.pool), (&[443, 80][..], 8));
        assert_eq!(pep.middle_buffer_bytes(), 4_687_500);
        assert_eq!(pep.outer_receive_bytes(), 65_536);
        let large = GOOD.replace("65536", "9000000");
        let pep = read::<Pep>(&large).unwrap();
        assert_eq!((pep.middle_buffer_bytes(), pep.outer_receive_bytes()), (9_000_000, 2_343_750));
        let pep = read::<Pep>(&large.replace("2343750", "15000")).unwrap();
        assert_eq!(pep.outer_receive_bytes(), 131_072);
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_name() {
        for (from, to, word) in [
            ("[443, 80]", "[]", "listen_ports"),
            ("[443, 80]", "[443, 0]", "listen_ports"),
            ("[443, 80]", "[65536]", "listen_ports"),
            (r#""10.0.1.2""#, r#""gateway""#, "`gateway_address` is `gateway`"),
            (r#""pool": 8"#, r#""pool": 0"#, "`pool` is 0"),
            ("2343750", "2000000000", "window_bytes"),
            ("25000000", "0", "`rate_bps` is 0"),
            (r#""pool": 8"#, r#""pool": 8, "side": "x""#, "unknown field `side`"),
        ] {
            let message = read::<Pep>(&GOOD.replace(from, to)).unwrap_err();
            assert!(message.contains(word), "{}", message);
        }
    }
}
