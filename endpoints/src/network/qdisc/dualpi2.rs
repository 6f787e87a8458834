//! `dualpi2`: coupled queues for L4S and classic traffic (RFC 9332; `net/sched/sch_dualpi2.c`).

use super::{Kind, Object, TCA_OPTIONS};
use crate::network::message::{find, u32_at, Message};
use crate::network::words::{time_ns, wrong, Words};
use serde_json::Value;

/// What is known of it.
pub const KIND: Kind = Kind { name: "dualpi2", options, show, statistics };

// `TCA_DUALPI2_...` of include/uapi/linux/pkt_sched.h.
const LIMIT: u16 = 1;
const MEMORY_LIMIT: u16 = 2;
const TARGET: u16 = 3;
const UPDATE: u16 = 4;
const ALPHA: u16 = 5;
const BETA: u16 = 6;
const STEP_PACKETS: u16 = 7;
const STEP_US: u16 = 8;
const MIN_QLEN_STEP: u16 = 9;
const COUPLING: u16 = 10;
const DROP_OVERLOAD: u16 = 11;
const DROP_EARLY: u16 = 12;
const PROTECTION: u16 = 13;
const ECN_MASK: u16 = 14;
const SPLIT_GSO: u16 = 15;

/// Gains are counted in units of this part of 1 Hz.
const GAIN: f64 = 256.0;

const ECN_MASKS: [(&str, &str, u8); 3] =
    [("l4s_ect", "l4s-ect", 1), ("classic_ect", "classic-ect", 2), ("any_ect", "any-ect", 3)];

fn options(words: &mut Words) -> Result<Message, String> {
    let mut failed = None;
    let mut message = Message::attributes();
    message.nest(TCA_OPTIONS, |options| {
        failed = fill(words, options).err();
    });
    failed.map_or(Ok(message), Err)
}

fn fill(words: &mut Words, options: &mut Message) -> Result<(), String> {
    while let Some(word) = words.next() {
        match word {
            "limit" => options.put_u32(LIMIT, words.number(word)?),
            "memlimit" => options.put_u32(MEMORY_LIMIT, words.number(word)?),
            "target" => options.put_u32(TARGET, words.us(word)?),
            "tupdate" => options.put_u32(UPDATE, words.us(word)?),
            "alpha" => options.put_u32(ALPHA, gain(words, word)?),
            "beta" => options.put_u32(BETA, gain(words, word)?),
            "step_thresh" => step(words, options)?,
            "min_qlen_step" => options.put_u32(MIN_QLEN_STEP, words.number(word)?),
            "coupling_factor" => options.put_u8(COUPLING, words.number(word)?),
            "drop_on_overload" => options.put_u8(DROP_OVERLOAD, 1),
            "overflow" => options.put_u8(DROP_OVERLOAD, 0),
            "drop_enqueue" => options.put_u8(DROP_EARLY, 1),
            "drop_dequeue" => options.put_u8(DROP_EARLY, 0),
            "classic_protection" => options.put_u8(PROTECTION, words.number(word)?),
            "split_gso" => options.put_u8(SPLIT_GSO, 1),
            "no_split_gso" => options.put_u8(SPLIT_GSO, 0),
            _ => match ECN_MASKS.iter().find(|(name, ..)| *name == word) {
                Some((_, _, mask)) => options.put_u8(ECN_MASK, *mask),
                None => return Err(format!("`dualpi2` has no `{word}`")),
            },
        };
    }
    Ok(())
}

fn gain(words: &mut Words, of: &str) -> Result<u32, String> {
    let hz: f64 = words.number(of)?;
    let scaled = (hz * GAIN).round();
    if (1.0..=f64::from(u32::MAX >> 1)).contains(&scaled) {
        Ok(scaled as u32)
    } else {
        Err(wrong(of, &hz.to_string(), "a gain from 1/256 to 8388607 Hz"))
    }
}

fn step<'a>(words: &mut Words, options: &'a mut Message) -> Result<&'a mut Message, String> {
    let word = words.value("step_thresh")?;
    if let Some(packets) = word.strip_suffix('p').and_then(|number| number.parse().ok()) {
        return Ok(options.put_u32(STEP_PACKETS, packets));
    }
    // The kernel would silently take 4.29 s for more.
    match time_ns(word).and_then(|ns| u32::try_from(ns).ok()) {
        Some(ns) => Ok(options.put_u32(STEP_US, ns / 1000)),
        None => Err(wrong("step_thresh", word, "a time of at most 4294 ms, or packets such as 5p")),
    }
}

