//! `sfq`: stochastic fair queueing.

use super::{no_statistics, Kind, Object, TCA_OPTIONS};
use crate::network::message::{u32_at, Message};
use crate::network::words::Words;

/// What is known of it.
pub const KIND: Kind = Kind { name: "sfq", options, show, statistics: no_statistics };

/// `struct tc_sfq_qopt_v1`: its length, and where its fields are, bytes.
const LENGTH: usize = 72;
const QUANTUM: usize = 0;
const PERTURB: usize = 4;
const LIMIT: usize = 8;
const DIVISOR: usize = 12;
const FLOWS: usize = 16;
const DEPTH: usize = 20;

fn options(words: &mut Words) -> Result<Message, String> {
    let mut raw = [0; LENGTH];
    while let Some(word) = words.next() {
        let offset = match word {
            "quantum" => QUANTUM,
            "perturb" => PERTURB,
            "limit" => LIMIT,
            "divisor" => DIVISOR,
            "flows" => FLOWS,
            "depth" => DEPTH,
            _ => return Err(format!("`sfq` has no `{word}`")),
        };
        let value: u32 = words.number(word)?;
        raw[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
    }
    let mut message = Message::attributes();
    message.put(TCA_OPTIONS, &raw);
    Ok(message)
}

fn show(options: &[u8], shown: &mut Object) {
    for (name, offset, always) in [
        ("limit", LIMIT, true),
        ("quantum", QUANTUM, true),
        ("depth", DEPTH, false),
        ("divisor", DIVISOR, true),
        ("perturb", PERTURB, false),
    ] {
        let value = u32_at(options, offset);
        if always || value != 0 {
            shown.insert(name.into(), value.into());
        }
    }
}
