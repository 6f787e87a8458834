//! `gred`, of which fairc uses one queue: RED (Floyd and Jacobson, Random early detection gateways,
//! 1993).

use super::table::nested;
use super::{no_statistics, rate, Kind, Object};
use crate::network::message::{attributes, find, u32_at, u64_at, Message};
use crate::network::words::{wrong, Words};
use serde_json::Value;

/// What is known of it.
pub const KIND: Kind = Kind { name: "gred", options, show, statistics: no_statistics };

const PARAMETERS: u16 = 1;
const TABLE: u16 = 2;
const QUEUES: u16 = 3;
const MAX_P: u16 = 4;
const LIMIT: u16 = 5;
const LIST: u16 = 6;
const ENTRY: u16 = 1;
const ENTRY_QUEUE: u16 = 2;
const ENTRY_BYTES: u16 = 3;
const ENTRY_FLAGS: u16 = 12;

/// Queues that there can be (`MAX_DPs`).
const MOST: u32 = 16;
/// `struct tc_gred_qopt`: its length, bytes.
const LENGTH: usize = 52;
const ECN: u32 = 1;
const FLAGS: [(&str, u32); 4] = [("ecn", ECN), ("harddrop", 2), ("adaptive", 4), ("nodrop", 8)];

fn options(words: &mut Words) -> Result<Message, String> {
    match words.next() {
        Some("setup") => setup(words),
        Some("vq") => queue(words),
        other => Err(wrong("gred", other.unwrap_or_default(), "`setup` or `vq`")),
    }
}

/// `setup vqs N default Q`: how many queues there are.
fn setup(words: &mut Words) -> Result<Message, String> {
    let (mut count, mut default): (u32, u32) = (0, 0);
    while let Some(word) = words.next() {
        match word {
            "vqs" => count = words.number(word)?,
            "default" => default = words.number(word)?,
            _ => return Err(format!("`gred setup` has no `{word}`")),
        }
    }
    if !(1..=MOST).contains(&count) || default >= count {
        return Err(format!("`gred` has 1 to {MOST} queues, and one of them is the default"));
    }
    let mut raw = Vec::from(count.to_ne_bytes());
    raw.extend_from_slice(&default.to_ne_bytes());
    raw.extend_from_slice(&[0; 4]);
    let mut message = Message::attributes();
    message.put(QUEUES, &raw);
    Ok(nested(&message))
}

/// `vq 0 limit B min B max B avpkt B (burst N | instant) probability P bandwidth R [ecn]`.
fn queue(words: &mut Words) -> Result<Message, String> {
    let number: u32 = words.number("vq")?;
    let (mut limit, mut low, mut high, mut packet, mut burst) = (0_u32, 0_u32, 0_u32, 0_u32, 0_u32);
    let (mut probability, mut bytes_per_s, mut flags) = (0.02_f64, 0_u64, 0);
    let mut instant = false;
    while let Some(word) = words.next() {
        match word {
            "limit" => limit = words.number(word)?,
            "min" => low = words.number(word)?,
            "max" => high = words.number(word)?,
            "avpkt" => packet = words.number(word)?,
            "burst" => burst = words.number(word)?,
            // A packet has all of the weight: the average is the queue as it is, and empty after a
            // pause.
            "instant" => (instant, burst) = (true, 1),
            "probability" => probability = words.number(word)?,
            "bandwidth" => bytes_per_s = rate::read(words, word)?,
            "ecn" => flags |= ECN,
            _ => return Err(format!("`gred vq` has no `{word}`")),
        }
    }
    if number >= MOST || [limit, low, high, packet, burst].contains(&0) || bytes_per_s == 0 {
        return Err("`gred vq` needs `limit`, `min`, `max`, `avpkt`, `burst`, `bandwidth`".into());
    }
    let weight_log = if instant { Some(0) } else { weight_log(low, burst, packet) }
        .ok_or_else(|| wrong("burst", &burst.to_string(), "enough to fill `min`"))?;
    let slope_log = slope_log(low, high, probability).ok_or_else(|| {
        wrong("probability", &probability.to_string(), "possible with these `min` and `max`")
    })?;
    let (scale_log, table) = idle_table(weight_log, rate::ticks(bytes_per_s, packet.into()))
        .ok_or_else(|| {
            wrong("bandwidth", &bytes_per_s.to_string(), "high enough for the kernel's table")
        })?;
    let mut raw = Vec::with_capacity(LENGTH);
    for field in [limit, low, high, number] {
        raw.extend_from_slice(&field.to_ne_bytes());
    }
    raw.resize(40, 0);
    raw.extend_from_slice(&[weight_log, slope_log, scale_log, 0]);
    raw.resize(LENGTH, 0);
    let mut message = Message::attributes();
    message
        .put(PARAMETERS, &raw)
        .put(TABLE, &table)
        .put_u32(MAX_P, (probability * 2_f64.powi(32)) as u32)
        .nest(LIST, |list| {
            list.nest(ENTRY, |entry| {
                entry.put_u32(ENTRY_QUEUE, number).put_u32(ENTRY_FLAGS, flags);
            });
        });
    Ok(nested(&message))
}

/// How much a packet weighs in the average: W = 2^-n, with the smallest n at which a burst of so
/// many packets into an empty queue leaves the average below `min` (Floyd and Jacobson, 1993,
/// section VI: L + 1 + ((1 - W)^(L+1) - 1) / W < min, as tc solves it).
fn weight_log(low: u32, burst: u32, packet: u32) -> Option<u8> {
    let wanted = f64::from(burst) + 1.0 - f64::from(low) / f64::from(packet);
    if wanted < 1.0 {
        return None;
    }
    (1..32).find(|log| {
        let weight = 0.5_f64.powi(i32::from(*log));
        wanted <= (1.0 - libm::pow(1.0 - weight, f64::from(burst))) / weight
    })
}

