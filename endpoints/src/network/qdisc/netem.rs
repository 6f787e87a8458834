//! `netem`: delays, losses, duplicates and reordering.

use super::{no_statistics, rate, Kind, Object, TCA_OPTIONS};
use crate::network::message::{find, u32_at, u64_at, Message};
use crate::network::words::{time_ns, wrong, Words};
use std::fs;

/// What is known of it.
pub const KIND: Kind = Kind { name: "netem", options, show, statistics: no_statistics };

const DISTRIBUTION: u16 = 2;
const REORDER: u16 = 3;
const CORRUPT: u16 = 4;
const LOSS: u16 = 5;
const RATE: u16 = 6;
const ECN: u16 = 7;
const RATE64: u16 = 8;
const LATENCY: u16 = 10;
const JITTER: u16 = 11;
const SEED: u16 = 14;
const GILBERT_ELLIOTT: u16 = 2;

/// `struct tc_netem_qopt`: its length, and where its fields are, bytes.
const LENGTH: usize = 24;
const LIMIT_AT: usize = 4;
const LOSS_AT: usize = 8;
const GAP_AT: usize = 12;
const DUPLICATE_AT: usize = 16;

/// Entries of a table at most (`MAX_DIST`), and what stands for 1 in it (`NETEM_DIST_SCALE`).
const LONGEST_TABLE: usize = 16_384;
const SCALE: f64 = 8192.0;

/// What a line asks for.
#[derive(Default)]
struct Asked {
    limit: u32,
    latency_ns: Option<u64>,
    jitter_ns: Option<u64>,
    loss: u32,
    chain: Option<[u32; 4]>,
    duplicate: u32,
    corrupt: Option<u32>,
    reorder: Option<u32>,
    gap: Option<u32>,
    rate: Option<u64>,
    seed: Option<u64>,
    /// The table of its delays.
    table: Option<Vec<u8>>,
}

fn options(words: &mut Words) -> Result<Message, String> {
    let asked = read(words)?;
    if asked.reorder.is_some_and(|share| share > 0) && asked.latency_ns.unwrap_or(0) == 0 {
        return Err("`reorder` needs `delay`".into());
    }
    if asked.table.is_some() && asked.jitter_ns.unwrap_or(0) == 0 {
        return Err("`distribution` needs a jitter".into());
    }
    let mut raw = [0; LENGTH];
    if asked.gap.is_some() && asked.reorder.is_none() {
        return Err("`gap` needs `reorder`".into());
    }
    // A share of packets skips the delay, each by its own coin, or of those that follow a gap.
    let gap = asked.gap.unwrap_or(1) * u32::from(asked.reorder.is_some_and(|share| share > 0));
    for (offset, value) in [
        (LIMIT_AT, asked.limit),
        (LOSS_AT, asked.loss),
        (GAP_AT, gap),
        (DUPLICATE_AT, asked.duplicate),
    ] {
        raw[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
    }
    let mut message = Message::attributes();
    message.nest(TCA_OPTIONS, |inner| {
        inner.raw(&raw);
        if let Some(ns) = asked.latency_ns {
            inner.put_u64(LATENCY, ns);
        }
        if let Some(ns) = asked.jitter_ns {
            inner.put_u64(JITTER, ns);
        }
        if let Some(share) = asked.reorder {
            inner.put(REORDER, &[share.to_ne_bytes(), [0; 4]].concat());
        }
        if let Some(share) = asked.corrupt {
            inner.put(CORRUPT, &[share.to_ne_bytes(), [0; 4]].concat());
        }
        if let Some(chain) = asked.chain {
            inner.nest(LOSS, |loss| {
                loss.put(GILBERT_ELLIOTT, &chain.map(u32::to_ne_bytes).concat());
            });
        }
        if let Some(bytes_per_s) = asked.rate {
            if bytes_per_s > u64::from(u32::MAX) {
                inner.put_u64(RATE64, bytes_per_s);
            }
            let mut spec = [0; 16];
            let small = u32::try_from(bytes_per_s).unwrap_or(u32::MAX);
            spec[..4].copy_from_slice(&small.to_ne_bytes());
            inner.put(RATE, &spec);
        }
        if let Some(seed) = asked.seed {
            inner.put_u64(SEED, seed);
        }
        if let Some(table) = &asked.table {
            inner.put(DISTRIBUTION, table);
        }
    });
    Ok(message)
}

fn read(words: &mut Words) -> Result<Asked, String> {
    let mut asked = Asked { limit: 1000, ..Asked::default() };
    while let Some(word) = words.next() {
        match word {
            "limit" => asked.limit = words.number(word)?,
            "delay" => {
                asked.latency_ns = Some(ns(words, word)?);
                if words.peek().is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit())) {
                    asked.jitter_ns = Some(ns(words, "jitter")?);
                }
            }
            "distribution" => {
                asked.table = Some(match words.value(word)? {
                    "wifi" => wifi(share(words, "wifi")?),
                    name => table(name)?,
                });
            }
            "reorder" => asked.reorder = Some(share(words, word)?),
            "corrupt" => asked.corrupt = Some(share(words, word)?),
            "gap" => asked.gap = Some(words.number(word)?),
            "duplicate" => asked.duplicate = share(words, word)?,
            "rate" => asked.rate = Some(rate::read(words, word)?),
            "seed" => asked.seed = Some(words.number(word)?),
            "loss" => match words.value(word)? {
                "random" => asked.loss = share(words, word)?,
                "gemodel" => {
                    let mut chain = [0; 4];
                    for (entry, name) in chain.iter_mut().zip(["p", "r", "1-h", "1-k"]) {
                        *entry = share(words, name)?;
                    }
                    // The kernel has the probability that a packet passes in the bad state.
                    chain[2] = u32::MAX - chain[2];
                    asked.chain = Some(chain);
                }
                other => return Err(wrong(word, other, "`random` or `gemodel`")),
            },
            _ => return Err(format!("`netem` has no `{word}`")),
        }
    }
    Ok(asked)
}

