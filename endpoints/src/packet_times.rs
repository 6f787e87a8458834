//! When the packets of a source are due: at a constant rate, or with pauses. No transport and no
//! clock in it.

use crate::random::{Distribution, Draws};
use crate::workload::OnOff;

/// Nanoseconds in a second.
const NS: u64 = 1_000_000_000;

/// When the packets of a source are sent: at a constant rate, or at a rate while it is on.
///
/// Packet j is sent when the source has been on for j times the time that a packet takes at the
/// rate, so that the rate over all on periods is exact however short they are. With `vary_gaps`
/// each of these times is drawn anew; the rate is then exact on average.
#[derive(Debug)]
pub struct PacketTimes {
    /// A packet takes `bits` at `rate_bps`.
    bits: u64,
    rate_bps: u64,
    /// Number of the next packet, from 0.
    packet: u64,
    next_ns: i64,
    periods: Option<Periods>,
    gaps: Option<Gaps>,
}

/// Gaps between packets that vary as those of ns-2's constant-rate source with `random_`: each is
/// multiplied by a number of its own, uniform in [1/2, 3/2].
#[derive(Debug)]
struct Gaps {
    factors: Draws,
    /// Time that the source was on before the next packet, ns.
    on_ns: i64,
}

/// Stream of a connection's gaps; those of its on and off periods are 0 and 1.
const GAPS: u32 = 2;

/// The on period that the next packet lies in.
#[derive(Debug)]
struct Periods {
    on: Draws,
    off: Draws,
    /// Time that the source was on before it, ns.
    on_before_ns: i64,
    begin_ns: i64,
    length_ns: i64,
}

impl PacketTimes {
    /// Packets of `packet_bytes` (> 0) at `rate_bps` (> 0), without pauses; the first at 0.
    #[must_use]
    pub fn constant(rate_bps: u64, packet_bytes: u32) -> Self {
        PacketTimes::spaced(8 * u64::from(packet_bytes), rate_bps)
    }

    /// Packets every `every_ns` (> 0), the first at 0.
    #[must_use]
    pub fn every(every_ns: i64) -> Self {
        PacketTimes::spaced(every_ns.unsigned_abs(), NS)
    }

    fn spaced(bits: u64, rate_bps: u64) -> Self {
        PacketTimes { bits, rate_bps, packet: 0, next_ns: 0, periods: None, gaps: None }
    }

    /// When packet `number` is sent without pauses and with equal gaps, ns after the start.
    fn nth_ns(&self, number: u64) -> i64 {
        let bits = u128::from(number) * u128::from(self.bits);
        i64::try_from(bits * u128::from(NS) / u128::from(self.rate_bps)).unwrap_or(i64::MAX)
    }

    /// Those of a connection of an on/off source; the first at 0, when an on period begins.
    #[must_use]
    pub fn on_off(onoff: &OnOff, connection: u32) -> Self {
        let (mut on, off) = onoff.periods_of(connection);
        let length_ns = on.ns();
        let periods = Periods { on, off, on_before_ns: 0, begin_ns: 0, length_ns };
        let mut times = PacketTimes {
            periods: Some(periods),
            ..PacketTimes::constant(onoff.rate_bps, onoff.packet_bytes)
        };
        if onoff.vary_gaps {
            times = times.vary_gaps(onoff.seed(), connection);
        }
        times.find();
        times
    }

    /// Lets the gaps between the packets of connection `connection` vary; before the first
    /// `advance`.
    #[must_use]
    pub fn vary_gaps(self, seed: u64, connection: u32) -> Self {
        let half_to_three = Distribution::Uniform { low: 0.5, high: 1.5 };
        let factors = Draws::new(&half_to_three, seed, connection, GAPS);
        PacketTimes { gaps: Some(Gaps { factors, on_ns: 0 }), ..self }
    }

    /// When the next packet is sent, ns after the start.
    #[must_use]
    pub fn next_ns(&self) -> i64 {
        self.next_ns
    }

    /// Goes on to the packet after it.
    pub fn advance(&mut self) {
        self.packet += 1;
        let gap_ns = self.nth_ns(self.packet) - self.nth_ns(self.packet - 1);
        if let Some(gaps) = &mut self.gaps {
            let varied_ns = (gap_ns as f64 * gaps.factors.number()).round() as i64;
            gaps.on_ns = gaps.on_ns.saturating_add(varied_ns);
        }
        self.find();
    }

    /// Finds the time of packet `packet`.
    fn find(&mut self) {
        let on_ns = match &self.gaps {
            None => self.nth_ns(self.packet),
            Some(gaps) => gaps.on_ns,
        };
        self.next_ns = match &mut self.periods {
            None => on_ns,
            Some(periods) => periods.at(on_ns),
        };
    }
}

