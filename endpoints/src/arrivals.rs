//! Requests: when each is made and what it asks for, drawn as `compiler/draws.py` draws.
//!
//! Each stream of requests (what a description calls a connection) has arrivals of its own, or is a
//! part of a process that several flows share: every one of them draws all arrivals of the process
//! from the same seed, and a mark, uniform in (0, 1), with each; those whose marks lie in its range
//! are its own. So the arrivals of all together are those of the process, and nobody has to talk.

use crate::json::{described, whole, within, Description};
use crate::random::{lasting, Distribution, Draws};
use serde::Deserialize;

/// Largest object, bytes: a thousand years at 1 Gbit/s do not overflow.
pub const MAX_BYTES: i64 = 1 << 62;

/// The least part of a shared process that one stream may have: one of a million arrivals.
const LEAST_PART: f64 = 1e-6;
/// Streams of random numbers of a connection, or of the process.
const SIZES: u32 = 0;
const INTERVALS: u32 = 1;
const MARKS: u32 = 2;

/// Objects that are asked for one after the other, without waiting for each other.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Bytes of an answer.
    #[serde(deserialize_with = "described")]
    size: Distribution,
    /// Time from one request of a stream to the next, s.
    #[serde(deserialize_with = "described")]
    every: Distribution,
    /// Of the random numbers.
    #[serde(deserialize_with = "whole::<_, _, 0, { i64::MAX }>")]
    seed: u64,
    /// The process of arrivals that several flows share; null: the flow has its own.
    #[serde(default)]
    shared: Option<Shared>,
}

/// Which arrivals of a shared process are a flow's: those with marks from `low` to below `high`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Shared {
    /// Of the random numbers of the process.
    #[serde(deserialize_with = "whole::<_, _, 0, { i64::MAX }>")]
    seed: u64,
    /// The least mark of an arrival of this flow.
    low: f64,
    /// The first mark above those of this flow.
    high: f64,
}

impl Description for Requests {
    fn check(&self) -> Result<(), String> {
        lasting(&self.every, "every")?;
        let Some(Shared { low, high, .. }) = self.shared else { return Ok(()) };
        within("shared.low", low, 0.0, 1.0)?;
        within("shared.high", high, 0.0, 1.0)?;
        if high - low < LEAST_PART {
            return Err(format!("`shared.high` is less than {LEAST_PART} above `low`"));
        }
        Ok(())
    }
}

impl Requests {
    /// The requests of one of `connections` streams, first to last, without end.
    ///
    /// # Errors
    /// A message, if so many streams leave each too small a part of a shared process.
    pub fn of(&self, connection: u32, connections: u32) -> Result<Arrivals, String> {
        let sizes = Draws::new(&self.size, self.seed, connection, SIZES);
        let Some(Shared { seed, low, high }) = self.shared else {
            let intervals = Draws::new(&self.every, self.seed, connection, INTERVALS);
            return Ok(Arrivals { sizes, intervals, marks: None, next_ns: 0 });
        };
        let each = (high - low) / f64::from(connections);
        if each < LEAST_PART {
            return Err(format!("`workload.shared` gives a stream a share below {LEAST_PART}"));
        }
        let edge = |number: u32| {
            if number == connections {
                high
            } else {
                low + each * f64::from(number)
            }
        };
        let unit = Distribution::Uniform { low: 0.0, high: 1.0 };
        Ok(Arrivals {
            sizes,
            intervals: Draws::new(&self.every, seed, 0, INTERVALS),
            marks: Some(Marks {
                draws: Draws::new(&unit, seed, 0, MARKS),
                low: edge(connection),
                high: edge(connection + 1),
            }),
            next_ns: 0,
        })
    }
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When it is sent, ns after the start of the stream.
    pub at_ns: i64,
    /// How much it asks for, bytes, at least 1.
    pub bytes: u64,
}

/// When a stream's requests are sent, and what they ask for. The first one of a stream, or of the
/// process that it shares, is sent at its start.
#[derive(Debug, Clone)]
pub struct Arrivals {
    sizes: Draws,
    intervals: Draws,
    marks: Option<Marks>,
    next_ns: i64,
}

/// The marks of a shared process, and which of them are this stream's.
#[derive(Debug, Clone)]
struct Marks {
    draws: Draws,
    low: f64,
    high: f64,
}

impl Arrivals {
    /// The next request.
    pub fn follow(&mut self) -> Arrival {
        let mut at_ns = self.pass();
        while at_ns < i64::MAX && !self.marks.as_mut().is_none_or(Marks::hit) {
            at_ns = self.pass();
        }
        let bytes = (self.sizes.number().round() as u64).clamp(1, MAX_BYTES as u64);
        Arrival { at_ns, bytes }
    }

    /// Takes the next arrival, whoever's it is.
    fn pass(&mut self) -> i64 {
        let at_ns = self.next_ns;
        self.next_ns = at_ns.saturating_add(self.intervals.ns());
        at_ns
    }
}

impl Marks {
    /// Whether the next arrival is this stream's.
    fn hit(&mut self) -> bool {
        let mark = self.draws.number();
        self.low <= mark && mark < self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: &str = r#"{
        "size": {"kind": "pareto", "parameters": {"mean": 15000, "shape": 1.5}},
        "every": {"kind": "exponential", "parameters": {"mean": 0.1}}, "seed": 7}"#;

    fn take(text: &str) -> Result<Requests, String> {
        crate::json::read(text)
    }

    fn drawn(requests: &Requests, connection: u32, count: usize) -> Vec<Arrival> {
        let mut arrivals = requests.of(connection, 4).unwrap();
        (0..count).map(|_| arrivals.follow()).collect()
    }

