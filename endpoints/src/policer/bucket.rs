//! A user's token bucket: what it holds, and which packets it drops.

use crate::random::mix;
use serde::{Deserialize, Serialize};

/// What an empty bucket does: the probability of a drop against the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Harshness {
    /// Grows from 0 to 1 as the level goes from 0 to minus the depth.
    Soft,
    /// Grows from 0 to 1 as the level goes from 0 to minus a tenth of the depth.
    Mild,
    /// 1 as soon as the bucket is empty.
    Strict,
}

/// When a re-echo takes its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Charge {
    /// Once the packet has been forwarded; a packet that is dropped takes none.
    Forwarded,
    /// On arrival, before the decision; the level has a floor of minus the depth.
    Arrived,
}

/// What all buckets of a policer have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Fill rate, tokens/s.
    pub rate: f64,
    /// Depth, tokens: a level is never above it.
    pub depth: f64,
    /// What an empty bucket does.
    pub harshness: Harshness,
    /// When a re-echo takes its token.
    pub charge: Charge,
    /// Where the random numbers come from.
    pub seed: u64,
}

impl Rule {
    /// The probability that a packet is dropped at a level.
    #[must_use]
    pub fn probability(&self, level: f64) -> f64 {
        let growing = |steepness: f64| (-steepness * level / self.depth).clamp(0.0, 1.0);
        match self.harshness {
            Harshness::Soft => growing(1.0),
            Harshness::Mild => growing(10.0),
            Harshness::Strict if level <= 0.0 => 1.0,
            Harshness::Strict => 0.0,
        }
    }
}

/// The bucket of one user. It begins full.
#[derive(Debug)]
pub struct Bucket {
    number: u64,
    level: f64,
    filled_ns: Option<i64>,
    arrivals: u64,
}

/// What a bucket did with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Decision {
    /// Whether the packet is dropped.
    pub dropped: bool,
    /// The level that decided, tokens.
    pub level: f64,
}

impl Bucket {
    /// Bucket `number` of a policer, full.
    #[must_use]
    pub fn new(number: u64, rule: &Rule) -> Self {
        Bucket { number, level: rule.depth, filled_ns: None, arrivals: 0 }
    }

    /// A packet arrives at a time, ns; `echo`: it exposes congestion.
    pub fn arrive(&mut self, rule: &Rule, t_ns: i64, echo: bool) -> Decision {
        let passed_ns = t_ns - self.filled_ns.replace(t_ns).unwrap_or(t_ns);
        let filled = self.level + rule.rate * (passed_ns as f64 * 1e-9);
        self.level = filled.min(rule.depth);
        if echo && rule.charge == Charge::Arrived {
            self.level = (self.level - 1.0).max(-rule.depth);
        }
        let level = self.level;
        let dropped = uniform(rule.seed, self.number, self.arrivals) < rule.probability(level);
        self.arrivals += 1;
        if echo && !dropped && rule.charge == Charge::Forwarded {
            self.level -= 1.0;
        }
        Decision { dropped, level }
    }
}

