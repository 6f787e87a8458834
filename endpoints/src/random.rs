//! Random numbers of a distribution, the same on every CPU.
//!
//! Definitions are those of `compiler/draws.py`. Bits come from xoshiro256++ (Blackman and Vigna,
//! ACM Transactions on Mathematical Software 47, 2021), logarithms and exponentials from the crate
//! `libm`: those of the C library differ between machines. Square roots are exact everywhere.

use crate::json::{within, Description};
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

/// Shortest mean of what is drawn again and again, s: below it a program would only draw.
const SHORTEST_MEAN_S: f64 = 1e-6;
/// Greatest parameter of a distribution: 2^53, to which a float counts exactly.
const MOST: f64 = 9_007_199_254_740_992.0;

/// A random quantity, in the unit of the quantity that is drawn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "parameters", rename_all = "lowercase", deny_unknown_fields)]
pub enum Distribution {
    /// Always `value`.
    Constant {
        /// The value.
        value: f64,
    },
    /// Between two limits, all equally likely.
    Uniform {
        /// Lowest value.
        low: f64,
        /// Highest value.
        high: f64,
    },
    /// Memoryless.
    Exponential {
        /// Mean value.
        mean: f64,
    },
    /// P(X > x) = (s / x)^shape, with s so that the mean is s shape / (shape - 1).
    Pareto {
        /// Mean value.
        mean: f64,
        /// Shape, above 1.
        shape: f64,
    },
    /// Gamma.
    Gamma {
        /// Mean value.
        mean: f64,
        /// Shape.
        shape: f64,
    },
    /// As observed: points of a distribution function, straight lines in between.
    Empirical {
        /// Values, ascending.
        values: Vec<f64>,
        /// The share of what is not above each, ascending to 1.
        shares: Vec<f64>,
    },
    /// Normal, cut at zero: drawn again while it is negative.
    Normal {
        /// Mean before the cut.
        mean: f64,
        /// Standard deviation before the cut.
        deviation: f64,
    },
}

impl Description for Distribution {
    fn check(&self) -> Result<(), String> {
        let value = |name, value: f64| within(&format!("parameters.{name}"), value, 0.0, MOST);
        match *self {
            Distribution::Constant { value: constant } => value("value", constant),
            Distribution::Uniform { low, high } => {
                value("low", low).and_then(|()| value("high", high))?;
                let right = low <= high;
                right
                    .then_some(())
                    .ok_or("`parameters.`parameters.low` is above `parameters.high`".into())
            }
            Distribution::Exponential { mean } => value("mean", mean),
            Distribution::Pareto { mean, shape } => {
                value("mean", mean).and_then(|()| value("shape", shape))?;
                (shape > 1.0).then_some(()).ok_or("`parameters.shape` must be above 1".into())
            }
            Distribution::Gamma { mean, shape } => {
                value("mean", mean).and_then(|()| value("shape", shape))?;
                (shape >= 0.01).then_some(()).ok_or("`parameters.shape` is below 0.01".into())
            }
            Distribution::Normal { mean, deviation } => {
                value("mean", mean).and_then(|()| value("deviation", deviation))
            }
            Distribution::Empirical { ref values, ref shares } => {
                values.iter().try_for_each(|&one| value("values", one))?;
                let rises = |column: &[f64]| column.is_sorted_by(|a, b| a <= b);
                let sound = values.len() == shares.len()
                    && rises(values)
                    && rises(shares)
                    && shares.first().is_some_and(|&first| first >= 0.0)
                    && shares.last().is_some_and(|&last| (last - 1.0).abs() < f64::EPSILON);
                sound
                    .then_some(())
                    .ok_or("`parameters` has values and shares that do not ascend to 1".into())
            }
        }
    }
}

impl Distribution {
    /// The mean; of `normal`, which is cut at zero, a lower bound of it.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Distribution::Constant { value } => value,
            Distribution::Uniform { low, high } => f64::midpoint(low, high),
            Distribution::Exponential { mean }
            | Distribution::Pareto { mean, .. }
            | Distribution::Gamma { mean, .. } => mean,
            // Half a normal distribution has the mean sqrt(2 / pi) deviation.
            Distribution::Normal { mean, deviation } => mean.max(0.79 * deviation),
            Distribution::Empirical { ref values, ref shares } => {
                let mut total = values.first().unwrap_or(&0.0) * shares.first().unwrap_or(&0.0);
                for (value, share) in values.windows(2).zip(shares.windows(2)) {
                    total += f64::midpoint(value[0], value[1]) * (share[1] - share[0]);
                }
                total
            }
        }
    }
}

/// The value that a share of a distribution does not exceed, 0 < share < 1, from its points.
fn quantile(values: &[f64], shares: &[f64], share: f64) -> f64 {
    let place = shares.partition_point(|&one| one < share).min(shares.len() - 1);
    if place == 0 {
        return values[0];
    }
    let part = (share - shares[place - 1]) / (shares[place] - shares[place - 1]);
    values[place - 1] + (values[place] - values[place - 1]) * part
}

