//! `pie` (RFC 8033).

use super::table::{argument, count, counter, read, show, Argument, Counter, Form, Width};
use super::{Kind, Object};
use crate::network::message::{u32_at, u64_at};

/// What is known of it.
pub const KIND: Kind = Kind {
    name: "pie",
    options: |words| read("pie", ARGUMENTS, None, words),
    show: |options, shown| show(ARGUMENTS, options, shown),
    statistics,
};

const ARGUMENTS: &[Argument] = &[
    argument("limit", 2, Form::Number),
    argument("target", 1, Form::Us),
    argument("tupdate", 3, Form::Us),
    argument("alpha", 4, Form::Number),
    argument("beta", 5, Form::Number),
    argument("ecn", 6, Form::Switch("noecn")),
    argument("bytemode", 7, Form::Switch("nobytemode")),
    argument("dq_rate_estimator", 8, Form::Switch("no_dq_rate_estimator")),
];

/// `struct tc_pie_xstats`, after the probability.
const STATISTICS: &[Counter] = &[
    counter("delay", 8, Width::U32),
    counter("pkts_in", 20, Width::U32),
    counter("overlimit", 28, Width::U32),
    counter("dropped", 24, Width::U32),
    counter("maxq", 32, Width::U32),
    counter("ecn_mark", 36, Width::U32),
];

fn statistics(raw: &[u8], shown: &mut Object) {
    let probability = u64_at(raw, 0) as f64 / u64::MAX as f64;
    shown.insert("prob".into(), probability.into());
    if u32_at(raw, 16) != 0 {
        shown.insert("avg_dq_rate".into(), u32_at(raw, 12).into());
    }
    count(STATISTICS, raw, shown);
}