/// Number `n` of a bucket's random numbers, in [0, 1): 53 bits. Every packet has its own, whatever
/// happened to those before it, so that two runs can be compared packet by packet.
fn uniform(seed: u64, bucket: u64, n: u64) -> f64 {
    const UNIT: f64 = 1.0 / 9_007_199_254_740_992.0;
    (mix(mix(mix(seed) ^ bucket) ^ n) >> 11) as f64 * UNIT
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // to the last bit: another program computes the same
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn rule(harshness: Harshness, charge: Charge) -> Rule {
        Rule { rate: 2.0, depth: 10.0, harshness, charge, seed: 7 }
    }

    fn levels(rule: &Rule, arrivals: &[(i64, bool)]) -> Vec<(f64, bool)> {
        let mut bucket = Bucket::new(0, rule);
        let decide = |(t_ns, echo): &(i64, bool)| {
            let decision = bucket.arrive(rule, *t_ns, *echo);
            (decision.level, decision.dropped)
        };
        arrivals.iter().map(decide).collect()
    }

    #[test]
    fn the_probability_is_that_of_the_definition() {
        let at = |harshness, level| rule(harshness, Charge::Forwarded).probability(level);
        for (level, soft, mild, strict) in [
            (10.0, 0.0, 0.0, 0.0),
            (1e-9, 0.0, 0.0, 0.0),
            (0.0, 0.0, 0.0, 1.0),
            (-0.5, 0.05, 0.5, 1.0),
            (-1.0, 0.1, 1.0, 1.0),
            (-5.0, 0.5, 1.0, 1.0),
            (-12.0, 1.0, 1.0, 1.0),
        ] {
            assert_eq!(at(Harshness::Soft, level), soft);
            assert_eq!(at(Harshness::Mild, level), mild);
            assert_eq!(at(Harshness::Strict, level), strict);
        }
    }

    /// Full at first; a re-echo takes one; time fills at 2 tokens/s, to 10 at most.
    #[test]
    fn a_sequence_by_hand() {
        let rule = rule(Harshness::Strict, Charge::Forwarded);
        let seen =
            levels(&rule, &[(0, true), (0, true), (S / 4, false), (S / 4, true), (9 * S, false)]);
        assert_eq!(seen, [10.0, 9.0, 8.5, 8.5, 10.0].map(|level| (level, false)));
    }

    #[test]
    fn strict_drops_all_from_an_empty_bucket_and_takes_nothing_for_it() {
        let rule = rule(Harshness::Strict, Charge::Forwarded);
        let mut arrivals = vec![(0, true); 12];
        arrivals.extend([(S / 2, false), (S / 2, true), (S / 2, false)]);
        let seen = levels(&rule, &arrivals);
        assert_eq!(seen[9..12], [(1.0, false), (0.0, true), (0.0, true)]);
        assert_eq!(seen[12..], [(1.0, false), (1.0, false), (0.0, true)]);
    }

    #[test]
    fn charging_on_arrival_takes_before_it_decides_and_has_a_floor() {
        let rule = rule(Harshness::Strict, Charge::Arrived);
        let seen = levels(&rule, &[(0, true); 25]);
        assert_eq!((seen[0], seen[8]), ((9.0, false), (1.0, false)));
        assert_eq!((seen[9], seen[19], seen[24]), ((0.0, true), (-10.0, true), (-10.0, true)));
    }

    /// At level -0.5 of depth 10, mild drops half: 20,000 packets, five standard errors.
    #[test]
    fn random_drops_are_as_frequent_as_their_probability() {
        let rule = Rule { rate: 0.0, ..rule(Harshness::Mild, Charge::Forwarded) };
        let mut bucket = Bucket::new(3, &rule);
        bucket.level = -0.5;
        let dropped = (0..20_000).filter(|_| bucket.arrive(&rule, 0, false).dropped).count();
        assert!((dropped as f64 - 10_000.0).abs() < 5.0 * 5_000_f64.sqrt(), "{dropped}");
    }

    /// Poisson or not: in the long run strict forwards re-echoes at the fill rate and no faster.
    #[test]
    fn tokens_are_taken_at_the_fill_rate() {
        let rule = rule(Harshness::Strict, Charge::Forwarded);
        let arrivals: Vec<_> = (0..100_000).map(|n| (n * S / 100, true)).collect();
        let taken = levels(&rule, &arrivals).iter().filter(|(_, dropped)| !dropped).count();
        // 1,000 s at 2 tokens/s, and the full bucket that it begins with.
        assert!((2_009..=2_011).contains(&taken), "{taken}");
    }

    /// The same numbers as `decisions.py` of the policer has
    /// (`tests/measurement/test_policing.py`).
    #[test]
    fn random_numbers_are_fixed() {
        let numbers = [uniform(0, 0, 0), uniform(42, 3, 7), uniform(u64::MAX, 99, 1_000_000)];
        assert_eq!(numbers, RANDOM);
    }

    #[allow(clippy::unreadable_literal)] // as they were printed
    const RANDOM: [f64; 3] = [0.13870941014555427, 0.6686949404958634, 0.8312690680189808];
}