fn ns(words: &mut Words, of: &str) -> Result<u64, String> {
    let word = words.value(of)?;
    time_ns(word)
        .filter(|ns| i64::try_from(*ns).is_ok())
        .ok_or_else(|| wrong(of, word, "a time such as 15ms"))
}

/// Takes a percentage; of 2^32 - 1, rounded as tc does.
///
/// # Errors
/// A message that says whose value it is not.
pub fn share(words: &mut Words, of: &str) -> Result<u32, String> {
    let word = words.value(of)?;
    word.strip_suffix('%')
        .and_then(|number| number.parse::<f64>().ok())
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent| libm::rint(percent / 100.0 * f64::from(u32::MAX)) as u32)
        .ok_or_else(|| wrong(of, word, "a percentage such as 1%"))
}

/// Reads a table of iproute2: numbers of 16 bits between white space, and comments.
fn table(name: &str) -> Result<Vec<u8>, String> {
    if !name.bytes().all(|byte| byte.is_ascii_lowercase()) || name.len() > 32 {
        return Err(wrong("distribution", name, "the name of a table"));
    }
    let text = tables()
        .iter()
        .find_map(|folder| fs::read_to_string(format!("{folder}/{name}.dist")).ok())
        .ok_or_else(|| format!("{name}.dist is not in {}", tables().join(" or ")))?;
    let numbers =
        text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    let mut table = Vec::new();
    for number in numbers {
        let value: i16 = number.parse().map_err(|_| wrong(name, number, "a number of 16 bits"))?;
        table.extend_from_slice(&value.to_ne_bytes());
    }
    if table.is_empty() || table.len() > 2 * LONGEST_TABLE {
        return Err(format!("{name}.dist has {} numbers", table.len() / 2));
    }
    Ok(table)
}

/// Lengths of times in the model of Wi-Fi, half milliseconds: what a deferral takes, and another
/// attempt; and the unit of its table.
const DEFERRAL: usize = 2;
const ATTEMPT: usize = 15;
const WIFI_UNIT: f64 = 120.0;

