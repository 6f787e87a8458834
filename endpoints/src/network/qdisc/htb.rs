//! `htb`: hierarchical token buckets, of which links that change use one.

use super::{no_statistics, rate, Kind, Object, TCA_OPTIONS};
use crate::network::message::{find, u32_at, Message};
use crate::network::words::{time_ns, wrong, Words};

/// What is known of it.
pub const KIND: Kind = Kind { name: "htb", options, show, statistics: no_statistics };

const PARAMETERS: u16 = 1;
const INIT: u16 = 2;
const DIRECT_QLEN: u16 = 5;
const RATE64: u16 = 6;
const CEIL64: u16 = 7;

/// `struct tc_htb_glob`: version, `rate2quantum`, default class, debug, packets that went by.
const VERSION: u32 = 3;
const RATE2QUANTUM: u32 = 10;

fn options(words: &mut Words) -> Result<Message, String> {
    let mut default = 0;
    while let Some(word) = words.next() {
        match word {
            "default" => {
                let class = words.value(word)?;
                default = u32::from_str_radix(class, 16)
                    .map_err(|_| wrong(word, class, "a hexadecimal class"))?;
            }
            _ => return Err(format!("`htb` has no `{word}`")),
        }
    }
    let init: Vec<u8> =
        [VERSION, RATE2QUANTUM, default, 0, 0].iter().flat_map(|n| n.to_ne_bytes()).collect();
    let mut message = Message::attributes();
    message.nest(TCA_OPTIONS, |inner| {
        inner.put(INIT, &init);
    });
    Ok(message)
}

/// What a bucket holds.
#[derive(Clone, Copy)]
enum Burst {
    Bytes(u32),
    /// What the class sends in so many ns.
    Time(u64),
}

impl Burst {
    /// As the kernel has it.
    fn ticks(self, bytes_per_s: u64) -> u32 {
        match self {
            Burst::Bytes(bytes) => rate::ticks(bytes_per_s, bytes.into()),
            Burst::Time(ns) => u32::try_from(ns / rate::TICK_NS).unwrap_or(u32::MAX),
        }
    }
}

/// Reads the arguments of a class: `rate R ceil R burst B cburst B quantum Q`; a burst may be a
/// time.
///
/// # Errors
/// A message that names the argument.
pub fn class_options(words: &mut Words) -> Result<Message, String> {
    let (mut rates, mut bursts, mut quantum) = ([None; 2], [None; 2], 0_u32);
    // What a bucket holds: bytes, as tc has them, or a time.
    let burst = |words: &mut Words, of| {
        let word = words.value(of)?;
        let time = time_ns(word).map(Burst::Time);
        time.or_else(|| word.parse().ok().map(Burst::Bytes))
            .ok_or_else(|| wrong(of, word, "a number of bytes, or a time such as 1000ns"))
    };
    while let Some(word) = words.next() {
        match word {
            "rate" => rates[0] = Some(rate::read(words, word)?),
            "ceil" => rates[1] = Some(rate::read(words, word)?),
            "burst" => bursts[0] = Some(burst(words, word)?),
            "cburst" => bursts[1] = Some(burst(words, word)?),
            "quantum" => quantum = words.number(word)?,
            _ => return Err(format!("a class of `htb` has no `{word}`")),
        }
    }
    let ([Some(low), Some(high)], [Some(burst), Some(ceil_burst)]) = (rates, bursts) else {
        return Err("a class of `htb` needs `rate`, `ceil`, `burst` and `cburst`".into());
    };
    // `struct tc_htb_opt`: rate, ceil, their buckets in ticks, quantum, level, priority.
    let mut raw = Vec::with_capacity(44);
    raw.extend_from_slice(&rate::specification(low));
    raw.extend_from_slice(&rate::specification(high));
    for number in [burst.ticks(low), ceil_burst.ticks(high), quantum] {
        raw.extend_from_slice(&number.to_ne_bytes());
    }
    raw.extend_from_slice(&[0; 8]);
    let mut message = Message::attributes();
    message.nest(TCA_OPTIONS, |inner| {
        for (attribute, bytes_per_s) in [(RATE64, low), (CEIL64, high)] {
            if bytes_per_s > u64::from(u32::MAX) {
                inner.put_u64(attribute, bytes_per_s);
            }
        }
        inner.put(PARAMETERS, &raw);
    });
    Ok(message)
}

fn show(options: &[u8], shown: &mut Object) {
    if let Some(raw) = find(options, INIT) {
        shown.insert("r2q".into(), u32_at(raw, 4).into());
        shown.insert("default".into(), format!("{:#x}", u32_at(raw, 8)).into());
        shown.insert("direct_packets_stat".into(), u32_at(raw, 16).into());
    }
    if let Some(length) = find(options, DIRECT_QLEN) {
        shown.insert("direct_qlen".into(), u32_at(length, 0).into());
    }
}
