//! What an end of a tunnel is asked to do.

use super::carrier::{Carrier, Mode, LEAST_HEADER_BYTES};
use crate::description::{mac_address, Description};
use crate::json::{text, whole};
use serde::Deserialize;
use std::net::Ipv4Addr;

const LEAST_MTU: i64 = 68;
const MAX_MTU: i64 = 9_200;

/// Of role `tunnel`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tunnel {
    /// Its name, for people who look at a process list.
    #[serde(rename = "tunnel", deserialize_with = "text")]
    _name: String,
    /// Where packets come in, and where they leave.
    #[serde(deserialize_with = "text")]
    pub interface: String,
    /// Destination address of frames that leave.
    #[serde(deserialize_with = "mac_address")]
    #[cfg_attr(test, schemars(with = "String"))]
    next_mac: [u8; 6],
    /// Source address of frames that leave.
    #[serde(deserialize_with = "mac_address")]
    #[cfg_attr(test, schemars(with = "String"))]
    own_mac: [u8; 6],
    /// Of this end.
    address: Ipv4Addr,
    /// Of the other end.
    peer: Ipv4Addr,
    /// The largest IP packet of the interface, bytes.
    #[serde(deserialize_with = "whole::<_, _, LEAST_MTU, MAX_MTU>")]
    pub mtu: u32,
    /// What it puts in front of each packet, bytes.
    #[serde(deserialize_with = "whole::<_, _, { LEAST_HEADER_BYTES as i64 }, MAX_MTU>")]
    header_bytes: usize,
    /// What it does with the bits of ECN of what it carries.
    ecn: Mode,
}

impl Description for Tunnel {}

impl Tunnel {
    /// Ethernet addresses of frames that leave: destination, then source.
    #[must_use]
    pub fn addresses(&self) -> [u8; 12] {
        let mut addresses = [0; 12];
        addresses[..6].copy_from_slice(&self.next_mac);
        addresses[6..].copy_from_slice(&self.own_mac);
        addresses
    }

    /// What puts packets into others, and takes them out.
    #[must_use]
    pub fn carrier(&self) -> Carrier {
        let Tunnel { address, peer, header_bytes, ecn, .. } = *self;
        Carrier { address, peer, header_bytes, ecn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::read;

    const GOOD: &str = r#"{"tunnel": "vpn", "interface": "left-vpn-eth0", "next_mac": "02:00:0a:00:00:01",
        "own_mac": "02:00:0a:00:00:02", "address": "10.0.0.2", "peer": "10.0.0.6", "mtu": 1500,
        "header_bytes": 60, "ecn": "copy"}"#;

    #[test]
    fn a_description_is_read() {
        let tunnel = read::<Tunnel>(GOOD).unwrap();
        assert_eq!(tunnel.addresses(), [2, 0, 10, 0, 0, 1, 2, 0, 10, 0, 0, 2]);
        assert_eq!(tunnel.carrier().header_bytes, 60);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, words) in [
            ("copy", "keep", "`ecn`: unknown variant `keep`, expected `copy` or `clear`"),
            ("60", "19", "`header_bytes`"),
            ("02:00:0a:00:00:02", "02:00", "`own_mac` is `02:00`, not an Ethernet address"),
            ("10.0.0.6", "10.0.0", "`peer`"),
        ] {
            let message = read::<Tunnel>(&GOOD.replace(from, to)).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
    }
}
