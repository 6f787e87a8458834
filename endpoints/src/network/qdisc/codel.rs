//! `codel` (RFC 8289).

use super::table::{argument, count, counter, read, show, Argument, Counter, Form, Width};
use super::{Kind, Object};
use crate::network::message::u32_at;

/// What is known of it.
pub const KIND: Kind = Kind {
    name: "codel",
    options: |words| read("codel", ARGUMENTS, None, words),
    show: |options, shown| show(ARGUMENTS, options, shown),
    statistics,
};

const ARGUMENTS: &[Argument] = &[
    argument("limit", 2, Form::Number),
    argument("target", 1, Form::Us),
    argument("ce_threshold", 5, Form::Us),
    argument("interval", 3, Form::Us),
    argument("ecn", 4, Form::Switch("noecn")),
];

/// `struct tc_codel_xstats`.
const STATISTICS: &[Counter] = &[
    counter("count", 4, Width::U32),
    counter("lastcount", 8, Width::U32),
    counter("ldelay", 12, Width::U32),
    counter("drop_next", 16, Width::I32),
    counter("maxpacket", 0, Width::U32),
    counter("ecn_mark", 24, Width::U32),
    counter("drop_overlimit", 20, Width::U32),
    counter("ce_mark", 32, Width::U32NotZero),
];

fn statistics(raw: &[u8], shown: &mut Object) {
    count(STATISTICS, raw, shown);
    if u32_at(raw, 28) != 0 {
        shown.insert("dropping".into(), true.into());
    }
}