/// Returns the table of what Wi-Fi adds to a delay, in units of 60 ms: quantiles of
/// N1 * 1 ms - r + N2 * 7.5 ms, where N1 is a Poisson number of mean 1, r uniform in 0 .. 1 ms, but
/// 0 where N1 is, and N2 a Poisson number of mean 12 for a share of the packets, else 0
/// (draft-huitema-ccwg-c4-test-02, section 2.3).
///
/// Its distribution has atoms at multiples of 7.5 ms, and between them a density that is constant
/// for half a millisecond at a time.
fn wifi(share: u32) -> Vec<u8> {
    const STEPS: usize = 4 * WIFI_UNIT as usize - 1;
    let share = shown_share(share);
    let mut atoms = [0.0; STEPS];
    let mut masses = [0.0; STEPS];
    for (again, probability) in poisson(12.0).into_iter().enumerate() {
        let weight = share * probability + if again == 0 { 1.0 - share } else { 0.0 };
        for (deferrals, probability) in poisson(1.0).into_iter().enumerate() {
            let at = ATTEMPT * again + DEFERRAL * deferrals;
            if at >= STEPS {
                continue; // less than one packet in a million
            }
            if deferrals == 0 {
                atoms[at] += weight * probability;
            } else {
                masses[at - 2] += weight * probability / 2.0;
                masses[at - 1] += weight * probability / 2.0;
            }
        }
    }
    let mut table = Vec::new();
    let (mut step, mut below) = (0, 0.0);
    for entry in 0..LONGEST_TABLE {
        let quantile = (entry as f64 + 0.5) / LONGEST_TABLE as f64;
        while step < STEPS - 1 && quantile > below + atoms[step] + masses[step] {
            below += atoms[step] + masses[step];
            step += 1;
        }
        let beyond = (quantile - below - atoms[step]).max(0.0);
        let part = if beyond > 0.0 { (beyond / masses[step]).min(1.0) } else { 0.0 };
        let factor = libm::rint((step as f64 + part) / WIFI_UNIT * SCALE);
        table.extend_from_slice(&(factor as i16).to_ne_bytes());
    }
    table
}

/// Returns the probabilities of a Poisson number of this mean.
fn poisson(mean: f64) -> [f64; 40] {
    let mut probability = libm::exp(-mean);
    std::array::from_fn(|number| {
        if number > 0 {
            probability *= mean / number as f64;
        }
        probability
    })
}

/// Where iproute2 has its tables: Debian's folder, its own.
fn tables() -> [String; 2] {
    [format!("/usr/lib/{}-linux-gnu/tc", std::env::consts::ARCH), "/usr/lib/tc".into()]
}

/// `PRINT_PERCENT`: a share of 2^32 - 1.
#[must_use]
pub fn shown_share(value: u32) -> f64 {
    f64::from(value) / f64::from(u32::MAX)
}

