//! `radio`: a link that sends aggregates, and queues fewer acknowledgements (fairc's patch of the
//! kernel).

use super::table::{count, counter, nested, Counter, Width};
use super::{rate, Kind, Object};
use crate::network::message::{find, u32_at, u64_at, Message};
use crate::network::words::{time_ns, wrong, Words};

/// What is known of it.
pub const KIND: Kind =
    Kind { name: "radio", options, show, statistics: |raw, shown| count(STATISTICS, raw, shown) };

const RATE: u16 = 1;
const FRAME: u16 = 2;
const SIZE: u16 = 3;
const HOLD: u16 = 4;
const EVERY: u16 = 5;
const SINCE: u16 = 6;
const SEED: u16 = 7;
const THIN: u16 = 8;

/// Values of a table at most.
const MOST_TIMES: usize = 4096;
/// The longest of them, ns: the kernel's bound.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// `struct tc_radio_xstats`.
const STATISTICS: &[Counter] = &[
    counter("aggregates", 0, Width::U64),
    counter("most", 8, Width::U64),
    counter("thinned", 16, Width::U64),
    counter("untracked", 24, Width::U64),
];

/// Reads `rate R frame F size N hold TIMES every TIMES since NS seed N thin N`, each of which may
/// be left out of a change.
fn options(words: &mut Words) -> Result<Message, String> {
    let mut message = Message::attributes();
    while let Some(word) = words.next() {
        match word {
            "rate" => message.put_u64(RATE, rate::read(words, word)?),
            "frame" => message.put_u32(FRAME, words.number(word)?),
            "size" => message.put_u32(SIZE, words.number(word)?),
            "hold" => message.put(HOLD, &times(words, word)?),
            "every" => message.put(EVERY, &times(words, word)?),
            "since" => message.put_u64(SINCE, words.number(word)?),
            "seed" => message.put_u64(SEED, words.number(word)?),
            "thin" => message.put_u32(THIN, words.number(word)?),
            _ => return Err(format!("`radio` has no `{word}`")),
        };
    }
    Ok(nested(&message))
}

/// Takes a time such as `4ms`, or equally likely ones: `1,2,3us`.
fn times(words: &mut Words, of: &str) -> Result<Vec<u8>, String> {
    let word = words.value(of)?;
    let several = |list: &str| -> Option<Vec<u64>> {
        list.split(',').map(|one| one.parse::<u64>().ok()?.checked_mul(1000)).collect()
    };
    let found = match word.strip_suffix("us") {
        Some(list) => several(list),
        None => time_ns(word).map(|ns| vec![ns]),
    };
    found
        .filter(|all| all.len() <= MOST_TIMES && all.iter().all(|ns| *ns <= LONGEST_NS))
        .map(|all| all.into_iter().flat_map(u64::to_ne_bytes).collect())
        .ok_or_else(|| wrong(of, word, "a time such as 4ms, or several such as 1,2us"))
}

/// How many values a table has, and their sum, ns.
fn shown_times(payload: &[u8]) -> Object {
    let mut object = Object::new();
    object.insert("count".into(), u64_at(payload, 0).into());
    object.insert("sum".into(), u64_at(payload, 8).into());
    object
}

fn show(options: &[u8], shown: &mut Object) {
    let small = |attribute| find(options, attribute).map_or(0, |payload| u32_at(payload, 0));
    let wide = |attribute| find(options, attribute).map_or(0, |payload| u64_at(payload, 0));
    shown.insert("rate".into(), wide(RATE).into());
    shown.insert("frame".into(), small(FRAME).into());
    for (name, attribute) in [("size", SIZE), ("thin", THIN)] {
        if small(attribute) != 0 {
            shown.insert(name.into(), small(attribute).into());
        }
    }
    for (name, attribute) in [("hold", HOLD), ("every", EVERY)] {
        if let Some(payload) = find(options, attribute) {
            shown.insert(name.into(), shown_times(payload).into());
        }
    }
    shown.insert("since".into(), wide(SINCE).into());
    shown.insert("seed".into(), wide(SEED).into());
}

#[cfg(test)]
mod tests {
    use super::super::TCA_OPTIONS;
    use super::*;

    #[test]
    fn what_is_asked_for_is_shown() {
        let message = options(&mut Words::of(
            "rate 8000bit frame 1514 size 32 seed 7 since 1000000000000 thin 4",
        ))
        .unwrap();
        let mut shown = Object::new();
        show(find(message.bytes(), TCA_OPTIONS).unwrap(), &mut shown);
        assert_eq!(shown["rate"], 1000);
        assert_eq!(shown["frame"], 1514);
        assert_eq!(shown["size"], 32);
        assert_eq!(shown["thin"], 4);
        assert_eq!(shown["seed"], 7);
        assert_eq!(shown["since"], 1_000_000_000_000_u64);
        assert!(!shown.contains_key("hold"));
    }

    #[test]
    fn times_are_one_or_several() {
        let read = |text: &str| times(&mut Words::of(text), "hold");
        assert_eq!(read("4ms").unwrap(), 4_000_000_u64.to_ne_bytes());
        assert_eq!(read("7ns").unwrap(), 7_u64.to_ne_bytes());
        let two: Vec<u8> = [1000_u64, 2000].iter().flat_map(|ns| ns.to_ne_bytes()).collect();
        assert_eq!(read("1,2us").unwrap(), two);
        for bad in ["1,2", "1,,2us", "us", "4", "-1ms", "3601s", "1.5us"] {
            assert!(read(bad).unwrap_err().contains(bad), "{bad}");
        }
    }

    #[test]
    fn what_it_does_not_have_is_named() {
        assert!(options(&mut Words::of("burst 7")).unwrap_err().contains("`radio` has no `burst`"));
        assert!(options(&mut Words::of("rate 7bit")).unwrap_err().contains("`rate` is `7bit`"));
    }
}