/// The slope of the probability, as a power of two: how often it doubles until it is above one.
fn slope_log(low: u32, high: u32, probability: f64) -> Option<u8> {
    if low == high {
        return Some(0);
    }
    let slope = probability / f64::from(high.checked_sub(low)?);
    (0..32).find(|log| slope * 2_f64.powi(i32::from(*log)) > 1.0)
}

/// By how many powers of two the average goes down in an idle time: a table of 256, and the power
/// of two by which times are divided before they are looked up. ticks: a packet's time on the link.
fn idle_table(weight_log: u8, ticks: u32) -> Option<(u8, [u8; 256])> {
    if weight_log == 0 {
        return Some((0, [31; 256]));
    }
    let weight = 1.0 / f64::from(1_u32 << weight_log);
    let decay = -libm::log(1.0 - weight) / f64::from(ticks);
    let longest = 31.0 / decay;
    let log = (0..32_u8).find(|log| longest / f64::from(1_u32 << log) < 512.0)?;
    let mut table = [31; 256];
    for (index, entry) in table.iter_mut().enumerate().take(255) {
        let shift = f64::from((index as u32) << log) * decay;
        // As a byte, like tc's table: what is beyond 31 makes the average zero.
        *entry = if shift >= 32.0 { 31 } else { shift as u8 };
    }
    Some((log, table))
}

fn show(options: &[u8], shown: &mut Object) {
    if let Some(queues) = find(options, QUEUES) {
        shown.insert("dp_cnt".into(), u32_at(queues, 0).into());
        shown.insert("dp_default".into(), u32_at(queues, 4).into());
        shown.insert("grio".into(), (queues.get(8) > Some(&0)).into());
        show_flags(queues.get(9).copied().unwrap_or_default().into(), shown);
    }
    if let Some(limit) = find(options, LIMIT) {
        shown.insert("limit".into(), u32_at(limit, 0).into());
    }
    let list = find(options, LIST).unwrap_or_default();
    let all = find(options, PARAMETERS).unwrap_or_default();
    let queues: Vec<Value> = all
        .chunks_exact(LENGTH)
        .filter(|raw| u32_at(raw, 12) < MOST)
        .map(|raw| Value::Object(show_queue(raw, list)))
        .collect();
    shown.insert("vqs".into(), queues.into());
}

fn show_queue(raw: &[u8], list: &[u8]) -> Object {
    let number = u32_at(raw, 12);
    let entry = attributes(list)
        .map(|(_, entry)| entry)
        .find(|entry| find(entry, ENTRY_QUEUE).is_some_and(|queue| u32_at(queue, 0) == number))
        .unwrap_or_default();
    let mut shown = Object::new();
    shown.insert("vq".into(), number.into());
    shown.insert("prio".into(), raw[43].into());
    for (name, offset) in [("limit", 0), ("min", 4), ("max", 8), ("qave", 20), ("backlog", 16)] {
        shown.insert(name.into(), u32_at(raw, offset).into());
    }
    let number_of = |attribute| find(entry, attribute).map(|payload| u32_at(payload, 0));
    if let Some(flags) = number_of(ENTRY_FLAGS) {
        show_flags(flags, &mut shown);
    }
    for (name, attribute) in [
        ("forced_drop", 8),
        ("prob_drop", 6),
        ("pdrop", 10),
        ("other", 11),
        ("forced_mark", 9),
        ("prob_mark", 7),
    ] {
        shown.insert(name.into(), number_of(attribute).unwrap_or(0).into());
    }
    shown.insert("packets".into(), u32_at(raw, 44).into());
    let bytes = find(entry, ENTRY_BYTES).map_or(0, |payload| u64_at(payload, 0));
    shown.insert("bytes".into(), bytes.into());
    shown
}

fn show_flags(flags: u32, shown: &mut Object) {
    for (name, bit) in FLAGS {
        shown.insert(name.into(), (flags & bit != 0).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, of the formulas: a burst of 35 full frames, `min` of 12,500 bytes; slope (1 /
    /// 112,500).
    #[test]
    fn weights_and_slopes_are_powers_of_two() {
        // W = 2^-6: (1 - (63/64)^35) / W = 27.1 of 35 + 1 - 8.26 = 27.7; 2^-7: 30.9.
        assert_eq!(weight_log(12_500, 35, 1514), Some(7));
        assert_eq!(weight_log(60_000, 35, 1514), None, "`min` alone is 40 frames");
        assert_eq!(slope_log(12_500, 125_000, 1.0), Some(17)); // 2^17 = 131,072
        assert_eq!(slope_log(5, 5, 0.02), Some(0));
        assert_eq!(slope_log(6, 5, 0.02), None);
    }

    #[test]
    fn an_idle_link_forgets() {
        let (log, table) = idle_table(7, 18_925).unwrap();
        assert_eq!((table[0], table[255]), (0, 31));
        assert!(table.windows(2).all(|pair| pair[0] <= pair[1]));
        // exp(-t / 128 packets): half of it is gone... in units of e, one after 127.5 packets'
        // time.
        let packets = f64::from(1_u32 << log) / 18_925.0;
        let first = table.iter().position(|shift| *shift == 1).unwrap() as f64;
        assert!((first * packets - 127.5).abs() < packets, "{first} {packets}");
        assert_eq!(idle_table(0, 18_925), Some((0, [31; 256])), "a step forgets at once");
    }
}