/// The fields that tc of iproute2 6.17 writes; times are in us, gains in Hz.
fn show(options: &[u8], shown: &mut Object) {
    for (name, kind) in [
        ("limit", LIMIT),
        ("memory-limit", MEMORY_LIMIT),
        ("target", TARGET),
        ("tupdate", UPDATE),
        ("step-thresh-pkts", STEP_PACKETS),
        ("step-thresh-us", STEP_US),
        ("min-qlen-step", MIN_QLEN_STEP),
    ] {
        if let Some(payload) = find(options, kind) {
            shown.insert(name.into(), u32_at(payload, 0).into());
        }
    }
    for (name, kind) in [("alpha", ALPHA), ("beta", BETA)] {
        if let Some(payload) = find(options, kind) {
            shown.insert(name.into(), (f64::from(u32_at(payload, 0)) / GAIN).into());
        }
    }
    let byte = |kind| find(options, kind).and_then(|payload| payload.first().copied());
    for (name, kind) in [("coupling", COUPLING), ("c-protection", PROTECTION)] {
        if let Some(value) = byte(kind) {
            shown.insert(name.into(), value.into());
        }
    }
    let mut word = |name: &str, kind, of: [&str; 2]| {
        if let Some(value) = byte(kind) {
            shown.insert(name.into(), of[usize::from(value != 0)].into());
        }
    };
    word("drop-overload", DROP_OVERLOAD, ["overflow", "drop"]);
    word("drop-early", DROP_EARLY, ["drop-dequeue", "drop-enqueue"]);
    if let Some(mask) = byte(ECN_MASK) {
        if let Some((_, name, _)) = ECN_MASKS.iter().find(|(.., known)| *known == mask) {
            shown.insert("ecn-mask".into(), (*name).into());
        }
    }
    if byte(SPLIT_GSO) == Some(1) {
        shown.insert("split-gso".into(), Value::Null);
    }
}

/// `struct tc_dualpi2_xstats`: what happened, and how long the head of each queue has waited, us.
fn statistics(raw: &[u8], shown: &mut Object) {
    let probability = f64::from(u32_at(raw, 0)) / f64::from(u32::MAX);
    shown.insert("prob".into(), probability.into());
    for (name, offset) in [
        ("delay-c", 4),
        ("delay-l", 8),
        ("pkts-in-c", 12),
        ("pkts-in-l", 16),
        ("maxq", 20),
        ("ecn-mark", 24),
        ("step-mark", 28),
        ("memory-used", 36),
        ("max-memory-used", 40),
    ] {
        shown.insert(name.into(), u32_at(raw, offset).into());
    }
    shown.insert("credit".into(), (u32_at(raw, 32) as i32).into());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &str) -> Result<Object, String> {
        let message = options(&mut Words::of(arguments))?;
        let mut shown = Object::new();
        show(find(message.bytes(), TCA_OPTIONS).unwrap(), &mut shown);
        Ok(shown)
    }

    #[test]
    fn every_argument_becomes_an_attribute_and_is_shown() {
        let shown = read(
            "limit 100 memlimit 33554432 target 15ms tupdate 16ms alpha 0.160156 beta 3.199219 \
             step_thresh 1ms min_qlen_step 0 coupling_factor 2 overflow drop_enqueue \
             classic_protection 10 any_ect split_gso",
        )
        .unwrap();
        let expected = serde_json::json!({
            "limit": 100, "memory-limit": 33_554_432, "target": 15_000, "tupdate": 16_000,
            "alpha": 41.0 / 256.0, "beta": 819.0 / 256.0, "step-thresh-us": 1000,
            "min-qlen-step": 0, "coupling": 2, "drop-overload": "overflow",
            "drop-early": "drop-enqueue", "c-protection": 10, "ecn-mask": "any-ect",
            "split-gso": null,
        });
        assert_eq!(Value::Object(shown), expected);
        assert_eq!(read("step_thresh 5p").unwrap()["step-thresh-pkts"], 5);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (arguments, message) in [
            ("limit -1", "`limit` is `-1`"),
            ("coupling_factor 256", "`coupling_factor` is `256`"),
            ("alpha 0", "a gain from 1/256"),
            ("alpha nan", "a gain from 1/256"),
            ("step_thresh 5s", "at most 4294 ms"),
            ("step_thresh 5", "packets such as 5p"),
            ("tupdate", "`tupdate` has no value"),
            ("ecn", "`dualpi2` has no `ecn`"),
        ] {
            let error = read(arguments).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