fn show(options: &[u8], shown: &mut Object) {
    let attributes = options.get(LENGTH..).unwrap_or_default();
    let wide = |attribute| find(attributes, attribute).map_or(0, |payload| u64_at(payload, 0));
    let mut object = |name: &str, fields: Vec<(&str, f64)>| {
        let inner: Object =
            fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        shown.insert(name.into(), inner.into());
    };
    let (latency, jitter) = (wide(LATENCY), wide(JITTER));
    if latency != 0 {
        let seconds = |ns: u64| ns as f64 / 1e9;
        object(
            "delay",
            vec![("delay", seconds(latency)), ("jitter", seconds(jitter)), ("correlation", 0.0)],
        );
    }
    let (loss, duplicate) = (u32_at(options, LOSS_AT), u32_at(options, DUPLICATE_AT));
    if loss != 0 {
        object("loss-random", vec![("loss", shown_share(loss)), ("correlation", 0.0)]);
    }
    if let Some(chain) = find(attributes, LOSS).and_then(|loss| find(loss, GILBERT_ELLIOTT)) {
        let at = |index: usize| u32_at(chain, 4 * index);
        let bad = u32::MAX - at(2);
        object(
            "loss-gemodel",
            vec![
                ("p", shown_share(at(0))),
                ("r", shown_share(at(1))),
                ("1-h", shown_share(bad)),
                ("1-k", shown_share(at(3))),
            ],
        );
    }
    if duplicate != 0 {
        object("duplicate", vec![("duplicate", shown_share(duplicate)), ("correlation", 0.0)]);
    }
    if let Some(share) = find(attributes, REORDER).map(|raw| u32_at(raw, 0)).filter(|n| *n != 0) {
        object("reorder", vec![("reorder", shown_share(share)), ("correlation", 0.0)]);
    }
    if let Some(share) = find(attributes, CORRUPT).map(|raw| u32_at(raw, 0)).filter(|n| *n != 0) {
        object("corrupt", vec![("corrupt", shown_share(share)), ("correlation", 0.0)]);
    }
    shown.insert("limit".into(), u32_at(options, LIMIT_AT).into());
    if let Some(spec) = find(attributes, RATE).filter(|spec| u32_at(spec, 0) != 0) {
        let rate = match wide(RATE64) {
            0 => u64::from(u32_at(spec, 0)),
            rate => rate,
        };
        let signed = |offset| u32_at(spec, offset) as i32;
        let fields = serde_json::json!({"rate": rate, "packetoverhead": signed(4),
            "cellsize": u32_at(spec, 8), "celloverhead": signed(12)});
        shown.insert("rate".into(), fields);
    }
    if find(attributes, SEED).is_some() {
        shown.insert("seed".into(), wide(SEED).into());
    }
    shown.insert("ecn".into(), find(attributes, ECN).is_some_and(|on| u32_at(on, 0) != 0).into());
    shown.insert("gap".into(), u32_at(options, GAP_AT).into());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_and_show(arguments: &str) -> Result<Object, String> {
        let message = options(&mut Words::of(arguments))?;
        let mut shown = Object::new();
        show(find(message.bytes(), TCA_OPTIONS).unwrap(), &mut shown);
        Ok(shown)
    }

    #[test]
    fn what_wifi_adds_has_the_moments_of_its_model() {
        for (share, percent) in [(0.0, "0%"), (6.0 / 90.0, "6.666666666666667%"), (1.0, "100%")] {
            let table = wifi(super::share(&mut Words::of(percent), "wifi").unwrap());
            assert_eq!(table.len(), 2 * LONGEST_TABLE);
            let times_ms: Vec<f64> = table
                .chunks_exact(2)
                .map(|pair| f64::from(i16::from_ne_bytes([pair[0], pair[1]])) / SCALE * 60.0)
                .collect();
            let count = times_ms.len() as f64;
            let mean = times_ms.iter().sum::<f64>() / count;
            let variance = times_ms.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
            // One minus e^-1 of the packets are deferred: N1 has mean and variance 1, r mean 1/2.
            let deferred = 1.0 - (-1.0_f64).exp();
            let expected = 1.0 - deferred / 2.0 + share * 12.0 * 7.5;
            let squares = 2.0 - 1.0 + deferred / 3.0 - (1.0 - deferred / 2.0).powi(2);
            let again = 7.5 * 7.5 * (share * (12.0 + 144.0) - (share * 12.0).powi(2));
            assert!((mean - expected).abs() < 0.003, "{mean} {expected}");
            assert!((variance / (squares + again) - 1.0).abs() < 0.002, "{variance}");
            assert!(times_ms.is_sorted());
            let atom = times_ms.iter().filter(|time| **time == 0.0).count() as f64 / count;
            let without = (1.0 - share + share * (-12.0_f64).exp()) * (-1.0_f64).exp();
            assert!((atom - without).abs() < 0.002, "{atom} {without}");
        }
        assert!(read_and_show("delay 1ms 60ms distribution wifi").is_err());
    }

    #[test]
    fn what_is_asked_for_is_shown() {
        let shown = read_and_show(
            "limit 7 delay 10ms 2ms reorder 25% loss gemodel 1% 30% 100% 0% duplicate 50% corrupt 2% \
             rate 1000gbit seed 18446744073709551615",
        )
        .unwrap();
        assert_eq!(shown["limit"], 7);
        assert_eq!(shown["delay"]["delay"], 0.01);
        assert_eq!(shown["delay"]["jitter"], 0.002);
        assert_eq!(shown["gap"], 1);
        assert_eq!(shown["seed"], u64::MAX);
        assert_eq!(shown["rate"]["rate"], 125_000_000_000_u64);
        let near = |value: &serde_json::Value, expected: f64| {
            (value.as_f64().unwrap() - expected).abs() < 1e-9
        };
        assert!(near(&shown["loss-gemodel"]["1-h"], 1.0));
        assert!(near(&shown["loss-gemodel"]["r"], 0.3));
        assert!(near(&shown["duplicate"]["duplicate"], 0.5));
        assert!(near(&shown["corrupt"]["corrupt"], 0.02));
        assert!(near(&shown["reorder"]["reorder"], 0.25));
        assert_eq!(read_and_show("delay 1ms reorder 25% gap 5").unwrap()["gap"], 5);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (arguments, message) in [
            ("loss 1%", "`loss` is `1%`, not `random` or `gemodel`"),
            ("loss random 101%", "`loss` is `101%`"),
            ("loss random nan%", "a percentage"),
            ("loss gemodel 1% 30% 100%", "`1-k` has no value"),
            ("reorder 25%", "`reorder` needs `delay`"),
            ("delay 1ms gap 2", "`gap` needs `reorder`"),
            ("delay 1ms distribution normal", "`distribution` needs a jitter"),
            ("delay 1ms 1ms distribution ../x", "the name of a table"),
            ("slot 1ms", "`netem` has no `slot`"),
        ] {
            let error = read_and_show(arguments).err().unwrap();
            assert!(error.contains(message), "{error}");
        }
    }
}
