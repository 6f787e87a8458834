//! `dualpi2`: coupled queues for L4S and classic traffic (RFC 9332; `net/sched/sch_dualpi2.c`).

use super::table::{
    argument, count, counter, read, renamed, show as show_table, Argument, Counter, Form, Width,
};
use super::{Kind, Object};
use crate::network::message::{find, u32_at, Message};
use crate::network::words::{time_ns, wrong, Words};
use serde_json::Value;

/// What is known of it.
pub const KIND: Kind = Kind {
    name: "dualpi2",
    options: |words| read("dualpi2", ARGUMENTS, Some(step), words),
    show,
    statistics,
};

const STEP_PACKETS: u16 = 7;
const STEP_US: u16 = 8;
const SPLIT_GSO: u16 = 15;

/// Gains are counted in units of this part of 1 Hz.
const GAIN: f64 = 256.0;

/// Attributes: `TCA_DUALPI2_...` of `pkt_sched.h`. Shown as by tc of iproute2 6.17: times in
/// us, gains in Hz.
const ARGUMENTS: &[Argument] = &[
    argument("limit", 1, Form::Number),
    renamed("memlimit", 2, Form::Number, "memory-limit"),
    argument("target", 3, Form::Us),
    argument("tupdate", 4, Form::Us),
    argument("step-thresh-pkts", STEP_PACKETS, Form::Shown),
    argument("step-thresh-us", STEP_US, Form::Shown),
    renamed("min_qlen_step", 9, Form::Number, "min-qlen-step"),
    argument("alpha", 5, Form::Gain(GAIN)),
    argument("beta", 6, Form::Gain(GAIN)),
    renamed("coupling_factor", 10, Form::Byte, "coupling"),
    renamed("classic_protection", 13, Form::Byte, "c-protection"),
    renamed("", 11, Form::Words(ON_OVERLOAD), "drop-overload"),
    renamed("", 12, Form::Words(DROPS), "drop-early"),
    renamed("", 14, Form::Words(ECN_MASKS), "ecn-mask"),
    renamed("", SPLIT_GSO, Form::Words(SPLITS), "split-gso"),
];
const ON_OVERLOAD: &[(&str, &str, u32)] =
    &[("overflow", "overflow", 0), ("drop_on_overload", "drop", 1)];
const DROPS: &[(&str, &str, u32)] =
    &[("drop_dequeue", "drop-dequeue", 0), ("drop_enqueue", "drop-enqueue", 1)];
const ECN_MASKS: &[(&str, &str, u32)] =
    &[("l4s_ect", "l4s-ect", 1), ("classic_ect", "classic-ect", 2), ("any_ect", "any-ect", 3)];
const SPLITS: &[(&str, &str, u32)] = &[("no_split_gso", "off", 0), ("split_gso", "on", 1)];

/// The step is a number of packets or a time.
fn step(word: &str, words: &mut Words, options: &mut Message) -> Result<bool, String> {
    if word != "step_thresh" {
        return Ok(false);
    }
    let value = words.value(word)?;
    if let Some(packets) = value.strip_suffix('p').and_then(|number| number.parse().ok()) {
        options.put_u32(STEP_PACKETS, packets);
        return Ok(true);
    }
    // The kernel would silently take 4.29 s for more.
    let ns = time_ns(value)
        .and_then(|ns| u32::try_from(ns).ok())
        .ok_or_else(|| wrong(word, value, "a time of at most 4294 ms, or packets such as 5p"))?;
    options.put_u32(STEP_US, ns / 1000);
    Ok(true)
}

fn show(options: &[u8], shown: &mut Object) {
    show_table(ARGUMENTS, options, shown);
    // A word without a value.
    shown.remove("split-gso");
    if find(options, SPLIT_GSO).and_then(<[u8]>::first) == Some(&1) {
        shown.insert("split-gso".into(), Value::Null);
    }
}

/// `struct tc_dualpi2_xstats`: what happened, and how long the head of each queue has waited, us.
const STATISTICS: &[Counter] = &[
    counter("delay-c", 4, Width::U32),
    counter("delay-l", 8, Width::U32),
    counter("pkts-in-c", 12, Width::U32),
    counter("pkts-in-l", 16, Width::U32),
    counter("maxq", 20, Width::U32),
    counter("ecn-mark", 24, Width::U32),
    counter("step-mark", 28, Width::U32),
    counter("memory-used", 36, Width::U32),
    counter("max-memory-used", 40, Width::U32),
    counter("credit", 32, Width::I32),
];

fn statistics(raw: &[u8], shown: &mut Object) {
    let probability = f64::from(u32_at(raw, 0)) / f64::from(u32::MAX);
    shown.insert("prob".into(), probability.into());
    count(STATISTICS, raw, shown);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::qdisc::TCA_OPTIONS;

    fn read(arguments: &str) -> Result<Object, String> {
        let message = (KIND.options)(&mut Words::of(arguments))?;
        let mut shown = Object::new();
        show(find(message.bytes(), TCA_OPTIONS).unwrap(), &mut shown);
        Ok(shown)
    }

    #[test]
    fn every_argument_becomes_an_attribute_and_is_shown() {
        let shown = read(
            "limit 100 memlimit 33554432 target 15ms tupdate 16ms alpha 0.160156 beta 3.199219 \
             step_thresh 1ms min_qlen_step 0 coupling_factor 2 overflow drop_enqueue \
             classic_protection 10 any_ect split_gso",
        )
        .unwrap();
        let expected = serde_json::json!({
            "limit": 100, "memory-limit": 33_554_432, "target": 15_000, "tupdate": 16_000,
            "alpha": 41.0 / 256.0, "beta": 819.0 / 256.0, "step-thresh-us": 1000,
            "min-qlen-step": 0, "coupling": 2, "drop-overload": "overflow",
            "drop-early": "drop-enqueue", "c-protection": 10, "ecn-mask": "any-ect",
            "split-gso": null,
        });
        assert_eq!(Value::Object(shown), expected);
        assert_eq!(read("step_thresh 5p").unwrap()["step-thresh-pkts"], 5);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (arguments, message) in [
            ("limit -1", "`limit` is `-1`"),
            ("coupling_factor 256", "`coupling_factor` is `256`"),
            ("alpha 0", "a gain from 1/256"),
            ("alpha nan", "a gain from 1/256"),
            ("step_thresh 5s", "at most 4294 ms"),
            ("step_thresh 5", "packets such as 5p"),
            ("tupdate", "`tupdate` has no value"),
            ("ecn", "`dualpi2` has no `ecn`"),
        ] {
            let error = read(arguments).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
