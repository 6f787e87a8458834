//! `fq_codel` (RFC 8290).

use super::table::{argument, count, counter, read, show, Argument, Counter, Form, Width};
use super::Kind;
use crate::network::message::u32_at;

/// What is known of it.
pub const KIND: Kind = Kind {
    name: "fq_codel",
    options: |words| read("fq_codel", ARGUMENTS, None, words),
    show: |options, shown| show(ARGUMENTS, options, shown),
    statistics: |raw, shown| {
        // The same attribute has statistics of a class.
        if u32_at(raw, 0) == OF_QDISC {
            count(STATISTICS, raw, shown);
        }
    },
};

const ARGUMENTS: &[Argument] = &[
    argument("limit", 2, Form::Number),
    argument("flows", 5, Form::Number),
    argument("quantum", 6, Form::Number),
    argument("target", 1, Form::Us),
    argument("ce_threshold", 7, Form::Us),
    argument("interval", 3, Form::Us),
    argument("memory_limit", 9, Form::Number),
    argument("ecn", 4, Form::Switch("noecn")),
    argument("drop_batch", 8, Form::NotZero),
];

/// `TCA_FQ_CODEL_XSTATS_QDISC`.
const OF_QDISC: u32 = 0;

/// `struct tc_fq_codel_xstats`.
const STATISTICS: &[Counter] = &[
    counter("maxpacket", 4, Width::U32),
    counter("drop_overlimit", 8, Width::U32),
    counter("new_flow_count", 16, Width::U32),
    counter("ecn_mark", 12, Width::U32),
    counter("ce_mark", 28, Width::U32NotZero),
    counter("memory_used", 32, Width::U32NotZero),
    counter("drop_overmemory", 36, Width::U32NotZero),
    counter("new_flows_len", 20, Width::U32),
    counter("old_flows_len", 24, Width::U32),
];
