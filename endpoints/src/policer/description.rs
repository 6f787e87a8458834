//! What a policer is asked to do.

use super::bucket::{Charge, Harshness, Rule};
use super::exposure::Feedback;
use crate::description::{mac_address, Description, SHORTEST_PERIOD};
use crate::json::{text, whole, within};
use serde::Deserialize;
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// More than any network here has, packets/s.
const MAX_RATE: f64 = 1e9;
/// See `MAX_RATE`, packets.
const MAX_DEPTH: f64 = 1e9;
const MAX_BUCKETS: i64 = 65_536;
const LEAST_MTU: i64 = 68;
const MAX_MTU: i64 = 9_200;

/// Of role `policer`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Its name, for people who look at a process list.
    #[serde(rename = "policer", deserialize_with = "text")]
    _name: String,
    /// Where packets come in that are policed.
    #[serde(deserialize_with = "text")]
    pub ingress: String,
    /// Where those leave that are forwarded, and where their acknowledgements come in.
    #[serde(deserialize_with = "text")]
    pub egress: String,
    /// Destination address of frames that leave.
    #[serde(deserialize_with = "mac_address")]
    #[cfg_attr(test, schemars(with = "String"))]
    next_mac: [u8; 6],
    /// Source address of frames that leave.
    #[serde(deserialize_with = "mac_address")]
    #[cfg_attr(test, schemars(with = "String"))]
    own_mac: [u8; 6],
    /// The largest IP packet, bytes.
    #[serde(deserialize_with = "whole::<_, _, LEAST_MTU, MAX_MTU>")]
    pub mtu: u32,
    /// Buckets: how many.
    #[serde(deserialize_with = "whole::<_, _, 1, MAX_BUCKETS>")]
    pub buckets: u64,
    /// Whose packets are policed, and by which bucket.
    policed: Vec<Policed>,
    /// Fill rate of each bucket, packets/s.
    rate: f64,
    /// Depth of each bucket, packets.
    depth: f64,
    /// What an empty bucket does.
    harshness: Harshness,
    /// When a re-echo takes its token.
    charge: Charge,
    /// Of its random drops.
    #[serde(deserialize_with = "whole::<_, _, 0, { i64::MAX }>")]
    seed: u64,
    /// How senders learn of marks.
    pub feedback: Feedback,
    /// Where the time of every packet that is policed is written, ns after the epoch: eight bytes
    /// each, little-endian, in the order of arrival. No other program's packets have the kernel's
    /// same stamps.
    #[serde(deserialize_with = "text")]
    pub times: String,
    /// How often what waits beside the arrivals is read at least, ns.
    #[serde(deserialize_with = "whole::<_, _, SHORTEST_PERIOD, { i64::MAX }>")]
    pub read_every_ns: i64,
}

/// A server whose connections are policed.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Policed {
    /// Its address.
    address: Ipv4Addr,
    /// Its port.
    #[serde(deserialize_with = "whole::<_, _, 1, 65_535>")]
    port: u16,
    /// The number of its bucket, from 0.
    bucket: u64,
}

impl Description for Policer {
    fn check(&self) -> Result<(), String> {
        if let Some(server) = self.policed.iter().find(|server| server.bucket >= self.buckets) {
            let (bucket, most) = (server.bucket, self.buckets - 1);
            return Err(format!("`policed` has bucket {bucket}, not a number from 0 to {most}"));
        }
        within("rate", self.rate, 0.0, MAX_RATE)?;
        within("depth", self.depth, 1.0, MAX_DEPTH)
    }
}

impl Policer {
    /// Ethernet addresses of frames that leave: destination, then source.
    #[must_use]
    pub fn addresses(&self) -> [u8; 12] {
        let mut addresses = [0; 12];
        addresses[..6].copy_from_slice(&self.next_mac);
        addresses[6..].copy_from_slice(&self.own_mac);
        addresses
    }

    /// The bucket of each server, by its address and port.
    #[must_use]
    pub fn policed(&self) -> HashMap<(u32, u16), usize> {
        let place = |server: &Policed| (u32::from(server.address), server.port);
        self.policed.iter().map(|server| (place(server), server.bucket as usize)).collect()
    }

    /// What all buckets do.
    #[must_use]
    pub fn rule(&self) -> Rule {
        let Policer { rate, depth, harshness, charge, seed, .. } = *self;
        Rule { rate, depth, harshness, charge, seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::read;

    const GOOD: &str = r#"{"policer": "p", "ingress": "h-eth0", "egress": "h-eth1",
        "next_mac": "02:00:0a:00:00:02", "own_mac": "02:00:0a:00:00:01", "mtu": 1500, "buckets": 2,
        "policed": [{"address": "10.0.0.1", "port": 5000, "bucket": 1}], "rate": 2.5, "depth": 45,
        "times": "p.policer.times", "harshness": "mild", "charge": "forwarded", "seed": 7, "feedback": "accurate",
        "read_every_ns": 100000000}"#;

    #[test]
    fn a_description_is_read() {
        let policer = read::<Policer>(GOOD).unwrap();
        assert_eq!(policer.addresses(), [2, 0, 10, 0, 0, 2, 2, 0, 10, 0, 0, 1]);
        assert_eq!(policer.policed()[&(0x0a00_0001, 5_000)], 1);
        assert_eq!((policer.rule().rate, policer.rule().depth), (2.5, 45.0));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, words) in [
            (
                "mild",
                "harsh",
                "`harshness`: unknown variant `harsh`, expected one of `soft`, `mild`, `strict`",
            ),
            ("forwarded", "left", "`charge`: unknown variant `left`"),
            ("accurate", "exact", "`feedback`: unknown variant `exact`"),
            ("02:00:0a:00:00:02", "02:00", "`next_mac` is `02:00`, not an Ethernet address"),
            ("02:00:0a:00:00:01", "02:00:0a:00:00:0g", "`own_mac`"),
            (r#""bucket": 1"#, r#""bucket": 2"#, "bucket"),
            (r#""depth": 45"#, r#""depth": 0"#, "`depth`"),
            (r#""mtu""#, r#""mtus""#, "mtu"),
        ] {
            let message = read::<Policer>(&GOOD.replace(from, to)).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
    }
}