impl Periods {
    /// The time at which the source has been on for `on_ns`, which never decreases.
    fn at(&mut self, on_ns: i64) -> i64 {
        while on_ns - self.on_before_ns >= self.length_ns {
            self.on_before_ns += self.length_ns;
            let end_ns = self.begin_ns.saturating_add(self.length_ns);
            self.begin_ns = end_ns.saturating_add(self.off.ns());
            self.length_ns = self.on.ns();
            if self.begin_ns == i64::MAX {
                return i64::MAX;
            }
        }
        self.begin_ns.saturating_add(on_ns - self.on_before_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;

    const MS: i64 = 1_000_000;

    /// A source whose packets take 1 ms, with these periods and `more` options.
    fn on_off(on: &str, off: &str, more: &str) -> OnOff {
        let text = format!(
            r#"{{"kind": "onoff", "rate_bps": 12000000, "on": {on}, "off": {off},
                "packet_bytes": 1500, "seed": 1{more}}}"#
        );
        match crate::json::read(&text).unwrap() {
            Workload::OnOff(onoff) => onoff,
            other => unreachable!("{other:?}"),
        }
    }

    fn constant(s: f64) -> String {
        format!(r#"{{"kind": "constant", "parameters": {{"value": {s}}}}}"#)
    }

    #[test]
    fn packets_at_a_constant_rate_do_not_drift() {
        // 1500 bytes at 7 Mbit/s take 1,714,285.71 ns.
        let mut times = PacketTimes::constant(7_000_000, 1500);
        for packet in 0..7_000_i128 {
            assert_eq!(i128::from(times.next_ns()), packet * 12_000_000_000 / 7_000);
            times.advance();
        }
    }

    #[test]
    fn packets_at_regular_times_are_exact() {
        let mut times = PacketTimes::every(33_333_333);
        for packet in 0..1_000 {
            assert_eq!(times.next_ns(), packet * 33_333_333);
            times.advance();
        }
    }

    #[test]
    fn the_rate_over_on_periods_is_exact() {
        // On for 2.5 packets, off for 10 ms: packets at 0, 1, 2 | 0.5, 1.5 of the next, and so on.
        let onoff = on_off(&constant(0.0025), &constant(0.01), "");
        let mut times = PacketTimes::on_off(&onoff, 0);
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(times.next_ns() / 100_000);
            times.advance();
        }
        assert_eq!(seen, [0, 10, 20, 130, 140, 250]);
    }

    #[test]
    fn gaps_vary_by_half_and_keep_their_mean() {
        // A packet takes 1 ms.
        let gaps_of = |seed, connection| -> Vec<i64> {
            let mut times = PacketTimes::constant(12_000_000, 1500).vary_gaps(seed, connection);
            assert_eq!(times.next_ns(), 0);
            (0..10_000)
                .map(|_| {
                    let before_ns = times.next_ns();
                    times.advance();
                    times.next_ns() - before_ns
                })
                .collect()
        };
        let gaps = gaps_of(7, 0);
        assert!(gaps.iter().all(|gap| (MS / 2..=3 * MS / 2).contains(gap)));
        // Uniform: a standard deviation of 0.289 ms, so 0.0029 ms of the mean.
        let mean = gaps.iter().sum::<i64>() as f64 / 10_000.0 / MS as f64;
        assert!((mean - 1.0).abs() < 0.012, "{mean}");
        let spread = gaps.iter().map(|gap| (*gap as f64 / MS as f64 - 1.0).powi(2)).sum::<f64>();
        assert!((spread / 10_000.0 - 1.0 / 12.0).abs() < 0.004, "{spread}");
        assert_eq!(gaps, gaps_of(7, 0));
        assert_ne!(gaps, gaps_of(8, 0));
        assert_ne!(gaps, gaps_of(7, 1));
    }

    #[test]
    fn gaps_of_a_source_that_pauses_vary_and_leave_its_periods_alone() {
        let packets = |more: &str| -> Vec<i64> {
            let onoff = on_off(&constant(0.01), &constant(0.03), more);
            let mut times = PacketTimes::on_off(&onoff, 0);
            (0..1_000).map(|_| (times.next_ns(), times.advance()).0).collect()
        };
        let (plain, varied) = (packets(""), packets(r#", "vary_gaps": true"#));
        assert_eq!(plain, packets(r#", "vary_gaps": false"#));
        assert_ne!(plain, varied);
        assert!(varied.windows(2).all(|pair| pair[0] <= pair[1]));
        // On for 10 of every 40 ms, all of them.
        assert!(varied.iter().all(|ns| ns % (40 * MS) < 10 * MS));
        let on_ns = varied[999] / (40 * MS) * 10 * MS;
        assert!((on_ns - 999 * MS).abs() < 50 * MS, "{on_ns}");
    }

    #[test]
    fn random_periods_have_their_means() {
        let exponential = r#"{"kind": "exponential", "parameters": {"mean": 0.5}}"#;
        let onoff = on_off(exponential, &constant(1.5), "");
        let mut times = PacketTimes::on_off(&onoff, 3);
        let mut packets = 0_u32;
        while times.next_ns() < 4_000_000 * MS {
            packets += 1;
            times.advance();
        }
        // On a quarter of 4000 s, in 2000 periods: 1,000,000 packets, with a standard deviation of
        // 1000 * 2000^(1/2) * 0.5 s * 0.75 = 16,800.
        assert!((932_000..1_068_000).contains(&packets), "{packets}");
    }
}
