//! `fq`: fair queueing, one queue per flow.

use super::table::{
    argument, count, counter, read, show as show_table, Argument, Counter, Form, Width,
};
use super::{Kind, Object};
use crate::network::message::{find, u32_at};
use serde_json::Value;

/// What is known of it.
pub const KIND: Kind =
    Kind { name: "fq", options: |words| read("fq", ARGUMENTS, None, words), show, statistics };

const HORIZON_DROP: u16 = 15;
const PRIOMAP: u16 = 16;
const WEIGHTS: u16 = 17;
/// Entries of a priority map (`TC_PRIO_MAX` + 1), and bands.
const PRIORITIES: usize = 16;
const BANDS: usize = 3;

const ARGUMENTS: &[Argument] = &[
    argument("limit", 1, Form::Number),
    argument("flow_limit", 2, Form::Number),
    argument("orphan_mask", 10, Form::Number),
    argument("quantum", 3, Form::Number),
    argument("initial_quantum", 4, Form::Number),
    argument("refill_delay", 9, Form::Shown),
    argument("low_rate_threshold", 11, Form::ShownUnless(0)),
    argument("timer_slack", 13, Form::Shown),
    argument("horizon", 14, Form::Shown),
    argument("offload_horizon", 18, Form::Shown),
    argument("maxrate", 7, Form::ShownUnless(u32::MAX)),
    argument("defrate", 6, Form::ShownUnless(0)),
    argument("ce_threshold", 12, Form::UsUnless(u32::MAX)),
    argument("buckets", 8, Form::Power),
    argument("pacing", 5, Form::SwitchOn("nopacing")),
];

fn show(options: &[u8], shown: &mut Object) {
    show_table(ARGUMENTS, options, shown);
    if let Some(drops) = find(options, HORIZON_DROP).and_then(|payload| payload.first()) {
        let name = if *drops == 0 { "horizon_cap" } else { "horizon_drop" };
        shown.insert(name.into(), Value::Null);
    }
    // tc writes the next two names with a space at their end.
    if let Some(map) = find(options, PRIOMAP).filter(|map| map.len() >= 4 + PRIORITIES) {
        shown.insert("bands".into(), u32_at(map, 0).into());
        shown.insert("priomap ".into(), map[4..4 + PRIORITIES].into());
    }
    if let Some(weights) = find(options, WEIGHTS).filter(|all| all.len() >= 4 * BANDS) {
        let weights: Vec<u32> = (0..BANDS).map(|band| u32_at(weights, 4 * band)).collect();
        shown.insert("weights ".into(), weights.into());
    }
}

/// `struct tc_fq_qd_stats`. tc writes `throttled` twice: the second one, of all time, is what
/// stays.
const STATISTICS: &[Counter] = &[
    counter("flows", 64, Width::U32),
    counter("inactive", 68, Width::U32),
    counter("band0_pkts", 136, Width::U32),
    counter("band1_pkts", 140, Width::U32),
    counter("band2_pkts", 144, Width::U32),
    counter("gc", 0, Width::U64),
    counter("highprio", 8, Width::U64),
    counter("fastpath", 104, Width::U64NotZero),
    counter("retrans", 16, Width::U64NotZero),
    counter("throttled", 24, Width::U64),
    counter("latency", 76, Width::U32NotZero),
    counter("ce_mark", 80, Width::U64NotZero),
    counter("flows_plimit", 32, Width::U64NotZero),
    counter("pkts_too_long", 40, Width::U64NotZero),
    counter("alloc_errors", 48, Width::U64NotZero),
    counter("horizon_drops", 88, Width::U64NotZero),
    counter("horizon_caps", 96, Width::U64NotZero),
    counter("band0_drops", 112, Width::U64NotZero),
    counter("band1_drops", 120, Width::U64NotZero),
    counter("band2_drops", 128, Width::U64NotZero),
];

fn statistics(raw: &[u8], shown: &mut Object) {
    count(STATISTICS, raw, shown);
    let next = crate::network::message::u64_at(raw, 56) as i64;
    if next > 0 {
        shown.insert("next_packet_delay".into(), next.into());
    }
}
