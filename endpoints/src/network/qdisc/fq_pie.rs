//! `fq_pie`: fair queueing, PIE in each queue.

use super::table::{argument, count, counter, read, show, Argument, Counter, Form, Width};
use super::Kind;

/// What is known of it.
pub const KIND: Kind = Kind {
    name: "fq_pie",
    options: |words| read("fq_pie", ARGUMENTS, None, words),
    show: |options, shown| show(ARGUMENTS, options, shown),
    statistics: |raw, shown| count(STATISTICS, raw, shown),
};

const ARGUMENTS: &[Argument] = &[
    argument("limit", 1, Form::Number),
    argument("flows", 2, Form::Number),
    argument("target", 3, Form::Us),
    argument("tupdate", 4, Form::Us),
    argument("alpha", 5, Form::Number),
    argument("beta", 6, Form::Number),
    argument("quantum", 7, Form::Number),
    argument("memory_limit", 8, Form::Number),
    argument("ecn_prob", 9, Form::Number),
    argument("ecn", 10, Form::Switch("noecn")),
    argument("bytemode", 11, Form::Switch("nobytemode")),
    argument("dq_rate_estimator", 12, Form::Switch("no_dq_rate_estimator")),
];

/// `struct tc_fq_pie_xstats`.
const STATISTICS: &[Counter] = &[
    counter("pkts_in", 0, Width::U32),
    counter("overlimit", 8, Width::U32),
    counter("overmemory", 12, Width::U32),
    counter("dropped", 4, Width::U32),
    counter("ecn_mark", 16, Width::U32),
    counter("new_flow_count", 20, Width::U32),
    counter("new_flows_len", 24, Width::U32),
    counter("old_flows_len", 28, Width::U32),
    counter("memory_used", 32, Width::U32),
];