    /// Gamma arrivals of a process with seed 3, of which a flow has the marks from `low` to `high`.
    fn part(own_seed: u32, low: f64, high: f64) -> Requests {
        take(&format!(
            r#"{{"size": {{"kind": "uniform", "parameters": {{"low": 1, "high": 1000000}}}},
            "every": {{"kind": "gamma", "parameters": {{"mean": 0.006, "shape": 0.5}}}},
            "seed": {own_seed}, "shared": {{"seed": 3, "low": {low}, "high": {high}}}}}"#
        ))
        .unwrap()
    }

    #[test]
    fn requests_come_at_their_times_with_their_sizes_and_the_first_at_the_start() {
        let requests = take(REQUESTS).unwrap();
        let first = drawn(&requests, 0, 10_000);
        assert_eq!(first[0].at_ns, 0);
        assert!(first.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns));
        // 9999 intervals with a mean of 0.1 s: five standard errors are 5 s.
        let last_s = first[9_999].at_ns as f64 / 1e9;
        assert!((last_s - 999.9).abs() < 50.0, "{last_s}");
        assert!(first.iter().all(|arrival| arrival.bytes >= 5_000), "the scale is a third");
        assert_eq!(first, drawn(&requests, 0, 10_000));
        assert_ne!(first[1], drawn(&requests, 1, 2)[1]);
        // Other times leave the sizes alone.
        let slower = take(&REQUESTS.replace("0.1", "0.7")).unwrap();
        assert_eq!(drawn(&slower, 0, 6)[5].bytes, first[5].bytes);
    }

    #[test]
    fn a_request_asks_for_something() {
        let constant =
            |value| format!(r#"{{"kind": "constant", "parameters": {{"value": {value}}}}}"#);
        let (size, every) = (constant(0), constant(1));
        let text = format!(r#"{{"size": {size}, "every": {every}, "seed": 0, "shared": null}}"#);
        assert_eq!(drawn(&take(&text).unwrap(), 0, 1)[0].bytes, 1);
    }

    #[test]
    fn parts_of_a_shared_process_make_up_the_whole_of_it() {
        const COUNT: usize = 20_000;
        let mut whole = part(0, 0.0, 1.0).of(0, 1).unwrap();
        let all: Vec<i64> = (0..COUNT).map(|_| whole.follow().at_ns).collect();
        let end_ns = all[COUNT - 1];
        let (heavy, light) = (part(1, 0.0, 0.8), part(2, 0.8, 1.0));
        let mut parts = Vec::new();
        let mut counts = Vec::new();
        for (requests, connections) in [(&heavy, 2), (&light, 3)] {
            for connection in 0..connections {
                let mut stream = requests.of(connection, connections).unwrap();
                let own: Vec<i64> = std::iter::from_fn(|| Some(stream.follow().at_ns))
                    .take_while(|at_ns| *at_ns <= end_ns)
                    .collect();
                counts.push(own.len() as f64);
                parts.extend(own);
            }
        }
        parts.sort_unstable();
        assert_eq!(parts, all);
        // Binomial: within five standard deviations.
        for (count, share) in counts.iter().zip([0.4, 0.4, 0.2 / 3.0, 0.2 / 3.0, 0.2 / 3.0]) {
            let n = COUNT as f64;
            let deviation = (n * share * (1.0 - share)).sqrt();
            assert!((count - n * share).abs() < 5.0 * deviation, "{counts:?}");
        }
        // Two flows of one process draw sizes of their own.
        assert_ne!(heavy.of(0, 1).unwrap().follow().bytes, light.of(0, 1).unwrap().follow().bytes);
    }

    #[test]
    fn the_intervals_of_a_shared_process_have_the_moments_of_their_distribution() {
        const COUNT: usize = 100_000;
        let mut whole = part(0, 0.0, 1.0).of(0, 1).unwrap();
        let times: Vec<i64> = (0..=COUNT).map(|_| whole.follow().at_ns).collect();
        let intervals: Vec<f64> =
            times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
        let count = COUNT as f64;
        let mean = intervals.iter().sum::<f64>() / count;
        let variance = intervals.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        // Mean m, variance m^2 / a, kurtosis 3 + 6 / a; five standard errors of each.
        let (m, a) = (0.006, 0.5);
        let expected: f64 = m * m / a;
        assert!((mean - m).abs() < 5.0 * (expected / count).sqrt(), "{mean}");
        let error = expected * ((2.0 + 6.0 / a) / count).sqrt();
        assert!((variance - expected).abs() < 5.0 * error, "{variance}");
    }

    #[test]
    fn wrong_parts_are_refused_by_name() {
        let with =
            |shared: &str| take(&REQUESTS.replace("7}", &format!("7, \"shared\": {shared}}}")));
        for (text, words) in [
            (r#"{"seed": 1, "low": 0.5, "high": 0.5}"#, "`shared.high` is less than"),
            (r#"{"seed": 1, "low": 0.5, "high": 1.5}"#, "`shared.high` is 1.5"),
            (r#"{"seed": 1, "low": 0.5}"#, "`shared.high` is missing"),
            (r#"{"low": 0.5, "high": 1}"#, "`shared.seed` is missing"),
            (r#"{"seed": 1, "low": 0, "high": 1, "x": 1}"#, "unknown field `x`"),
            ("1", "`shared`: invalid type: integer `1`"),
        ] {
            let message = with(text).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
        let thin = with(r#"{"seed": 1, "low": 0, "high": 0.00001}"#).unwrap();
        assert!(thin.of(0, 10).is_ok() && thin.of(0, 20).is_err());
    }
}
