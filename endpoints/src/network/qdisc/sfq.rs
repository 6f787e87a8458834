//! `sfq`: stochastic fair queueing.

use super::table::{count, counter, Counter, Width};
use super::{no_statistics, Kind, TCA_OPTIONS};
use crate::network::message::Message;
use crate::network::words::Words;

/// What is known of it.
pub const KIND: Kind = Kind {
    name: "sfq",
    options,
    show: |options, shown| count(FIELDS, options, shown),
    statistics: no_statistics,
};

/// `struct tc_sfq_qopt_v1`: its length, and where its fields are, bytes.
const LENGTH: usize = 72;
const FIELDS: &[Counter] = &[
    counter("limit", 8, Width::U32),
    counter("quantum", 0, Width::U32),
    counter("depth", 20, Width::U32NotZero),
    counter("divisor", 12, Width::U32),
    counter("perturb", 4, Width::U32NotZero),
];
/// Not shown.
const FLOWS: Counter = counter("flows", 16, Width::U32);

fn options(words: &mut Words) -> Result<Message, String> {
    let mut raw = [0; LENGTH];
    while let Some(word) = words.next() {
        let field = FIELDS.iter().chain([&FLOWS]).find(|field| field.name == word);
        let at = field.ok_or_else(|| format!("`sfq` has no `{word}`"))?.offset;
        let value: u32 = words.number(word)?;
        raw[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    let mut message = Message::attributes();
    message.put(TCA_OPTIONS, &raw);
    Ok(message)
}
