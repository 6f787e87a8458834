//! What a policer is asked to do.

use super::bucket::{Charge, Harshness, Rule};
use super::exposure::Feedback;
use crate::description::{address, Description, SHORTEST_PERIOD};
use crate::json::Fields;
use std::collections::HashMap;

/// More than any network here has, packets/s.
const MAX_RATE: f64 = 1e9;
/// See `MAX_RATE`, packets.
const MAX_DEPTH: f64 = 1e9;
const MAX_BUCKETS: i64 = 65_536;
const LEAST_MTU: i64 = 68;
const MAX_MTU: i64 = 9_200;

/// Of role `policer`.
#[derive(Debug)]
pub struct Policer {
    /// Where packets come in that are policed.
    pub ingress: String,
    /// Where those leave that are forwarded, and where their acknowledgements come in.
    pub egress: String,
    /// Ethernet addresses of frames that leave there: destination, then source.
    pub addresses: [u8; 12],
    /// The largest IP packet, bytes.
    pub mtu: u32,
    /// Buckets: how many.
    pub buckets: u64,
    /// The bucket of each server, by its address and port.
    pub policed: HashMap<(u32, u16), usize>,
    /// What all buckets do.
    pub rule: Rule,
    /// How senders learn of marks.
    pub feedback: Feedback,
    /// Where the time of every packet that is policed is written, ns after the epoch: eight bytes each,
    /// little-endian, in the order of arrival. No other program's packets have the kernel's same stamps.
    pub times: String,
    /// How often what waits beside the arrivals is read at least, ns.
    pub read_every_ns: i64,
}

impl Description for Policer {
    fn take(fields: &mut Fields) -> Result<Self, String> {
        fields.text("policer")?;
        let mut addresses = [0; 12];
        addresses[..6].copy_from_slice(&mac(fields, "next_mac")?);
        addresses[6..].copy_from_slice(&mac(fields, "own_mac")?);
        let buckets = fields.number("buckets", 1, MAX_BUCKETS)?;
        let mut policed = HashMap::new();
        for mut server in fields.objects("policed")? {
            let place = u32::from(address(&mut server, "address")?);
            let port = server.number("port", 1, 65_535)? as u16;
            let bucket = server.number("bucket", 0, buckets - 1)? as usize;
            server.end()?;
            policed.insert((place, port), bucket);
        }
        Ok(Policer {
            ingress: fields.text("ingress")?,
            egress: fields.text("egress")?,
            addresses,
            mtu: fields.number("mtu", LEAST_MTU, MAX_MTU)? as u32,
            buckets: buckets as u64,
            policed,
            rule: Rule {
                rate: fields.decimal("rate", 0.0, MAX_RATE)?,
                depth: fields.decimal("depth", 1.0, MAX_DEPTH)?,
                harshness: word(fields, "harshness", &HARSHNESS)?,
                charge: word(fields, "charge", &CHARGES)?,
                seed: fields.number("seed", 0, i64::MAX)? as u64,
            },
            feedback: word(fields, "feedback", &FEEDBACK)?,
            times: fields.text("times")?,
            read_every_ns: fields.number("read_every_ns", SHORTEST_PERIOD, i64::MAX)?,
        })
    }
}

const HARSHNESS: [(&str, Harshness); 3] =
    [("soft", Harshness::Soft), ("mild", Harshness::Mild), ("strict", Harshness::Strict)];
const CHARGES: [(&str, Charge); 2] =
    [("forwarded", Charge::Forwarded), ("arrived", Charge::Arrived)];
const FEEDBACK: [(&str, Feedback); 3] =
    [("none", Feedback::None), ("classic", Feedback::Classic), ("accurate", Feedback::Accurate)];

fn word<T: Copy>(fields: &mut Fields, name: &str, known: &[(&str, T)]) -> Result<T, String> {
    let text = fields.text(name)?;
    known.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        format!("{} is `{text}`, not one of {}", fields.name(name), words.join(", "))
    })
}

fn mac(fields: &mut Fields, name: &str) -> Result<[u8; 6], String> {
    let text = fields.text(name)?;
    let bytes: Option<Vec<u8>> = text
        .split(':')
        .map(|byte| u8::from_str_radix(byte, 16).ok().filter(|_| byte.len() == 2))
        .collect();
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| format!("{} is `{text}`, not an Ethernet address", fields.name(name)))
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
        assert_eq!(policer.addresses, [2, 0, 10, 0, 0, 2, 2, 0, 10, 0, 0, 1]);
        assert_eq!(policer.policed[&(0x0a00_0001, 5_000)], 1);
        assert_eq!((policer.rule.rate, policer.rule.depth), (2.5, 45.0));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, words) in [
            ("mild", "harsh", "`harshness` is `harsh`, not one of soft, mild, strict"),
            ("forwarded", "left", "`charge` is `left`"),
            ("accurate", "exact", "`feedback` is `exact`"),
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