/// Numbers of one distribution, one after the other.
#[derive(Debug, Clone)]
pub struct Draws {
    distribution: Distribution,
    bits: Xoshiro256PlusPlus,
}

impl Draws {
    /// The numbers of stream `stream` of a connection. Every seed, connection and stream has
    /// numbers of its own, so that a change of one distribution moves the numbers of no other.
    #[must_use]
    pub fn new(distribution: &Distribution, seed: u64, connection: u32, stream: u32) -> Self {
        let seed = mix(mix(mix(seed) ^ u64::from(connection)) ^ u64::from(stream));
        Draws { distribution: distribution.clone(), bits: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// The next number, >= 0.
    pub fn number(&mut self) -> f64 {
        let share = match self.distribution {
            Distribution::Empirical { .. } => self.uniform(),
            _ => 0.0,
        };
        match self.distribution {
            Distribution::Empirical { ref values, ref shares } => quantile(values, shares, share),
            Distribution::Constant { value } => value,
            Distribution::Uniform { low, high } => low + (high - low) * self.uniform(),
            Distribution::Exponential { mean } => -mean * libm::log(self.uniform()),
            Distribution::Pareto { mean, shape } => {
                mean * (shape - 1.0) / shape * power(self.uniform(), -1.0 / shape)
            }
            Distribution::Gamma { mean, shape } => mean / shape * self.standard_gamma(shape),
            Distribution::Normal { mean, deviation } => loop {
                let value = mean + deviation * self.standard_normal();
                if value >= 0.0 {
                    return value;
                }
            },
        }
    }

    /// The next number of seconds, in ns.
    pub fn ns(&mut self) -> i64 {
        // A float that is too large becomes the largest integer.
        ((self.number() * 1e9).round() as i64).min(LONGEST_NS)
    }

    /// Uniform in (0, 1), limits excluded: 52 bits.
    fn uniform(&mut self) -> f64 {
        const UNIT: f64 = 1.0 / 9_007_199_254_740_992.0;
        (2 * (self.bits.next_u64() >> 12) + 1) as f64 * UNIT
    }

    /// Marsaglia's polar method (SIAM Review 6, 1964).
    fn standard_normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = x * x + y * y;
            if 0.0 < s && s < 1.0 {
                return x * (-2.0 * libm::log(s) / s).sqrt();
            }
        }
    }

    /// Marsaglia and Tsang, ACM Transactions on Mathematical Software 26, 2000, section 3.
    fn standard_gamma(&mut self, shape: f64) -> f64 {
        let boost = if shape < 1.0 { power(self.uniform(), 1.0 / shape) } else { 1.0 };
        let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.standard_normal();
            let root = 1.0 + c * x;
            let v = root * root * root;
            if v > 0.0 && libm::log(self.uniform()) < x * x / 2.0 + d - d * v + d * libm::log(v) {
                return d * v * boost;
            }
        }
    }
}

/// Some 73 years, so that sums of a few do not overflow.
const LONGEST_NS: i64 = i64::MAX / 4;

fn power(base: f64, exponent: f64) -> f64 {
    libm::exp(exponent * libm::log(base))
}

