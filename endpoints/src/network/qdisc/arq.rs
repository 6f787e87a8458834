//! `arq`: lost transmissions are repeated, and what is left is delayed (fairc's patch of the
//! kernel).

use super::table::{count, counter, nested, Counter, Width};
use super::{netem, Kind, Object};
use crate::network::message::{find, u32_at, u64_at, Message};
use crate::network::words::{time_ns, wrong, Words};

/// What is known of it.
pub const KIND: Kind =
    Kind { name: "arq", options, show, statistics: |raw, shown| count(STATISTICS, raw, shown) };

const LIMIT: u16 = 1;
const DELAY: u16 = 2;
const LOSS: u16 = 3;
const TRIES: u16 = 4;
const WAIT: u16 = 5;
const OVERTAKE: u16 = 6;
const SEED: u16 = 7;

/// `struct tc_arq_xstats`.
const STATISTICS: &[Counter] = &[
    counter("transmissions", 0, Width::U64),
    counter("failures", 8, Width::U64),
    counter("lost", 16, Width::U64),
];

/// Reads `limit N delay T loss P tries N wait T (order | overtake) seed N`.
fn options(words: &mut Words) -> Result<Message, String> {
    let mut message = Message::attributes();
    while let Some(word) = words.next() {
        match word {
            "limit" => message.put_u32(LIMIT, words.number(word)?),
            "delay" => message.put_u64(DELAY, ns(words, word)?),
            "loss" => message.put_u32(LOSS, netem::share(words, word)?),
            "tries" => message.put_u32(TRIES, words.number(word)?),
            "wait" => message.put_u64(WAIT, ns(words, word)?),
            "order" => message.put_u32(OVERTAKE, 0),
            "overtake" => message.put_u32(OVERTAKE, 1),
            "seed" => message.put_u64(SEED, words.number(word)?),
            _ => return Err(format!("`arq` has no `{word}`")),
        };
    }
    Ok(nested(&message))
}

fn ns(words: &mut Words, of: &str) -> Result<u64, String> {
    let word = words.value(of)?;
    time_ns(word).ok_or_else(|| wrong(of, word, "a time such as 15ms"))
}

fn show(options: &[u8], shown: &mut Object) {
    let small = |attribute| find(options, attribute).map_or(0, |payload| u32_at(payload, 0));
    let wide = |attribute| find(options, attribute).map_or(0, |payload| u64_at(payload, 0));
    shown.insert("limit".into(), small(LIMIT).into());
    shown.insert("delay".into(), wide(DELAY).into());
    shown.insert("loss".into(), netem::shown_share(small(LOSS)).into());
    shown.insert("tries".into(), small(TRIES).into());
    shown.insert("wait".into(), wide(WAIT).into());
    shown.insert("order".into(), (small(OVERTAKE) == 0).into());
    shown.insert("seed".into(), wide(SEED).into());
}

#[cfg(test)]
mod tests {
    use super::super::TCA_OPTIONS;
    use super::*;

    #[test]
    fn what_is_asked_for_is_shown() {
        let line = "limit 9 delay 20ms loss 10% tries 3 wait 8ms overtake seed 7";
        let message = options(&mut Words::of(line)).unwrap();
        let mut shown = Object::new();
        show(find(message.bytes(), TCA_OPTIONS).unwrap(), &mut shown);
        assert_eq!(shown["limit"], 9);
        assert_eq!(shown["delay"], 20_000_000);
        assert!((shown["loss"].as_f64().unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(shown["tries"], 3);
        assert_eq!(shown["wait"], 8_000_000);
        assert_eq!(shown["order"], false);
        assert_eq!(shown["seed"], 7);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, message) in [
            ("tries x", "`tries` is `x`"),
            ("wait 8", "`wait` is `8`"),
            ("loss 101%", "`loss` is `101%`"),
            ("jitter 1ms", "`arq` has no `jitter`"),
        ] {
            let error = options(&mut Words::of(line)).err().unwrap();
            assert!(error.contains(message), "{error}");
        }
    }
}
