//! `HyStart++` (RFC 9406): leaves slow start when the delay grows, by way of a Conservative Slow
//! Start (CSS) that finds out whether it was jitter.
//!
//! Names are the RFC's, sections 4.2 and 4.3. A round ends with the first acknowledgement of a
//! packet that was sent after the round had begun: `windowEnd` as a time, because quinn tells send
//! times. L is infinite: quinn always paces. It acts in the initial slow start only.

use super::adapter::Acks;
use std::time::{Duration, Instant};

/// The least increase of the delay that ends slow start.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// The greatest increase that is waited for.
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// Between them: the last round's RTT, divided by this.
const MIN_RTT_DIVISOR: u32 = 8;
/// Samples that a round needs to be judged.
const N_RTT_SAMPLE: u32 = 8;
/// Growth in CSS is that of slow start, divided by this.
const CSS_GROWTH_DIVISOR: u32 = 4;
/// Rounds of CSS, the one in which it begins included.
const CSS_ROUNDS: u32 = 5;

/// What `HyStart++` makes of an ACK frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Slow start or CSS goes on.
    GoOn,
    /// Congestion avoidance begins: ssthresh = cwnd.
    Leave,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// `baseline_min_rtt`: `cssBaselineMinRtt`; `rounds`: those begun.
    Css {
        baseline_min_rtt: Duration,
        rounds: u32,
    },
}

/// State of the initial slow start.
#[derive(Debug, Clone)]
pub struct HyStartPp {
    phase: Phase,
    /// `windowEnd`: when the packet was sent whose acknowledgement ends the round; None before the
    /// first sample.
    window_end: Option<Instant>,
    last_round_min_rtt: Option<Duration>,
    current_round_min_rtt: Option<Duration>,
    rtt_sample_count: u32,
}

impl Default for HyStartPp {
    fn default() -> Self {
        HyStartPp {
            phase: Phase::SlowStart,
            window_end: None,
            last_round_min_rtt: None,
            current_round_min_rtt: None,
            rtt_sample_count: 0,
        }
    }
}

impl HyStartPp {
    /// By how much `bytes` acknowledged let the window grow.
    pub fn growth(&self, bytes: f64) -> f64 {
        match self.phase {
            Phase::SlowStart => bytes,
            Phase::Css { .. } => bytes / f64::from(CSS_GROWTH_DIVISOR),
        }
    }

    /// What the phase is called in samples.
    pub fn name(&self) -> &'static str {
        match self.phase {
            Phase::SlowStart => "slow_start",
            Phase::Css { .. } => "css",
        }
    }

    /// Takes the RTT sample of an ACK frame.
    pub fn on_acks(&mut self, acks: &Acks) -> Verdict {
        let Some(rtt) = acks.rtt else { return Verdict::GoOn };
        let sent = acks.now.checked_sub(rtt).unwrap_or(acks.now);
        if self.window_end.is_none_or(|end| sent >= end) && self.next_round(acks.now) {
            return Verdict::Leave;
        }
        self.current_round_min_rtt =
            Some(self.current_round_min_rtt.map_or(rtt, |least| least.min(rtt)));
        self.rtt_sample_count += 1;
        if self.rtt_sample_count >= N_RTT_SAMPLE {
            self.judge();
        }
        Verdict::GoOn
    }

    /// Begins a round; returns whether the rounds of CSS are over.
    fn next_round(&mut self, now: Instant) -> bool {
        let is_first = self.window_end.is_none();
        self.window_end = Some(now);
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
        match &mut self.phase {
            Phase::Css { rounds, .. } if !is_first => {
                *rounds += 1;
                *rounds > CSS_ROUNDS
            }
            _ => false,
        }
    }

    fn judge(&mut self) {
        let (Some(current), Some(last)) = (self.current_round_min_rtt, self.last_round_min_rtt)
        else {
            return;
        };
        match self.phase {
            Phase::SlowStart => {
                if current >= last + rtt_thresh(last) {
                    self.phase = Phase::Css { baseline_min_rtt: current, rounds: 1 };
                }
            }
            Phase::Css { baseline_min_rtt, .. } => {
                if current < baseline_min_rtt {
                    self.phase = Phase::SlowStart;
                }
            }
        }
    }
}

