//! `tbf`: a token bucket.

use super::{no_statistics, rate, Kind, Object, TCA_OPTIONS};
use crate::network::message::{find, u32_at, u64_at, Message};
use crate::network::words::Words;

/// What is known of it.
pub const KIND: Kind = Kind { name: "tbf", options, show, statistics: no_statistics };

const PARAMETERS: u16 = 1;
const RATE64: u16 = 4;
const BURST: u16 = 6;

/// `struct tc_tbf_qopt`: its length, and where its fields are, bytes.
const LENGTH: usize = 36;
const RATE: usize = 8;
const LIMIT: usize = 24;
const BUFFER: usize = 28;

fn options(words: &mut Words) -> Result<Message, String> {
    let (mut bytes_per_s, mut burst, mut limit): (Option<u64>, Option<u32>, Option<u32>) =
        (None, None, None);
    while let Some(word) = words.next() {
        match word {
            "rate" => bytes_per_s = Some(rate::read(words, word)?),
            "burst" => burst = Some(words.number(word)?),
            "limit" => limit = Some(words.number(word)?),
            _ => return Err(format!("`tbf` has no `{word}`")),
        }
    }
    let bytes_per_s = bytes_per_s.ok_or("`tbf` needs `rate`")?;
    let burst = burst.ok_or("`tbf` needs `burst`")?;
    let mut raw = [0; LENGTH];
    raw[..12].copy_from_slice(&rate::specification(bytes_per_s));
    raw[LIMIT..LIMIT + 4].copy_from_slice(&limit.ok_or("`tbf` needs `limit`")?.to_ne_bytes());
    let buffer = rate::ticks(bytes_per_s, burst.into());
    raw[BUFFER..BUFFER + 4].copy_from_slice(&buffer.to_ne_bytes());
    let mut message = Message::attributes();
    message.nest(TCA_OPTIONS, |inner| {
        inner.put(PARAMETERS, &raw).put_u32(BURST, burst);
        if bytes_per_s > u64::from(u32::MAX) {
            inner.put_u64(RATE64, bytes_per_s);
        }
    });
    Ok(message)
}

fn show(options: &[u8], shown: &mut Object) {
    let Some(raw) = find(options, PARAMETERS) else { return };
    let bytes_per_s = find(options, RATE64)
        .map_or_else(|| u64::from(u32_at(raw, RATE)), |payload| u64_at(payload, 0));
    let buffer = u32_at(raw, BUFFER);
    shown.insert("rate".into(), bytes_per_s.into());
    shown.insert("burst".into(), rate::bytes(bytes_per_s, buffer).into());
    let limit_us = 1e6 * f64::from(u32_at(raw, LIMIT)) / bytes_per_s as f64;
    let latency_us = limit_us - rate::us(buffer);
    if latency_us >= 0.0 {
        shown.insert("lat".into(), (latency_us as u64).into());
    }
}