/// One step of `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014, figure 14): a bijection that
/// spreads every bit of the input over all bits of the output.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Refuses times so short that a program would do nothing but draw them.
///
/// # Errors
/// A message that begins with `name`.
pub fn lasting(distribution: &Distribution, name: &str) -> Result<(), String> {
    if distribution.mean() < SHORTEST_MEAN_S {
        return Err(format!("`{name}` has a mean below {SHORTEST_MEAN_S} s"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFORM: &str = r#""uniform", "parameters": {"low": 1, "high": 3}"#;
    const EXPONENTIAL: &str = r#""exponential", "parameters": {"mean": 2}"#;
    const PARETO: &str = r#""pareto", "parameters": {"mean": 3, "shape": 1.5}"#;
    const SMALL_GAMMA: &str = r#""gamma", "parameters": {"mean": 2, "shape": 0.5}"#;
    const GAMMA: &str = r#""gamma", "parameters": {"mean": 2, "shape": 4}"#;
    const NORMAL: &str = r#""normal", "parameters": {"mean": 1, "deviation": 2}"#;

    fn take(kind_and_parameters: &str) -> Result<Distribution, String> {
        crate::json::read(&format!(r#"{{"kind": {kind_and_parameters}}}"#))
    }

    fn draws(kind_and_parameters: &str, connection: u32, stream: u32) -> Draws {
        Draws::new(&take(kind_and_parameters).unwrap(), 42, connection, stream)
    }

    /// Computed with 40 digits from the definitions, by a program that shares no code with this
    /// one.
    #[test]
    #[allow(clippy::unreadable_literal)] // as they were printed
    fn the_numbers_are_those_of_the_definitions() {
        for (distribution, expected) in [
            (UNIFORM, [2.616170119221222, 2.6332254521924394, 2.9858136956748385]),
            (EXPONENTIAL, [0.4261759084128348, 0.40518063194189713, 0.014236856323277524]),
            (PARETO, [1.1526442331614077, 1.1446056997266567, 1.004756897056954]),
            (SMALL_GAMMA, [3.858898347732861, 1.90875717124858, 5.185776498408097]),
            (GAMMA, [2.3445255201540776, 2.0992870200051965, 2.330272707586271]),
            (NORMAL, [1.9815931901527708, 2.577586759553763, 3.6718624107438003]),
        ] {
            let mut draws = draws(distribution, 7, 1);
            for number in expected {
                let error = draws.number() / number - 1.0;
                assert!(error.abs() < 1e-13, "{distribution}: {number} is off by {error:e}");
            }
        }
    }

    /// Recorded on x86-64; nothing in the arithmetic depends on the CPU.
    #[test]
    fn the_last_bit_is_fixed() {
        let bits = |text| draws(text, 7, 1).number().to_bits();
        let all = [UNIFORM, EXPONENTIAL, PARETO, SMALL_GAMMA, GAMMA, NORMAL].map(bits);
        let expected = [
            0x4004_edea_9976_9ede,
            0x3fdb_4677_513e_7a56,
            0x3ff2_713b_1455_9eb3,
            0x400e_df06_18d0_ceff,
            0x4002_c196_988d_97dc,
            0x3fff_b49b_0f9a_eb5a,
        ];
        assert_eq!(all, expected);
    }

    /// Mean and variance of 100,000 numbers, each within five standard errors of the true value.
    #[test]
    fn moments_are_those_of_the_distribution() {
        const COUNT: u32 = 100_000;
        // Mean, variance, and fourth central moment in units of the variance squared.
        for (distribution, mean, variance, kurtosis) in [
            (r#""constant", "parameters": {"value": 5}"#, 5.0, 0.0, 0.0),
            (UNIFORM, 2.0, 1.0 / 3.0, 1.8),
            (EXPONENTIAL, 2.0, 4.0, 9.0),
            (GAMMA, 2.0, 1.0, 4.5),
            (SMALL_GAMMA, 2.0, 8.0, 15.0),
            // Shape a, scale s: variance a s^2 / ((a - 1)^2 (a - 2)) with s = mean (a - 1) / a.
            (r#""pareto", "parameters": {"mean": 9, "shape": 9}"#, 9.0, 9.0 / 7.0, 23.685_714),
            // Far from the cut.
            (r#""normal", "parameters": {"mean": 20, "deviation": 2}"#, 20.0, 4.0, 3.0),
        ] {
            let mut draws = draws(distribution, 0, 0);
            let numbers: Vec<f64> = (0..COUNT).map(|_| draws.number()).collect();
            let count = f64::from(COUNT);
            let seen_mean = numbers.iter().sum::<f64>() / count;
            let squares = numbers.iter().map(|number| (number - seen_mean).powi(2));
            let seen_variance = squares.sum::<f64>() / count;
            let mean_error = (variance / count).sqrt();
            let variance_error = variance * ((kurtosis - 1.0_f64).max(0.0) / count).sqrt();
            assert!((seen_mean - mean).abs() <= 5.0 * mean_error, "{distribution}: {seen_mean}");
            assert!(
                (seen_variance - variance).abs() <= 5.0 * variance_error,
                "{distribution}: {seen_variance}"
            );
        }
    }

    #[test]
    fn a_normal_distribution_is_cut_at_zero() {
        let mut draws = draws(NORMAL, 0, 0);
        assert!((0..10_000).all(|_| draws.number() >= 0.0));
    }

    #[test]
    fn every_connection_and_stream_has_numbers_of_its_own() {
        let first = |connection, stream| draws(EXPONENTIAL, connection, stream).number().to_bits();
        assert_eq!(first(0, 0), first(0, 0));
        let mut seen = [first(0, 0), first(0, 1), first(1, 0), first(1, 1)].to_vec();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 4);
    }

    #[test]
    fn a_number_of_seconds_is_rounded_to_ns_and_bounded() {
        let constant = |value: &str| {
            draws(&format!(r#""constant", "parameters": {{"value": {value}}}"#), 0, 0).ns()
        };
        assert_eq!(constant("1.5e-9"), 2);
        assert_eq!(constant("9000000000000000"), LONGEST_NS);
    }

    #[test]
    fn wrong_distributions_are_refused_by_name() {
        for (distribution, words) in [
            (
                r#""weibull", "parameters": {}"#,
                "`kind`: unknown variant `weibull`, expected one of `constant`",
            ),
            (r#""constant", "parameters": {}"#, "`parameters.value` is missing"),
            (r#""constant", "parameters": {"value": -1}"#, "`parameters.value` is -1"),
            (r#""constant", "parameters": {"value": 1, "x": 1}"#, "`parameters.x`"),
            (r#""constant", "parameters": {"value": 1}, "x": 1"#, "`x`"),
            (r#""uniform", "parameters": {"low": 2, "high": 1}"#, "`parameters.low` is above"),
            (r#""pareto", "parameters": {"mean": 2, "shape": 1}"#, "shape` must be above 1"),
            (r#""gamma", "parameters": {"mean": 2, "shape": 0}"#, "shape` is below"),
        ] {
            let message = take(distribution).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
    }
}