/// `RttThresh`.
fn rtt_thresh(last_round_min_rtt: Duration) -> Duration {
    MIN_RTT_THRESH.max((last_round_min_rtt / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds rounds: every packet of a round is sent at its beginning, and acknowledged after an
    /// RTT.
    struct Path {
        hystart: HyStartPp,
        now: Instant,
    }

    impl Path {
        fn new() -> Self {
            Path { hystart: HyStartPp::default(), now: Instant::now() }
        }

        /// A round of `count` samples of `ms`.
        fn round(&mut self, ms: u64, count: u32) -> Verdict {
            let rtt = Duration::from_millis(ms);
            let sent = self.now;
            self.now = sent + rtt;
            let mut verdict = Verdict::GoOn;
            for _ in 0..count {
                let acks = Acks {
                    now: self.now,
                    bytes: 1500,
                    in_flight: 0,
                    rtt: Some(rtt),
                    min_rtt: rtt,
                    smoothed_rtt: rtt,
                };
                if self.hystart.on_acks(&acks) == Verdict::Leave {
                    verdict = Verdict::Leave;
                }
            }
            verdict
        }

        fn is_css(&self) -> bool {
            matches!(self.hystart.phase, Phase::Css { .. })
        }
    }

    #[test]
    fn constants_are_those_that_the_rfc_recommends() {
        assert_eq!(MIN_RTT_THRESH, Duration::from_millis(4));
        assert_eq!(MAX_RTT_THRESH, Duration::from_millis(16));
        assert_eq!((MIN_RTT_DIVISOR, N_RTT_SAMPLE), (8, 8));
        assert_eq!((CSS_GROWTH_DIVISOR, CSS_ROUNDS), (4, 5));
    }

    #[test]
    fn the_growth_divisor_is_at_least_two() {
        const { assert!(CSS_GROWTH_DIVISOR >= 2) }
    }

    #[test]
    fn the_threshold_is_an_eighth_of_the_rtt_within_its_bounds() {
        for (last_ms, thresh_us) in
            [(8, 4000), (32, 4000), (80, 10_000), (128, 16_000), (600, 16_000)]
        {
            let thresh = rtt_thresh(Duration::from_millis(last_ms));
            assert_eq!(thresh, Duration::from_micros(thresh_us), "{last_ms} ms");
        }
    }

    #[test]
    fn an_increase_by_the_threshold_begins_css_and_a_smaller_one_does_not() {
        for (ms, css) in [(109, false), (112, false), (113, true), (150, true)] {
            let mut path = Path::new();
            path.round(100, 8);
            assert_eq!(path.round(ms, 8), Verdict::GoOn);
            assert_eq!(path.is_css(), css, "{ms}");
        }
    }

    #[test]
    fn seven_samples_are_too_few_and_eight_are_enough() {
        for (count, css) in [(7, false), (8, true)] {
            let mut path = Path::new();
            path.round(100, 8);
            path.round(150, count);
            assert_eq!(path.is_css(), css, "{count}");
        }
    }

    #[test]
    fn the_first_round_has_none_to_compare_with() {
        let mut path = Path::new();
        path.round(100, 4);
        path.round(100, 20);
        assert!(!path.is_css());
    }

    #[test]
    fn the_smallest_sample_of_a_round_counts() {
        let mut path = Path::new();
        path.round(100, 8);
        let sent = path.now;
        for ms in [150, 101, 160, 150, 150, 150, 150, 150, 150, 150] {
            let rtt = Duration::from_millis(ms);
            let now = sent + rtt;
            let (smoothed_rtt, min_rtt) = (rtt, rtt);
            let acks =
                Acks { now, bytes: 1500, in_flight: 0, rtt: Some(rtt), min_rtt, smoothed_rtt };
            path.hystart.on_acks(&acks);
        }
        assert!(!path.is_css(), "jitter of single packets is none of the path's");
    }

    #[test]
    fn css_grows_by_a_quarter_and_slow_start_by_all_that_is_acknowledged() {
        let mut path = Path::new();
        path.round(100, 8);
        assert!((path.hystart.growth(150_000.0) - 150_000.0).abs() < 1e-9, "L is infinite");
        path.round(150, 8);
        assert!((path.hystart.growth(6000.0) - 1500.0).abs() < 1e-9);
    }

    #[test]
    fn css_ends_after_five_rounds_of_which_the_first_is_partial() {
        let mut path = Path::new();
        path.round(100, 8);
        path.round(150, 8);
        for round in 2..=CSS_ROUNDS {
            assert_eq!(path.round(150, 8), Verdict::GoOn, "{round}");
        }
        assert_eq!(path.round(150, 8), Verdict::Leave);
    }

    #[test]
    fn a_delay_below_the_baseline_resumes_slow_start_with_hystart() {
        let mut path = Path::new();
        path.round(100, 8);
        path.round(150, 8);
        path.round(149, 7);
        assert!(path.is_css(), "too few samples");
        path.round(149, 8);
        assert_eq!(path.hystart.phase, Phase::SlowStart);
        path.round(200, 8);
        assert!(path.is_css(), "it still watches");
    }
}
