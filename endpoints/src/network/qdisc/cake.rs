//! `cake`: Common Applications Kept Enhanced.

use super::table::{argument, read, renamed, show as show_table, Argument, Form};
use super::{rate, Kind, Object};
use crate::network::message::{attributes, find, u32_at, u64_at, Message};
use crate::network::words::{wrong, Words};
use serde_json::Value;

/// What is known of it.
pub const KIND: Kind = Kind {
    name: "cake",
    options: |words| read("cake", ARGUMENTS, Some(special), words),
    show,
    statistics,
};

const BASE_RATE: u16 = 2;
const ATM: u16 = 4;
const OVERHEAD: u16 = 6;
const RTT: u16 = 7;
const TARGET: u16 = 8;
const RAW: u16 = 12;
const ACK_FILTER: u16 = 16;

/// How many targets of its `CoDel` a round trip has.
const TARGETS: u32 = 20;

const ARGUMENTS: &[Argument] = &[
    argument("diffserv", 3, Form::Index(&DIFFSERVS)),
    argument("flowmode", 5, Form::Index(&FLOW_MODES)),
    argument("mpu", 14, Form::NotZero),
    argument("memlimit", 10, Form::NotZero),
    argument("wash", 13, Form::Switch("nowash")),
    renamed("split-gso", 17, Form::Switch("no-split-gso"), "split_gso"),
];
const DIFFSERVS: [&str; 5] = ["diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"];
const FLOW_MODES: [&str; 8] = [
    "flowblind",
    "srchost",
    "dsthost",
    "hosts",
    "flows",
    "dual-srchost",
    "dual-dsthost",
    "triple-isolate",
];
const ACK_FILTERS: [&str; 3] = ["disabled", "enabled", "aggressive"];

/// What sets two attributes, or one of another width.
fn special(word: &str, words: &mut Words, options: &mut Message) -> Result<bool, String> {
    match word {
        "unlimited" => options.put_u64(BASE_RATE, 0),
        "bandwidth" => options.put_u64(BASE_RATE, rate::read(words, word)?),
        "atm" => options.put_u32(ATM, 1),
        "noatm" => options.put_u32(ATM, 0),
        "rtt" => {
            let us = words.us(word)?;
            options.put_u32(RTT, us).put_u32(TARGET, (us / TARGETS).max(1))
        }
        "no-ack-filter" => options.put_u32(ACK_FILTER, 0),
        "ack-filter" => options.put_u32(ACK_FILTER, 1),
        "ack-filter-aggressive" => options.put_u32(ACK_FILTER, 2),
        // The whole frame is what counts.
        "raw" => options.put_u32(ATM, 0).put_u32(RAW, 0),
        "overhead" => {
            let bytes: i32 = words.number(word)?;
            if !(-64..=256).contains(&bytes) {
                return Err(wrong(word, &bytes.to_string(), "a number from -64 to 256"));
            }
            options.put_u32(OVERHEAD, bytes as u32)
        }
        _ => return Ok(false),
    };
    Ok(true)
}

/// In the order of tc.
fn show(options: &[u8], shown: &mut Object) {
    let number = |attribute| find(options, attribute).map(|payload| u32_at(payload, 0));
    match find(options, BASE_RATE).map(|payload| u64_at(payload, 0)) {
        Some(0) => shown.insert("bandwidth".into(), "unlimited".into()),
        Some(rate) => shown.insert("bandwidth".into(), rate.into()),
        None => None,
    };
    show_table(&ARGUMENTS[..2], options, shown);
    for (name, attribute) in [("nat", 11), ("wash", 13), ("ingress", 15), ("split_gso", 17)] {
        shown.insert(name.into(), (number(attribute).unwrap_or(0) != 0).into());
    }
    let filter = number(ACK_FILTER).unwrap_or(0) as usize;
    let filter = ACK_FILTERS.get(filter).copied().unwrap_or("unknown");
    shown.insert("ack-filter".into(), filter.into());
    shown.insert("rtt".into(), number(RTT).unwrap_or(0).into());
    let is_raw = find(options, RAW).is_some();
    shown.insert("raw".into(), is_raw.into());
    match number(ATM) {
        Some(1) => shown.insert("atm".into(), "atm".into()),
        Some(2) => shown.insert("atm".into(), "ptm".into()),
        _ if !is_raw => shown.insert("atm".into(), "noatm".into()),
        _ => None,
    };
    shown.insert("overhead".into(), (number(OVERHEAD).unwrap_or(0) as i32).into());
    show_table(&ARGUMENTS[2..4], options, shown);
    let mark = match number(18).unwrap_or(0) {
        0 => "0".into(),
        mark => format!("{mark:#x}"),
    };
    shown.insert("fwmark".into(), mark.into());
}

/// Of the qdisc: name, attribute.
const STATISTICS: &[(&str, u16)] = &[
    ("memory_used", 4),
    ("memory_limit", 3),
    ("min_network_size", 6),
    ("max_network_size", 7),
    ("min_adj_size", 8),
    ("max_adj_size", 9),
    ("avg_hdr_offset", 5),
];
const CAPACITY: u16 = 2;
const TINS: u16 = 10;

/// Of a tin: name, attribute.
const TIN: &[(&str, u16)] = &[
    ("threshold_rate", 12),
    ("sent_bytes", 3),
    ("backlog_bytes", 11),
    ("target_us", 13),
    ("interval_us", 14),
    ("peak_delay_us", 18),
    ("avg_delay_us", 19),
    ("base_delay_us", 20),
    ("sent_packets", 2),
    ("way_indirect_hits", 15),
    ("way_misses", 16),
    ("way_collisions", 17),
    ("drops", 4),
    ("ecn_mark", 8),
    ("ack_drops", 6),
    ("sparse_flows", 21),
    ("bulk_flows", 22),
    ("unresponsive_flows", 23),
    ("max_pkt_len", 24),
    ("flow_quantum", 25),
];

fn statistics(raw: &[u8], shown: &mut Object) {
    let number = |bytes: &[u8]| {
        if bytes.len() >= 8 {
            u64_at(bytes, 0)
        } else {
            u32_at(bytes, 0).into()
        }
    };
    for (name, attribute) in STATISTICS.iter().chain(&[("capacity_estimate", CAPACITY)]) {
        if let Some(payload) = find(raw, *attribute) {
            shown.insert((*name).into(), number(payload).into());
        }
    }
    let tins: Vec<Value> = attributes(find(raw, TINS).unwrap_or_default())
        .map(|(_, tin)| {
            let mut one = Object::new();
            for (name, attribute) in TIN {
                if let Some(payload) = find(tin, *attribute) {
                    one.insert((*name).into(), number(payload).into());
                }
            }
            Value::Object(one)
        })
        .collect();
    if !tins.is_empty() {
        shown.insert("tins".into(), tins.into());
    }
}
