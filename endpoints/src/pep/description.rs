//! What a proxy is asked to do.

use crate::description::{kernel_cca, Description, SHORTEST_PERIOD};
use crate::json::{text, whole};
use crate::workload::{MAX_BUFFER, MAX_RATE_BPS};
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddrV4};

/// More middle connections than a backlog holds are not opened at once.
const MAX_POOL: i64 = 4_096;
/// Receive buffer of an outer connection where the window of the middle is smaller, bytes.
const LEAST_RECEIVE: u32 = 128 << 10;
/// The largest window that TCP can offer (RFC 7323, section 2.3), bytes.
const MAX_WINDOW: i64 = 1 << 30;

/// Of the roles `pep-terminal` and `pep-gateway`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pep {
    /// Name of the proxies, for people who look at a process list.
    #[serde(rename = "flow", deserialize_with = "text")]
    _flow: String,
    /// Ports of servers whose connections are split.
    #[serde(rename = "listen_ports")]
    pub ports: Vec<u16>,
    /// The terminal's end of the middle connections.
    #[serde(rename = "terminal_address")]
    pub terminal: Ipv4Addr,
    /// The gateway's end of the middle connections.
    gateway_address: Ipv4Addr,
    /// Its port.
    #[serde(deserialize_with = "whole::<_, _, 1, 65_535>")]
    port: u16,
    /// Congestion control of the middle connections, by the kernel's name.
    #[serde(deserialize_with = "kernel_cca")]
    pub cca: String,
    /// Middle connections that are kept open for clients to come.
    #[serde(deserialize_with = "whole::<_, _, 1, MAX_POOL>")]
    pub pool: usize,
    /// With what window a middle connection begins, bytes of IP packets.
    #[serde(deserialize_with = "whole::<_, _, 1, MAX_WINDOW>")]
    pub window_bytes: u32,
    /// Limit of the rate that this end sends at on a middle connection, bit/s of IP.
    #[serde(deserialize_with = "whole::<_, _, 1, MAX_RATE_BPS>")]
    pub rate_bps: u64,
    /// Send and receive buffer of each connection, bytes of payload.
    #[serde(deserialize_with = "whole::<_, _, 1, MAX_BUFFER>")]
    pub buffer_bytes: u32,
    /// How often the first packet of a middle connection is sent again, until the pool is open the
    /// first time, before another one is opened.
    #[serde(deserialize_with = "whole::<_, _, 1, 127>")]
    pub syn_retries: i32,
    /// Time between samples of the middle connections, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub sample_every_ns: i64,
}

impl Pep {
    /// The gateway's end of the middle connections.
    #[must_use]
    pub fn gateway(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.gateway_address, self.port)
    }

    /// Buffers of a middle connection, bytes of payload: at least two windows, so that what the
    /// kernel adds for its overhead never limits the first of them.
    #[must_use]
    pub fn middle_buffer_bytes(&self) -> u32 {
        self.buffer_bytes.max(self.window_bytes.saturating_mul(2)).min(MAX_BUFFER as u32)
    }

    /// Receive buffer of an outer connection, bytes: as the kernel doubles it, about two windows of
    /// the middle wait in front of it. More would only let a server on a fast link pour all that it
    /// has into this machine.
    #[must_use]
    pub fn outer_receive_bytes(&self) -> u32 {
        self.buffer_bytes.min(self.window_bytes.max(LEAST_RECEIVE))
    }
}

impl Description for Pep {
    fn check(&self) -> Result<(), String> {
        if self.ports.is_empty() || self.ports.contains(&0) {
            return Err("`listen_ports` is not a list of ports from 1 to 65535".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::read;

    const GOOD: &str = r#"{"flow": "pep", "listen_ports": [443, 80],
        "terminal_address": "10.0.1.1", "gateway_address": "10.0.1.2", "port": 4000,
        "cca": "cubic", "pool": 8, "window_bytes": 2343750, "rate_bps": 25000000,
        "buffer_bytes": 65536, "syn_retries": 1, "sample_every_ns": 100000000}"#;

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
            (r#""10.0.1.2""#, r#""gateway""#, "`gateway_address`: invalid"),
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
